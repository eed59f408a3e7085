import { listUrls } from '../domain/list-urls.ts';
import type { Config } from './schema.ts';
import { rootNode, type SchemaNode } from './schema-node.ts';

/** A shorter text may be a common word. */
const MIN_LENGTH = 8;
/** Headers and settings also contain values that are not secret, so only longer texts count. */
const MIN_LENGTH_IN_MAP = 16;

/**
 * Returns every secret text of a configuration, and the secret parts of each: the password of a URL, the token after
 * `Bearer`.
 */
export function listSecrets(config: Config): string[] {
  const found = new Set<string>();

  function visit(value: unknown, node: SchemaNode | undefined, minLength: number | undefined): void {
    if (typeof value === 'string') {
      if (minLength === undefined) return;
      for (const text of [value, ...findParts(value)]) if (text.length >= minLength) found.add(text);
    } else if (Array.isArray(value)) {
      for (const item of value) visit(item, node?.items ?? node, minLength);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        const below = node?.properties?.[key];
        const isInMap = minLength !== undefined;
        visit(item, below, isInMap ? MIN_LENGTH_IN_MAP : below?.secret ? MIN_LENGTH : undefined);
      }
    }
  }
  visit(config, rootNode, undefined);
  return [...found];
}

function findParts(text: string): string[] {
  const passwords = listUrls(text).flatMap((url) => URL.parse(url)?.password || []);
  if (passwords.length > 0) return passwords.flatMap((each) => [each, decodeURIComponent(each)]);
  return text.includes(' ') ? text.split(' ') : [];
}
