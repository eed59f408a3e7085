import { rootNode, type SchemaNode } from './schema-node.ts';

/**
 * Removes the white space around every secret of a configuration, such as the line end of a file that a variable was
 * filled from, and the quotes that `docker run --env-file` keeps.
 *
 * @returns a warning for each secret that was in quotes
 */
export function trimSecrets(config: unknown): string[] {
  const warnings: string[] = [];

  const trim = (text: string, path: string): string => {
    const [, , bare] = /^\s*(["'])(.*)\1\s*$/s.exec(text) ?? [];
    if (bare !== undefined)
      warnings.push(`${path} is in quotes. They are removed: \`docker run --env-file\` keeps them.`);
    return (bare ?? text).trim();
  };
  function visit(holder: object, node: SchemaNode | undefined, path: string, isSecret: boolean): void {
    for (const [key, value] of Object.entries(holder) as [string, unknown][]) {
      const isItem = Array.isArray(holder);
      const below = isItem ? (node?.items ?? node) : node?.properties?.[key];
      const name = isItem ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      const isBelow = isSecret || below?.secret === true;
      if (typeof value === 'string') {
        if (isBelow) (holder as Record<string, unknown>)[key] = trim(value, name);
      } else if (typeof value === 'object' && value !== null) {
        visit(value, below, name, isBelow);
      }
    }
  }
  if (typeof config === 'object' && config !== null) visit(config, rootNode, '', false);
  return warnings;
}
