import { fillNumber, fillString, isWithin } from './fill-scalar.ts';
import {
  type FlatSchema,
  flattenSchema,
  isRules,
  entriesOf,
  numberOf,
  type Root,
  type SchemaRules,
} from './flat-schema.ts';

/** The place of a value. */
interface Place {
  /** The property name; texts contain it. */
  name: string;
  /** Varies the value, so that the entries of a list differ. */
  nth: number;
  path: readonly object[];
}

/** The result if no value is possible: the schema forbids all values, or recursion would not end. */
const impossible = Symbol('impossible');

const MAX_READINGS = 50_000;

/**
 * Makes a value that fits the common keywords of a JSON schema. The result is always the same. Optional properties are
 * filled, too. Lists get one entry, or as many as required. Recursion ends as early as the schema allows.
 *
 * @returns null if the schema allows no value of bounded depth
 * @see docs/reference/simulator.md#filling-a-schema
 */
export function fillSchema(schema: unknown): unknown {
  // Parts of an `allOf` can refer to each other without recursion. The second attempt lets a schema occur again.
  for (const repeats of [1, 3]) {
    const root: Root = { schema, repeats, readingsLeft: MAX_READINGS };
    const value = fill(root, schema, { name: 'value', nth: 0, path: [] });
    if (value !== impossible) return value;
  }
  return null;
}

function fill(root: Root, schema: unknown, place: Place): unknown {
  const flat = flattenSchema(root, schema, { rules: {}, choices: [], path: place.path });
  return flat ? fillFlat(root, flat, place) : impossible;
}

function fillFlat(root: Root, { rules, choices: [branches, ...choices], path }: FlatSchema, place: Place): unknown {
  if (!branches) return fillRules(root, rules, { ...place, path });
  for (const branch of branches.toSorted((a, b) => Number(isNull(a)) - Number(isNull(b)))) {
    const flat = flattenSchema(root, branch, { rules, choices, path });
    const value = flat ? fillFlat(root, flat, place) : impossible;
    if (value !== impossible) return value;
  }
  return impossible;
}

const isNull = (schema: unknown): boolean => isRules(schema) && (schema.type === 'null' || schema.const === null);

function fillRules(root: Root, rules: SchemaRules, place: Place): unknown {
  if (Object.hasOwn(rules, 'const')) return rules.const;
  const types = listTypes(rules);
  const isAllowed = (value: unknown): boolean => types.some((type) => isOfType(value, type));
  if (Array.isArray(rules.enum)) {
    const allowed = rules.type === undefined ? rules.enum : rules.enum.filter(isAllowed);
    return allowed.length === 0 ? impossible : allowed[place.nth % allowed.length];
  }
  const samples = [...entriesOf(rules.examples), rules.default].filter(
    (value) => value != null && isAllowed(value) && isWithin(rules, value),
  );
  if (samples.length > 0) return samples[place.nth % samples.length];
  for (const type of types) {
    const value = fillType(root, type, rules, place);
    if (value !== impossible) return value;
  }
  return impossible;
}

/** Returns the types to try, null last. If the schema names none, its rules suggest the type. */
function listTypes(rules: SchemaRules): unknown[] {
  if (rules.type !== undefined)
    return [rules.type].flat().toSorted((a, b) => Number(a === 'null') - Number(b === 'null'));
  const has = (...names: string[]): boolean => names.some((name) => Object.hasOwn(rules, name));
  if (has('properties', 'required', 'additionalProperties')) return ['object'];
  if (has('items', 'prefixItems')) return ['array'];
  const isNumeric = has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf');
  return [isNumeric ? 'number' : 'string', 'number', 'boolean', 'object', 'array']; // further ones for an example
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  return type === 'object' ? isRules(value) : typeof value === type;
}

function fillType(root: Root, type: unknown, rules: SchemaRules, place: Place): unknown {
  switch (type) {
    case 'object':
      return fillObject(root, rules, place);
    case 'array':
      return fillArray(root, rules, place);
    case 'string':
      return fillString(rules, place.name, place.nth);
    case 'number':
    case 'integer':
      return fillNumber(rules, type === 'integer', place.nth) ?? impossible;
    case 'boolean':
      return place.nth % 2 === 0;
    case 'null':
      return null;
    default:
      return impossible;
  }
}

function fillObject(root: Root, { properties, required, additionalProperties }: SchemaRules, place: Place): unknown {
  const known = isRules(properties) ? properties : {};
  const needed = new Set(entriesOf(required).filter((name) => typeof name === 'string'));
  const names = new Set([...Object.keys(known), ...needed]);
  if (names.size === 0 && isRules(additionalProperties)) names.add('key_1'); // a map
  const entries: [string, unknown][] = [];
  for (const name of names) {
    const schema = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    const value = fill(root, schema, { ...place, name });
    if (value !== impossible) entries.push([name, value]);
    else if (needed.has(name)) return impossible;
  }
  return Object.fromEntries(entries);
}

function fillArray(root: Root, rules: SchemaRules, place: Place): unknown {
  const prefix = entriesOf(rules.prefixItems);
  const min = numberOf(rules.minItems, 0);
  const wanted = Math.max(min, prefix.length, rules.items === false ? 0 : 1);
  const length = Math.min(wanted, numberOf(rules.maxItems, Infinity));
  const values: unknown[] = [];
  for (let nth = 0; nth < length; nth++) {
    const value = fill(root, nth < prefix.length ? prefix[nth] : rules.items, { ...place, nth });
    if (value === impossible) break;
    values.push(value);
  }
  return values.length < min ? impossible : values;
}
