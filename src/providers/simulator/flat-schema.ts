/** The keywords of one schema object. Keywords that bound or list something have values of the correct type. */
export type SchemaRules = Record<string, unknown>;

/** The complete schema, and the remaining work limit. */
export interface Root {
  readonly schema: unknown;
  /** Maximum number of schemas still to read. It bounds the work for a hostile schema. */
  readingsLeft: number;
  /** Maximum number of fields of schemas that checks of `oneOf` still read. */
  checksLeft: number;
}

/** A schema with every `$ref` and `allOf` merged. Alternatives are kept separately. */
export interface FlatSchema {
  rules: SchemaRules;
  choices: { branches: unknown[]; exclusive: boolean }[];
  /** Every `$ref` on the path to this schema. */
  refs: readonly string[];
  /** Whether one `$ref` occurred twice, so the schema is recursive. */
  recurs: boolean;
}

const MAX_REFS = 200;
/** Number of names and values whose copying or comparison costs as much as reading one schema. */
const NAMES_A_READING = 50;

/** @returns undefined if the schema allows nothing */
export function flattenSchema(root: Root, schema: unknown, refs: readonly string[]): FlatSchema | undefined {
  return combineInto(root, { rules: {}, choices: [], refs, recurs: new Set(refs).size < refs.length }, schema);
}

/** Merges two schemas. @returns undefined if it is obvious that no value satisfies both */
export function combineInto(root: Root, flat: FlatSchema, schema: unknown): FlatSchema | undefined {
  if (schema === false || flat.refs.length > MAX_REFS || --root.readingsLeft < 0) return undefined;
  if (!isRules(schema)) return flat;
  root.readingsLeft -= (weigh(flat.rules, schema) + flat.choices.length) / NAMES_A_READING;
  const { $ref, allOf, anyOf, oneOf, ...rules } = schema;
  const combined = combineRules(flat.rules, dropMalformed(rules));
  if (!combined) return undefined;
  let result: FlatSchema | undefined = { ...flat, rules: combined, choices: [...flat.choices] };
  if (Array.isArray(anyOf)) result.choices.push({ branches: anyOf, exclusive: false });
  if (Array.isArray(oneOf)) result.choices.push({ branches: oneOf, exclusive: true });
  if (typeof $ref === 'string') {
    const recurs = result.recurs || result.refs.includes($ref);
    result = combineInto(root, { ...result, recurs, refs: [...result.refs, $ref] }, findRef(root, $ref));
  }
  for (const part of Array.isArray(allOf) ? allOf : []) if (result) result = combineInto(root, result, part);
  return result;
}

const isRules = (value: unknown): value is SchemaRules =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Removes keywords whose value has the wrong type. Such a keyword is ignored, like an unknown one. */
function dropMalformed(rules: SchemaRules): SchemaRules {
  for (const name in rules) {
    const isValid = Object.hasOwn(types, name) ? types[name as keyof typeof types] : undefined;
    if (isValid && !isValid(rules[name])) delete rules[name];
  }
  return rules;
}

const isNumber = (value: unknown) => typeof value === 'number';
const isText = (value: unknown) => typeof value === 'string';
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isBound = (value: unknown) => isNumber(value) || typeof value === 'boolean'; // draft 4

/** Checks of the type of each keyword's value. */
const types = {
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isBound,
  exclusiveMaximum: isBound,
  minLength: isNumber,
  maxLength: isNumber,
  minItems: isNumber,
  maxItems: isNumber,
  minContains: isNumber,
  minProperties: isNumber,
  maxProperties: isNumber,
  multipleOf: isNumber,
  format: isText,
  pattern: isText,
  enum: Array.isArray,
  prefixItems: Array.isArray,
  required: isTexts,
  properties: isRules,
  type: (value: unknown) => isText(value) || isTexts(value),
};

/** Finds the target of a pointer, an `$anchor` or an `$id` in the definitions. A missing target allows any value. */
function findRef(whole: Root, ref: string): unknown {
  const root = whole.schema;
  if (ref === '#' || !isRules(root)) return root;
  if (ref.startsWith('#/')) {
    let place: unknown = root;
    for (const step of ref.slice(2).split('/')) {
      const key = decode(step).replaceAll('~1', '/').replaceAll('~0', '~');
      place =
        isRules(place) || Array.isArray(place)
          ? Object.hasOwn(place, key)
            ? (place as SchemaRules)[key]
            : true
          : true;
    }
    return place;
  }
  const definitions = [root.$defs, root.definitions].filter(isRules).flatMap(Object.values).filter(isRules);
  whole.readingsLeft -= definitions.length;
  return definitions.find(({ $id, $anchor }) => $id === ref || `#${$anchor}` === ref) ?? true;
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

type Combine = (a: never, b: never) => unknown;
const larger = (a: number, b: number) => Math.max(a, b);
const smaller = (a: number, b: number) => Math.min(a, b);
const both = (a: unknown, b: unknown) => ({ allOf: [a, b] });

/** Functions that merge two values of a keyword. Undefined: no value satisfies both. Default: the later value. */
const combiners: Record<string, Combine> = {
  minimum: larger,
  exclusiveMinimum: larger,
  minLength: larger,
  minItems: larger,
  minProperties: larger,
  maximum: smaller,
  exclusiveMaximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  maxProperties: smaller,
  items: both,
  additionalProperties: both,
  required: (a: unknown, b: unknown) => [...new Set([...listOf(a), ...listOf(b)])],
  enum: (a: unknown, b: unknown) => {
    const others = new Set(listOf(b).map((value) => JSON.stringify(value)));
    return listOf(a).filter((value) => others.has(JSON.stringify(value)));
  },
  const: (a: unknown, b: unknown) => (isSame(a, b) ? a : undefined),
  type: combineTypes,
  properties: (a: unknown, b: unknown) => {
    if (!isRules(a) || !isRules(b)) return a;
    const shared = Object.keys(a).filter((name) => Object.hasOwn(b, name));
    return { ...a, ...b, ...Object.fromEntries(shared.map((name) => [name, both(a[name], b[name])])) };
  },
};

/** Measures the work of a merge: keywords, required names, and the entries of lists and maps that both schemas have. */
function weigh(a: SchemaRules, b: SchemaRules): number {
  let weight = Object.keys(a).length + sizeOf(b.required);
  for (const name of Object.keys(b)) weight += 1 + (Object.hasOwn(a, name) ? sizeOf(a[name]) + sizeOf(b[name]) : 0);
  return weight;
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isRules(value) ? Object.keys(value).length : 0;
}

function combineRules(a: SchemaRules, b: SchemaRules): SchemaRules | undefined {
  const result = { ...a, ...b };
  for (const name of Object.keys(b)) {
    const combine = Object.hasOwn(a, name) && Object.hasOwn(combiners, name) ? combiners[name] : undefined;
    if (!combine) continue;
    const value = combine(a[name] as never, b[name] as never); // each keyword has its own value type
    if (value === undefined && a[name] !== undefined) return undefined;
    result[name] = value;
  }
  return result;
}

function combineTypes(a: unknown, b: unknown): string[] | undefined {
  const [first, second] = [[a].flat(), [b].flat()] as [string[], string[]];
  const shared = first.flatMap((type) => {
    if (second.includes(type)) return [type];
    if (type === 'number' && second.includes('integer')) return ['integer'];
    return type === 'integer' && second.includes('number') ? ['integer'] : [];
  });
  return shared.length === 0 ? undefined : shared;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
