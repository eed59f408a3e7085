/** The parts of a request that a secret may be put into. */
export const secretLocations = ['header', 'path', 'query', 'body'] as const;
export type SecretLocation = (typeof secretLocations)[number];

/** Where a secret may be that names no locations. Hosts keep and show paths, queries and bodies, but seldom headers. */
export const defaultLocations: readonly SecretLocation[] = ['header'];
