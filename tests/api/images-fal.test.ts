import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ScriptedResponse, bytes, json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { dataUrl, draw, paint, reference } from './images-lab.ts';
import { caseOf, failureOf, modes, imagesOf } from './images-wires.ts';
import { providerKey } from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';

let upstream: ScriptedUpstream;
let stranger: ScriptedUpstream;
let gateway: TestGateway;
let made: Buffer;
beforeEach(async () => {
  [upstream, stranger] = await Promise.all([startUpstream(), startUpstream()]);
  made = await paint({ width: 64, height: 48 });
  const models = [{ model: 'fal/*' }];
  const dialect = { poll_ms: 50 };
  const provider = { id: 'fal', wire: 'fal', base_url: upstream.url, api_key: providerKey, dialect, models };
  gateway = await testGateway({ providers: [provider] });
});
afterEach(() => Promise.all([gateway.close(), upstream.close(), stranger.close()]));

const ask = (body: object = {}, options?: object) =>
  draw(gateway, { model: 'fal/fal-ai/flux/dev', prompt: 'A red fox', ...body }, options);
const bodyOf = (request: ScriptedRequest | undefined) => request?.body as Record<string, unknown>;
const pathsOf = ({ requests }: ScriptedUpstream): string[] => requests.map(({ method, path }) => `${method} ${path}`);

/** The addresses of the queue, at this server or another one. */
const placesAt = (at = upstream.url) => ({
  request_id: 'r',
  status_url: `${at}/fal-ai/flux/requests/r/status`,
  response_url: `${at}/fal-ai/flux/requests/r`,
});
const queue = (status: string, more: object = {}): ScriptedResponse => json({ status, ...placesAt(), ...more });
/** Responds to one request after the other. */
const play = (...answers: ScriptedResponse[]): void => {
  for (const answer of answers) upstream.respond(answer);
};

describe.each(modes)('a generation of fal, %s', (mode) => {
  const stream = mode === 'streamed';

  it('waits in the queue, is generated, and is fetched without the key', async () => {
    const images = [{ url: `${upstream.url}/made.png` }];
    play(queue('IN_QUEUE'), queue('IN_QUEUE'), queue('IN_PROGRESS'), queue('COMPLETED'), json({ images, seed: 7 }));
    play(bytes(made));
    const outcome = await ask({ stream, seed: 7, size: '1024x768', output_format: 'png', n: 2 });

    expect(imagesOf(outcome)).toEqual([{ b64_json: made.toString('base64'), media_type: 'image/png' }]);
    const place = 'GET /v1/fal-ai/flux/requests/r';
    expect(pathsOf(upstream)).toEqual([
      'POST /v1/fal-ai/flux/dev',
      `${place}/status`,
      `${place}/status`,
      `${place}/status`,
      place,
      'GET /v1/made.png',
    ]);
    expect(bodyOf(upstream.requests[0])).toEqual({
      prompt: 'A red fox',
      image_size: { width: 1024, height: 768 },
      num_images: 2,
      seed: 7,
      output_format: 'png',
    });
    for (const { headers } of upstream.requests.slice(0, -1)) {
      expect(headers.authorization).toBe(`Key ${providerKey}`);
    }
    expect(upstream.requests.at(-1)!.headers.authorization).toBeUndefined();
  });

  it('accepts images in the result itself', async () => {
    play(queue('COMPLETED'), json({ images: [{ url: dataUrl(made) }] }));
    expect(imagesOf(await ask({ stream }))[0]!.b64_json).toBe(made.toString('base64'));
  });

  it('drops images that the provider has blacked out', async () => {
    const images = [{ url: dataUrl(await paint({ width: 16, height: 16 })) }, { url: dataUrl(made) }];
    play(queue('COMPLETED'), json({ images, has_nsfw_concepts: [true, false] }));
    expect(imagesOf(await ask({ stream, n: 2 })).map(({ b64_json }) => b64_json)).toEqual([made.toString('base64')]);
  });

  it('is a content_policy_violation if all of them are', async () => {
    play(queue('COMPLETED'), json({ images: [{ url: dataUrl(made) }], has_nsfw_concepts: [true] }));
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 400, type: 'content_policy_violation' });
  });

  it.each([
    ['a timeout', 'COMPLETED', { error: 'Timed out', error_type: 'request_timeout' }, 524],
    ['a runner that failed', 'COMPLETED', { error: 'Oh', error_type: 'runner_server_error' }, 502],
    ['a cancellation', 'CANCELED', {}, 502],
  ])('reports %s, at no cost', async (_, end, more, status) => {
    play(queue('IN_QUEUE'), queue(end, more));
    const session_id = newSession();
    expect(failureOf(await ask({ stream, session_id }))).toMatchObject({ status });
    expect(await rowsOf(gateway.dataDir, session_id)).toMatchObject([{ outcome: 'failed', cost_nano_usd: 0 }]);
  });

  it.each([
    'IN_QUEUE',
    'COMPLETED',
  ])('does not poll another host after %s, and does not send it the key', async (status) => {
    play(json({ status, ...placesAt(stranger.url) }));
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 502, message: /another host/ });
    expect(stranger.requests).toHaveLength(0);
  });

  it('does not fetch an image from an address of this machine', async () => {
    play(queue('COMPLETED'), json({ images: [{ url: `${stranger.url}/made.png` }] }));
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 502, message: /cannot be fetched/ });
    expect(stranger.requests).toHaveLength(0);
  });

  it('stops polling if the client disconnects', async () => {
    upstream.respond(queue('IN_QUEUE'));
    upstream.always({ ...queue('IN_QUEUE'), start: 'silence' });
    const client = new AbortController();
    const session_id = newSession();
    const asked = ask({ stream, session_id }, { signal: client.signal });
    await upstream.nextRequest();
    const question = await upstream.nextRequest();
    client.abort();
    await expect(asked).rejects.toThrow();
    expect(await question.closed).toBe('aborted');
    expect(await rowsOf(gateway.dataDir, session_id)).toMatchObject([{ outcome: 'cancelled', cost_nano_usd: 0 }]);
    expect(upstream.requests).toHaveLength(2);
  });
});

describe('a request to a model of fal', () => {
  it.each([
    ['fal-ai/flux/schnell', { aspect_ratio: '16:9' }, '', { image_size: { width: 1360, height: 768 } }],
    ['fal-ai/flux/schnell', { resolution: '2K' }, '', { image_size: { width: 2048, height: 2048 } }],
    ['fal-ai/nano-banana', { size: '1600x900' }, '', { aspect_ratio: '16:9' }],
    ['fal-ai/flux-pro/kontext', { aspect_ratio: '4:3' }, '/text-to-image', { aspect_ratio: '4:3' }],
    ['fal-ai/recraft/v3/text-to-vector', { output_format: 'svg' }, '', {}],
  ])('%s, with %j', async (model, asked, suffix, fields) => {
    upstream.always(caseOf('fal').makes([made]));
    expect((await ask({ model: `fal/${model}`, ...asked })).status).toBe(200);
    expect(upstream.requests[0]!.path).toBe(`/v1/${model}${suffix}`);
    expect(bodyOf(upstream.requests[0])).toEqual({ prompt: 'A red fox', ...fields });
  });

  it.each([
    ['fal-ai/flux-2-pro', '/edit', (url: string) => ({ image_urls: [url] })],
    ['fal-ai/flux-2/edit', '', (url: string) => ({ image_urls: [url] })],
    ['fal-ai/flux-pro/kontext', '', (url: string) => ({ image_url: url })],
  ])('%s gets references in its own way', async (model, suffix, fields) => {
    upstream.always(caseOf('fal').makes([made]));
    const url = dataUrl(await paint({ width: 32, height: 32 }));
    expect((await ask({ model: `fal/${model}`, input_references: [reference(url)] })).status).toBe(200);
    expect(upstream.requests[0]!.path).toBe(`/v1/${model}${suffix}`);
    expect(bodyOf(upstream.requests[0])).toEqual({ prompt: 'A red fox', ...fields(url) });
  });

  it.each([
    '../../secrets',
    'fal-ai/../../secrets',
    'fal-ai//x',
  ])('never leaves the path of the provider: %s', async (name) => {
    expect((await ask({ model: `fal/${name}` })).status).toBe(400);
    expect(upstream.requests).toHaveLength(0);
  });
});
