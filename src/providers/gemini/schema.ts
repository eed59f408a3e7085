import { isDeepStrictEqual } from 'node:util';
import { toNumber } from '../../domain/exact-numbers.ts';
import type { GeminiDraft } from './parts.ts';

type Schema = Record<string, unknown>;

/** Keywords of the OpenAPI subset that the provider accepts unchanged. */
const plain = new Set([
  'title',
  'description',
  'default',
  'example',
  'required',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minProperties',
  'maxProperties',
  'pattern',
  'nullable',
  'propertyOrdering',
]);
/** Keywords that do not affect the response, and targets of references. */
const silent = new Set(['$schema', '$id', '$comment', 'strict', '$defs', 'definitions']);
/** Descriptive keywords. If two schemas have one, the nearer value is enough. */
const words = new Set(['title', 'description', 'default', 'example']);
/** The formats that the provider accepts. */
const formats = new Set(['float', 'double', 'int32', 'int64', 'enum', 'date-time']);

/** Writes a schema in the subset. Adds each keyword that the subset lacks to `dropped`. */
export function writeSubset(draft: GeminiDraft, schema: object, path: string): Schema {
  const dropped = new Set<string>();
  const written = writeOpenApiSchema(schema, dropped);
  for (const keyword of dropped) draft.dropped.push(`${path} (${keyword})`);
  return written;
}

/**
 * Writes a JSON Schema in the OpenAPI subset that older models accept: one type with `nullable`, `anyOf`, text values
 * only, no references. References are expanded unless they are recursive.
 *
 * @param dropped receives the keywords that the subset lacks, each once
 */
export const writeOpenApiSchema = (schema: unknown, dropped: Set<string>): Schema =>
  new SubsetWriter(schema, dropped).write(schema);

/** Keywords that merge into the other ones or extend the description. Written last, in this order. */
const late = new Set(['$ref', 'allOf', 'anyOf', 'oneOf', 'const', 'enum']);

/** Maximum number of objects that references may add. A short schema can expand into a very long one. */
const MAX_UNFOLDED = 5000;
/** Characters of text in an object that count as another object. */
const CHARACTERS_AN_OBJECT = 1000;

class SubsetWriter {
  private readonly root: unknown;
  private readonly dropped: Set<string>;
  private readonly open = new Set<string>(); // references that are being expanded
  private readonly required = new WeakMap<Schema, Set<unknown>>();
  private unfolded = 0;

  constructor(root: unknown, dropped: Set<string>) {
    this.root = root;
    this.dropped = dropped;
  }

  write(schema: unknown): Schema {
    const written: Schema = {};
    if (this.open.size > 0) this.unfolded += 1 + countCharacters(schema) / CHARACTERS_AN_OBJECT;
    if (!isObject(schema)) {
      if (schema !== true) this.dropped.add(`a schema that is ${JSON.stringify(schema) ?? 'nothing'}`.slice(0, 60));
      return written;
    }
    const entries = Object.entries(schema);
    for (const [keyword, value] of entries) if (!late.has(keyword)) this.writeKeyword(written, keyword, value);
    for (const keyword of late) if (schema[keyword] !== undefined) this.writeKeyword(written, keyword, schema[keyword]);
    return written;
  }

  private writeKeyword(written: Schema, keyword: string, value: unknown): void {
    switch (keyword) {
      case 'type':
        writeType(written, value);
        return;
      case 'properties':
        if (!isObject(value)) break;
        written.properties = {
          ...(written.properties as Schema | undefined),
          ...Object.fromEntries(Object.entries(value).map(([name, property]) => [name, this.write(property)])),
        };
        return;
      case 'items':
        if (Array.isArray(value)) break;
        written.items = this.write(value);
        return;
      case 'anyOf':
      case 'oneOf':
        if (!Array.isArray(value)) break;
        this.writeBranches(written, value);
        return;
      case 'allOf':
        if (!Array.isArray(value)) break;
        for (const each of value) this.merge(written, this.write(each));
        return;
      case '$ref':
        this.writeReference(written, value);
        return;
      case 'const':
        this.writeValues(written, [value], keyword);
        return;
      case 'enum':
        if (!Array.isArray(value)) break;
        this.writeValues(written, value, keyword);
        return;
      case 'format':
        if (formats.has(String(value))) written.format = value;
        else this.dropped.add(`format ${String(value)}`.slice(0, 60));
        return;
      case 'additionalProperties':
        // A model uses only the properties in the schema, and `true` is the default.
        if (typeof value !== 'boolean' && !(isObject(value) && Object.keys(value).length === 0)) break;
        return;
      default:
        if (silent.has(keyword)) return;
        if (!plain.has(keyword)) break;
        if (keyword === 'required') this.require(written, value);
        else written[keyword] = value;
        return;
    }
    this.dropped.add(keyword);
  }

  private writeBranches(written: Schema, branches: unknown[]): void {
    const isNull = (branch: unknown) => isObject(branch) && branch.type === 'null';
    const others = branches.filter((branch) => !isNull(branch)).map((branch) => this.write(branch));
    if (others.length < branches.length) written.nullable = true;
    if (others.length === 1) this.merge(written, others[0]!);
    else if (others.length > 1) written.anyOf = others;
  }

  private writeReference(written: Schema, reference: unknown): void {
    const pointer = String(reference);
    const target = findTarget(this.root, pointer);
    if (target === undefined || this.open.has(pointer) || this.unfolded > MAX_UNFOLDED) {
      this.dropped.add('$ref');
      if (isObject(target)) writeType(written, target.type); // recursive: keep at least the type
      return;
    }
    this.open.add(pointer);
    this.merge(written, this.write(target));
    this.open.delete(pointer);
  }

  /** Merges a schema that also applies. The nearer value takes precedence. The other one is added to `dropped`. */
  private merge(written: Schema, other: Schema): void {
    for (const [keyword, value] of Object.entries(other)) {
      if (keyword === 'properties' && written.properties) addMissing(written.properties as Schema, value as Schema);
      else if (keyword === 'required') this.require(written, value);
      else if (written[keyword] === undefined) written[keyword] = value;
      else if (!words.has(keyword) && !isDeepStrictEqual(written[keyword], value))
        this.dropped.add(`another ${keyword}`);
    }
  }

  /** Adds required names. The list grows in place, because a schema may have many parts. */
  private require(written: Schema, names: unknown): void {
    if (!Array.isArray(written.required) || !Array.isArray(names)) {
      written.required = names;
      return;
    }
    let known = this.required.get(written);
    if (!known) {
      known = new Set(written.required);
      written.required = [...known];
      this.required.set(written, known);
    }
    for (const name of names) {
      if (known.has(name)) continue;
      known.add(name);
      (written.required as unknown[]).push(name);
    }
  }

  /** Writes the values of an enum. Only texts are supported. The description lists other values for the model. */
  private writeValues(written: Schema, values: unknown[], keyword: string): void {
    const others = values.filter((value) => value !== null);
    if (others.length < values.length) written.nullable = true;
    if (others.every((value) => typeof value === 'string')) {
      written.type ??= 'string';
      written.enum = others;
      return;
    }
    this.dropped.add(`${keyword} of values that are not text`);
    const numbers = others.map(toNumber);
    const kinds = new Set(numbers.map((value) => typeof value));
    if (kinds.size === 1 && kinds.has('number'))
      written.type ??= numbers.every(Number.isInteger) ? 'integer' : 'number';
    if (kinds.size === 1 && kinds.has('boolean')) written.type ??= 'boolean';
    const list = `One of ${JSON.stringify(others)}.`;
    written.description = typeof written.description === 'string' ? `${written.description} ${list}` : list;
  }
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function writeType(written: Schema, type: unknown): void {
  const types = Array.isArray(type) ? type.filter((each) => each !== 'null') : [type];
  if (Array.isArray(type) && types.length < type.length) written.nullable = true;
  if (types.length === 1 && types[0] !== undefined) written.type = types[0];
  else if (types.length > 1) written.anyOf = types.map((each) => ({ type: each }));
}

/**
 * Adds missing properties in place. The nearer value takes precedence. Both objects are created in this file.
 */
function addMissing(properties: Schema, more: Schema): void {
  for (const name of Object.keys(more)) if (!Object.hasOwn(properties, name)) properties[name] = more[name];
}

/** Counts the characters of the texts, lists and names in the schema itself. */
function countCharacters(schema: unknown): number {
  if (!isObject(schema)) return 0;
  let count = 0;
  for (const [keyword, value] of Object.entries(schema)) {
    const isOwn = plain.has(keyword) || keyword === 'enum' || keyword === 'const';
    if (isOwn) count += JSON.stringify(value)?.length ?? 0;
    else if (keyword === 'properties' && isObject(value)) count += Object.keys(value).join('').length;
  }
  return count;
}

/** Follows `#/$defs/address`. @returns undefined if the target does not exist or is outside the schema */
function findTarget(root: unknown, pointer: string): unknown {
  if (pointer !== '#' && !pointer.startsWith('#/')) return undefined;
  let target: unknown = root;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined;
    target = (target as Schema)[name];
  }
  return target;
}
