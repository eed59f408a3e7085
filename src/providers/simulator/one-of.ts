import Schema from 'typebox/schema';
import { toNumber } from '../../domain/exact-numbers.ts';
import type { Root } from './flat-schema.ts';

/** Whether the value fits this branch of a `oneOf` and no other. */
export function isExclusive(root: Root, value: unknown, branches: unknown[], chosen: unknown): boolean {
  return branches.every((branch) => branch === chosen || !fits(root, branch, value));
}

function fits(root: Root, branch: unknown, value: unknown): boolean {
  if (typeof branch !== 'object' || branch === null) return branch !== false;
  if (root.checksLeft < 0) return false;
  const { $defs = {}, definitions = {} } = root.schema as Record<string, unknown>; // an object: it has branches
  try {
    return Schema.Check(bound(root, { ...branch, $defs, definitions }), value);
  } catch {
    return false; // a branch that cannot be checked is treated as not matching
  }
}

/** Thrown when a check takes too long: references can make it exponential. */
class TooLong extends Error {}

/**
 * Returns a view of a schema that counts what is read of it, and has no patterns: they come from the caller, and a match
 * could take exponential time.
 */
function bound(root: Root, schema: object): object {
  const count = (): void => {
    if (--root.checksLeft < 0) throw new TooLong();
  };
  const views = new WeakMap<object, object>();
  const view = (value: unknown): unknown => {
    const plain = toNumber(value);
    if (typeof plain !== 'object' || plain === null) return plain;
    const known = views.get(plain);
    if (known) return known;
    const made = new Proxy(plain, {
      get(target, name) {
        count();
        return isPattern(target, name) ? undefined : view(Reflect.get(target, name));
      },
      has(target, name) {
        count();
        return !isPattern(target, name) && Reflect.has(target, name);
      },
      ownKeys(target) {
        const names = Reflect.ownKeys(target);
        root.checksLeft -= names.length;
        count();
        return names.filter((name) => !isPattern(target, name));
      },
      getOwnPropertyDescriptor(target, name) {
        count();
        const found = isPattern(target, name) ? undefined : Reflect.getOwnPropertyDescriptor(target, name);
        return found && 'value' in found && found.configurable ? { ...found, value: view(found.value) } : found;
      },
    });
    views.set(plain, made);
    return made;
  };
  return view(schema) as object;
}

const isPattern = (schema: object, name: string | symbol): boolean =>
  name === 'patternProperties' || (name === 'pattern' && typeof Reflect.get(schema, name) === 'string');
