import { type Histogram, latencyBounds } from './histogram.ts';

/** Label → value. */
export type Labels = Readonly<Record<string, string>>;

/** The values or histograms of one metric name, one for each set of labels. */
export interface MetricFamily {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** How values of several processes are joined; absent: the sum. */
  across?: 'min' | 'max';
  samples: readonly { labels: Labels; value: number | Histogram }[];
}

export const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/** @see https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format */
export function writeExposition(families: readonly MetricFamily[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of families) {
    lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`);
    for (const { labels, value } of samples) {
      const own = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
      if (typeof value === 'number') lines.push(`${name}${braced(own)} ${writeNumber(value)}`);
      else lines.push(...writeHistogram(name, own, value));
    }
  }
  return `${lines.join('\n')}\n`;
}

function writeHistogram(name: string, own: readonly string[], { counts, sum }: Histogram): string[] {
  let total = 0;
  const buckets = [...latencyBounds, Number.POSITIVE_INFINITY].map((bound, at) => {
    total += counts[at]!;
    return `${name}_bucket${braced([...own, `le="${writeNumber(bound)}"`])} ${total}`;
  });
  return [...buckets, `${name}_sum${braced(own)} ${writeNumber(sum)}`, `${name}_count${braced(own)} ${total}`];
}

const braced = (labels: readonly string[]): string => (labels.length === 0 ? '' : `{${labels.join(',')}}`);

function writeNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');
