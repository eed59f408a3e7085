import type { TSchema } from 'typebox';
import { findKinds, type Kinds } from '../schema/by-kind.ts';
import type { Keywords } from '../schema/explain-issues.ts';

/** A schema of the document: JSON Schema 2020-12. */
export type JsonSchema = Record<string, unknown>;

const names = new WeakMap<TSchema, string>();

/** Gives a schema a name, under which the document has it once. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  names.set(schema, name);
  return schema;
}

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

/** Writes TypeBox schemas as JSON Schema. Named schemas and kinds of objects become components. */
export class SchemaWriter {
  readonly components: Record<string, JsonSchema> = {};
  private readonly written = new Map<TSchema, string>();

  write(schema: TSchema): JsonSchema {
    const kinds = findKinds(schema);
    const name = names.get(schema) ?? (kinds && nameKinds(kinds));
    if (name === undefined) return this.writeShape(schema);
    const known = this.written.get(schema);
    if (known !== undefined) return refer(known);
    const free = this.findFreeName(name);
    this.written.set(schema, free);
    this.components[free] = {}; // reserves the name; a schema may contain itself
    this.components[free] = kinds ? this.writeKinds(kinds) : this.writeShape(schema);
    return refer(free);
  }

  private writeKinds({ schemas, other, noun, key }: Kinds): JsonSchema {
    const members = [...schemas.values(), ...(other ? [other] : [])];
    return {
      description: `${noun[0]!.toUpperCase()}${noun.slice(1)}. \`${key}\` names its kind.`,
      anyOf: members.map((member) => this.write(member)),
    };
  }

  private writeShape(schema: TSchema): JsonSchema {
    const given = schema as Keywords & Record<string, unknown>; // TypeBox adds only keys that start with `~`
    const written: JsonSchema = {};
    for (const keyword of plainKeywords) if (given[keyword] !== undefined) written[keyword] = given[keyword];
    Object.assign(written, given.documented);
    if (given.anyOf) written['anyOf'] = given.anyOf.map((member) => this.write(member));
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
    return written;
  }

  private findFreeName(name: string): string {
    let free = name;
    for (let number = 2; Object.hasOwn(this.components, free); number++) free = `${name}${number}`;
    return free;
  }
}

const refer = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** `an input item` → `InputItem` */
const nameKinds = ({ noun }: Kinds): string =>
  noun
    .replace(/^an? /, '')
    .split(/[^A-Za-z0-9]+/)
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join('');
