import { type JSX, lazy, type ReactNode, Suspense } from 'react';
import { Panel } from './page.tsx';
import type { ChartSeries } from './chart.tsx';

const StackedBars = lazy(() => import('./chart.tsx').then(({ StackedBars }) => ({ default: StackedBars })));

/** A chart with its legend. */
export function BarsPanel({
  title,
  label,
  names,
  series,
  format,
  aside,
}: {
  title: string;
  /** What a screen reader says instead of the chart. */
  label: string;
  names: readonly string[];
  series: readonly ChartSeries[];
  format: (value: number) => string;
  aside?: ReactNode;
}): JSX.Element {
  return (
    <Panel title={title} aside={aside} padded={false}>
      <Suspense fallback={<div className="chart" />}>
        <StackedBars label={label} names={names} series={series} format={format} />
      </Suspense>
      <ul className="chart-legend" aria-label="Legend">
        {series.map(({ label: text, color }) => (
          <li key={text}>
            <span className="swatch" style={{ background: `var(${color})` }} />
            {text}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
