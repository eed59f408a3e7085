import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sse } from '../../src/testing/scripted-responses.ts';
import { paint } from './images-lab.ts';
import { caseOf, failureOf, type ImageLab, imageCases, openImageLab, imagesOf, usageOf } from './images-wires.ts';
import { newSession, rowsOf } from './ledger-rows.ts';

/*
 * Images of providers are checked before they are passed on: each one is decoded completely, and an SVG may contain
 * neither code nor links.
 */

let lab: ImageLab;
let headsOnly: ImageLab;
let good: Buffer;
let broken: Buffer;
beforeAll(async () => {
  [lab, headsOnly, good, broken] = await Promise.all([
    openImageLab(),
    openImageLab({ images: { check: 'head' } }),
    paint({ width: 64, height: 64 }),
    breakMiddle(),
  ]);
});
afterAll(() => Promise.all([lab.close(), headsOnly.close()]));

/** Its beginning and end are those of an image. */
async function breakMiddle(): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 120, sigma: 40 } as const;
  const bytes = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#c22', noise } })
    .png()
    .toBuffer();
  return bytes.fill(7, bytes.length >> 1, (bytes.length >> 1) + 40);
}

const svg = (inside: string): Buffer =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10">${inside}</svg>`);

describe.each(imageCases)('an image of $wire, $mode', ({ wire, mode }) => {
  const how = { wire, mode };
  const { makes } = caseOf(wire);

  it.each<[string, () => Buffer, RegExp]>([
    ['cannot be decoded', () => broken, /It cannot be decoded/],
    ['is cut', () => good.subarray(0, good.length >> 1), /It cannot be decoded/],
    [
      'is text',
      () => Buffer.from('a picture of a red fox, honestly'),
      /It is not an image|a partial image that is not an image/,
    ],
    ['is a TIFF', () => Buffer.from('II*\0and so on', 'latin1'), /It is tiff|a partial image that is not an image/],
    ['is a drawing with a script', () => svg('<script>alert(1)</script>'), /It contains the element script/],
    ['is a drawing that runs code', () => svg('<rect onclick="alert(1)"/>'), /It contains the attribute onclick/],
    ['is a drawing that fetches', () => svg('<image href="http://169.254.169.254/"/>'), /an external link/],
    [
      'is an SVG with entities',
      () => Buffer.from('<!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>'),
      /a document type or entities/,
    ],
    ['is a drawing without an end', () => svg('<g>'), /markup that is not well-formed/],
  ])('that %s is a failed attempt, and costs nothing', async (_, bytes, message) => {
    lab.upstream.always(makes([bytes()]));
    const session_id = newSession();
    const failure = failureOf(await lab.ask(how, { session_id }));
    expect(failure).toMatchObject({
      status: 502,
      type: 'provider_unavailable',
      message: expect.stringMatching(message),
    });
    expect(await rowsOf(lab.gateway.dataDir, session_id)).toMatchObject([{ outcome: 'failed', cost_nano_usd: 0 }]);
  });

  it('that cannot be decoded allows a fallback', async () => {
    const partless = caseOf(wire).streams ? streamsOf(wire, broken) : makes([broken]);
    lab.upstream.always(mode === 'streamed' ? partless : makes([broken]));
    lab.other.always(caseOf('openai-images').makes([good]));
    const outcome = await lab.ask(how, { model: `${wire}/two`, provider: { order: [wire, 'last'] } });
    expect(failureOf(outcome).message).toBe('');
    expect(imagesOf(outcome).map(({ b64_json }) => b64_json)).toEqual([good.toString('base64')]);
    expect(usageOf(outcome)).toMatchObject({ cost: 0.05 });
  });

  it('that is a harmless SVG is passed on unchanged', async () => {
    const drawing = svg('<title>a &lt;script&gt;</title><path d="M0 0h9v9z" fill="url(#a)"/>');
    lab.upstream.always(makes([drawing]));
    const [image] = imagesOf(await lab.ask(how));
    expect(image).toEqual({ b64_json: drawing.toString('base64'), media_type: 'image/svg+xml' });
  });

  it('is checked by its beginning and end alone if configured', async () => {
    headsOnly.upstream.always(makes([broken]));
    expect(imagesOf(await headsOnly.ask(how))).toHaveLength(1);
    headsOnly.upstream.always(makes([good.subarray(0, good.length >> 1)]));
    expect(failureOf(await headsOnly.ask(how))).toMatchObject({ status: 502, message: /It is truncated, malformed/ });
    headsOnly.upstream.always(makes([claiming(50_000, good)]));
    expect(failureOf(await headsOnly.ask(how))).toMatchObject({ status: 502, message: /too large/ });
  });
});

/** A PNG that claims a number of pixels per edge. */
function claiming(edge: number, image: Buffer): Buffer {
  const claim = Buffer.from(image);
  claim.writeUInt32BE(edge, 16);
  claim.writeUInt32BE(edge, 20);
  return claim;
}

/** A stream of the finished image alone, in one piece with its end. */
function streamsOf(wire: string, made: Buffer) {
  const b64_json = made.toString('base64');
  if (wire === 'openai-images') return sse([{ type: 'image_generation.completed', b64_json }]);
  const part = { inlineData: { mimeType: 'image/png', data: b64_json } };
  return sse([{ candidates: [{ content: { parts: [part], role: 'model' }, finishReason: 'STOP' }] }]);
}

describe('a stream that is interrupted while an image is checked', () => {
  const completed = (bytes: Buffer) => ({ type: 'image_generation.completed', b64_json: bytes.toString('base64') });
  const broke = { type: 'error', error: { message: 'Out of paint', code: 'server_error' } };
  const how = { wire: 'openai-images', mode: 'streamed' } as const;

  it('ends with the error, after the earlier images', async () => {
    lab.upstream.always(sse([completed(good), completed(good), broke]));
    const { events, done } = await lab.ask(how, { n: 3 });
    expect(events.map(({ type }) => type)).toEqual(['image_generation.completed', 'error']); // the last one waits for its usage
    expect(done).toBe(true);
  });

  it('never mixes the images of two endpoints', async () => {
    const other = await paint({ width: 32, height: 32 });
    lab.upstream.always(sse([broke]));
    lab.other.always(sse([completed(other)]));
    const outcome = await lab.ask(how, { model: 'openai-images/two', provider: { order: ['openai-images', 'last'] } });
    expect(imagesOf(outcome).map(({ b64_json }) => b64_json)).toEqual([other.toString('base64')]);
  });
});

it('is rejected beyond 64 million pixels, even with few bytes', async () => {
  const huge = await sharp({ create: { width: 9000, height: 9000, channels: 3, background: 'white' } })
    .png({ compressionLevel: 9 })
    .toBuffer();
  lab.upstream.always(caseOf('openai-images').makes([huge]));
  const failure = failureOf(await lab.ask({ wire: 'openai-images', mode: 'buffered' }));
  expect(failure).toMatchObject({ status: 502, message: /9000 × 9000 pixels; 64000000 pixels in all may be/ });
});
