import type { ByteRange } from '../../platform/objects/objects.ts';

/**
 * Reads the header `Range` of a request for a content of this many bytes.
 *
 * @returns undefined for the whole content: without the header, for several ranges, and for a header that is not valid,
 *   which RFC 9110 lets a server ignore; `unsatisfiable` if the range begins after the end
 */
export function readByteRange(
  header: string | undefined,
  bytes: number,
): Required<ByteRange> | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const suffix = Math.min(Number(last), bytes);
    return suffix === 0 ? 'unsatisfiable' : { start: bytes - suffix, end: bytes };
  }
  const start = Number(first);
  const end = last === '' ? bytes : Math.min(Number(last) + 1, bytes);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= bytes ? 'unsatisfiable' : { start, end };
}
