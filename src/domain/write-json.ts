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

/** A pair as two escapes, half of one, any other escape. */
const escapes =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)/gs;

/** Returns JSON text of a caller with U+FFFD for each half of a UTF-16 pair that it escapes. Servers parse the arguments of calls. */
export const replaceHalves = (json: string): string =>
  /\\u[dD]/.test(json) ? json.replace(escapes, (given, half) => (half === undefined ? given : '\ufffd')) : json;
