import type { Readable } from 'node:stream';

/** The bytes of a stored object. */
export interface StoredObject {
  key: string;
  bytes: number;
  /** When its last `put` ended, in Unix milliseconds of the host of the objects. */
  modifiedAtMs: number;
}

export interface ReadableObject extends StoredObject {
  /** The requested bytes. Read it to its end, or destroy it. */
  content: Readable;
}

/** A part of an object, in bytes. */
export interface ByteRange {
  /** First byte, from 0. */
  start: number;
  /** First byte after the part. Absent, or beyond the end: the rest of the object. */
  end?: number;
}

export interface ObjectQuery {
  /** Bytes that the keys begin with. Empty: all keys. */
  prefix: string;
  /** Lists only keys after this one, which need not exist. */
  after?: string;
  limit: number;
}

/**
 * Large values under keys, such as the content of files. A key is a path of 1 to 1,024 bytes: segments of 1 to 254 bytes
 * with `/` between them.
 *
 * The port has nothing that an object store over HTTP could not do: there is no append, no rename and no lock. Adapters
 * run `contract.ts`. All methods reject with the adapter's error if the store of the objects is unavailable.
 */
export interface Objects {
  /**
   * Writes an object from a stream. It is durable on return, and replaces an object with the same key as a whole: a
   * reader sees the old content or the new one.
   *
   * @returns the number of bytes
   * @throws what `content` throws; the key then has the same content as before
   */
  put(key: string, content: AsyncIterable<Uint8Array>): Promise<number>;
  /** @returns undefined if there is no such object */
  open(key: string, range?: ByteRange): Promise<ReadableObject | undefined>;
  /** Removes an object if it exists. */
  remove(key: string): Promise<void>;
  /** Lists objects in the order of the UTF-8 bytes of their keys. */
  list(query: ObjectQuery): Promise<StoredObject[]>;
  /**
   * Removes what interrupted calls of `put` have left.
   *
   * @param idleMs leaves newer ones alone, because another process may still write them. 0: removes all
   */
  removeLeftovers(idleMs: number): Promise<void>;
}

/** A key that no adapter can store. */
export class ObjectKeyError extends Error {
  override readonly name = 'ObjectKeyError';
}

const MAX_KEY_BYTES = 1024;
const MAX_SEGMENT_BYTES = 254;

/** @throws {ObjectKeyError} */
export function checkObjectKey(key: string): void {
  const fault = findKeyFault(key);
  if (fault !== undefined) throw new ObjectKeyError(`The key ${JSON.stringify(key.slice(0, 100))} ${fault}.`);
}

function findKeyFault(key: string): string | undefined {
  if (!key.isWellFormed()) return 'is not well-formed Unicode';
  const bytes = Buffer.byteLength(key);
  if (bytes === 0 || bytes > MAX_KEY_BYTES) return `has ${bytes} bytes; 1 to ${MAX_KEY_BYTES} are allowed`;
  for (const segment of key.split('/')) {
    const length = Buffer.byteLength(segment);
    if (length === 0 || length > MAX_SEGMENT_BYTES) {
      return `has a segment of ${length} bytes; 1 to ${MAX_SEGMENT_BYTES} are allowed`;
    }
  }
  return undefined;
}
