/** Deeper than any item. A provider may nest to any depth. */
const MAX_LEVELS = 64;

/** Counts the characters of all texts in a value, which is roughly its size in memory. */
export function estimateWeight(value: unknown, levels = MAX_LEVELS): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null || levels === 0) return 0;
  let weight = 0;
  for (const each of Object.values(value)) weight += estimateWeight(each, levels - 1);
  return weight;
}
