import { type CharSet, haveOverlaps, rangesOf } from './char-set.ts';
import { MAX_RANGES, type Node } from './parse-pattern.ts';

/** A set of characters, and how many parts of expressions consume it. */
interface Use {
  readonly set: CharSet;
  times: number;
}

/**
 * Counts how many parts of expressions one character may continue, at most: the work of a character in the worst case. Yields
 * where other work may run.
 *
 * A list of words counts as its longest word: of the attempts that began at one position, at most one is in progress.
 */
export function* countThreads(nodes: readonly Node[]): Generator<void, { threads: number; ranges: number }> {
  const uses = new Map<string, Use>();
  let inLists = 0;
  for (const node of nodes) {
    const parts = new Map<CharSet, number>();
    inLists += count(node, 1, parts);
    for (const [set, times] of parts) {
      const key = set.join();
      const known = uses.get(key);
      if (known) known.times += times;
      else uses.set(key, { set, times });
    }
    yield;
  }
  const ranges = uses.values().reduce((sum, { set }) => sum + set.length / 2, 0);
  return { threads: inLists + (ranges > MAX_RANGES ? 0 : findMost([...uses.values()])), ranges };
}

/** @returns the parts in lists of words; the others are added to `parts` */
function count(node: Node, times: number, parts: Map<CharSet, number>): number {
  switch (node.type) {
    case 'set':
      parts.set(node.set, (parts.get(node.set) ?? 0) + times);
      return 0;
    case 'assert':
      return 0;
    case 'repeat':
      return count(node.item, times * (Number.isFinite(node.max) ? node.max : Math.max(node.min, 1)), parts);
    case 'choice':
      return isTree(node) ? times * depthOf(node) : countAll(node.items, times, parts);
    case 'sequence':
      return countAll(node.items, times, parts);
  }
}

const countAll = (items: readonly Node[], times: number, parts: Map<CharSet, number>): number =>
  items.reduce((sum, item) => sum + count(item, times, parts), 0);

/** Whether a text takes at most one way through the node. */
function isTree(node: Node): boolean {
  switch (node.type) {
    case 'set':
    case 'assert':
      return true;
    case 'repeat':
      return false;
    case 'sequence':
      return node.items.every(isTree);
    case 'choice':
      return haveOtherBeginnings(node.items) && node.items.every(isTree);
  }
}

/** Whether no two alternatives begin with the same character. At most one may be empty. */
function haveOtherBeginnings(items: readonly Node[]): boolean {
  const codes = new Set<number>();
  const ranges: [number, number][] = [];
  let others = 0;
  for (const item of items) {
    const first = item.type === 'sequence' ? item.items[0] : item;
    if (first?.type !== 'set') others++;
    else if (first.set.length === 2 && first.set[0] === first.set[1]) {
      const [code] = first.set;
      if (codes.has(code!)) return false;
      codes.add(code!);
    } else ranges.push(...rangesOf(first.set));
    if (others > 1) return false;
  }
  if (ranges.length === 0) return true;
  for (const code of codes) ranges.push([code, code]);
  return !haveOverlaps(ranges);
}

function depthOf(node: Node): number {
  switch (node.type) {
    case 'sequence':
      return node.items.reduce((sum, item) => sum + depthOf(item), 0);
    case 'choice':
      return node.items.reduce((most, item) => Math.max(most, depthOf(item)), 0);
    default:
      return 1;
  }
}

/** Returns the largest sum of the sets that one character is in. */
function findMost(uses: readonly Use[]): number {
  const changes: [number, number][] = [];
  for (const { set, times } of uses) {
    for (const [first, last] of rangesOf(set)) changes.push([first, times], [last + 1, -times]);
  }
  changes.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  let sum = 0;
  let most = 0;
  for (const [, change] of changes) {
    sum += change;
    most = Math.max(most, sum);
  }
  return most;
}
