/** What a picture is, by its first bytes: names and headers say what their writer likes. */
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

export type PictureFormat = keyof typeof mediaTypes;

/** Magic numbers as latin-1 text, each with the byte at which it begins. */
const magic: readonly [PictureFormat, ...[at: number, text: string][]][] = [
  ['png', [0, '\x89PNG\r\n\x1a\n']],
  ['jpeg', [0, '\xff\xd8\xff']],
  ['webp', [0, 'RIFF'], [8, 'WEBP']],
  ['gif', [0, 'GIF87a']],
  ['gif', [0, 'GIF89a']],
  ['bmp', [0, 'BM'], [6, '\0\0\0\0']],
  ['tiff', [0, 'II*\0']],
  ['tiff', [0, 'MM\0*']],
  ['ico', [0, '\0\0\x01\0']],
  ['jxl', [0, '\xff\x0a']],
  ['jxl', [0, '\0\0\0\x0cJXL ']],
];
const avifBrands = new Set(['avif', 'avis']);
const heicBrands = new Set(['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'hevm', 'hevs']);

/** @returns undefined when it is no picture that anybody knows here */
export function findFormat(bytes: Uint8Array): PictureFormat | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 4096)).toString('latin1');
  for (const [format, ...pieces] of magic) {
    if (pieces.every(([at, text]) => head.startsWith(text, at))) return format;
  }
  if (head.startsWith('ftyp', 4)) return readBrands(head);
  return isSvg(head) ? 'svg' : undefined;
}

/** The box `ftyp` of ISO base media files: its own brand, a version, and the brands that it goes with. */
function readBrands(head: string): PictureFormat | undefined {
  const length = Math.min(Buffer.from(head.slice(0, 4), 'latin1').readUInt32BE(0), head.length);
  const brands = [head.slice(8, 12), ...(head.slice(16, length).match(/.{4}/gs) ?? [])];
  if (brands.some((brand) => avifBrands.has(brand))) return 'avif';
  return brands.some((brand) => heicBrands.has(brand)) ? 'heic' : undefined;
}

/** An `svg` element first, after a byte order mark, the XML declaration, comments and a document type. */
const isSvg = (head: string): boolean =>
  /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*|<!DOCTYPE\s+svg[^>]*>\s*)*<(?:[\w.-]+:)?svg[\s>/]/s.test(
    head,
  );
