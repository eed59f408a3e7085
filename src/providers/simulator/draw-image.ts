import { encodePng } from './png.ts';
import { createNumbers } from './seed.ts';

const SIZE = 256;

type Color = readonly [red: number, green: number, blue: number];
/** Whether the shape covers the pixel. */
type Shape = (x: number, y: number) => boolean;

/**
 * Draws an image of 256 × 256 pixels: a gradient with shapes on it. The same prompt gives the same pixels.
 *
 * @param share the fraction of the shapes to draw, 0 to 1
 */
export function drawImage(prompt: string, share = 1): Buffer {
  const next = createNumbers(`picture ${prompt}`);
  const upTo = (count: number) => next() % count;
  const color = (): Color => [upTo(256), upTo(256), upTo(256)];
  const [from, to] = [color(), color()];
  const slant = upTo(SIZE) / SIZE; // 0: the gradient runs down; nearly 1: it runs to the right
  const all = Array.from({ length: 3 + upTo(5) }, () => ({ covers: makeShape(upTo), fill: color() }));
  const shapes = all.slice(0, Math.ceil(all.length * share));
  const pixels = new Uint8Array(SIZE * SIZE * 3);
  for (let y = 0; y < SIZE; y++) {
    for (let x = 0; x < SIZE; x++) {
      const top = shapes.findLast((shape) => shape.covers(x, y));
      const way = (x * slant + y * (1 - slant)) / SIZE;
      for (let part = 0; part < 3; part++) {
        const ground = from[part]! + (to[part]! - from[part]!) * way;
        // Shapes show a third of the background, so that they remain visible where their color is close to the
        // background's.
        pixels[(y * SIZE + x) * 3 + part] = top ? (ground + top.fill[part]! * 2) / 3 : ground;
      }
    }
  }
  return encodePng(SIZE, SIZE, pixels);
}

function makeShape(upTo: (count: number) => number): Shape {
  const [kind, left, top, size] = [upTo(3), upTo(SIZE), upTo(SIZE), 24 + upTo(72)];
  switch (kind) {
    case 0:
      return (x, y) => (x - left) ** 2 + (y - top) ** 2 < (size / 2) ** 2;
    case 1:
      return (x, y) => x >= left && x < left + size && y >= top && y < top + size;
    default:
      return (x, y) => y >= top && y < top + size && Math.abs(x - left) * 2 < y - top;
  }
}
