import { parseJson } from '../domain/parse-json.ts';

/** The position of a value in the configuration: keys and indexes from the root. */
export type Path = readonly (string | number)[];

/** Formats a path like `providers[0].models[2].pricing`. Empty for the root. */
export function formatPath(path: Path): string {
  let text = '';
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : text === '' ? step : `.${step}`;
  return text;
}

/** Parses a path like `fields["a.b"][0].max`. */
export function parsePath(text: string): Path {
  const steps = text.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g);
  return [...steps].map(([, index, quoted, name]) =>
    index === undefined ? (quoted === undefined ? name! : String(parseJson(quoted))) : Number(index),
  );
}

/** Whether a value is a YAML mapping. */
export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the value at a path. Undefined if there is none. */
export function getIn(tree: unknown, path: Path): unknown {
  let here = tree;
  for (const step of path) {
    if (Array.isArray(here)) here = here[step as number];
    else if (isMapping(here) && Object.hasOwn(here, step)) here = here[step];
    else return undefined;
  }
  return here;
}

/**
 * Sets the value at a path. Creates missing mappings and lists.
 *
 * @returns false if another kind of value is in the way, or if a list would become sparse
 */
export function setIn(tree: Record<string, unknown>, path: Path, value: unknown): boolean {
  let here: unknown = tree;
  for (const [depth, step] of path.entries()) {
    const fits = typeof step === 'number' ? Array.isArray(here) && step <= here.length : isMapping(here);
    if (!fits) return false;
    // just checked: a list with an index, or a mapping with a key
    const container = here as Record<string | number, unknown>;
    if (depth === path.length - 1) container[step] = value;
    else container[step] ??= typeof path[depth + 1] === 'number' ? [] : {};
    here = container[step];
  }
  return true;
}
