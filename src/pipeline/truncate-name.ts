/** Characters of a name that are kept: a slug that nobody knows, or what a provider calls its tier, may be as long as a body. */
const MAX_CHARACTERS = 200;

/** A name as ledger and log keep it. By way of bytes, since a slice of a long text keeps all of it in memory. */
export const truncateName = (name: string): string =>
  name.length <= MAX_CHARACTERS ? name : Buffer.from(name.slice(0, MAX_CHARACTERS)).toString();
