/** Half of a character in JSON text: the serializer escapes only those that have no other half. */
const HALF = /(?<=(?:^|[^\\])(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/**
 * Serializes a body for a provider. Half of a UTF-16 pair becomes U+FFFD, because providers reject it: agents cut texts
 * in the middle of an emoji. Source: elizaOS/eliza#18079, anthropics/claude-code#3277
 */
export function writeJson(value: unknown): string {
  const json = JSON.stringify(value);
  return json.includes('\\ud') ? json.replace(HALF, '\ufffd') : json;
}
