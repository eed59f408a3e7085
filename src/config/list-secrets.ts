import type { Config } from './schema.ts';
import { rootNode, type SchemaNode } from './schema-node.ts';

/** A shorter text may well be a word of a message. */
const SHORTEST = 8;
/** Headers and settings that are not meant to be secret stand beside those that are: only long texts of them count. */
const SHORTEST_OF_MANY = 16;

/**
 * Every text of a configuration that the schema calls secret, and those within one: the password of a URL, the token
 * after `Bearer`.
 */
export function listSecrets(config: Config): string[] {
  const found = new Set<string>();

  function visit(value: unknown, node: SchemaNode | undefined, shortest: number | undefined): void {
    if (typeof value === 'string') {
      if (shortest === undefined) return;
      for (const text of [value, ...findParts(value)]) if (text.length >= shortest) found.add(text);
    } else if (Array.isArray(value)) {
      for (const item of value) visit(item, node?.items ?? node, shortest);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        const below = node?.properties?.[key];
        const isMany = shortest !== undefined;
        visit(item, below, isMany ? SHORTEST_OF_MANY : below?.secret ? SHORTEST : undefined);
      }
    }
  }
  visit(config, rootNode, undefined);
  return [...found];
}

function findParts(text: string): string[] {
  const url = URL.parse(text);
  if (url && url.password !== '') return [url.password, decodeURIComponent(url.password)];
  return text.includes(' ') ? text.split(' ') : [];
}
