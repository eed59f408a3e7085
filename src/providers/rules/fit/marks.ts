import type { Rules } from '../facets.ts';

/** A mark of the prompt cache in a body. */
export interface CacheMark {
  ttl?: string;
  scope?: string;
}

const isLong = (mark: CacheMark): boolean => mark.ttl === '1h';

/**
 * Bounds the marks of the cache: the last ones stay. A mark of five minutes before one of an hour becomes longer.
 *
 * @param marks in the order of the prompt
 * @param others number of marks that stay, besides these
 * @returns undefined if nothing changes; otherwise each mark, undefined for one that is left out, and the names of the losses
 */
export function planMarks(
  marks: readonly CacheMark[],
  { max, longest_first: isOrdered, scope, ttl }: NonNullable<Rules['cache']>,
  others = 0,
): { fitted: (CacheMark | undefined)[]; lost: string[] } | undefined {
  const limit = max === undefined ? marks.length : max - others;
  const first = Math.max(0, marks.length - limit);
  const lastLong = isOrdered ? marks.findLastIndex(isLong) : -1;
  const lost = new Set<string>();
  const fitted = marks.map((mark, index): CacheMark | undefined => {
    if (index < first) {
      lost.add(`cache_control (${first} of ${marks.length}; the first ones)`);
      return undefined;
    }
    const kept: CacheMark = { ...mark };
    for (const [name, isSent] of [
      ['scope', scope],
      ['ttl', ttl],
    ] as const) {
      if (isSent !== false || !(name in kept)) continue;
      delete kept[name];
      lost.add(`cache_control.${name}`);
    }
    // The longer time never makes the prompt of the caller more expensive than what an hour costs for the rest of it.
    if (index < lastLong && !isLong(mark) && ttl !== false) {
      kept.ttl = '1h';
      lost.add('cache_control.ttl (5m → 1h before a mark of an hour)');
    }
    return kept;
  });
  return lost.size === 0 ? undefined : { fitted, lost: [...lost] };
}

/** Replaces the mark of a part, a block or a tool. */
export function replaceMark<Marked extends object>(marked: Marked, mark: CacheMark | undefined): Marked {
  const { cache_control: _, ...rest } = marked as Marked & { cache_control?: unknown };
  return (mark ? { ...rest, cache_control: mark } : rest) as Marked; // the same object with another mark
}
