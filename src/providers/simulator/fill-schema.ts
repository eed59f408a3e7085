import { fillNumber } from './fill-number.ts';
import { fillString } from './fill-string.ts';
import { combineInto, type FlatSchema, flattenSchema, type Root, type SchemaRules } from './flat-schema.ts';
import { isExclusive } from './one-of.ts';

/** The place of a value, with the facts that the value depends on. */
interface Place {
  /** The property name; texts contain it. */
  name: string;
  /** Varies the value, for lists whose entries must differ. */
  nth: number;
  depth: number;
  /** `$ref`s on the path to the value. */
  refs: readonly string[];
  /** Whether the value may be omitted, so that recursion can end here. */
  isOptional: boolean;
}

/** The result if no value is possible: the schema forbids all values, or recursion would not end. */
const impossible = Symbol('impossible');

const MAX_DEPTH = 32;
const MAX_READINGS = 50_000;
const MAX_CHECKS = 500_000;

/**
 * Makes a value that fits a JSON schema. The result is always the same. Optional properties are filled, too. Lists get
 * one entry, or as many as required. Recursion ends as early as the schema allows.
 *
 * Ignores `not`, `if`, `dependentSchemas`, `patternProperties`, `propertyNames`. Only an example or a default can fit
 * `pattern`.
 *
 * @returns null if the schema allows no value of bounded depth
 */
export function fillSchema(schema: unknown): unknown {
  const root: Root = { schema, readingsLeft: MAX_READINGS, checksLeft: MAX_CHECKS };
  const value = fill(root, schema, { name: 'value', nth: 0, depth: 0, refs: ['#'], isOptional: false });
  return value === impossible ? null : value;
}

function fill(root: Root, schema: unknown, place: Place): unknown {
  if (place.depth > MAX_DEPTH) return impossible;
  const flat = flattenSchema(root, schema, place.refs);
  if (!flat || (flat.recurs && place.isOptional)) return impossible;
  return fillFlat(root, flat, place);
}

function fillFlat(root: Root, flat: FlatSchema, place: Place): unknown {
  const [choice, ...others] = flat.choices;
  if (!choice) return fillRules(root, flat, place);
  const ways = choice.branches
    .map((branch) => ({ branch, flat: combineInto(root, { ...flat, choices: others }, branch) }))
    .filter((way) => way.flat !== undefined)
    .sort((a, b) => rank(a.flat!, flat) - rank(b.flat!, flat));
  let fallback: unknown = impossible;
  for (const way of ways) {
    const value = fillFlat(root, way.flat!, place);
    if (value === impossible) continue;
    if (!choice.exclusive || isExclusive(root, value, choice.branches, way.branch)) return value;
    if (fallback === impossible) fallback = value;
  }
  return fallback;
}

/** Ranks a branch. Lower ones are tried first: not recursive, then not null. Among recursive ones, the smallest. */
function rank(way: FlatSchema, before: FlatSchema): number {
  const { type, properties, required, items } = way.rules;
  const isNull = type === 'null' || way.rules.const === null;
  if (way.recurs && !before.recurs) return 10;
  if (!way.recurs) return isNull ? 1 : 0;
  if (type === 'object' || properties || required) return 3;
  return type === 'array' || items ? 2 : 1;
}

function fillRules(root: Root, flat: FlatSchema, place: Place): unknown {
  const { rules } = flat;
  if (Object.hasOwn(rules, 'const')) return rules.const;
  const types = listTypes(rules);
  if (Array.isArray(rules.enum)) {
    const allowed = rules.enum.filter((value) => types.some((type) => isOfType(value, type)));
    return allowed.length === 0 ? impossible : allowed[place.nth % allowed.length];
  }
  const inside = { ...place, refs: flat.refs };
  for (const type of types) {
    const value = fillType(root, type, rules, inside);
    if (value !== impossible && value !== undefined) return value;
  }
  return impossible;
}

const allTypes = ['string', 'number', 'boolean', 'object', 'array', 'null'];

/** Returns the types to try, null last. If the schema names none, its rules suggest the type. */
function listTypes(rules: SchemaRules): string[] {
  const { type } = rules;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.toSorted((a, b) => Number(a === 'null') - Number(b === 'null'));
  if (rules.properties || rules.required || rules.additionalProperties !== undefined) return ['object', ...allTypes];
  if (rules.items !== undefined || rules.prefixItems || rules.contains) return ['array', ...allTypes];
  const numeric = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
  return numeric.some((rule) => rule in rules) ? ['number', ...allTypes] : allTypes;
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function fillType(root: Root, type: string, rules: SchemaRules, place: Place): unknown {
  switch (type) {
    case 'object':
      return fillObject(root, rules, place);
    case 'array':
      return fillArray(root, rules, place);
    case 'string':
      return findExample(rules, type) ?? fillString(rules, place.name, place.nth);
    case 'number':
    case 'integer':
      return findExample(rules, type) ?? fillNumber(rules, type === 'integer', place.nth) ?? impossible;
    case 'boolean':
      return findExample(rules, type) ?? place.nth % 2 === 0;
    case 'null':
      return null;
    default:
      return impossible;
  }
}

/** Rules that an example of its type cannot break, that `hasLength` checks, or that nothing else fits. */
const harmless: ReadonlySet<string> = new Set(['type', 'description', 'title', 'minLength', 'maxLength', 'pattern']);

/** An example or the default, without rules that it could break. Examples are not required to follow the rules. */
function findExample(rules: SchemaRules, type: string): string | number | boolean | undefined {
  const { examples, default: usual, ...others } = rules;
  if (!Object.keys(others).every((rule) => harmless.has(rule))) return undefined;
  return [...(Array.isArray(examples) ? examples : []), usual].find(
    (example) => isOfType(example, type) && (type !== 'string' || hasLength(example, rules)),
  );
}

function hasLength(text: string, { minLength = 0, maxLength = Infinity }: SchemaRules): boolean {
  const { length } = [...text];
  return length >= Number(minLength) && length <= Number(maxLength);
}

function fillObject(root: Root, rules: SchemaRules, place: Place): unknown {
  const properties = (rules.properties ?? {}) as SchemaRules; // `dropMalformed` has checked both
  const required = new Set((rules.required ?? []) as string[]);
  const max = Number(rules.maxProperties ?? Number.POSITIVE_INFINITY);
  const min = Number(rules.minProperties ?? 0);
  const rest = rules.additionalProperties;
  const entries: [string, unknown][] = [];
  let optionalRoom = max - required.size;
  for (const name of new Set([...Object.keys(properties), ...required])) {
    const isOptional = !required.has(name);
    if (isOptional && optionalRoom <= 0) continue;
    const schema = Object.hasOwn(properties, name) ? properties[name] : rest;
    const value = fill(root, schema, { ...place, name, depth: place.depth + 1, isOptional });
    if (value === impossible && !isOptional) return impossible;
    if (value === impossible) continue;
    if (isOptional) optionalRoom--;
    entries.push([name, value]);
  }
  const isMap = typeof rest === 'object' && Object.keys(properties).length === 0 && max > 0;
  for (let extra = 1; entries.length < Math.max(min, isMap ? 1 : 0) && rest !== false; extra++) {
    const name = `key_${extra}`;
    if (Object.hasOwn(properties, name)) continue;
    const isOptional = entries.length >= min;
    const value = fill(root, rest, { ...place, name, depth: place.depth + 1, isOptional });
    if (value === impossible) break;
    entries.push([name, value]);
  }
  return entries.length < min ? impossible : Object.fromEntries(entries);
}

function fillArray(root: Root, rules: SchemaRules, place: Place): unknown {
  const prefix = Array.isArray(rules.prefixItems) ? rules.prefixItems : [];
  const wanted = Number(rules.contains === undefined ? 0 : (rules.minContains ?? 1));
  const min = Math.max(Number(rules.minItems ?? 0), wanted);
  const max = Number(rules.maxItems ?? Number.POSITIVE_INFINITY);
  const length = Math.min(Math.max(min, prefix.length, rules.items === false ? 0 : 1), max);
  const values: unknown[] = [];
  const seen = new Set<string>();
  for (let index = 0; index < length; index++) {
    const schema = index < prefix.length ? prefix[index] : (rules.items ?? true);
    const entry = index < wanted ? { allOf: [schema, rules.contains] } : schema;
    let value: unknown = impossible;
    // Entries that must differ are retried with other numbers until one differs.
    for (let nth = index; nth < index + 100; nth++) {
      value = fill(root, entry, { ...place, nth, depth: place.depth + 1, isOptional: index >= min });
      if (rules.uniqueItems !== true || value === impossible || !seen.has(JSON.stringify(value))) break;
      value = impossible;
    }
    if (value === impossible) break;
    seen.add(JSON.stringify(value));
    values.push(value);
  }
  return values.length < min ? impossible : values;
}
