import type { ImageFormat, PixelSize } from '../../domain/images.ts';
import { createNumbers } from './seed.ts';

/** The complete input of a drawing. */
export interface Drawing {
  /** The title of the image. */
  words: string;
  /** Varies the image for the same words. */
  seed: string;
  size: PixelSize;
  /** Whether the background is omitted. */
  isTransparent?: boolean;
  /** The fraction of the circles to draw, from 0 to 1. */
  share: number;
}

const CIRCLES = 6;

/** Draws an SVG of exactly that size: a background and circles. The same drawing gives the same markup. */
export function drawSvg({ words, seed, size: { width, height }, isTransparent, share }: Drawing): string {
  const next = createNumbers(`drawing ${seed}`);
  const color = (): string => `#${(next() >>> 8).toString(16).padStart(6, '0')}`;
  const background = `<rect width="${width}" height="${height}" fill="${color()}"/>`;
  const circles = Array.from({ length: CIRCLES }, () => {
    const radius = Math.ceil(Math.min(width, height) * (0.1 + (next() % 30) / 100));
    return `<circle cx="${next() % width}" cy="${next() % height}" r="${radius}" fill="${color()}" fill-opacity="0.8"/>`;
  });
  const shown = circles.slice(0, Math.ceil(CIRCLES * share)).join('');
  const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
  return `${head}<title>${escapeXml(words)}</title>${isTransparent ? '' : background}${shown}</svg>`;
}

/** Encodes a drawing. @returns base64 */
export async function encodeDrawing(drawing: Drawing, format: ImageFormat, compression?: number): Promise<string> {
  const markup = Buffer.from(drawSvg(drawing));
  if (format === 'svg') return markup.toString('base64');
  const { default: sharp } = await import('sharp'); // loaded only if an image is rendered
  const image = sharp(markup);
  const quality = compression === undefined ? 90 : Math.max(1, 100 - compression);
  const written =
    format === 'jpeg'
      ? image.flatten({ background: '#fff' }).jpeg({ quality })
      : format === 'webp'
        ? image.webp({ quality })
        : image.png();
  return (await written.toBuffer()).toString('base64');
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const forbidden = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD]/g;

/** Escapes text for an element. Removes characters that XML does not allow. */
const escapeXml = (text: string): string =>
  text
    .toWellFormed()
    .replace(forbidden, '')
    .replace(/[&<>]/g, (found) => entities[found]!);
