import type { MetricFamily, Labels } from './exposition.ts';
import { Histogram } from './histogram.ts';

type Sample = MetricFamily['samples'][number];

/**
 * Joins the metrics of several processes: as sums, unless a family sets `across`.
 *
 * @param processes histograms may be clones from another process
 */
export function joinFamilies(processes: readonly (readonly MetricFamily[])[]): MetricFamily[] {
  const joined = new Map<string, { family: MetricFamily; samples: Map<string, Sample> }>();
  for (const family of processes.flat()) {
    const known = joined.get(family.name) ?? { family, samples: new Map<string, Sample>() };
    joined.set(family.name, known);
    for (const { labels, value } of family.samples) {
      const key = keyOf(labels);
      const before = known.samples.get(key)?.value;
      known.samples.set(key, { labels, value: join(before, value, family.across) });
    }
  }
  return [...joined.values()].map(({ family, samples }) => ({ ...family, samples: [...samples.values()] }));
}

/** Returns the metrics that only increase. They are kept when a process ends. */
export const keepCounters = (families: readonly MetricFamily[]): MetricFamily[] =>
  families.filter(({ type }) => type !== 'gauge');

const keyOf = (labels: Labels): string => JSON.stringify(Object.entries(labels));

function join(
  before: Sample['value'] | undefined,
  value: Sample['value'],
  across: MetricFamily['across'],
): Sample['value'] {
  if (before === undefined) return value;
  if (typeof value !== 'number' && typeof before !== 'number') return addHistograms(before, value);
  const [one, other] = [before as number, value as number]; // the values of one name have one kind
  if (across === 'min') return Math.min(one, other);
  return across === 'max' ? Math.max(one, other) : one + other;
}

function addHistograms(one: Histogram, other: Histogram): Histogram {
  const both = new Histogram();
  both.sum = one.sum + other.sum;
  for (let at = 0; at < both.counts.length; at++) both.counts[at] = one.counts[at]! + other.counts[at]!;
  return both;
}
