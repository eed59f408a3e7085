import type { EncodedImage, ImageMediaType } from './images.ts';

/**
 * The maximum for an image that is passed on. A larger one would exhaust the memory of its viewer, and still be
 * charged.
 */
export const MAX_PIXELS = 64_000_000;

/**
 * Detects the type of an image by its content, regardless of its declared type: PNG, JPEG, WebP, GIF or SVG. The image
 * must be complete. Pixels are not decoded.
 *
 * @returns undefined if it is not such an image, its end is missing, or it declares more than `MAX_PIXELS`
 */
export function parseImage(bytes: Buffer): EncodedImage | undefined {
  for (const { mediaType, begins, measure } of formats) {
    if (!begins(bytes)) continue;
    const size = measure(bytes);
    return size && { bytes, mediaType, width: size.width, height: size.height };
  }
  return undefined;
}

/** Detects the type by the first bytes alone. Undefined: it is another one. */
export const findMediaType = (bytes: Buffer): ImageMediaType | undefined =>
  formats.find(({ begins }) => begins(bytes))?.mediaType;

interface Format {
  mediaType: ImageMediaType;
  begins(bytes: Buffer): boolean;
  /** @returns undefined if the image is malformed or truncated */
  measure(bytes: Buffer): { width: number | undefined; height: number | undefined } | undefined;
}

const pngHead = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

const formats: readonly Format[] = [
  {
    mediaType: 'image/png',
    begins: (bytes) => bytes.subarray(0, 8).equals(pngHead),
    /** The first chunk is IHDR, the last IEND. @see https://www.w3.org/TR/png-3/ */
    measure(bytes) {
      if (bytes.length < 45 || bytes.toString('latin1', 12, 16) !== 'IHDR' || !endsPng(bytes)) {
        return undefined;
      }
      return sizeOf(bytes.readUInt32BE(16), bytes.readUInt32BE(20));
    },
  },
  {
    mediaType: 'image/jpeg',
    begins: (bytes) => bytes.length > 3 && bytes.readUIntBE(0, 3) === 0xffd8ff,
    measure: measureJpeg,
  },
  {
    mediaType: 'image/webp',
    begins: (bytes) => bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
    measure: measureWebp,
  },
  {
    mediaType: 'image/gif',
    begins: (bytes) => /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)),
    measure: (bytes) =>
      bytes.length < 14 || bytes.lastIndexOf(0x3b) < 13
        ? undefined
        : sizeOf(bytes.readUInt16LE(6), bytes.readUInt16LE(8)),
  },
  { mediaType: 'image/svg+xml', begins: beginsSvg, measure: measureSvg },
];

/** `IEND` and its checksum. */
function endsPng(bytes: Buffer): boolean {
  const end = bytes.lastIndexOf('IEND');
  return end !== -1 && end + 8 <= bytes.length;
}

const sizeOf = (width: number, height: number) =>
  width > 0 && height > 0 && width * height <= MAX_PIXELS ? { width, height } : undefined;

/** The size is in the frame header: one of the markers SOF0 to SOF15 that is not DHT, JPG or DAC. */
function measureJpeg(bytes: Buffer) {
  for (let at = 2; at + 9 < bytes.length; ) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1]!;
    if (marker === 0xff || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += marker === 0xff ? 1 : 2; // fill bytes, and markers without a length
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) {
      const isWhole = bytes.lastIndexOf(endOfJpeg) > at;
      return isWhole ? sizeOf(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)) : undefined;
    }
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

const endOfJpeg = Buffer.from([0xff, 0xd9]);

/** @see https://developers.google.com/speed/webp/docs/riff_container */
function measureWebp(bytes: Buffer) {
  if (bytes.length < 30 || bytes.readUInt32LE(4) + 8 > bytes.length) return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return sizeOf(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return sizeOf((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
    }
    case 'VP8X':
      return sizeOf(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1);
    default:
      return undefined;
  }
}

/** The parts that may precede the root element: a byte order mark, the XML declaration, comments, a document type. */
const beforeRoot = /^\uFEFF?(?:\s|<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?[^>]*>)*/i;
const HEAD_BYTES = 4096;

function beginsSvg(bytes: Buffer): boolean {
  const head = bytes.toString('utf8', 0, HEAD_BYTES);
  return /^\uFEFF?\s*</.test(head) && /^<svg[\s>/]/.test(head.replace(beforeRoot, ''));
}

/**
 * Whether the root element ends, with only space and comments after it. Not a pattern, because that would take
 * exponential time on some input.
 */
function endsSvg(text: string): boolean {
  let end = text.slice(-HEAD_BYTES).trimEnd();
  while (end.endsWith('-->')) {
    const at = end.lastIndexOf('<!--');
    if (at === -1) return false;
    end = end.slice(0, at).trimEnd();
  }
  return /(?:<\/svg\s*|\/)>$/.test(end);
}

function measureSvg(bytes: Buffer) {
  const text = bytes.toString('utf8');
  if (text.includes('\uFFFD') || !endsSvg(text)) return undefined;
  const root = /<svg[^>]*>/.exec(text.slice(0, HEAD_BYTES * 4))?.[0] ?? '';
  const lengthOf = (name: string): number | undefined => {
    const found = new RegExp(`\\s${name}\\s*=\\s*["']\\s*([\\d.]+)(?:px)?\\s*["']`).exec(root)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const box = /\sviewBox\s*=\s*["']\s*[-\d.]+[\s,]+[-\d.]+[\s,]+([\d.]+)[\s,]+([\d.]+)/.exec(root);
  const [width, height] = [
    lengthOf('width') ?? (box ? Number(box[1]) : undefined),
    lengthOf('height') ?? (box ? Number(box[2]) : undefined),
  ];
  if (width === undefined || height === undefined) return { width, height };
  return (
    sizeOf(Math.round(width), Math.round(height)) ?? { width: undefined, height: undefined } // viewers scale it
  );
}
