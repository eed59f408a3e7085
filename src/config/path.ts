/** Where a value stands in the configuration: keys and indexes from the top. */
export type Path = readonly (string | number)[];

/** `providers[0].models[2].pricing`, as people write it; empty for the top. */
export function formatPath(path: Path): string {
  let text = '';
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : text === '' ? step : `.${step}`;
  return text;
}

/** True for what YAML calls a mapping. */
export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value at a path; undefined when nothing is there. */
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
 * Puts a value at a path, with the mappings and lists on the way to it.
 *
 * @returns false when something else stands in the way, or when a list would get a hole
 */
export function setIn(tree: Record<string, unknown>, path: Path, value: unknown): boolean {
  let here: unknown = tree;
  for (const [depth, step] of path.entries()) {
    const fits = typeof step === 'number' ? Array.isArray(here) && step <= here.length : isMapping(here);
    if (!fits) return false;
    // Just checked: an index meets a list, a key meets a mapping; both are written by key.
    const container = here as Record<string | number, unknown>;
    if (depth === path.length - 1) container[step] = value;
    else container[step] ??= typeof path[depth + 1] === 'number' ? [] : {};
    here = container[step];
  }
  return true;
}
