import { endianness } from 'node:os';
import type { Vector, VectorFormat } from '../../domain/embeddings.ts';

const isBigEndian = endianness() === 'BE';

/**
 * Converts a vector to another format, exactly: base64 is little-endian 32-bit floats, and numbers are rounded to the
 * nearest of them.
 *
 * @throws {Error} if a number is not finite, because JSON has no such number
 */
export function convertVector(vector: Vector, format: VectorFormat): Vector {
  if (vector.format === format) return vector;
  const { length } = vector;
  if (format === 'base64') {
    const numbers = JSON.parse(vector.bytes.toString('latin1')) as number[]; // `liftVectors` has checked it
    return { format, bytes: Buffer.from(encodeFloats(numbers), 'latin1'), length };
  }
  const floats = decodeFloats(vector.bytes.toString('latin1'));
  if (!floats.every(Number.isFinite)) throw new Error('A number of a vector is not finite.');
  return { format, bytes: Buffer.from(JSON.stringify(Array.from(floats)), 'latin1'), length };
}

/** Returns the base64 of numbers as 32-bit floats. */
export function encodeFloats(numbers: Iterable<number>): string {
  const bytes = Buffer.from(Float32Array.from(numbers).buffer);
  return (isBigEndian ? bytes.swap32() : bytes).toString('base64');
}

/** Returns the 32-bit floats of a base64 text. */
export function decodeFloats(text: string): Float32Array {
  const decoded = Buffer.from(text, 'base64');
  if (isBigEndian) decoded.swap32();
  const floats = new Float32Array(Math.floor(decoded.length / 4));
  Buffer.from(floats.buffer).set(decoded.subarray(0, floats.byteLength)); // a pooled buffer may not be aligned
  return floats;
}
