import { findMediaType } from '../../domain/parse-image.ts';

/** Image formats by their first bytes, because names and headers cannot be trusted. */
export const mediaTypes = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
  heic: 'image/heic',
  svg: 'image/svg+xml',
  bmp: 'image/bmp',
  tiff: 'image/tiff',
  ico: 'image/x-icon',
  jxl: 'image/jxl',
} as const;

export type ImageFileFormat = keyof typeof mediaTypes;

/** The other formats, as latin-1 text from the first byte. */
const magic: readonly [ImageFileFormat, text: string][] = [
  ['tiff', 'II*\0'],
  ['tiff', 'MM\0*'],
  ['ico', '\0\0\x01\0'],
  ['jxl', '\xff\x0a'],
  ['jxl', '\0\0\0\x0cJXL '],
];
const avifBrands = new Set(['avif', 'avis']);
const heicBrands = new Set(['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'hevm', 'hevs']);

/** @returns undefined if the image format is unknown */
export function findImageFormat(bytes: Uint8Array): ImageFileFormat | undefined {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 4096));
  const known = findMediaType(start);
  if (known !== undefined) return formatOf.get(known);
  const head = start.toString('latin1');
  if (head.startsWith('ftyp', 4)) return readBrands(head);
  if (head.startsWith('BM') && head.startsWith('\0\0\0\0', 6)) return 'bmp';
  return magic.find(([, text]) => head.startsWith(text))?.[0];
}

const formatOf = new Map<string, ImageFileFormat>(
  // The entries come from the table, so their keys are formats.
  Object.entries(mediaTypes).map(([format, mediaType]) => [mediaType, format as ImageFileFormat]),
);

/** The box `ftyp` of ISO base media files: its own brand, a version, and the compatible brands. */
function readBrands(head: string): ImageFileFormat | undefined {
  const length = Math.min(Buffer.from(head.slice(0, 4), 'latin1').readUInt32BE(0), head.length);
  const brands = [head.slice(8, 12), ...(head.slice(16, length).match(/.{4}/gs) ?? [])];
  if (brands.some((brand) => avifBrands.has(brand))) return 'avif';
  return brands.some((brand) => heicBrands.has(brand)) ? 'heic' : undefined;
}
