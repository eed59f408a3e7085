import fc from 'fast-check';

/** The keywords that `responses.schema.json` uses. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  maxProperties?: number;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

/**
 * Generates values of a JSON Schema with the keywords above. Optional fields are sometimes present; fields that the schema does not list are
 * not. Lists and maps stay short, so that only the smallest `maxItems` matters.
 *
 * @param definitions the `$defs` that `$ref` points into
 */
export function arbitraryOf(schema: JsonSchema, definitions: Record<string, JsonSchema>): fc.Arbitrary<unknown> {
  const of = (each: JsonSchema) => arbitraryOf(each, definitions);
  if (schema.$ref !== undefined) return of(definitions[schema.$ref.replace('#/$defs/', '')]!);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(of));
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => of({ ...schema, type })));
  const { minimum = -1e6, maximum = 1e6 } = schema;
  switch (schema.type) {
    case 'object':
      return objectOf(schema, of);
    case 'array':
      return fc.array(schema.items === undefined ? fc.jsonValue() : of(schema.items), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 3, 3),
      });
    case 'string':
      if (schema.pattern !== undefined) return textMatching(schema.pattern, schema);
      return fc.string({ unit: 'binary', ...stringLimits(schema) });
    case 'integer':
      return fc.integer({ min: minimum, max: maximum });
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.jsonValue();
  }
}

/** Limits are part of a pattern, unless the schema has both. */
const textMatching = (pattern: string, schema: JsonSchema) =>
  fc.stringMatching(new RegExp(pattern, 'u'), schema.maxLength === undefined ? {} : stringLimits(schema));

const stringLimits = ({ minLength = 0, maxLength = 40 }: JsonSchema) => ({
  minLength,
  maxLength: Math.min(maxLength, 40),
});

function objectOf(schema: JsonSchema, of: (each: JsonSchema) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties = false } = schema;
  const fields = Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, of(each)]));
  const listed = fc.record(fields, { requiredKeys: required });
  if (additionalProperties === false || additionalProperties === true) return listed;
  const key = schema.propertyNames === undefined ? fc.string() : of({ type: 'string', ...schema.propertyNames });
  const others = fc.dictionary(key as fc.Arbitrary<string>, of(additionalProperties), { maxKeys: 3 });
  return fc.tuple(others, listed).map(([free, known]) => ({ ...free, ...(known as object) }));
}
