import type { Problem } from './interpolate.ts';
import { isMapping, type Path } from './path.ts';

/** Settings that this build does not offer. `*` in a path is any list item. */
export const unsupportedSettings: readonly { path: Path; says: string }[] = [{ path: ['interns'], says: 'interns' }];

/**
 * Removes unsupported settings from the tree and reports them.
 *
 * @param tree is changed, so that the schema does not report the same settings again
 */
export function rejectUnsupportedSettings(tree: Record<string, unknown>): { problems: Problem[]; rejected: Path[] } {
  const problems: Problem[] = [];
  const rejected: Path[] = [];
  for (const { path, says } of unsupportedSettings) {
    for (const [holder, key, place] of findHolders(tree, path)) {
      const value = holder[key];
      if (value === null || value === undefined) continue;
      problems.push({ path: place, message: `this build does not offer ${says}; remove it` });
      rejected.push(place);
      delete holder[key];
    }
  }
  return { problems, rejected };
}

function findHolders(tree: unknown, path: Path, at: Path = []): [Record<string, unknown>, string, Path][] {
  const [step, ...rest] = path;
  if (step === '*') {
    return Array.isArray(tree) ? tree.flatMap((item, index) => findHolders(item, rest, [...at, index])) : [];
  }
  if (typeof step !== 'string' || !isMapping(tree) || !Object.hasOwn(tree, step)) return [];
  return rest.length === 0 ? [[tree, step, [...at, step]]] : findHolders(tree[step], rest, [...at, step]);
}
