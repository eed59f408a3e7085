import { isFields, type Schema } from './seen.ts';

/** What a server refuses in schemas, by the words of its refusal. */
export interface SchemaFaults<Said> {
  /** The root has no `type: object`. */
  rootObject?: Said;
  /** The root has `anyOf`, `oneOf` or `allOf`. */
  rootUnion?: Said;
  /** An object has no `properties`. */
  properties?: Said;
  /** A name of a top-level property, unless it matches. */
  propertyNames?: { pattern: RegExp; says: Said };
  /** A keyword of an older draft. */
  oldDraft?: Said;
  /** A `type` beside `anyOf`. */
  typeBesideUnion?: Said;
  /** A reference that does not begin with `#/$defs/`. */
  references?: Said;
  /** Something beside a reference that its target says otherwise. */
  besideReference?: Said;
  /** A type or a bound beside a reference. */
  typeBesideReference?: Said;
  /** An `enum` without a type. */
  enumTypes?: Said;
  /** A property whose schema is `true` or `false`. */
  booleans?: Said;
  /** A pattern without both anchors. */
  patterns?: Said;
  /** An object without `additionalProperties: false`. */
  open?: Said;
  /** Keywords that the server does not know. */
  keywords?: { names: readonly string[]; says: Said };
}

const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const nested = [
  ...['items', 'additionalProperties', 'contains', 'not', 'if', 'then', 'else', 'propertyNames'],
  ...['anyOf', 'oneOf', 'allOf', 'prefixItems'],
];
const unions = ['anyOf', 'oneOf', 'allOf'];

/** Lists a schema and all schemas in it, with their places: `properties.a.items`. */
export function* listSchemas(schema: Schema, place = ''): Generator<[Schema, string]> {
  yield [schema, place];
  const at = (...steps: string[]): string => [place, ...steps].filter((step) => step !== '').join('.');
  for (const name of maps) {
    const map = schema[name];
    if (!isFields(map)) continue;
    for (const [key, child] of Object.entries(map)) if (isFields(child)) yield* listSchemas(child, at(name, key));
  }
  for (const name of nested) {
    for (const child of [schema[name]].flat()) if (isFields(child)) yield* listSchemas(child, at(name));
  }
}

/** Returns the words for the first fault, with what fills their placeholders. */
export function findSchemaFault<Said>(
  schema: Schema,
  faults: SchemaFaults<Said>,
): { says: Said; values: Record<string, unknown> } | undefined {
  const found = (says: Said | undefined, values: Record<string, unknown> = {}) =>
    says === undefined ? undefined : { says, values };
  if (schema['type'] !== 'object' && faults.rootObject !== undefined)
    return found(faults.rootObject, { value: JSON.stringify(schema['type'] ?? null) });
  if (unions.some((name) => name in schema) && faults.rootUnion !== undefined) return found(faults.rootUnion);
  const { propertyNames } = faults;
  if (propertyNames && isFields(schema['properties'])) {
    const wrong = Object.keys(schema['properties']).find((name) => !propertyNames.pattern.test(name));
    if (wrong !== undefined) return found(propertyNames.says, { value: wrong });
  }
  for (const [each, place] of listSchemas(schema)) {
    const isUnion = unions.some((name) => name in each);
    const fault =
      (each['type'] === 'object' && !isFields(each['properties']) && !isUnion && faults.properties) ||
      (isOldDraft(each) && faults.oldDraft) ||
      (each['type'] !== undefined && Array.isArray(each['anyOf']) && faults.typeBesideUnion) ||
      (typeof each['$ref'] === 'string' && !each['$ref'].startsWith('#/$defs/') && faults.references) ||
      (isRestricted(each) && faults.typeBesideReference) ||
      (contradictsTarget(schema, each) && faults.besideReference) ||
      (Array.isArray(each['enum']) && each['type'] === undefined && faults.enumTypes) ||
      (hasBooleans(each) && faults.booleans) ||
      (typeof each['pattern'] === 'string' && !/^\^.*\$$/s.test(each['pattern']) && faults.patterns) ||
      (each['type'] === 'object' && each['additionalProperties'] !== false && faults.open);
    if (fault) return found(fault, { place });
    const unknown = faults.keywords?.names.find((name) => name in each);
    if (unknown !== undefined) return found(faults.keywords!.says, { place, value: unknown });
  }
  return undefined;
}

const notes: readonly string[] = ['$ref', 'description', 'title', 'default'];
const isRestricted = (schema: Schema): boolean =>
  '$ref' in schema && Object.keys(schema).some((name) => !notes.includes(name));

function contradictsTarget(root: Schema, schema: Schema): boolean {
  const { $ref: reference, ...beside } = schema;
  const target = (root['$defs'] as Record<string, Schema> | undefined)?.[String(reference).replace('#/$defs/', '')];
  return Object.entries(beside).some(([name, value]) => target?.[name] !== undefined && target[name] !== value);
}

const hasBooleans = ({ properties }: Schema): boolean =>
  isFields(properties) && Object.values(properties).some((child) => typeof child === 'boolean');

/** Whether a schema has a keyword whose value is invalid in the draft 2020-12. */
const isOldDraft = (schema: Schema): boolean =>
  typeof schema['exclusiveMinimum'] === 'boolean' ||
  typeof schema['exclusiveMaximum'] === 'boolean' ||
  typeof schema['required'] === 'boolean' ||
  Array.isArray(schema['items']);
