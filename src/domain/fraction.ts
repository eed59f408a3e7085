import { createHash } from 'node:crypto';

/**
 * Maps a text to a number from 0 to 1 (excluded). The numbers are evenly distributed, and the same text always has the
 * same one. Used to sample a share of sessions.
 */
export const fractionOf = (text: string): number =>
  createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
