import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bytes, json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { dataUrl, draw, paint, reference } from './images-lab.ts';
import { caseOf, failureOf, modes, imagesOf, recorded } from './images-wires.ts';
import { providerKey } from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';

let upstream: ScriptedUpstream;
let stranger: ScriptedUpstream;
let gateway: TestGateway;
let made: Buffer;
beforeEach(async () => {
  [upstream, stranger] = await Promise.all([startUpstream(), startUpstream()]);
  made = await paint({ width: 64, height: 48 });
  const models = [{ model: 'recraft/*' }];
  const provider = { id: 'recraft', wire: 'recraft', base_url: upstream.url, api_key: providerKey, models };
  gateway = await testGateway({ providers: [provider] });
});
afterEach(() => Promise.all([gateway.close(), upstream.close(), stranger.close()]));

const ask = (body: object = {}, options?: object) =>
  draw(gateway, { model: 'recraft/recraftv3', prompt: 'A red fox', ...body }, options);
const bodyOf = (request: ScriptedRequest | undefined) => request?.body as Record<string, unknown>;
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><title>Füchse</title></svg>');
const metadata = { headers: { 'x-router-metadata': 'enabled' } };

describe.each(modes)('a generation of Recraft, %s', (mode) => {
  const stream = mode === 'streamed';

  it('is base64 of the UTF-8 markup for SVG', async () => {
    upstream.always(caseOf('recraft').makes([svg]));
    const outcome = await ask({ model: 'recraft/recraftv3_vector', stream, output_format: 'svg' });
    expect(imagesOf(outcome)).toEqual([{ b64_json: svg.toString('base64'), media_type: 'image/svg+xml' }]);
    expect(outcome.headers.get('content-type')).toMatch(/json/); // it is not streamed
    expect(bodyOf(upstream.requests[0])).toEqual({
      model: 'recraftv3_vector',
      prompt: 'A red fox',
      response_format: 'b64_json',
    });
  });

  it('is fetched from the address that the provider returns, without the key', async () => {
    upstream.respond(json({ created: 1, credits: 40, data: [{ url: `${upstream.url}/made.svg?sig=1` }] }));
    upstream.respond(bytes(svg, { headers: { 'content-type': 'image/svg+xml' } }));
    const outcome = await ask({ stream });
    expect(imagesOf(outcome)[0]!.b64_json).toBe(svg.toString('base64'));
    expect(JSON.stringify(upstream.requests[1]!.headers)).not.toContain(providerKey);
  });

  it('is not fetched from an address of this machine', async () => {
    upstream.always(json({ created: 1, data: [{ url: `${stranger.url}/made.svg` }] }));
    expect(failureOf(await ask({ stream }))).toMatchObject({ status: 502, message: /cannot be fetched/ });
    expect(stranger.requests).toHaveLength(0);
  });

  it.each([
    ['no-units.http', 502, 'provider_unavailable'],
    ['moderation-text.http', 400, 'content_policy_violation'],
    ['unavailable.http', 529, 'provider_overloaded'],
    ['page.http', 502, 'provider_unavailable'],
    ['no-picture.whole.http', 502, 'provider_unavailable'],
  ])('after %s is a %i', async (file, status, type) => {
    upstream.always(recorded('recraft', file));
    const session_id = newSession();
    expect(failureOf(await ask({ stream, session_id }))).toMatchObject({ status, type });
    expect(await rowsOf(gateway.dataDir, session_id)).toMatchObject([{ outcome: 'failed', cost_nano_usd: 0 }]);
  });

  it('returns the message of the provider about the request', async () => {
    upstream.always(recorded('recraft', 'bad-request.http'));
    expect(failureOf(await ask({ stream })).message).toContain('size 1000x1000 is not supported for this model');
  });
});

describe('a request to a model of Recraft', () => {
  beforeEach(() => upstream.always(caseOf('recraft').makes([made])));

  it.each([
    ['recraftv3', { aspect_ratio: '16:9' }, { size: '1820x1024' }],
    ['recraftv4_1', { aspect_ratio: '16:9' }, { size: '1344x768' }],
    ['recraftv4_1_pro', { aspect_ratio: '9:16', resolution: '2K' }, { size: '1536x2688' }],
    ['recraftv4_1', { size: '1024x1024' }, { size: '1024x1024' }],
    ['recraftv4_1_vector', { size: '1600x900' }, { size: '16:9' }],
    ['recraftv3_vector', { aspect_ratio: '3:2' }, { size: '3:2' }],
    ['recraftv3', { n: 3, seed: 7, output_format: 'webp' }, { n: 3, random_seed: 7, image_format: 'webp' }],
    ['recraftv3', { seed: -1 }, {}],
  ])('%s, with %j', async (model, asked, fields) => {
    expect((await ask({ model: `recraft/${model}`, ...asked })).status).toBe(200);
    expect(upstream.requests[0]!.path).toBe('/v1/images/generations');
    expect(bodyOf(upstream.requests[0])).toEqual({
      model,
      prompt: 'A red fox',
      response_format: 'b64_json',
      ...fields,
    });
  });

  it('edits another image, which keeps its shape', async () => {
    const shown = await paint({ width: 40, height: 32 });
    const options = { recraft: { strength: 0.2, controls: { colors: [{ rgb: [1, 2, 3] }] } } };
    const body = { input_references: [reference(dataUrl(shown))], size: '1024x1024', provider: { options } };
    const outcome = await ask(body, metadata);
    expect(upstream.requests[0]!.path).toBe('/v1/images/imageToImage');
    expect(bodyOf(upstream.requests[0])).toEqual({
      model: 'recraftv3',
      prompt: 'A red fox',
      response_format: 'b64_json',
      strength: 0.2,
      controls: { colors: [{ rgb: [1, 2, 3] }] },
      image_url: dataUrl(shown),
    });
    expect(outcome.body.router_metadata).toMatchObject({ params: { dropped_fields: ['size'] } });
  });

  it('is rejected with a reference if the model accepts none', async () => {
    const input_references = [reference(dataUrl(await paint({ width: 40, height: 32 })))];
    const outcome = await ask({ model: 'recraft/recraftv4_1', input_references });
    expect(failureOf(outcome)).toMatchObject({ status: 400, type: 'invalid_request' });
    expect(upstream.requests).toHaveLength(0);
  });

  it('is rejected for SVG if the model generates none', async () => {
    expect(failureOf(await ask({ output_format: 'svg' }))).toMatchObject({ status: 400 });
    expect(upstream.requests).toHaveLength(0);
  });

  it('records the price of the provider', async () => {
    const session_id = newSession();
    await ask({ session_id });
    expect(await rowsOf(gateway.dataDir, session_id)).toMatchObject([{ upstream_cost_nano_usd: 40_000_000 }]);
  });
});
