import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { testGateway } from '../src/testing/test-gateway.ts';

/*
 * Generates the images of docs/guides/images.md with a running gateway and its simulator: `npm run docs`. The same
 * requests give the same pixels.
 */

const guide = new URL('../docs/guides/images.md', import.meta.url);
const folder = new URL('../docs/guides/images/', import.meta.url);

/** The JSON bodies of the guide, each under a heading comment `<!-- image NAME -->`. */
export function readExamples(text: string): { name: string; body: Record<string, unknown> }[] {
  return [...text.matchAll(/<!-- image ([\w-]+) -->\s+```json\n([\s\S]*?)```/g)].map(([, name, body]) => ({
    name: name!, // both groups always match
    body: JSON.parse(body!) as Record<string, unknown>,
  }));
}

interface ImageResult {
  data: { b64_json: string; media_type: string }[];
}

/** Requests every example. @returns file name → bytes, including the partial images of streams */
export async function drawExamples(text: string): Promise<Map<string, Buffer>> {
  const gateway = await testGateway();
  const files = new Map<string, Buffer>();
  const keep = (name: string, type: string, base64: string) =>
    files.set(`${name}.${type.replace('image/', '').replace('+xml', '')}`, Buffer.from(base64, 'base64'));
  try {
    for (const { name, body } of readExamples(text)) {
      const response = await gateway.post('/images', body);
      if (body['stream'] === true) {
        for (const event of readEvents(await response.text())) {
          const part = event.partial_image_index === undefined ? name : `${name}-${event.partial_image_index}`;
          keep(part, `image/${body['output_format']}`, event.b64_json);
        }
      } else {
        const { data } = (await response.json()) as ImageResult;
        for (const [index, image] of data.entries()) {
          keep(data.length === 1 ? name : `${name}-${index}`, image.media_type, image.b64_json);
        }
      }
    }
  } finally {
    await gateway.close();
  }
  return files;
}

const readEvents = (text: string) =>
  text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame) => JSON.parse(frame.slice('data: '.length)) as { b64_json: string; partial_image_index?: number });

if (import.meta.main) {
  mkdirSync(folder, { recursive: true });
  const files = await drawExamples(readFileSync(guide, 'utf8'));
  for (const [name, bytes] of files) writeFileSync(new URL(name, folder), bytes);
  console.log(`${files.size} images`);
}
