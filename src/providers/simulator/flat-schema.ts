/** The keywords of one schema object. */
export type SchemaRules = Record<string, unknown>;

/** The complete schema, and the remaining work limit. */
export interface Root {
  readonly schema: unknown;
  /** Maximum number of schemas still to read. It bounds the work for a hostile schema. */
  readingsLeft: number;
  /** How often a schema may occur on the path to a value. */
  readonly repeats: number;
}

/** A schema with every `$ref` and `allOf` merged. */
export interface FlatSchema {
  rules: SchemaRules;
  /** The branches of each `anyOf` and `oneOf`. */
  choices: unknown[][];
  /** The schema objects on the path to this schema, itself included. */
  path: readonly object[];
}

const MAX_PATH = 200;
/** Number of names whose copying costs as much as reading one schema. */
const NAMES_A_READING = 50;

/** Merges a schema into others. @returns undefined if no value fits, if it is recursive, or if the work is too much */
export function flattenSchema(root: Root, schema: unknown, flat: FlatSchema): FlatSchema | undefined {
  if (schema === false || --root.readingsLeft < 0) return undefined;
  if (!isRules(schema)) return flat;
  const { path } = flat;
  if (path.length > MAX_PATH || path.filter((other) => other === schema).length >= root.repeats) return undefined;
  const { $ref, allOf, anyOf, oneOf, ...rules } = schema;
  root.readingsLeft -= (weigh(flat.rules) + weigh(rules) + flat.choices.length) / NAMES_A_READING;
  let result: FlatSchema | undefined = {
    rules: combineRules(flat.rules, rules),
    choices: [...flat.choices, ...[anyOf, oneOf].filter(Array.isArray)],
    path: [...path, schema],
  };
  const target = typeof $ref === 'string' ? [findRef(root.schema, $ref)] : [];
  for (const part of [...target, ...entriesOf(allOf)]) if (result) result = flattenSchema(root, part, result);
  return result;
}

export const isRules = (value: unknown): value is SchemaRules =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const entriesOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const numberOf = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);

const weigh = (rules: SchemaRules): number =>
  Object.keys(rules).length + entriesOf(rules.required).length + Object.keys(rules.properties ?? {}).length;

/** Finds the target of a JSON pointer. A missing target allows any value. */
function findRef(root: unknown, ref: string): unknown {
  if (ref === '#') return root;
  let place = ref.startsWith('#/') ? root : undefined;
  for (const step of ref.slice(2).split('/')) {
    const key = decode(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, key)) return true;
    place = (place as SchemaRules)[key];
  }
  return place;
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** Merges the keywords of two schemas that a value must both fit. The later value of a keyword without a merge wins. */
function combineRules(a: SchemaRules, b: SchemaRules): SchemaRules {
  const result = { ...a, ...b };
  for (const name of Object.keys(b)) if (Object.hasOwn(a, name)) result[name] = combine(name, a[name], b[name]);
  return result;
}

function combine(name: string, a: unknown, b: unknown): unknown {
  if (name === 'type') return combineTypes([a].flat(), [b].flat());
  if (name === 'required') return [...new Set([...entriesOf(a), ...entriesOf(b)])];
  if (name === 'properties' && isRules(a) && isRules(b)) {
    const shared = Object.keys(b).filter((key) => Object.hasOwn(a, key));
    return { ...a, ...b, ...Object.fromEntries(shared.map((key) => [key, { allOf: [a[key], b[key]] }])) };
  }
  if (typeof a !== 'number' || typeof b !== 'number') return b;
  if (/^(?:min|exclusiveMin)/.test(name)) return Math.max(a, b);
  return /^(?:max|exclusiveMax)/.test(name) ? Math.min(a, b) : b;
}

function combineTypes(a: unknown[], b: unknown[]): unknown[] {
  const shared = a.filter((type) => b.includes(type));
  const numeric = new Set(['integer', 'number']);
  const areNumeric = [a, b].every((types) => types.some((type) => numeric.has(type as string)));
  return shared.length === 0 && areNumeric ? ['integer'] : shared;
}
