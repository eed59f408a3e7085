import { createHash } from 'node:crypto';

/** Creates pseudorandom numbers that depend only on the text: integers from 0 to 2^32 - 1. */
export function createNumbers(seed: string): () => number {
  const digest = createHash('sha256').update(seed).digest();
  let round = 0;
  let at = 0;
  let block: Buffer = digest;
  return () => {
    if (at === block.length) {
      block = createHash('sha256').update(digest).update(String(++round)).digest();
      at = 0;
    }
    at += 4;
    return block.readUInt32BE(at - 4);
  };
}

/** Creates an id that depends only on the text: prefix + 24 hexadecimal digits. */
export function seededId(prefix: string, seed: string): string {
  return prefix + createHash('sha256').update(seed).digest('hex').slice(0, 24);
}
