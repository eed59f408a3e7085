import { randomBytes } from 'node:crypto';
import { assert, constantFrom, integer, oneof, property, string, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extractImages, readExtracted, decodeImage } from './image-text.ts';

const large = (bytes: number) => randomBytes(bytes).toString('base64');
const read = (body: object, find: (parsed: Record<string, unknown>) => unknown) => {
  const { json, texts } = extractImages(Buffer.from(JSON.stringify(body)));
  return readExtracted(texts, () => find(JSON.parse(json.toString()) as Record<string, unknown>));
};

describe('images of a response', () => {
  it.each([0, 1, 2])('are the same taken out and in place, with padding of %i', (more) => {
    const image = randomBytes(99_999 + more);
    const text = image.toString('base64');
    expect(read({ a: 'x', image: text }, (body) => decodeImage(body['image']))).toEqual(image);
    expect(decodeImage(text)).toEqual(image);
  });

  it('may be data URLs', () => {
    const image = randomBytes(100_000);
    const url = `data:image/png;base64,${image.toString('base64')}`;
    expect(read({ url }, (body) => decodeImage(body['url']))).toEqual(image);
    expect(decodeImage(url)).toEqual(image);
  });

  it('are distinguished', () => {
    const images = [randomBytes(70_000), randomBytes(80_000)];
    const body = { data: images.map((bytes) => ({ b64_json: bytes.toString('base64') })) };
    const found = read(body, ({ data }) =>
      (data as { b64_json: string }[]).map(({ b64_json }) => decodeImage(b64_json)),
    );
    expect(found).toEqual(images);
  });

  it('leave everything else as it was', () => {
    const word = oneof(string({ unit: 'binary' }), constantFrom('"', '\\', '\\"', '\\\\"'));
    assert(
      property(tuple(word, word, integer({ min: 50_000, max: 60_000 })), ([before, after, bytes]) => {
        const body = { before, image: large(bytes), after, list: [before, after] };
        const { json, texts } = extractImages(Buffer.from(JSON.stringify(body)));
        expect(texts).toHaveLength(1);
        const { image, ...rest } = JSON.parse(json.toString()) as typeof body;
        const { image: _, ...expected } = JSON.parse(JSON.stringify(body)) as typeof body;
        expect(rest).toEqual(expected);
        expect(image.slice(0, 64)).toBe(body.image.slice(0, 64));
      }),
      { numRuns: 50 },
    );
  });

  it('are the same where the server escapes what need not be', () => {
    const image = Buffer.concat([Buffer.alloc(3000), randomBytes(100_000)]); // whose first slash comes late
    const body = JSON.stringify({ image: image.toString('base64') }).replaceAll('/', '\\/');
    const { json, texts } = extractImages(Buffer.from(body));
    const found = readExtracted(texts, () => decodeImage((JSON.parse(json.toString()) as { image: string }).image));
    expect(found).toEqual(image);
  });

  it('do not take long words for images', () => {
    const text = 'a fox '.repeat(20_000);
    expect(read({ text }, (body) => body['text'])).toBe(text);
  });

  it.each(['', null, 7, '???', '~0~', `${'A'.repeat(64)}~0~`])('refuses %j', (text) => {
    expect(() => decodeImage(text)).toThrow();
  });

  it('refuses long letters that are none of base64', () => {
    const image = `${large(60_000)}????${large(60_000)}`;
    expect(() => read({ image }, (body) => decodeImage(body['image']))).toThrow('not base64');
  });

  it('survives a body that is cut', () => {
    const body = Buffer.from(JSON.stringify({ image: large(60_000) }));
    for (const length of [0, 1, 12, 70_000, body.length - 1]) {
      expect(() => extractImages(body.subarray(0, length))).not.toThrow();
    }
  });
});
