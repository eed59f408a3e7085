type Schema = Record<string, unknown>;

/** Keywords whose values are numbers, which the format may write as texts. */
const counts: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);

/** Keywords that say nothing in JSON Schema. */
const dropped: ReadonlySet<string> = new Set(['nullable', 'propertyOrdering', 'example', 'type']);

/**
 * Converts a schema in the format's subset of OpenAPI, whose types are in upper case, to JSON Schema.
 *
 * @see docs/reference/gemini.md#schemas, https://ai.google.dev/api/caching#Schema
 */
export function readOpenApiSchema(schema: unknown): Schema {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return {};
  const given = schema as Schema;
  const written: Schema = {};
  const type = typeof given['type'] === 'string' ? given['type'].toLowerCase() : given['type'];
  if (type !== undefined && type !== 'type_unspecified') written['type'] = type;
  for (const [spelled, value] of Object.entries(given)) {
    const name = spelled.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (dropped.has(name)) continue;
    if (name === 'properties' || name === 'defs' || name === '$defs') written[name] = mapValues(value);
    else if (name === 'items' || name === 'additionalProperties') {
      written[name] = typeof value === 'boolean' ? value : readOpenApiSchema(value);
    } else if (name === 'anyOf' || name === 'prefixItems')
      written[name] = Array.isArray(value) ? value.map(readOpenApiSchema) : [];
    else if (counts.has(name)) written[name] = typeof value === 'string' ? Number(value) : value;
    else written[name] = value;
  }
  if (given['nullable'] === true) allowNull(written);
  return written;
}

const mapValues = (properties: unknown): Schema =>
  Object.fromEntries(
    Object.entries((properties ?? {}) as Schema).map(([name, each]) => [name, readOpenApiSchema(each)]),
  );

function allowNull(schema: Schema): void {
  if (typeof schema['type'] === 'string') schema['type'] = [schema['type'], 'null'];
  else if (Array.isArray(schema['anyOf'])) schema['anyOf'] = [...(schema['anyOf'] as unknown[]), { type: 'null' }];
  if (Array.isArray(schema['enum'])) schema['enum'] = [...(schema['enum'] as unknown[]), null];
}
