import type { FitNotes } from './notes.ts';

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/**
 * Leaves out the fields at the paths that a server rejects: `tools.*.input_examples`. Values that the client and other attempts
 * share are copied.
 */
export function dropPaths(body: Record<string, unknown>, paths: readonly string[], notes: FitNotes): void {
  for (const path of paths) {
    const [first = '', ...rest] = splitPath(path);
    const name = first in body ? first : camel(first);
    if (!(name in body)) continue;
    if (rest.length === 0) {
      delete body[name];
      notes.dropped.push(path);
      continue;
    }
    const changed = without(body[name], rest);
    if (changed === body[name]) continue;
    body[name] = changed;
    notes.dropped.push(path);
  }
}

/** Splits a path at its dots, but not within brackets: `content.list[a.b].0`. */
export const splitPath = (path: string): string[] => path.match(/(?:[^.[]|\[[^\]]*\])+/g) ?? [];

/**
 * Returns a value without what is at a path. Servers put the names of variants into paths (`tools.0.custom.strict`), so a name
 * that no field has is skipped.
 */
function without(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value;
  if (Array.isArray(value)) {
    const steps = step === '*' ? rest : [step, ...rest];
    const entries: unknown[] = value.map((entry) => without(entry, steps));
    return entries.every((entry, index) => entry === value[index]) ? value : entries;
  }
  if (!isFields(value)) return value;
  const name = step in value ? step : camel(step);
  if (!(name in value)) return without(value, rest);
  if (rest.length === 0) {
    const { [name]: _, ...others } = value;
    return others;
  }
  const changed = without(value[name], rest);
  return changed === value[name] ? value : { ...value, [name]: changed };
}
