import type { TSchema } from 'typebox';
import { findKinds, type Kinds } from '../schema/by-kind.ts';
import type { Keywords } from '../schema/explain-issues.ts';

/** A schema of the document: JSON Schema 2020-12. */
export type JsonSchema = Record<string, unknown>;

/** Gives a schema a name, under which the document has it once. Its optional copies have the name, too. */
export const named = <Schema extends TSchema>(name: string, schema: Schema): Schema =>
  Object.assign(schema, { component: name });

/** A schema of TypeBox with all its keywords. Those of TypeBox alone start with `~`. */
type Given = Keywords & Record<string, unknown>;

/** Keywords that are the same in JSON Schema. `says` and the checks of `Type.Refine` are for messages and code. */
const plainKeywords = [
  'type',
  'enum',
  'const',
  'format',
  'description',
  'deprecated',
  'default',
  'examples',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'maxProperties',
  'required',
] as const;

/** Writes TypeBox schemas as JSON Schema. Named schemas, kinds of objects and each kind become components. */
export class SchemaWriter {
  readonly components: Record<string, JsonSchema> = {};
  private readonly names = new Map<unknown, string>();

  write(schema: TSchema): JsonSchema {
    const kinds = findKinds(schema);
    const name = kinds ? nameKinds(kinds) : (schema as Given).component;
    return name === undefined ? this.writeShape(schema) : this.writeComponent(name, schema);
  }

  /** @throws if another schema has the name */
  private writeComponent(name: string, schema: TSchema): JsonSchema {
    const kinds = findKinds(schema);
    const identity = kinds ?? identify(schema);
    const known = this.names.get(identity);
    if (known !== undefined) return refer(known);
    if (Object.hasOwn(this.components, name)) {
      throw new Error(`Two schemas have the name ${name}. Give one of them another \`component\`.`);
    }
    this.names.set(identity, name);
    this.components[name] = {}; // reserves the name; a schema may contain itself
    this.components[name] = kinds ? this.writeKinds(kinds) : this.writeShape(schema);
    return refer(name);
  }

  private writeKinds(kinds: Kinds): JsonSchema {
    const { schemas, other, noun, key, kindComponent = nameKinds(kinds), undocumented } = kinds;
    const documented = [...schemas].filter(([kind]) => kind !== undocumented);
    const members = documented.map(([kind, member]) =>
      isNamed(member) ? this.write(member) : this.writeComponent(writePascal(kind) + kindComponent, member),
    );
    return {
      description: `${noun[0]!.toUpperCase()}${noun.slice(1)}. \`${key}\` names its kind.`,
      ...writeUnion([...members, ...(other ? [this.write(other)] : [])]),
    };
  }

  private writeShape(schema: TSchema): JsonSchema {
    const given = schema as Given;
    const written: JsonSchema = {};
    for (const keyword of plainKeywords) if (given[keyword] !== undefined) written[keyword] = given[keyword];
    if (given.anyOf) Object.assign(written, writeUnion(given.anyOf.map((member) => this.write(member))));
    if (given.items) written['items'] = this.write(given.items);
    if (given.propertyNames) written['propertyNames'] = this.write(given.propertyNames);
    const { additionalProperties: additional } = given;
    if (additional !== undefined) {
      written['additionalProperties'] = typeof additional === 'boolean' ? additional : this.write(additional);
    }
    if (given.properties) {
      written['properties'] = Object.fromEntries(
        Object.entries(given.properties).map(([name, property]) => [name, this.write(property)]),
      );
    }
    return spellValue({ ...written, ...given.documented });
  }
}

/*
 * JSON Schema has several forms with one meaning. Generators of clients read those below: the code that they write for
 * constants that are no text, for properties that are only null and for unions with a member twice does not compile.
 */

/** Without these, generators choose half of the precision. */
const formats: Readonly<Record<string, string>> = { number: 'double', integer: 'int64' };

/** Spells a constant as a value of a type, and numbers with their size. */
function spellValue(schema: JsonSchema): JsonSchema {
  const { const: constant, enum: words, ...rest } = schema;
  if (rest['type'] === 'null') return { ...rest, type: ['string', 'null'], const: null };
  if (typeof constant === 'boolean') return { ...rest, type: 'boolean', not: { const: !constant } };
  if (typeof constant === 'number') return spellValue({ ...rest, minimum: constant, maximum: constant });
  const format = formats[String(rest['type'])];
  if (format !== undefined) return { format, ...schema };
  if (constant === undefined && Array.isArray(words) && rest['type'] === undefined)
    return { type: 'string', ...rest, enum: words };
  return schema;
}

const isNull = (schema: JsonSchema): boolean => schema['const'] === null;

/** Writes a union with each member once. A value that may be null has two types. */
function writeUnion(members: readonly JsonSchema[]): JsonSchema {
  const flat = members.flatMap((member) =>
    Object.keys(member).join() === 'anyOf' ? (member['anyOf'] as JsonSchema[]) : [member],
  );
  const distinct = [...new Map(flat.map((member) => [JSON.stringify(member), member])).values()];
  const others = distinct.filter((member) => !isNull(member) && member['type'] !== 'null');
  if (others.length === distinct.length) return { anyOf: distinct };
  return (others.length === 1 && makeNullable(others[0]!)) || { anyOf: [...others, { type: 'null' }] };
}

/** Adds null to the type of a schema. @returns undefined if it has no single type */
function makeNullable(schema: JsonSchema): JsonSchema | undefined {
  const { type, const: constant, enum: words = constant === undefined ? undefined : [constant], ...rest } = schema;
  if (typeof type !== 'string') return undefined;
  return { ...rest, type: [type, 'null'], ...(Array.isArray(words) && { enum: [...words, null] }) };
}

const isNamed = (schema: TSchema): boolean =>
  findKinds(schema) !== undefined || (schema as Given).component !== undefined;

/** Returns what a schema has in common with its optional copies. */
const identify = (schema: TSchema): unknown => (schema as Given).properties ?? (schema as Given).anyOf ?? schema;

const refer = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** `an input item` → `InputItem` */
const nameKinds = ({ component, noun }: Kinds): string => component ?? writePascal(noun.replace(/^an? /, ''));

/** `web_search` → `WebSearch` */
const writePascal = (words: string): string =>
  words
    .split(/[^A-Za-z0-9]+/)
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join('');
