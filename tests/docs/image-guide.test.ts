import { readdirSync, readFileSync } from 'node:fs';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { drawExamples } from '../../scripts/image-guide.ts';

const guide = new URL('../../docs/guides/images.md', import.meta.url);
const folder = new URL('../../docs/guides/images/', import.meta.url);

it('the images of the guide are those of a gateway for its requests; `npm run docs` updates them', async () => {
  const text = readFileSync(guide, 'utf8');
  const drawn = await drawExamples(text);
  const shown = [...text.matchAll(/\(images\/([\w.-]+)\)/g)].map(([, name]) => name);
  expect([...drawn.keys()].sort()).toEqual(shown.sort());
  expect(readdirSync(folder).sort()).toEqual(shown);
  for (const [name, bytes] of drawn) {
    const kept = readFileSync(new URL(name, folder));
    // Compares pixels, because another version of an encoder may write other bytes.
    expect(await look(kept), name).toEqual(await look(bytes));
  }
});

async function look(bytes: Buffer): Promise<object> {
  const { format, width, height, hasAlpha } = await sharp(bytes).metadata();
  return { format, width, height, hasAlpha };
}
