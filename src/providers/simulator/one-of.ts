import Schema from 'typebox/schema';
import type { Root } from './flat-schema.ts';

/** Whether the value fits this branch of a `oneOf` and no other. */
export function isExclusive(root: Root, value: unknown, branches: unknown[], chosen: unknown): boolean {
  return branches.every((branch) => branch === chosen || !fits(root, branch, value));
}

function fits(root: Root, branch: unknown, value: unknown): boolean {
  if (typeof branch !== 'object' || branch === null) return branch !== false;
  const { $defs = {}, definitions = {} } = root.schema as Record<string, unknown>; // an object: it has branches
  try {
    return Schema.Check(withoutPatterns({ ...branch, $defs, definitions }) as object, value);
  } catch {
    return false; // a branch that cannot be checked is treated as not matching
  }
}

/** Removes patterns. They come from the caller, and a match could take exponential time. */
function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(
    ([name, rule]) => !(name === 'pattern' && typeof rule === 'string') && name !== 'patternProperties',
  );
  return Object.fromEntries(kept.map(([name, rule]) => [name, withoutPatterns(rule)]));
}
