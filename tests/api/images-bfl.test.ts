import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ScriptedResponse, bytes, json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { dataUrl, draw, paint, reference } from './images-lab.ts';
import { caseOf, failureOf, modes, imagesOf } from './images-wires.ts';
import { providerKey } from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';
import { patient } from '../../src/testing/patience.ts';

let upstream: ScriptedUpstream;
let stranger: ScriptedUpstream;
let gateway: TestGateway;
let made: Buffer;
beforeEach(async () => {
  [upstream, stranger] = await Promise.all([startUpstream(), startUpstream()]);
  made = await paint({ width: 64, height: 48 });
  const provider = (id: string, poll_ms: number, models: string[]) => ({
    id,
    name: 'BFL',
    wire: 'bfl',
    base_url: upstream.url,
    api_key: providerKey,
    dialect: { poll_ms },
    models: models.map((model) => ({ model: `${id}/${model}`, upstream_model: model })),
  });
  gateway = await testGateway({
    providers: [
      provider('flux', 50, ['flux-2-pro', 'flux-kontext-pro', 'flux-pro-1.1', 'flux-pro-1.1-ultra', '*']),
      provider('slow', 60_000, ['flux-2-pro']),
    ],
  });
});
afterEach(() => Promise.all([gateway.close(), upstream.close(), stranger.close()]));

const ask = (body: object = {}, options?: object) =>
  draw(gateway, { model: 'flux/flux-2-pro', prompt: 'A red fox', ...body }, options);
const pathsOf = ({ requests }: ScriptedUpstream): string[] => requests.map(({ method, path }) => `${method} ${path}`);
const bodyOf = (request: ScriptedRequest | undefined) => request?.body as Record<string, unknown>;
const submitted = (at = upstream.url.replace('/v1', '')) =>
  json({ id: 't', polling_url: `${at}/v1/get_result?id=t`, cost: 3 });
const pending = json({ id: 't', status: 'Pending', result: null });

/** Responds that the image is pending to a number of polls. */
const readyAfter = (questions: number, sample = `${upstream.url}/sample.png`) => {
  upstream.respond(submitted());
  for (let asked = 0; asked < questions; asked++) upstream.respond(pending);
  upstream.respond(json({ id: 't', status: 'Ready', result: { sample }, cost: 4.5 }));
  upstream.respond(bytes(made, { headers: { 'content-type': 'image/png' } }));
};

describe.each(modes)('a generation of Black Forest Labs, %s', (mode) => {
  const stream = mode === 'streamed';

  it('is submitted, polled until it is ready, and fetched without the key', async () => {
    readyAfter(3);
    const outcome = await ask({ stream, seed: 7, size: '1024x768', output_format: 'png' });

    expect(imagesOf(outcome)).toEqual([{ b64_json: made.toString('base64'), media_type: 'image/png' }]);
    const question = 'GET /v1/get_result?id=t';
    expect(pathsOf(upstream)).toEqual([
      'POST /v1/flux-2-pro',
      question,
      question,
      question,
      question,
      'GET /v1/sample.png',
    ]);
    expect(bodyOf(upstream.requests[0])).toEqual({
      prompt: 'A red fox',
      width: 1024,
      height: 768,
      seed: 7,
      output_format: 'png',
    });
    for (const { headers } of upstream.requests.slice(0, -1)) expect(headers['x-key']).toBe(providerKey);
    expect(JSON.stringify(upstream.requests.at(-1)!.headers)).not.toContain(providerKey);
  });

  it.each([
    ['Request Moderated', { 'Moderation Reasons': ['Derivative Works Filter'] }, /Derivative Works Filter/],
    ['Content Moderated', null, /Content Moderated/],
  ])('is a content_policy_violation after %s', async (status, details, message) => {
    upstream.respond(submitted());
    upstream.respond(json({ id: 't', status, result: null, details }));
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 400, type: 'content_policy_violation' });
    upstream.respond(submitted());
    upstream.respond(json({ id: 't', status, result: null, details }));
    expect(failureOf(await ask({ stream })).message).toMatch(message);
  });

  it.each(['Error', 'Task not found', 'Failed'])('is a 502 after %s', async (status) => {
    upstream.respond(submitted());
    upstream.respond(json({ id: 't', status, result: null }));
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 502, type: 'provider_unavailable' });
  });

  it('does not poll another host, and does not send it the key', async () => {
    upstream.respond(submitted(stranger.url.replace('/v1', '')));
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 502, message: /another host/ });
    expect(upstream.requests).toHaveLength(1);
    expect(stranger.requests).toHaveLength(0);
  });

  it('does not fetch an image from an address of this machine', async () => {
    readyAfter(0, `${stranger.url}/sample.png`);
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 502, message: /cannot be fetched/ });
    expect(stranger.requests).toHaveLength(0);
  });

  it('is a 502 if the image is missing', async () => {
    upstream.respond(submitted());
    upstream.respond(json({ id: 't', status: 'Ready', result: { sample: `${upstream.url}/sample.png` } }));
    upstream.respond(json({}, { status: 404 }));
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 502, message: /status 404/ });
  });

  it('polls again after a temporary failure', async () => {
    upstream.respond(submitted());
    upstream.respond(json({ detail: 'Busy' }, { status: 503 }));
    upstream.respond({ ...pending, start: 'reset' });
    upstream.respond(json({ id: 't', status: 'Ready', result: { sample: `${upstream.url}/sample.png` } }));
    upstream.respond(bytes(made));
    expect((await ask({ stream })).status).toBe(200);
  });

  it('fails if polls fail permanently', async () => {
    upstream.respond(submitted());
    upstream.always(json({ detail: 'Busy' }, { status: 503 }));
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 529, type: 'provider_overloaded' });
    expect(upstream.requests).toHaveLength(5);
  });

  it('waits for as long as the provider says', async () => {
    await gateway.close();
    gateway = await testGateway({
      images: { request_ms: patient(1500), stream_ms: patient(1500) },
      providers: [
        {
          id: 'flux',
          wire: 'bfl',
          base_url: upstream.url,
          api_key: providerKey,
          dialect: { poll_ms: 50 },
          models: [{ model: 'flux/flux-2-pro', upstream_model: 'flux-2-pro' }],
        },
      ],
    });
    upstream.respond(submitted());
    upstream.always(json({ detail: 'Busy' }, { status: 429, headers: { 'retry-after': '9999999999' } }));
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 524, type: 'timeout' });
    expect(upstream.requests).toHaveLength(2); // otherwise four polls in 750 ms
  });

  it('is a 524 if the deadline passes before the image is ready', async () => {
    await gateway.close();
    gateway = await testGateway({
      images: { request_ms: patient(600), stream_ms: patient(600) },
      providers: [
        {
          id: 'flux',
          wire: 'bfl',
          base_url: upstream.url,
          api_key: providerKey,
          dialect: { poll_ms: 50 },
          models: [{ model: 'flux/flux-2-pro', upstream_model: 'flux-2-pro' }],
        },
      ],
    });
    upstream.respond(submitted());
    upstream.always(pending);
    const session_id = newSession();
    expect(failureOf(await ask({ stream, session_id }))).toMatchObject({ status: 524 });
    expect(upstream.requests.length).toBeGreaterThan(1);
    expect(await rowsOf(gateway.dataDir, session_id)).toMatchObject([{ outcome: 'failed', cost_nano_usd: 0 }]);
  });

  it.each(['slow', 'flux'])('stops asking when the client leaves (%s)', async (id) => {
    upstream.respond(submitted());
    upstream.always({ ...pending, start: 'silence' });
    const client = new AbortController();
    const session_id = newSession();
    const asked = ask({ stream, session_id, model: `${id}/flux-2-pro` }, { signal: client.signal });
    await upstream.nextRequest();
    const question = id === 'flux' ? await upstream.nextRequest() : undefined; // the slow provider waits for a minute
    client.abort();
    await expect(asked).rejects.toThrow();
    const rows = await rowsOf(gateway.dataDir, session_id);
    expect(rows).toMatchObject([{ outcome: 'cancelled', cost_nano_usd: 0 }]);
    if (question) expect(await question.closed).toBe('aborted');
    expect(upstream.requests).toHaveLength(id === 'flux' ? 2 : 1);
  });
});

describe('images at an address', () => {
  const serveApart = async (images: object): Promise<void> => {
    await gateway.close();
    gateway = await testGateway({
      images,
      providers: [
        {
          id: 'flux',
          wire: 'bfl',
          base_url: upstream.url,
          api_key: providerKey,
          dialect: { poll_ms: 50 },
          models: [{ model: 'flux/flux-2-pro', upstream_model: 'flux-2-pro' }],
        },
      ],
    });
  };

  it('wait for one another if the memory suffices for one', async () => {
    await serveApart({ memory: 8 * 1024 * 1024 });
    let underway = 0;
    let max = 0;
    let ready = 0;
    const allReady = Promise.withResolvers<void>();
    upstream.always(async ({ method, path }) => {
      if (method === 'POST') return submitted();
      if (!path.startsWith('/v1/sample')) {
        if (++ready === 5) allReady.resolve();
        return json({ id: 't', status: 'Ready', result: { sample: `${upstream.url}/sample.png` } });
      }
      max = Math.max(max, ++underway);
      await allReady.promise;
      await gateway.get('/images/models'); // the others would have arrived by then
      underway--;
      return bytes(made);
    });
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => ask()));
    expect(outcomes.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(max).toBe(1);
  });

  it('abort one that waits if its client disconnects', async () => {
    await serveApart({ memory: 8 * 1024 * 1024 });
    const held = Promise.withResolvers<void>();
    const make = caseOf('bfl').makes([made]) as (request: ScriptedRequest) => ScriptedResponse;
    upstream.always(async (request) => {
      if (request.path.startsWith('/made/')) await held.promise;
      return make(request);
    });
    const first = ask();
    await expect.poll(() => pathsOf(upstream).filter((path) => path.includes('/made/'))).toHaveLength(1);
    const client = new AbortController();
    const session_id = newSession();
    const second = ask({ session_id }, { signal: client.signal });
    await expect.poll(() => pathsOf(upstream).filter((path) => path.startsWith('POST'))).toHaveLength(2);
    client.abort();
    await expect(second).rejects.toThrow();
    expect(await rowsOf(gateway.dataDir, session_id)).toMatchObject([{ outcome: 'cancelled', cost_nano_usd: 0 }]);
    held.resolve();
    expect((await first).status).toBe(200);
    expect((await ask()).status).toBe(200); // nothing is reserved any more
  });

  it('share the limit of a response', async () => {
    await serveApart({ answer_limit: 1024 });
    made = Buffer.concat([made, Buffer.alloc(2000)]);
    readyAfter(0);
    expect(failureOf(await ask())).toMatchObject({ status: 502, message: /images\.answer_limit/ });
  });
});

describe('a request to a FLUX model', () => {
  it('rounds a size to the grid of the model, and reports it', async () => {
    upstream.always(caseOf('bfl').makes([made]));
    const headers = { 'x-router-metadata': 'enabled' };
    const two = await ask({ size: '1000x700' }, { headers });
    expect(bodyOf(upstream.requests[0])).toMatchObject({ width: 1008, height: 704 });
    expect(two.body.router_metadata).toMatchObject({ params: { dropped_fields: ['size (→ 1008x704)'] } });

    const one = await ask({ model: 'flux/flux-pro-1.1', size: '1000x700' }, { headers });
    expect(bodyOf(upstream.requests.find(({ path }) => path.endsWith('flux-pro-1.1')))).toMatchObject({
      width: 992,
      height: 704,
    });
    expect(one.status).toBe(200);
  });

  it('has references as base64, each in its own field', async () => {
    upstream.always(caseOf('bfl').makes([made]));
    const shown = await Promise.all([32, 40].map((width) => paint({ width, height: 32 })));
    await ask({ input_references: shown.map((each) => reference(dataUrl(each))) });
    expect(bodyOf(upstream.requests[0])).toMatchObject({
      input_image: shown[0]!.toString('base64'),
      input_image_2: shown[1]!.toString('base64'),
    });
  });

  it('has a ratio if the model accepts no pixels', async () => {
    upstream.always(caseOf('bfl').makes([made]));
    await ask({ model: 'flux/flux-kontext-pro', size: '1600x900' });
    expect(bodyOf(upstream.requests[0])).toEqual({ prompt: 'A red fox', aspect_ratio: '16:9' });
  });

  it('is recognized by its name behind a wildcard, too', async () => {
    upstream.always(caseOf('bfl').makes([made]));
    await ask({ model: 'flux/flux-kontext-max', size: '1600x900' });
    expect(upstream.requests[0]!.path).toBe('/v1/flux-kontext-max');
    expect(bodyOf(upstream.requests[0])).toEqual({ prompt: 'A red fox', aspect_ratio: '16:9' });
  });

  it('records the price of the provider', async () => {
    readyAfter(1);
    const session_id = newSession();
    await ask({ session_id });
    expect(await rowsOf(gateway.dataDir, session_id)).toMatchObject([{ upstream_cost_nano_usd: 45_000_000 }]);
  });
});

it.each(['..', '.'])('a model named %s does not reach another path of the provider', async (name) => {
  expect((await ask({ model: `flux/${name}` })).status).toBe(400);
  expect(upstream.requests).toHaveLength(0);
});
