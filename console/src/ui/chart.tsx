import 'uplot/dist/uPlot.min.css';
import { type JSX, useEffect, useRef, useSyncExternalStore } from 'react';
import UPlot from 'uplot';
import { useTheme } from '../shell/theme.ts';

export interface ChartSeries {
  label: string;
  values: readonly number[];
  /** A color of the tokens, such as `--series-1`. */
  color: string;
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const useIsDark = () =>
  useSyncExternalStore(
    (listener) => {
      dark.addEventListener('change', listener);
      return () => dark.removeEventListener('change', listener);
    },
    () => dark.matches,
  );

/** Stacked bars. They are an image to screen readers: a table has the same numbers. */
export function StackedBars({
  label,
  names,
  series,
  format,
}: {
  label: string;
  /** The names of the bars. */
  names: readonly string[];
  series: readonly ChartSeries[];
  format: (value: number) => string;
}): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const isDark = useIsDark();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colors that are read from the page
  useEffect(() => {
    const element = frame.current!;
    const chart = new UPlot(createOptions(element, { names, series, format }), stack(names.length, series), element);
    const observer = new ResizeObserver(() =>
      chart.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [names, series, format, theme, isDark]);
  return <div ref={frame} className="chart" role="img" aria-label={label} />;
}

/** Adds each series to those below it. The highest bar is drawn first. */
function stack(count: number, series: readonly ChartSeries[]): UPlot.AlignedData {
  const sums = new Array<number>(count).fill(0);
  const stacked = series.map(({ values }) => values.map((value, at) => (sums[at]! += value)));
  return [Array.from({ length: count }, (_, at) => at), ...stacked.reverse()];
}

function createOptions(
  element: HTMLElement,
  {
    names,
    series,
    format,
  }: { names: readonly string[]; series: readonly ChartSeries[]; format: (value: number) => string },
): UPlot.Options {
  const color = (name: string) => readColor(element, name);
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const axis = { stroke: color('--soft'), font, ticks: { show: false } };
  const bars = UPlot.paths.bars!({ size: [0.72, 48], radius: 0 });
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    padding: [12, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: [-0.6, names.length - 0.4] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.06 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 84,
        incrs: [1, 2, 3, 4, 6, 7, 12, 14, 24, 28, 48, 96, 168, 336],
        values: (_, splits) => splits.map((at) => names[at] ?? ''),
      },
      {
        ...axis,
        size: 64,
        grid: { stroke: color('--line'), width: 1 },
        values: (_, splits) => splits.map(format),
      },
    ],
    series: [
      {},
      ...[...series].reverse().map(({ label, color: name }) => ({
        label,
        fill: color(name),
        stroke: color(name),
        width: 0,
        points: { show: false },
        paths: bars,
      })),
    ],
  };
}

/** @returns the color that a token has in the theme of the page */
function readColor(parent: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  parent.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
