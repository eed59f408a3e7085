import sharp from 'sharp';
import { expect, it } from 'vitest';
import { findMediaType, parseImage } from './parse-image.ts';

const paint = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 4, background: { r: 9, g: 99, b: 199, alpha: 0.5 } } });

it.each([
  ['image/png', () => paint(300, 20).png()],
  ['image/png', () => paint(300, 20).png({ palette: true })],
  ['image/jpeg', () => paint(300, 20).jpeg()],
  ['image/jpeg', () => paint(300, 20).jpeg({ progressive: true }).withMetadata({ density: 300 })],
  ['image/webp', () => paint(300, 20).webp()],
  ['image/webp', () => paint(300, 20).webp({ lossless: true })],
  ['image/webp', () => paint(300, 20).flatten().webp()],
  ['image/gif', () => paint(300, 20).gif()],
])('detects %s and its size by the content', async (mediaType, make) => {
  const bytes = await make().toBuffer();
  expect(parseImage(bytes)).toEqual({ bytes, mediaType, width: 300, height: 20 });
});

it.each([
  ['<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20px"/>', 30, 20],
  ['\uFEFF<?xml version="1.0"?>\n<!-- a > b -->\n<!DOCTYPE svg>\n<svg viewBox="0 0 12.4 7"><g/></svg>\n', 12, 7],
  ['<svg><g/></svg><!-- end -->', undefined, undefined],
])('detects SVG: %s', (markup, width, height) => {
  expect(parseImage(Buffer.from(markup))).toMatchObject({ mediaType: 'image/svg+xml', width, height });
});

it.each(['png', 'jpeg', 'webp', 'gif'] as const)('rejects a %s that is truncated anywhere', async (format) => {
  const bytes = await paint(64, 64)[format]().toBuffer();
  for (let length = 0; length < bytes.length - 2; length++) {
    expect(parseImage(bytes.subarray(0, length)) === undefined).toBe(true); // toBeUndefined would print all bytes
  }
});

it.each([
  '',
  'hello',
  '{"svg":1}',
  '<html><svg></svg></html>',
  '<svgx></svgx>',
  '<svg><g>',
  'GIF88a',
  'RIFFxxxxWAVE',
])('rejects %j', (text) => {
  expect(parseImage(Buffer.from(text))).toBeUndefined();
});

it('detects the type by the first bytes', async () => {
  const bytes = await paint(64, 64).png().toBuffer();
  expect(findMediaType(bytes.subarray(0, 20))).toBe('image/png');
});
