/** Longest path of an entry. The kernel accepts no longer path in one call. */
export const MAX_PATH_BYTES = 4096;
/** Longer paths are cut in a list. Nothing saves them, and 200,000 of them would be gigabytes. */
export const MAX_LISTED_PATH_BYTES = 2048;
/** Segments of the deepest path that is saved. */
export const MAX_PATH_LEVELS = 200;
/** Levels of a list: one more, so that its reader learns of deeper paths. */
export const MAX_LISTED_LEVELS = MAX_PATH_LEVELS + 1;
const SLASH = 0x2f;

/** @returns the segments of the path of an entry @throws {RangeError} if it is not a path below a folder */
export function splitEntryPath(path: Uint8Array): Buffer[] {
  const bytes = Buffer.from(path.buffer, path.byteOffset, path.byteLength);
  const segments: Buffer[] = [];
  for (let start = 0; start <= bytes.length; ) {
    const slash = bytes.indexOf(SLASH, start);
    const end = slash === -1 ? bytes.length : slash;
    segments.push(bytes.subarray(start, end));
    start = end + 1;
  }
  if (bytes.length > MAX_PATH_BYTES || bytes.includes(0) || segments.some(isOdd)) {
    throw new RangeError('a path is not one below the home folder');
  }
  return segments;
}

const isOdd = (segment: Buffer): boolean => ['', '.', '..'].includes(segment.toString('latin1'));
