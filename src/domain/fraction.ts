import { createHash } from 'node:crypto';

/** 0 to 1 (excluded), even over all texts, and for the same text always the same: what a share of sessions is drawn by. */
export const fractionOf = (text: string): number =>
  createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
