import type { Rules } from '../facets.ts';

type Schema = Record<string, unknown>;
type SchemaRules = NonNullable<Rules['schemas']>;

/** Where schemas are in a schema: by name, alone or in a list. */
const places: ReadonlyMap<string, 'map' | 'single' | 'list'> = new Map([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'].map(
    (key) => [key, 'map'] as const,
  ),
  ...['items', 'additionalProperties', 'contains', 'not', 'if', 'then', 'else', 'propertyNames', 'additionalItems'].map(
    (key) => [key, 'single'] as const,
  ),
  ...['anyOf', 'oneOf', 'allOf', 'prefixItems'].map((key) => [key, 'list'] as const),
]);
const unions = ['anyOf', 'oneOf', 'allOf'] as const;
const MAX_DEPTH = 100;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How a schema is fitted, besides the rules. */
export interface SchemaUse {
  /** Whether objects get `additionalProperties: false`. */
  closes: boolean;
  /** Receives the name of each keyword that was dropped. */
  onDropped?: (keyword: string) => void;
}

/**
 * Fits a JSON schema to a server. Returns the schema itself if it fits. Properties called like a keyword stay, because
 * only the places of schemas are visited.
 */
export function fitSchema(schema: Schema, rules: SchemaRules, use: SchemaUse): Schema {
  const fitted = fitNode(schema, rules, use, 0);
  return fitRoot(fitted, rules);
}

function fitNode(given: Schema, rules: SchemaRules, use: SchemaUse, depth: number): Schema {
  if (depth > MAX_DEPTH) return given;
  let schema = given;
  const set = (name: string, value: unknown): void => {
    if (schema === given) schema = { ...given };
    schema[name] = value;
  };
  const remove = (name: string): void => {
    if (schema === given) schema = { ...given };
    delete schema[name];
  };
  for (const name in given) {
    const place = places.get(name);
    if (place === undefined) continue;
    const value = given[name];
    const fitted =
      place === 'map'
        ? fitMap(value, rules, use, depth)
        : place === 'list'
          ? fitList(value, rules, use, depth)
          : fitChild(value, rules, use, depth);
    if (fitted !== value) set(name, fitted);
  }
  if (rules.modern) modernize(schema, set, remove);
  const isObject = schema.type === 'object' || (schema.type === undefined && isSchema(schema.properties));
  if (rules.properties && schema.type === 'object' && schema.properties === undefined && !hasUnion(schema))
    set('properties', {});
  if (use.closes && isObject && schema.additionalProperties !== false) set('additionalProperties', false);
  if (rules.type_beside_union === false && schema.type !== undefined && Array.isArray(schema.anyOf)) {
    const { type } = schema;
    set(
      'anyOf',
      schema.anyOf.map((child) => (isSchema(child) && child.type === undefined ? { type, ...child } : child)),
    );
    remove('type');
  }
  if (rules.anchored_patterns && typeof schema.pattern === 'string') {
    const anchored = anchor(schema.pattern);
    if (anchored !== schema.pattern) set('pattern', anchored);
  }
  const said: string[] = [];
  const dropped = rules.drop && dropsOf(rules.drop);
  for (const keyword in dropped && schema) {
    if (!dropped!.has(keyword) || schema[keyword] === undefined) continue;
    said.push(`${keyword}: ${JSON.stringify(schema[keyword])}`);
    remove(keyword);
    use.onDropped?.(keyword);
  }
  if (said.length > 0) {
    const { description } = schema;
    const words = `(${said.join(', ')})`;
    set('description', typeof description === 'string' && description !== '' ? `${description} ${words}` : words);
  }
  return schema;
}

const fitChild = (child: unknown, rules: SchemaRules, use: SchemaUse, depth: number): unknown =>
  isSchema(child) ? fitNode(child, rules, use, depth + 1) : child;

function fitMap(children: unknown, rules: SchemaRules, use: SchemaUse, depth: number): unknown {
  if (!isSchema(children)) return children;
  let changed: Schema | undefined;
  for (const key in children) {
    const child = fitChild(children[key], rules, use, depth);
    if (child === children[key]) continue;
    changed ??= { ...children };
    changed[key] = child;
  }
  return changed ?? children;
}

function fitList(children: unknown, rules: SchemaRules, use: SchemaUse, depth: number): unknown {
  if (!Array.isArray(children)) return children;
  const fitted = children.map((child) => fitChild(child, rules, use, depth));
  return fitted.some((child, index) => child !== children[index]) ? fitted : children;
}

/** The lists of rules → the same as sets. */
const drops = new WeakMap<readonly string[], ReadonlySet<string>>();

function dropsOf(keywords: readonly string[]): ReadonlySet<string> {
  const known = drops.get(keywords);
  if (known) return known;
  const set = new Set(keywords);
  drops.set(keywords, set);
  return set;
}

const hasUnion = (schema: Schema): boolean => unions.some((name) => schema[name] !== undefined);

/** Bounds that were flags of another bound in older drafts. */
const bounds = [
  ['exclusiveMinimum', 'minimum'],
  ['exclusiveMaximum', 'maximum'],
] as const;

/** Rewrites keywords of older drafts: bounds that are booleans, lists in `items`, `definitions`. */
function modernize(schema: Schema, set: (name: string, value: unknown) => void, remove: (name: string) => void): void {
  for (const [flag, bound] of bounds) {
    if (typeof schema[flag] !== 'boolean') continue;
    const limit = schema[bound];
    if (schema[flag] && typeof limit === 'number') {
      set(flag, limit);
      remove(bound);
    } else remove(flag);
  }
  if (Array.isArray(schema.items)) {
    set('prefixItems', schema.items);
    if (schema.additionalItems === undefined) remove('items');
    else set('items', schema.additionalItems);
    remove('additionalItems');
  }
  if (typeof schema.$schema === 'string') remove('$schema');
  if (isSchema(schema.definitions)) {
    set('$defs', { ...schema.definitions, ...(isSchema(schema.$defs) ? schema.$defs : undefined) });
    remove('definitions');
  }
  const { $ref: reference } = schema;
  if (typeof reference === 'string' && reference.startsWith('#/definitions/'))
    set('$ref', reference.replace('#/definitions/', '#/$defs/'));
}

/** Returns an expression that matches the same texts and has both anchors. */
function anchor(pattern: string): string {
  const begins = pattern.startsWith('^');
  const ends = /(?:^|[^\\])(?:\\\\)*\$$/.test(pattern);
  if (begins && ends) return pattern;
  if (/(?:^|[^\\])\|/.test(pattern)) return `^.*(?:${pattern}).*$`;
  return `${begins ? '' : '^.*'}${pattern}${ends ? '' : '.*$'}`;
}

/** Makes the root an object, and merges a union at the root into one object with the properties of all. */
function fitRoot(schema: Schema, { root = 'any' }: SchemaRules): Schema {
  if (root === 'any') return schema;
  if (root === 'plain_object' && hasUnion(schema)) return mergeUnion(schema);
  return schema.type === 'object'
    ? schema
    : { type: 'object', ...(schema.type === undefined ? schema : { properties: {} }) };
}

/**
 * Returns one object with the properties of the root and all branches. A property is required if every branch of
 * `anyOf` and `oneOf` requires it, or the root or a branch of `allOf` does. The description names the alternatives.
 */
function mergeUnion(schema: Schema): Schema {
  const { anyOf, oneOf, allOf, ...rest } = schema;
  const properties: Schema = { ...(isSchema(rest.properties) ? rest.properties : undefined) };
  const required = new Set(requiredOf(rest));
  const add = (branch: Schema): void => {
    for (const [name, value] of Object.entries(isSchema(branch.properties) ? branch.properties : {})) {
      const known = properties[name];
      properties[name] = known === undefined || isSame(known, value) ? value : widen(known, value);
    }
  };
  const all = branchesOf(allOf, schema);
  for (const branch of all) {
    add(branch);
    for (const name of requiredOf(branch)) required.add(name);
  }
  const said: string[] = [];
  for (const list of [anyOf, oneOf]) {
    const branches = branchesOf(list, schema);
    if (branches.length === 0) continue;
    for (const branch of branches) add(branch);
    const common = requiredOf(branches[0]!).filter((name) =>
      branches.every((branch) => requiredOf(branch).includes(name)),
    );
    for (const name of common) required.add(name);
    const choices = branches.map((branch) => requiredOf(branch).join(' and ')).filter((names) => names !== '');
    if (choices.length > 1) said.push(`Give one of: ${choices.join('; ')}.`);
  }
  const { description } = rest;
  const words = [typeof description === 'string' ? description : '', ...said].filter((text) => text !== '').join(' ');
  const merged: Schema = { ...rest, type: 'object', properties };
  if (required.size > 0) merged.required = [...required];
  if (words !== '') merged.description = words;
  return merged;
}

/** Returns the branches that are objects. A reference within the schema is followed. */
function branchesOf(list: unknown, root: Schema): Schema[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((branch) => {
    if (!isSchema(branch)) return [];
    const found = typeof branch.$ref === 'string' ? findReference(root, branch.$ref) : branch;
    return found ? [found] : [];
  });
}

function findReference(root: Schema, reference: string): Schema | undefined {
  if (!reference.startsWith('#/')) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split('/')) {
    if (!isSchema(at)) return undefined;
    at = at[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return isSchema(at) ? at : undefined;
}

const requiredOf = ({ required }: Schema): string[] =>
  Array.isArray(required) ? required.filter((name): name is string => typeof name === 'string') : [];

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function widen(known: unknown, other: unknown): Schema {
  const choices = isSchema(known) && Array.isArray(known.anyOf) ? known.anyOf : [known];
  return { anyOf: choices.some((choice) => isSame(choice, other)) ? choices : [...choices, other] };
}
