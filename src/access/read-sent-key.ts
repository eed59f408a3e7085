const bearer = /^(?:bearer(?:\s+|$))+/i;
const basic = /^basic\s+([A-Za-z0-9+/=_-]+)\s*$/i;
const inQuotes = /^(["'])(.*)\1$/;

/**
 * Returns the key in an `authorization` header: after `Bearer`, also if it is doubled or absent, in quotes that a settings file has
 * kept, or as the password or the user of `Basic`.
 *
 * @returns undefined if there is none
 * @see docs/reference/http.md#authentication
 */
export function readSentKey(authorization: string): string | undefined {
  const encoded = basic.exec(authorization)?.[1];
  const text = encoded === undefined ? authorization.replace(bearer, '') : readBasic(encoded);
  const key = text.trim().replace(inQuotes, '$2');
  return /^\S+$/.test(key) ? key : undefined;
}

/** The password counts. Without one, the user does. */
function readBasic(encoded: string): string {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon === -1 ? text : text.slice(colon + 1) || text.slice(0, colon);
}
