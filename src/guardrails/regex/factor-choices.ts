import { haveOverlaps, rangesOf } from './char-set.ts';
import type { Node } from './parse-pattern.ts';

/**
 * Writes the alternatives of each choice as a tree of their common beginnings, so that a list of words costs as little as
 * its first letters. It never changes which alternative is preferred: only alternatives that cannot match the same text change
 * places.
 */
export function factorChoices(node: Node): Node {
  switch (node.type) {
    case 'set':
    case 'assert':
      return node;
    case 'sequence':
      return { type: 'sequence', items: node.items.map(factorChoices) };
    case 'repeat':
      return { ...node, item: factorChoices(node.item) };
    case 'choice':
      return factorLists(node.items.map(factorChoices).map((item) => (item.type === 'sequence' ? item.items : [item])));
  }
}

function factorLists(lists: readonly (readonly Node[])[]): Node {
  const items: Node[] = [];
  // Alternatives that begin with a set are grouped as far as no other one is between them.
  let run: (readonly Node[])[] = [];
  for (const list of lists) {
    if (list[0]?.type === 'set') {
      run.push(list);
      continue;
    }
    items.push(...factorRun(run), { type: 'sequence', items: list });
    run = [];
  }
  items.push(...factorRun(run));
  return items.length === 1 ? items[0]! : { type: 'choice', items };
}

/** @param run lists that begin with a set */
function factorRun(run: readonly (readonly Node[])[]): Node[] {
  const groups = new Map<string, (readonly Node[])[]>();
  for (const list of run) {
    const key = keyOf(list[0])!;
    const group = groups.get(key);
    if (group) group.push(list);
    else groups.set(key, [list]);
  }
  if (groups.size === run.length || !areDisjoint([...groups.values()].map(([first]) => first![0]!))) {
    return run.map((items) => ({ type: 'sequence', items }));
  }
  return [...groups.values()].map((group): Node => {
    const [first] = group as [readonly Node[]];
    if (group.length === 1) return { type: 'sequence', items: first };
    let length = 1;
    while (keyOf(first[length]) !== undefined && group.every((list) => keyOf(list[length]) === keyOf(first[length]))) {
      length++;
    }
    return {
      type: 'sequence',
      items: [...first.slice(0, length), factorLists(group.map((list) => list.slice(length)))],
    };
  });
}

const keyOf = (node: Node | undefined): string | undefined => (node?.type === 'set' ? node.set.join() : undefined);

function areDisjoint(nodes: readonly Node[]): boolean {
  const ranges = nodes.flatMap((node) => (node.type === 'set' ? rangesOf(node.set) : []));
  return !haveOverlaps(ranges);
}
