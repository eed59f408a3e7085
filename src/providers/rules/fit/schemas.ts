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
  /** Whether a root that is no object stays, because another one would change the output. */
  keepsRoot?: boolean;
  /** Receives the name of each keyword that was dropped. */
  onDropped?: (keyword: string) => void;
}

/**
 * Fits a JSON schema to a server. Returns the schema itself if it fits. Properties called like a keyword stay, because
 * only the places of schemas are visited.
 */
export function fitSchema(schema: Schema, rules: SchemaRules, use: SchemaUse): Schema {
  const fitted = fitNode(schema, rules, use, 0);
  const { references = 'any' } = rules;
  return fitRoot(references === 'any' ? fitted : fitReferences(fitted, references === 'alone'), rules, use);
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
    let value = given[name];
    if (rules.booleans === false && name !== 'additionalProperties') {
      value = writeBooleans(value, place);
      if (value === undefined) {
        remove(name);
        continue;
      }
      if (value !== given[name]) set(name, value);
    }
    const fitted =
      place === 'map'
        ? fitMap(value, rules, use, depth)
        : place === 'list'
          ? fitList(value, rules, use, depth)
          : fitChild(value, rules, use, depth);
    if (fitted !== value) set(name, fitted);
  }
  if (rules.modern) modernize(schema, set, remove);
  if (rules.nullable === 'flag') flagNull(schema, set, remove);
  if (rules.enum_types) typeEnum(schema, set, remove);
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
  return say(schema, said);
}

/** Whether each object of a schema is closed and requires all of its properties. */
export function canBeStrict(schema: unknown, depth = 0): boolean {
  if (!isSchema(schema) || depth > MAX_DEPTH) return true;
  if (isSchema(schema.properties) || schema.type === 'object') {
    const required = new Set(requiredOf(schema));
    if (schema.additionalProperties !== false) return false;
    if (Object.keys(schema.properties ?? {}).some((name) => !required.has(name))) return false;
  }
  for (const [name, place] of places) {
    const value = schema[name];
    if (value === undefined) continue;
    const children = place === 'single' ? [value] : Object.values(value as object);
    if (!children.every((child) => canBeStrict(child, depth + 1))) return false;
  }
  return true;
}

const isNull = (schema: unknown): boolean => isSchema(schema) && schema.type === 'null';

/** Writes a type or a branch that is null as `nullable: true`. A branch that is left alone becomes the schema itself. */
function flagNull(schema: Schema, set: (name: string, value: unknown) => void, remove: (name: string) => void): void {
  const { type } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((name) => name !== 'null');
    if (types.length === 1) set('type', types[0]);
    else {
      remove('type');
      set(
        'anyOf',
        types.map((name) => ({ type: name as unknown })),
      );
    }
    if (types.length < type.length) set('nullable', true);
  }
  for (const union of ['anyOf', 'oneOf'] as const) {
    const branches = schema[union];
    if (!Array.isArray(branches) || !branches.some(isNull)) continue;
    const others = branches.filter((branch) => !isNull(branch));
    if (others.length === 1 && isSchema(others[0])) {
      remove(union);
      for (const [name, value] of Object.entries(others[0])) if (schema[name] === undefined) set(name, value);
    } else set(union, others);
    set('nullable', true);
  }
  if (Array.isArray(schema.enum) && schema.enum.includes(null)) {
    set(
      'enum',
      schema.enum.filter((value) => value !== null),
    );
  }
  if (schema.default === null) remove('default');
}

/** Writes the schemas `true` and `false` at a place as objects. */
function writeBooleans(value: unknown, place: 'map' | 'single' | 'list'): unknown {
  if (place === 'single') return typeof value === 'boolean' ? (value ? {} : undefined) : value;
  if (place === 'list') {
    if (!Array.isArray(value) || !value.some((child) => typeof child === 'boolean')) return value;
    return value.flatMap((child) => (child === true ? [{}] : child === false ? [] : [child]));
  }
  if (!isSchema(value) || !Object.values(value).some((child) => typeof child === 'boolean')) return value;
  const write = (child: unknown): unknown => (child === true ? {} : child === false ? { not: {} } : child);
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, write(child)]));
}

const typeOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'array'
      : Number.isInteger(value)
        ? 'integer'
        : (typeof value as string);

/** Names the type of the values of an `enum`. Values of several types become branches. */
function typeEnum(schema: Schema, set: (name: string, value: unknown) => void, remove: (name: string) => void): void {
  const { enum: values, type } = schema;
  if (!Array.isArray(values) || values.length === 0) return;
  if (typeof type === 'string') {
    if (values.includes(null) && type !== 'null') set('type', [type, 'null']);
    return;
  }
  if (type !== undefined || hasUnion(schema) || schema.$ref !== undefined) return;
  const all = new Set(values.map(typeOf));
  const types = [...all].filter((name) => name !== 'integer' || !all.has('number')); // an integer is a number, too
  if (types.length === 1) set('type', types[0]);
  else if (types.length === 2 && types.includes('null'))
    set(
      'type',
      types.toSorted((a) => (a === 'null' ? 1 : -1)),
    );
  else {
    const isOf = (value: unknown, name: string): boolean =>
      name === 'number' ? typeof value === 'number' : typeOf(value) === name;
    set(
      'anyOf',
      types.map((name) => ({ type: name, enum: values.filter((value) => isOf(value, name)) })),
    );
    remove('enum');
  }
}

/** Adds what the server does not take as keywords to the description. */
function say(schema: Schema, said: readonly string[]): Schema {
  if (said.length === 0) return schema;
  const { description } = schema;
  const words = `(${said.join(', ')})`;
  const isEmpty = typeof description !== 'string' || description === '';
  return { ...schema, description: isEmpty ? words : `${description} ${words}` };
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
function fitRoot(given: Schema, { root = 'any', properties: needsProperties }: SchemaRules, use: SchemaUse): Schema {
  if (root === 'any') return given;
  const schema = openRoot(given);
  if (root === 'plain_object' && hasUnion(schema)) return mergeUnion(schema);
  const { type } = schema;
  if (type === 'object') return schema;
  const canBeObject = type === undefined || type === null || (Array.isArray(type) && type.includes('object'));
  if (!canBeObject) return use.keepsRoot ? schema : { type: 'object', properties: {} };
  const isComplete = !needsProperties || schema.properties !== undefined || hasUnion(schema);
  return { ...schema, type: 'object', ...(!isComplete && { properties: {} }) };
}

/** Replaces a root that is only a reference by its target, with the definitions beside it. */
function openRoot(schema: Schema): Schema {
  let opened = schema;
  for (let step = 0; step < MAX_DEPTH && typeof opened.$ref === 'string'; step++) {
    const { $ref: reference, ...beside } = opened;
    const target = findReference(schema, reference);
    if (!target) return opened;
    opened = { ...target, ...beside };
  }
  return opened;
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

/** Keywords that may stand beside a reference. */
const besideReference: ReadonlySet<string> = new Set(['description', 'default']);
/** Keywords that only describe. Beside a reference, they are removed. */
const notes: ReadonlySet<string> = new Set(['title', 'examples', 'deprecated', 'readOnly', 'writeOnly', '$comment']);

/** How many entries are written out where something stands beside their references. Further ones lose it. */
const MAX_COPIES = 200;

/**
 * Makes every reference one to an entry of `$defs` at the root. The description says in words what stood beside it. A reference
 * that names nothing is removed.
 *
 * @param isAlone whether an entry is written out where something stands beside a reference to it
 */
const fitReferences = (root: Schema, isAlone: boolean): Schema =>
  hasReference(root, 0) ? new ReferenceFitter(root, isAlone).write() : root;

class ReferenceFitter {
  private readonly root: Schema;
  /** The root without its definitions. */
  private readonly body: Schema;
  /** Pointer → name in `$defs`. */
  private readonly names = new Map<string, string>();
  /** Entries of `$defs` that are still to be fitted, so that a long chain of references needs no deep stack. */
  private readonly queue: { name: string; target: Schema }[] = [];
  private readonly defs = new Map<string, Schema>();
  private readonly isAlone: boolean;
  private copies = 0;

  constructor(root: Schema, isAlone: boolean) {
    this.isAlone = isAlone;
    const { $defs: _, definitions: __, ...body } = root;
    this.root = root;
    this.body = body;
  }

  write(): Schema {
    for (const place of ['$defs', 'definitions']) {
      const list = this.root[place];
      if (!isSchema(list)) continue;
      for (const key in list) this.nameOf(`#/${place}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
    }
    const fitted = this.visit(this.body, 0);
    for (let next = this.queue.pop(); next; next = this.queue.pop())
      this.defs.set(next.name, this.visit(next.target, 0));
    return this.defs.size > 0 ? { ...fitted, $defs: Object.fromEntries(this.defs) } : fitted;
  }

  private nameOf(reference: string): string | undefined {
    const known = this.names.get(reference);
    if (known !== undefined) return known;
    const target = this.targetOf(reference);
    if (!target) return undefined;
    const last = reference === '#' ? 'root' : reference.slice(reference.lastIndexOf('/') + 1);
    let name = last.replaceAll(/[^\w.-]/g, '_');
    while (this.defs.has(name)) name = `${name}_${this.names.size}`;
    this.names.set(reference, name);
    this.defs.set(name, {}); // takes the name
    this.queue.push({ name, target });
    return name;
  }

  private targetOf(reference: string): Schema | undefined {
    return reference === '#' ? this.body : findReference(this.root, reference);
  }

  /** Writes out the entry that a reference names, if what stands beside it says something else. Returns what was written out. */
  private writeOut(given: Schema, above: ReadonlySet<string>): { schema: Schema; within: ReadonlySet<string> } {
    let schema = given;
    let within = above;
    for (;;) {
      const { $ref: reference, ...beside } = schema;
      const target = typeof reference === 'string' ? this.targetOf(reference) : undefined;
      if (typeof reference !== 'string' || !target) return { schema, within };
      const others = Object.entries(beside).filter(([keyword, value]) => !isSame(target[keyword], value));
      const isPlain = others.every(
        ([keyword]) => target[keyword] === undefined && (besideReference.has(keyword) || notes.has(keyword)),
      );
      if (isPlain) return { schema: { $ref: reference, ...Object.fromEntries(others) }, within };
      if (within.has(reference) || this.copies === MAX_COPIES) return { schema: { $ref: reference }, within };
      this.copies++;
      schema = { ...target, ...beside };
      within = new Set(within).add(reference);
    }
  }

  private visit(node: Schema, depth: number, above: ReadonlySet<string> = new Set()): Schema {
    if (depth > MAX_DEPTH) return node;
    const { schema: given, within } = this.isAlone ? this.writeOut(node, above) : { schema: node, within: above };
    const schema: Schema = {};
    for (const keyword in given)
      if (keyword !== '$defs' && keyword !== 'definitions')
        schema[keyword] = this.visitPlace(keyword, given[keyword], depth, within);
    const { $ref: reference, ...beside } = schema;
    if (typeof reference !== 'string') return schema;
    const name = this.nameOf(reference);
    if (name === undefined) return beside;
    const target = this.targetOf(reference)!; // it has a name
    const said: string[] = [];
    for (const keyword in beside) {
      const value = beside[keyword];
      if (besideReference.has(keyword)) continue;
      delete beside[keyword];
      if (!notes.has(keyword) && value !== target[keyword]) said.push(`${keyword}: ${JSON.stringify(value)}`);
    }
    return say({ $ref: `#/$defs/${name}`, ...beside }, said);
  }

  private visitPlace(keyword: string, value: unknown, depth: number, within: ReadonlySet<string>): unknown {
    const child = (each: unknown): unknown => (isSchema(each) ? this.visit(each, depth + 1, within) : each);
    const place = places.get(keyword);
    if (place === 'list') return Array.isArray(value) ? value.map(child) : value;
    if (place !== 'map' || !isSchema(value)) return place === 'single' ? child(value) : value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, child(each)]));
  }
}

function hasReference(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false;
  return Object.entries(value).some(
    ([key, each]) => (key === '$ref' && typeof each === 'string') || hasReference(each, depth + 1),
  );
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
