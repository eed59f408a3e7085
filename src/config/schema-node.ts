import type { Path } from './path.ts';
import { configSchema } from './schema.ts';

/** What our walks read of a schema: the JSON Schema under the TypeBox types, and our four keywords. */
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

/** The schema of the whole file, as a tree to walk. A TypeBox type is its JSON Schema at run time. */
export const rootNode = configSchema as unknown as SchemaNode;

/** The node that describes the value at a path; undefined where the schema knows nothing. */
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

/** True when a message must not show the value at this path: it, or what holds it, is secret. */
export function isSecret(path: Path): boolean {
  return path.some((_, index) => findNode(path.slice(0, index + 1))?.secret === true);
}

/** What a value must be, in words: `whole number`, `list of string`, `one of openai-chat, simulator`. */
export function nameType(node: SchemaNode): string {
  if (node.anyOf) return node.anyOf.map(nameType).join(' or ');
  if (node.enum) return `one of ${node.enum.join(', ')}`;
  if (node.const !== undefined) return String(node.const);
  if (node.unit === 'bytes') return 'size';
  if (node.type === 'integer') return 'whole number';
  if (node.type === 'array') return `list of ${node.items ? nameType(node.items) : 'anything'}`;
  if (node.type === 'object') return node.properties ? 'mapping' : 'map';
  return node.type ?? 'anything';
}
