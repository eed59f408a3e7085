import type { Problem } from './interpolate.ts';
import { isMapping, type Path } from './path.ts';

/** What the configuration of Headgate knows and this build does not offer. `*` in a path is any list item. */
export const unsupportedSettings: readonly { path: Path; says: string }[] = [
  { path: ['guardrails'], says: 'guardrails in this file ("headgate guardrails" makes them)' },
  { path: ['plugins'], says: 'plugins' },
  { path: ['tools'], says: 'server tools' },
  { path: ['interns'], says: 'interns' },
];

/**
 * Takes out of the tree what is not offered, and says so.
 *
 * @param tree is changed: what was refused once is not found wrong again by the schema
 */
export function rejectUnsupportedSettings(tree: Record<string, unknown>): { problems: Problem[]; refused: Path[] } {
  const problems: Problem[] = [];
  const refused: Path[] = [];
  for (const { path, says } of unsupportedSettings) {
    for (const [holder, key, place] of findHolders(tree, path)) {
      const value = holder[key];
      if (value === null || value === undefined) continue;
      problems.push({ path: place, message: `this build does not offer ${says}; take it out` });
      refused.push(place);
      delete holder[key];
    }
  }
  return { problems, refused };
}

function findHolders(tree: unknown, path: Path, at: Path = []): [Record<string, unknown>, string, Path][] {
  const [step, ...rest] = path;
  if (step === '*') {
    return Array.isArray(tree) ? tree.flatMap((item, index) => findHolders(item, rest, [...at, index])) : [];
  }
  if (typeof step !== 'string' || !isMapping(tree) || !Object.hasOwn(tree, step)) return [];
  return rest.length === 0 ? [[tree, step, [...at, step]]] : findHolders(tree[step], rest, [...at, step]);
}
