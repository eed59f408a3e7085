/** Formats that are recognized by their first bytes, and that are not read. */
const signatures: readonly (readonly [signature: string, offset: number, what: string])[] = [
  ['\x89PNG\r\n', 0, 'a PNG image'],
  ['\xff\xd8\xff', 0, 'a JPEG image'],
  ['GIF8', 0, 'a GIF image'],
  ['WEBP', 8, 'a WebP image'],
  ['BM', 0, 'a BMP image'],
  ['II*\0', 0, 'a TIFF image'],
  ['MM\0*', 0, 'a TIFF image'],
  ['ftypavif', 4, 'an AVIF image'],
  ['ftypheic', 4, 'a HEIC image'],
  ['ftypmif1', 4, 'a HEIC image'],
  ['ftyp', 4, 'a video or audio file'],
  ['\x1aE\xdf\xa3', 0, 'a video file'],
  ['ID3', 0, 'an audio file'],
  ['OggS', 0, 'an audio file'],
  ['WAVE', 8, 'an audio file'],
  ['fLaC', 0, 'an audio file'],
  ['\x1f\x8b', 0, 'a gzip archive'],
  ['7z\xbc\xaf', 0, 'a 7z archive'],
  ['Rar!', 0, 'a RAR archive'],
  ['BZh', 0, 'a bzip2 archive'],
  ['\xfd7zXZ', 0, 'an xz archive'],
  ['SQLite format 3\0', 0, 'an SQLite database'],
  ['\x7fELF', 0, 'a program'],
  ['MZ', 0, 'a program'],
  ['\0asm', 0, 'a program'],
];

/** Bytes before the signature that PDF readers accept. */
const PDF_LEAD = 1024;

export type FileFormat = 'pdf' | 'zip' | 'ole' | 'other';

/** Detects a format by the bytes. `other` may be text. */
export function detectFormat(bytes: Buffer): FileFormat {
  if (startsWith(bytes, 'PK\x03\x04', 0) || startsWith(bytes, 'PK\x05\x06', 0)) return 'zip';
  if (startsWith(bytes, '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 0)) return 'ole';
  return bytes.subarray(0, PDF_LEAD).includes('%PDF-') ? 'pdf' : 'other';
}

/** @returns a noun for the format; undefined if it is unknown */
export const nameFormat = (bytes: Buffer): string | undefined =>
  signatures.find(([signature, offset]) => startsWith(bytes, signature, offset))?.[2];

const startsWith = (bytes: Buffer, signature: string, offset: number): boolean =>
  bytes.length >= offset + signature.length &&
  bytes.toString('latin1', offset, offset + signature.length) === signature;
