import { hashKey } from './key-text.ts';
import { readSentKey } from './read-sent-key.ts';

/** The hashes of the keys that were sent last on each open connection. */
export class ConnectionHashes {
  private readonly last = new WeakMap<object, { authorization: string; hash: string | undefined }>();

  /**
   * Returns the hash of the key in an `authorization` header. Undefined if it has none.
   *
   * @param connection absent: nothing is remembered
   */
  find(authorization: string, connection: object | undefined): string | undefined {
    if (!connection) return readHash(authorization);
    const last = this.last.get(connection);
    if (last && isEqual(last.authorization, authorization)) return last.hash;
    const hash = readHash(authorization);
    this.last.set(connection, { authorization, hash });
    return hash;
  }
}

function readHash(authorization: string): string | undefined {
  const text = readSentKey(authorization);
  return text === undefined ? undefined : hashKey(text);
}

/**
 * Compares all characters, so that the time reveals nothing. A connection from a proxy may have the key of another
 * client.
 */
function isEqual(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}
