type Schema = Record<string, unknown>;

/** Keywords of the subset of OpenAPI that the provider takes. */
const plain = new Set([
  ...['title', 'description', 'format', 'enum', 'default', 'example', 'required', 'minItems', 'maxItems'],
  ...['minLength', 'maxLength', 'minimum', 'maximum', 'minProperties', 'maxProperties', 'pattern', 'nullable'],
  ...['propertyOrdering'],
]);
/** What says nothing that the answer depends on. */
const silent = new Set(['$schema', '$id', '$comment', 'strict']);

/**
 * Writes a JSON Schema in the subset of OpenAPI that older models take: one type with `nullable`, `anyOf`, no references.
 *
 * @param dropped gets the keywords that the subset lacks, each once
 */
export function writeOpenApiSchema(schema: unknown, dropped: Set<string>): Schema {
  const written: Schema = {};
  if (typeof schema !== 'object' || schema === null) return written;
  for (const [keyword, value] of Object.entries(schema)) {
    switch (keyword) {
      case 'type':
        writeType(written, value);
        break;
      case 'properties':
        written.properties = Object.fromEntries(
          Object.entries(value as Schema).map(([name, property]) => [name, writeOpenApiSchema(property, dropped)]),
        );
        break;
      case 'items':
        written.items = writeOpenApiSchema(value, dropped);
        break;
      case 'anyOf':
      case 'oneOf':
        writeChoice(written, value as unknown[], dropped);
        break;
      case 'const':
        written.enum = [value];
        break;
      case 'additionalProperties':
        if (value !== false) dropped.add(keyword); // a model keeps to the properties it is shown
        break;
      default:
        if (plain.has(keyword)) written[keyword] = value;
        else if (!silent.has(keyword)) dropped.add(keyword);
    }
  }
  return written;
}

function writeType(written: Schema, type: unknown): void {
  const types = Array.isArray(type) ? type.filter((each) => each !== 'null') : [type];
  if (Array.isArray(type) && types.length < type.length) written.nullable = true;
  if (types.length === 1) written.type = types[0];
  else if (types.length > 1) written.anyOf = types.map((each) => ({ type: each }));
}

function writeChoice(written: Schema, branches: unknown[], dropped: Set<string>): void {
  const isNull = (branch: unknown) => (branch as { type?: unknown } | null)?.type === 'null';
  const others = branches.filter((branch) => !isNull(branch)).map((branch) => writeOpenApiSchema(branch, dropped));
  if (others.length < branches.length) written.nullable = true;
  if (others.length === 1) Object.assign(written, others[0]);
  else written.anyOf = others;
}
