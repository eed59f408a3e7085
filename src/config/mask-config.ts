import { type SchemaNode, rootNode } from './schema-node.ts';

/** Stands for a value that is set and secret. */
export const MASK = '***';

/**
 * Copies a configuration without its secrets: every value of a secret setting is masked, and so are all values of a map
 * that may have secrets, such as headers.
 *
 * @param maskText masks secrets in a text that is not secret itself, such as the password of a URL
 */
export function maskConfig(config: object, maskText: (text: string) => string): Record<string, unknown> {
  const mask = (value: unknown, node: SchemaNode | undefined, isSecret: boolean): unknown => {
    if (Array.isArray(value)) return value.map((item) => mask(item, node?.items ?? node, isSecret));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => {
          const below = node?.properties?.[key] ?? Object.values(node?.patternProperties ?? {})[0];
          return [key, mask(item, below, isSecret || below?.secret === true)];
        }),
      );
    }
    if (isSecret) return value === null ? null : MASK;
    return typeof value === 'string' ? maskText(value) : value;
  };
  return mask(config, rootNode, false) as Record<string, unknown>;
}
