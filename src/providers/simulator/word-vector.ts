/** Dimensions without a request for others. */
export const USUAL_DIMENSIONS = 256;
/** Dimensions that each word changes. */
const PLACES = 4;

/**
 * Creates a vector of length 1 from the words of a text, in any order and in any case. Texts that share words have
 * similar vectors.
 */
export function createWordVector(text: string, dimensions: number): Float32Array<ArrayBuffer> {
  const vector = new Float32Array(dimensions);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    let hash = hashWord(word);
    for (let place = 0; place < PLACES; place++) {
      vector[hash % dimensions]! += (hash & 0x10000) === 0 ? 1 : -1;
      hash = mix(hash);
    }
  }
  const length = Math.sqrt(vector.reduce((sum, part) => sum + part * part, 0));
  if (length === 0)
    vector[0] = 1; // a text without words
  else for (let at = 0; at < dimensions; at++) vector[at]! /= length;
  return vector;
}

/** Returns the cosine of the angle between two vectors of length 1. */
export function compareVectors(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += a[at]! * b[at]!;
  return sum;
}

/** FNV-1a. */
function hashWord(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193) >>> 0;
  return mix(hash);
}

/** Spreads the bits of a number. */
function mix(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  const whole = Math.imul(half ^ (half >>> 12), 0x297a2d39);
  return (whole ^ (whole >>> 15)) >>> 0;
}
