import type { TSchema } from 'typebox';
import { findKinds, isObject, type Kinds, refinementsOf } from './by-kind.ts';
import { findNearestName } from '../domain/nearest-name.ts';
import { fieldPath, type Report } from './report.ts';
import { characterCount } from './shapes.ts';

/** The used keywords of JSON Schema, and `says`: a description of a pattern. */
export interface Keywords {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: TSchema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  items?: TSchema;
  maxProperties?: number;
  propertyNames?: TSchema;
  properties?: Record<string, TSchema>;
  required?: string[];
  patternProperties?: Record<string, TSchema>;
  additionalProperties?: boolean | TSchema;
  says?: string;
  /** The known words of an open list. */
  examples?: readonly unknown[];
  /** Keywords of the OpenAPI document alone: rules that other code checks, because it knows better words. */
  documented?: Record<string, unknown>;
  /** The name in that document. */
  component?: string;
  unit?: 'bytes';
}

/** A TypeBox schema is JSON Schema, but its types show only the keywords of its builder. */
export const keywordsOf = (schema: TSchema): Keywords => schema as Keywords;

/**
 * Explains why a value failed its compiled check. It walks the same schema, follows the kind that an object names, and
 * selects the nearest member of a union.
 */
export function explainIssues(schema: TSchema, value: unknown, path: string, report: Report): void {
  if (report.isFull) return;
  const kinds = findKinds(schema);
  if (kinds !== undefined) {
    if (!kinds.check(value)) explainKind(kinds, value, path, report);
  } else explainShape(schema, value, path, report);
}

function explainShape(schema: TSchema, value: unknown, path: string, report: Report): void {
  const before = report.issues.length;
  const rules = keywordsOf(schema);
  if (rules.enum !== undefined || rules.const !== undefined) explainWords(rules, value, path, report);
  else if (rules.anyOf !== undefined) explainUnion(rules.anyOf, value, path, report);
  else explainType(rules, value, path, report);
  if (report.issues.length > before) return;
  for (const refinement of refinementsOf(schema)) {
    if (!refinement.check(value)) report.add(path, refinement.error(value));
  }
}

function explainKind(kinds: Kinds, value: unknown, path: string, report: Report): void {
  if (!isObject(value)) {
    report.add(path, `must be ${kinds.noun}: an object${got(value, report)}`);
    return;
  }
  const given = value[kinds.key];
  const schema = kinds.findSchema(value);
  const keyPath = fieldPath(path, kinds.key);
  if (schema !== undefined) explainIssues(schema, value, path, report);
  else if (given === undefined) {
    report.add(keyPath, `is missing; it names the kind of ${kinds.noun}${listKinds(': ', kinds)}`);
  } else explainUnknownKind(kinds, given, keyPath, report);
}

/** Explains that a value names none of the kinds. */
export function explainUnknownKind(kinds: Kinds, given: unknown, path: string, report: Report): void {
  const hint = hintAtKind(given, kinds);
  const rest = hint === undefined ? listKinds('; the kinds are ', kinds) : `; ${hint}`;
  report.add(path, `does not name ${kinds.noun}${got(given, report, ': ')}${rest}`);
}

function hintAtKind(given: unknown, { key, schemas, reserved }: Kinds): string | undefined {
  if (key === 'role' && given === 'tool' && !reserved.has(given)) {
    return 'the output of a tool is a separate item: `{"type": "function_call_output", "call_id", "output"}`';
  }
  const name = reserved.get(given);
  return name === undefined ? hintAt(given, [...schemas.keys()]) : `did you mean \`${name}\`?`;
}

/** Longer lists are omitted. */
const MAX_LISTED = 16;

const listWords = (words: unknown[]): string => words.map((word) => `\`${word}\``).join(', ');

/** Returns the kinds after an introduction, or the page that lists them. */
function listKinds(introduction: string, { schemas, docs }: Kinds): string {
  return listed(introduction, [...schemas.keys()]) || (docs === undefined ? '' : `; see ${docs}`);
}

/** Returns the words after an introduction. Empty for a long list. */
const listed = (introduction: string, words: unknown[]): string =>
  words.length > MAX_LISTED ? '' : introduction + listWords(words);

function explainWords(rules: Keywords, value: unknown, path: string, report: Report): void {
  const words = rules.enum ?? [rules.const];
  if (words.includes(value)) return;
  const hint = hintAt(value, words.map(String));
  const isTooLong = hint !== undefined && words.length > MAX_LISTED;
  const says = rules.says ?? (isTooLong ? 'has an unknown value' : `must be ${describeWords(words)}`);
  report.add(path, `${addGot(says, value, report)}${hint === undefined ? '' : `; ${hint}`}`);
}

function hintAt(typed: unknown, names: string[]): string | undefined {
  const nearest = typeof typed === 'string' ? findNearestName(typed, names) : undefined;
  return nearest === undefined ? undefined : `did you mean \`${nearest}\`?`;
}

function explainUnion(members: TSchema[], value: unknown, path: string, report: Report): void {
  const words = members.map(wordsOf);
  if (words.every((each) => each !== undefined)) {
    const says = members.map((member) => keywordsOf(member).says).find((each) => each !== undefined);
    explainWords({ enum: words.flat(), ...(says !== undefined && { says }) }, value, path, report);
    return;
  }
  const candidates = members.filter((member) => isOfType(member, value));
  if (candidates.length === 0) {
    report.add(path, `must be ${[...new Set(members.map(describe))].join(' or ')}${got(value, report)}`);
    return;
  }
  const attempts = candidates.map((member) => {
    const attempt = report.fork();
    explainIssues(member, value, path, attempt);
    return attempt.issues;
  });
  const nearest = attempts.reduce((best, issues) => (issues.length < best.length ? issues : best));
  for (const issue of nearest) report.take(issue);
}

function explainType(rules: Keywords, value: unknown, path: string, report: Report): void {
  if (rules.type === undefined) return;
  if (!isOfJsonType(rules.type, value) || !isInRange(rules, value)) mustBe(rules, value, path, report);
  else if (isObject(value)) explainObject(rules, value, path, report);
  else if (Array.isArray(value)) explainArray(rules, value, path, report);
  else if (typeof value === 'string') explainString(rules, value, path, report);
}

function mustBe(rules: Keywords, value: unknown, path: string, report: Report): void {
  // Words for a pattern say nothing about a value that is not a string.
  const says = rules.pattern !== undefined && typeof value !== 'string' ? undefined : rules.says;
  report.add(path, addGot(says ?? `must be ${describeType(rules)}`, value, report));
}

/** Adds the value to a rule, before the advice that a semicolon separates from it. */
function addGot(says: string, value: unknown, report: Report): string {
  const end = says.indexOf('; ');
  return end === -1 ? says + got(value, report) : says.slice(0, end) + got(value, report) + says.slice(end);
}

/** Returns the value after an introduction. Empty if it must not be shown. */
function got(value: unknown, report: Report, introduction = ', got '): string {
  const shown = report.show(value);
  return shown === undefined ? '' : introduction + shown;
}

function explainString(rules: Keywords, value: string, path: string, report: Report): void {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern } = rules;
  if (value.length < minLength) {
    report.add(path, minLength === 1 ? 'must not be empty' : `must have ${minLength} or more characters`);
    return;
  }
  const count = value.length > maxLength ? characterCount(value) : 0;
  if (count > maxLength) {
    report.add(path, `has ${count} characters; at most ${maxLength} are allowed${got(value, report, ': ')}`);
  } else if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) mustBe(rules, value, path, report);
}

function explainArray(rules: Keywords, value: unknown[], path: string, report: Report): void {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, items } = rules;
  if (value.length < minItems) {
    report.add(path, minItems === 1 ? 'must not be empty' : `must have ${minItems} or more entries`);
  }
  if (value.length > maxItems)
    report.add(path, rules.says ?? `has ${value.length} entries; at most ${maxItems} are allowed`);
  if (items === undefined) return;
  const last = Math.min(value.length, maxItems); // excess entries are already reported
  for (let index = 0; index < last && !report.isFull; index++) {
    explainIssues(items, value[index], `${path}[${index}]`, report);
  }
}

function explainObject(rules: Keywords, value: Record<string, unknown>, path: string, report: Report): void {
  const { properties = {}, required = [], additionalProperties = true, maxProperties, propertyNames } = rules;
  const { patternProperties = {} } = rules;
  for (const field of required) {
    if (value[field] !== undefined) continue;
    const says = isNested(field, value)
      ? `belongs beside \`type\`, not into \`${value.type}\` as in chat completions`
      : `is missing; it must be ${describe(properties[field]!)}`;
    report.add(fieldPath(path, field), says);
  }
  const keys = Object.keys(value);
  if (maxProperties !== undefined && keys.length > maxProperties) {
    report.add(path, `has ${keys.length} pairs; at most ${maxProperties} are allowed`);
  }
  for (const key of keys) {
    if (report.isFull) return;
    if (propertyNames !== undefined) explainIssues(propertyNames, key, fieldPath(path, key), report);
    if (Object.hasOwn(properties, key)) {
      if (value[key] !== undefined) explainIssues(properties[key]!, value[key], fieldPath(path, key), report);
      continue;
    }
    const patterned = Object.entries(patternProperties).find(([pattern]) => new RegExp(pattern, 'u').test(key))?.[1];
    if (patterned !== undefined) explainIssues(patterned, value[key], fieldPath(path, key), report);
    else if (additionalProperties === false) {
      const fields = Object.keys(properties);
      const hint = hintAt(key, fields);
      const rest =
        hint === undefined ? listed(fields.length === 0 ? '; leave it out' : '; the fields are ', fields) : `; ${hint}`;
      report.add(fieldPath(path, key), `is not known here${rest}`);
    } else if (additionalProperties !== true) {
      explainIssues(additionalProperties, value[key], fieldPath(path, key), report);
    }
  }
}

/** In chat completions, an object named after the kind has its fields: `{type: 'function', function: {name}}`. */
function isNested(field: string, { type, ...fields }: Record<string, unknown>): boolean {
  const nested = typeof type === 'string' && Object.hasOwn(fields, type) ? fields[type] : undefined;
  return isObject(nested) && nested[field] !== undefined;
}

/** Whether the JSON type of a value matches the schema. */
function isOfType(schema: TSchema, value: unknown): boolean {
  if (findKinds(schema) !== undefined) return isObject(value);
  const { anyOf, enum: words, type } = keywordsOf(schema);
  if (anyOf !== undefined) return anyOf.some((member) => isOfType(member, value));
  if (words !== undefined) return words.some((word) => typeof word === typeof value);
  return type === undefined || isOfJsonType(type, value) || (type === 'integer' && typeof value === 'number');
}

function isOfJsonType(type: string, value: unknown): boolean {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

function isInRange(
  { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY }: Keywords,
  value: unknown,
) {
  return typeof value !== 'number' || (value >= minimum && value <= maximum);
}

/** Describes a value of this schema: `a string`, `one of a, b`, `an input item`. */
function describe(schema: TSchema): string {
  const kinds = findKinds(schema);
  if (kinds !== undefined) return kinds.noun;
  const rules = keywordsOf(schema);
  if (rules.anyOf !== undefined) return [...new Set(rules.anyOf.map(describe))].join(' or ');
  if (rules.enum !== undefined || rules.const !== undefined) return describeWords(rules.enum ?? [rules.const]);
  return describeType(rules);
}

function describeWords(words: unknown[]): string {
  const named = words.filter((word) => word !== null);
  const list = named.length === 1 ? `\`${named[0]}\`` : `one of ${listWords(named)}`;
  return named.length === words.length ? list : `${list} or null`;
}

/** Returns the values of a schema that is a closed list, including null. Undefined for other schemas. */
function wordsOf(schema: TSchema): unknown[] | undefined {
  const rules = keywordsOf(schema);
  if (rules.type === 'null' && rules.says === undefined) return [null];
  return rules.enum ?? (rules.const === undefined ? undefined : [rules.const]);
}

function describeType({ type, minimum, maximum, items, unit }: Keywords): string {
  if (unit === 'bytes') return `a size${describeRange(minimum, maximum) || ' in'} bytes, or like 32MiB`;
  switch (type) {
    case 'object':
      return 'an object';
    case 'array':
      return items === undefined ? 'a list' : `a list (each entry ${describe(items)})`;
    case 'integer':
    case 'number':
      return `${type === 'integer' ? 'an integer' : 'a number'}${describeRange(minimum, maximum)}`;
    case 'null':
      return 'null';
    case undefined:
      return 'any value';
    default:
      return `a ${type}`;
  }
}

function describeRange(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum === undefined && maximum === undefined) return '';
  if (maximum === undefined) return ` of ${minimum} or more`;
  return minimum === undefined ? ` of at most ${maximum}` : ` from ${minimum} to ${maximum}`;
}
