import type { PixelSize } from '../../domain/images.ts';
import { drawText } from './glyphs.ts';
import { createNumbers } from './seed.ts';

/** The complete input of a drawing. */
export interface Drawing {
  /** The words in the image. */
  words: string;
  /** Varies the image for the same words. */
  seed: string;
  size: PixelSize;
  /** Whether the background is omitted. */
  isTransparent: boolean;
  /** Colors of the drawing, as `#rrggbb`. If there are too few, the others are derived from the seed. */
  colors: readonly string[];
  /** The fraction of the image to draw, from 0 to 1. Below 1, the words are omitted. */
  share: number;
}

/** Draws an SVG of exactly that size: a background, shapes and the words. The same drawing gives the same markup. */
export function drawSvg({ words, seed, size, isTransparent, colors, share }: Drawing): string {
  const { width, height } = size;
  const next = createNumbers(`drawing ${seed}`);
  const upTo = (count: number): number => next() % Math.max(1, count);
  const made = Array.from({ length: 8 }, () => `#${(next() >>> 8).toString(16).padStart(6, '0')}`);
  const palette = [...colors, ...made];
  const parts: string[] = [];
  if (!isTransparent) {
    parts.push(
      `<defs><linearGradient id="g" x2="${upTo(2)}" y2="1"><stop stop-color="${palette[0]}"/><stop offset="1" stop-color="${palette[1]}"/></linearGradient></defs>`,
      `<rect width="${width}" height="${height}" fill="url(#g)"/>`,
    );
  }
  const shapes = Array.from({ length: 6 + upTo(6) }, (_, index) => drawShape(size, upTo, palette[2 + (index % 6)]!));
  parts.push(...shapes.slice(0, Math.ceil(shapes.length * share)));
  if (share >= 1) parts.push(...drawWords(words, size));
  const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
  return `${head}<title>${escapeXml(words)}</title>${parts.join('')}</svg>`;
}

function drawShape({ width, height }: PixelSize, upTo: (count: number) => number, fill: string): string {
  const extent = Math.max(8, Math.round(Math.min(width, height) * (0.1 + upTo(30) / 100)));
  const [x, y] = [upTo(width), upTo(height)];
  const look = `fill="${fill}" fill-opacity="0.8"`;
  switch (upTo(3)) {
    case 0:
      return `<circle cx="${x}" cy="${y}" r="${extent / 2}" ${look}/>`;
    case 1:
      return `<rect x="${x - extent / 2}" y="${y - extent / 2}" width="${extent}" height="${extent}" ${look}/>`;
    default:
      return `<path d="M${x} ${y - extent / 2}l${extent / 2} ${extent}h-${extent}z" ${look}/>`;
  }
}

/** Writes the words in a band at the bottom, as large as they fit. */
function drawWords(words: string, { width, height }: PixelSize): string[] {
  const band = Math.round(height / 3);
  const margin = Math.round(Math.min(width, band) / 12);
  const box = { left: margin, top: height - band + margin, width: width - 2 * margin, height: band - 2 * margin };
  const path = drawText(words, box);
  if (path === '') return [];
  return [
    `<rect y="${height - band}" width="${width}" height="${band}" fill="#fff" fill-opacity="0.85"/>`,
    `<path d="${path}" fill="#111"/>`,
  ];
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const forbidden = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD]/g;

/** Escapes text for an element. Removes characters that XML does not allow. */
const escapeXml = (text: string): string =>
  text
    .toWellFormed()
    .replace(forbidden, '')
    .replace(/[&<>]/g, (found) => entities[found]!);
