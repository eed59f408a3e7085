/** The parts of a request that a secret may be put into. */
export const secretLocations = ['header', 'path', 'query', 'body'] as const;
/** `header`: those that carry credentials. `header:cookie`: this one, too. */
export type SecretLocation = (typeof secretLocations)[number] | `header:${string}`;

/** Whether a secret may be in a header. @param header in lower case */
export const permitsHeader = (locations: readonly SecretLocation[], header: string): boolean =>
  locations.includes(`header:${header}`) ||
  (locations.includes('header') && /key|token|secret|auth|signature/.test(header) && !stored.test(header));

/** Names of headers that servers keep, or that are a path, whatever else they contain. */
const stored = /^x-(forwarded|original|rewrite)|-meta-|idempotency|surrogate|cache|^:|^sec-/;

/** Where a secret may be that names no locations. Hosts keep and show paths, queries and bodies, but seldom headers. */
export const defaultLocations: readonly SecretLocation[] = ['header'];
