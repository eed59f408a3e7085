import type { Path } from './path.ts';
import { configSchema } from './schema.ts';

/** A schema as a tree: the JSON Schema of the TypeBox types, and our four keywords. */
export interface SchemaNode {
  type?: string;
  description?: string;
  default?: unknown;
  properties?: Record<string, SchemaNode>;
  required?: string[];
  items?: SchemaNode;
  patternProperties?: Record<string, SchemaNode>;
  anyOf?: SchemaNode[];
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  unit?: 'bytes';
  restart?: boolean;
  secret?: boolean;
  says?: string;
}

/** The schema of the file. A TypeBox type is its JSON Schema at run time. */
export const rootNode = configSchema as unknown as SchemaNode;

/** Returns the node of the value at a path. Undefined if the schema has none. */
export function findNode(path: Path, from: SchemaNode = rootNode): SchemaNode | undefined {
  let node: SchemaNode | undefined = from;
  for (const step of path) {
    if (node === undefined) return undefined;
    if (typeof step === 'number') {
      const list: SchemaNode | undefined = node.items ? node : node.anyOf?.find((one) => one.items);
      node = list?.items;
    } else if (node.properties) node = Object.hasOwn(node.properties, step) ? node.properties[step] : undefined;
    else node = Object.values(node.patternProperties ?? {})[0];
  }
  return node;
}

/** Whether the value at this path, or one of its parents, is secret. Messages must not show it. */
export function isSecret(path: Path): boolean {
  return path.some((_, index) => findNode(path.slice(0, index + 1))?.secret === true);
}

/** Describes the type of a value: `integer`, `list of strings`, `one of openai-chat, simulator`. */
export function nameType(node: SchemaNode): string {
  if (node.anyOf) return node.anyOf.map(nameType).join(' or ');
  if (node.enum) return `one of ${node.enum.join(', ')}`;
  if (node.const !== undefined) return String(node.const);
  if (node.unit === 'bytes') return 'size';
  if (node.type === 'integer') return 'integer';
  if (node.type === 'array') return `list of ${node.items ? nameItems(node.items) : 'anything'}`;
  if (node.type === 'object') return node.properties ? 'mapping' : 'map';
  return node.type ?? 'anything';
}

function nameItems(node: SchemaNode): string {
  const name = nameType(node);
  return name === 'string' || name === 'integer' || name === 'number' ? `${name}s` : name;
}
