import { randomBytes } from 'node:crypto';
import { assert, constantFrom, integer, oneof, property, string, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { liftPictures, readLifted, readPicture } from './picture-text.ts';

const large = (bytes: number) => randomBytes(bytes).toString('base64');
const read = (body: object, find: (parsed: Record<string, unknown>) => unknown) => {
  const { json, texts } = liftPictures(Buffer.from(JSON.stringify(body)));
  return readLifted(texts, () => find(JSON.parse(json.toString()) as Record<string, unknown>));
};

describe('pictures of an answer', () => {
  it.each([0, 1, 2])('are the same taken out and in place, with padding of %i', (more) => {
    const picture = randomBytes(99_999 + more);
    const text = picture.toString('base64');
    expect(read({ a: 'x', picture: text }, (body) => readPicture(body['picture']))).toEqual(picture);
    expect(readPicture(text)).toEqual(picture);
  });

  it('may be data URLs', () => {
    const picture = randomBytes(100_000);
    const url = `data:image/png;base64,${picture.toString('base64')}`;
    expect(read({ url }, (body) => readPicture(body['url']))).toEqual(picture);
    expect(readPicture(url)).toEqual(picture);
  });

  it('are told apart', () => {
    const pictures = [randomBytes(70_000), randomBytes(80_000)];
    const body = { data: pictures.map((bytes) => ({ b64_json: bytes.toString('base64') })) };
    const found = read(body, ({ data }) =>
      (data as { b64_json: string }[]).map(({ b64_json }) => readPicture(b64_json)),
    );
    expect(found).toEqual(pictures);
  });

  it('leave everything else as it was', () => {
    const word = oneof(string({ unit: 'binary' }), constantFrom('"', '\\', '\\"', '\\\\"'));
    assert(
      property(tuple(word, word, integer({ min: 50_000, max: 60_000 })), ([before, after, bytes]) => {
        const body = { before, picture: large(bytes), after, list: [before, after] };
        const { json, texts } = liftPictures(Buffer.from(JSON.stringify(body)));
        expect(texts).toHaveLength(1);
        const { picture, ...rest } = JSON.parse(json.toString()) as typeof body;
        const { picture: _, ...expected } = JSON.parse(JSON.stringify(body)) as typeof body;
        expect(rest).toEqual(expected);
        expect(picture.slice(0, 64)).toBe(body.picture.slice(0, 64));
      }),
      { numRuns: 50 },
    );
  });

  it('are the same where the server escapes what need not be', () => {
    const picture = Buffer.concat([Buffer.alloc(3000), randomBytes(100_000)]); // whose first slash comes late
    const body = JSON.stringify({ picture: picture.toString('base64') }).replaceAll('/', '\\/');
    const { json, texts } = liftPictures(Buffer.from(body));
    const found = readLifted(texts, () => readPicture((JSON.parse(json.toString()) as { picture: string }).picture));
    expect(found).toEqual(picture);
  });

  it('do not take long words for pictures', () => {
    const text = 'a fox '.repeat(20_000);
    expect(read({ text }, (body) => body['text'])).toBe(text);
  });

  it.each(['', null, 7, '???', '~0~', `${'A'.repeat(64)}~0~`])('refuses %j', (text) => {
    expect(() => readPicture(text)).toThrow();
  });

  it('refuses long letters that are none of base64', () => {
    const picture = `${large(60_000)}????${large(60_000)}`;
    expect(() => read({ picture }, (body) => readPicture(body['picture']))).toThrow('not base64');
  });

  it('survives a body that is cut', () => {
    const body = Buffer.from(JSON.stringify({ picture: large(60_000) }));
    for (const length of [0, 1, 12, 70_000, body.length - 1]) {
      expect(() => liftPictures(body.subarray(0, length))).not.toThrow();
    }
  });
});
