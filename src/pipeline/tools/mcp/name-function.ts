import { createHash } from 'node:crypto';

/** Maximum length of a function name at every provider. */
const MAX_NAME = 64;
const HASH_LENGTH = 8;

/**
 * Returns the function under which the model sees a tool of an MCP server: `<label>__<tool>`. A name that is too long,
 * or has a character that no function name may have, ends with a hash. The same tool always has the same name, because
 * later requests replay its calls.
 */
export function nameMcpFunction(label: string, tool: string): string {
  const plain = `${label}__${tool}`;
  return /^[\w-]+$/.test(plain) && plain.length <= MAX_NAME ? plain : nameByHash(label, tool);
}

/** Returns a name that no other tool has. */
export function nameByHash(label: string, tool: string): string {
  const hash = createHash('sha256').update(`${label}\0${tool}`).digest('hex').slice(0, HASH_LENGTH);
  const readable = `${label}__${tool}`.replaceAll(/[^\w-]/g, '_').slice(0, MAX_NAME - HASH_LENGTH - 1);
  return `${readable}_${hash}`;
}
