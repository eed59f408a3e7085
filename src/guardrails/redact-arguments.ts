import type { MaybePromise } from '../domain/maybe-promise.ts';

/**
 * Redacts the arguments of a tool call without breaking their JSON: a placeholder in the place of a number would. Texts that
 * are no JSON in the first place stay as they were redacted.
 *
 * @param redacted the whole text with placeholders
 * @param redactText redacts a value
 */
export async function redactArguments(
  text: string,
  redacted: string,
  redactText: (text: string) => MaybePromise<string>,
): Promise<string> {
  if (isJson(redacted)) return redacted;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return redacted;
  }
  const values: string[] = [];
  mapLeaves(value, (leaf) => {
    values.push(String(leaf));
    return leaf;
  });
  const changed: (string | undefined)[] = [];
  for (const each of values) {
    const now = await redactText(each);
    changed.push(now === each ? undefined : now);
  }
  // A match of several values has no place in one of them.
  if (changed.every((each) => each === undefined)) return JSON.stringify({ redacted });
  let at = 0;
  return JSON.stringify(mapLeaves(value, (leaf) => changed[at++] ?? leaf));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

type Leaf = string | number;

/** Replaces strings, numbers and names of fields, always in the same order. */
function mapLeaves(value: unknown, replace: (leaf: Leaf) => Leaf): unknown {
  if (typeof value === 'string' || typeof value === 'number') return replace(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => mapLeaves(each, replace));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [replace(name), mapLeaves(each, replace)]));
}
