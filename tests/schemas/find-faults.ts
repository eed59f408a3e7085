/** A JSON schema with the keywords that describe types of TypeScript. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
  definitions?: Record<string, Schema>;
}

type Definitions = Readonly<Record<string, Schema>>;
type Fields = Readonly<Record<string, unknown>>;

const keywords = 'type properties required additionalProperties items anyOf const enum definitions'.split(' ');

/**
 * Compares a value with a schema. Additional properties are no fault. If a value must be one of several objects, the faults are
 * those of the object with the same `type`.
 *
 * @returns lines such as `output[].content[].annotations is missing`: an index is not named, so that equal faults are equal
 */
export function findFaults(schema: Schema, value: unknown): string[] {
  return find(schema, value, '', schema.definitions ?? {});
}

function find(given: Schema, value: unknown, path: string, definitions: Definitions): string[] {
  const schema = resolve(given, definitions);
  const unknown = Object.keys(schema).filter((keyword) => !keywords.includes(keyword));
  if (unknown.length > 0) throw new Error(`The checker does not know ${unknown.join()}.`);
  if (schema.anyOf) return findInOneOf(schema.anyOf, value, path, definitions);
  const allowed = 'const' in schema ? [schema.const] : schema.enum;
  if (allowed && !allowed.includes(value))
    return [`${path} is ${print(value)}, not ${allowed.map(print).join(' or ')}`];
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type) => isOfType(type, value)))
    return [`${path} is ${print(value)}, not ${types.join(' or ')}`];
  if (Array.isArray(value))
    return schema.items ? value.flatMap((item) => find(schema.items!, item, `${path}[]`, definitions)) : [];
  if (typeof value !== 'object' || value === null) return [];
  return [
    ...(schema.required ?? []).filter((name) => !(name in value)).map((name) => `${join(path, name)} is missing`),
    ...Object.entries(value as Fields).flatMap(([name, field]) => {
      const described = schema.properties?.[name] ?? schema.additionalProperties;
      return typeof described === 'object' ? find(described, field, join(path, name), definitions) : [];
    }),
  ];
}

function findInOneOf(choices: readonly Schema[], value: unknown, path: string, definitions: Definitions): string[] {
  const all = flatten(choices, definitions);
  const faults = all
    .filter((choice) => hasTagsOf(choice, value))
    .map((choice) => find(choice, value, path, definitions));
  if (faults.length > 0) return faults.reduce((least, next) => (next.length < least.length ? next : least));
  const tag = typeof value === 'object' && value !== null && 'type' in value ? { type: value.type } : value;
  return [`${path} is ${print(tag)}, which is unknown`];
}

/** Replaces choices of choices by their choices. */
function flatten(choices: readonly Schema[], definitions: Definitions): Schema[] {
  return choices.flatMap((choice) => {
    const schema = resolve(choice, definitions);
    return schema.anyOf ? flatten(schema.anyOf, definitions) : [schema];
  });
}

/** Whether a value may be meant by a schema: it has the same type and the same constant properties, such as `type`. */
function hasTagsOf(schema: Schema, value: unknown): boolean {
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type) => isOfType(type, value))) return false;
  if (typeof value !== 'object' || value === null) return find(schema, value, '', {}).length === 0;
  return Object.entries(schema.properties ?? {}).every(
    ([name, property]) => !('const' in property) || !(name in value) || (value as Fields)[name] === property.const,
  );
}

function resolve(schema: Schema, definitions: Definitions): Schema {
  if (schema.$ref === undefined) return schema;
  const name = decodeURIComponent(schema.$ref.replace('#/definitions/', ''));
  const found = definitions[name];
  if (!found) throw new Error(`The schema has no definition ${name}.`);
  return resolve(found, definitions);
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === (type === 'integer' ? 'number' : type);
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);
const print = (value: unknown): string => (JSON.stringify(value) ?? 'undefined').slice(0, 80);
