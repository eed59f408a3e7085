import { type CharSet, haveOverlaps, rangesOf } from './char-set.ts';
import type { Node } from './parse-pattern.ts';

/** Alternatives that are inspected between two pauses. */
const SLICE_ALTERNATIVES = 2000;

/**
 * Writes the alternatives of each choice as a tree of their common beginnings, so that a list of words costs as little as
 * its first letters. It never changes which alternative is preferred: only alternatives that cannot match the same text change
 * places. Yields where other work may run.
 */
export function* factorChoices(node: Node): Generator<void, Node> {
  switch (node.type) {
    case 'set':
    case 'assert':
      return node;
    case 'sequence':
      return { type: 'sequence', items: yield* factorEach(node.items) };
    case 'repeat':
      return { ...node, item: yield* factorChoices(node.item) };
    case 'choice': {
      const items = yield* factorEach(node.items);
      return yield* factorLists(items.map((item) => (item.type === 'sequence' ? item.items : [item])));
    }
  }
}

function* factorEach(items: readonly Node[]): Generator<void, readonly Node[]> {
  if (items.every(({ type }) => type === 'set')) return items;
  const factored: Node[] = [];
  for (const item of items) {
    factored.push(yield* factorChoices(item));
    if (factored.length % SLICE_ALTERNATIVES === 0) yield;
  }
  return factored;
}

function* factorLists(lists: readonly (readonly Node[])[]): Generator<void, Node> {
  const items: Node[] = [];
  // Alternatives that begin with a set are grouped as far as no other one is between them.
  let run: (readonly Node[])[] = [];
  for (const list of lists) {
    if (list[0]?.type === 'set') {
      run.push(list);
      continue;
    }
    items.push(...(yield* factorRun(run)), { type: 'sequence', items: list });
    run = [];
  }
  items.push(...(yield* factorRun(run)));
  return items.length === 1 ? items[0]! : { type: 'choice', items };
}

/** @param run lists that begin with a set */
function* factorRun(run: readonly (readonly Node[])[]): Generator<void, Node[]> {
  const groups = new Map<CharSet, (readonly Node[])[]>();
  for (const list of run) {
    const key = keyOf(list[0])!;
    const group = groups.get(key);
    if (group) group.push(list);
    else groups.set(key, [list]);
  }
  if (groups.size === run.length || !areDisjoint([...groups.values()].map(([first]) => first![0]!))) {
    return run.map((items) => ({ type: 'sequence', items }));
  }
  const factored: Node[] = [];
  for (const group of groups.values()) {
    if (run.length > SLICE_ALTERNATIVES) yield;
    const [first] = group as [readonly Node[]];
    if (group.length === 1) {
      factored.push({ type: 'sequence', items: first });
      continue;
    }
    let length = 1;
    while (keyOf(first[length]) !== undefined && group.every((list) => keyOf(list[length]) === keyOf(first[length]))) {
      length++;
    }
    const rest = yield* factorLists(group.map((list) => list.slice(length)));
    factored.push({ type: 'sequence', items: [...first.slice(0, length), rest] });
  }
  return factored;
}

/** Equal sets of an expression are one object. */
const keyOf = (node: Node | undefined): CharSet | undefined => (node?.type === 'set' ? node.set : undefined);

function areDisjoint(nodes: readonly Node[]): boolean {
  const ranges = nodes.flatMap((node) => (node.type === 'set' ? rangesOf(node.set) : []));
  return !haveOverlaps(ranges);
}
