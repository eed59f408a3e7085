import type { Issue } from '../../domain/errors.ts';

/**
 * Explains that a type names no server tool.
 *
 * @param path of the entry in the request
 * @param known types of the gateway
 */
export function explainUnknownTool(type: string, path: string, known: Iterable<string>): Issue {
  const types = [...known].map((each) => `\`${each}\``).join(', ');
  const message = `\`type\` names no tool of this gateway: "${type.slice(0, 100)}"; it has ${types}.`;
  return { path: `${path}.type`, message };
}
