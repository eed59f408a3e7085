/** Characters of a name that are kept: an unknown slug, or a provider's name for its tier, may be as long as a body. */
const MAX_CHARACTERS = 200;

/**
 * Truncates a name for the ledger, the log and the response. Converts it to bytes first, because a slice of a long text
 * keeps the whole text in memory.
 */
export const truncateName = (name: string): string =>
  name.length <= MAX_CHARACTERS ? name : Buffer.from(name.slice(0, MAX_CHARACTERS)).toString();
