import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recording } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { draw } from './images-lab.ts';
import { providerKey } from './lab.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
/** Dollars per token: a dollar for a million of the prompt, ten for words and thoughts, a hundred for images. */
const pricing = { prompt: 0.000001, completion: 0.00001, image_output: 0.0001 };
const capabilities = { output: ['text', 'image'] };
beforeEach(async () => {
  upstream = await startUpstream();
  const entry = { wire: 'gemini', base_url: upstream.url, api_key: providerKey };
  gateway = await testGateway({
    providers: [
      {
        id: 'acme',
        ...entry,
        models: [
          { model: 'acme/painter', upstream_model: 'gemini-3-pro-image', pricing, capabilities },
          { model: 'acme/unpriced', upstream_model: 'gemini-3-pro-image', capabilities },
        ],
      },
      {
        id: 'many',
        ...entry,
        wire: 'openai-chat',
        models: ['painter', 'streaming'].map((name) => ({
          model: `many/${name}`,
          upstream_model: 'google/gemini-3-pro-image',
          pricing,
          capabilities,
          ...(name === 'streaming' && { image: { streaming: true } }),
        })),
      },
      { id: 'google', ...entry, models: [{ model: 'google/*' }] },
    ],
  });
});
afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

const recorded = (name: string, wire = 'gemini') =>
  recording(new URL(`../../src/providers/${wire}/images/recordings/${name}.http`, import.meta.url));

describe('a model that generates text and images', () => {
  it('is priced by its tokens: prompt, thoughts and images each at their price', async () => {
    upstream.always(recorded('picture.whole'));
    const { body, headers } = await draw(gateway, { model: 'acme/painter' });
    const [input, output] = [9 * 1e-6, 212 * 1e-5 + 1120 * 1e-4];
    expect(body.usage).toEqual({
      prompt_tokens: 9,
      completion_tokens: 1332,
      total_tokens: 1341,
      is_byok: false,
      cost: expect.closeTo(input + output, 9),
      cost_details: {
        upstream_inference_prompt_cost: expect.closeTo(input, 9),
        upstream_inference_completions_cost: expect.closeTo(output, 9),
        upstream_inference_cost: expect.closeTo(input + output, 9),
      },
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { image_tokens: 1120 },
    });
    const answer = await gateway.get(`/generation?id=${headers.get('x-generation-id')}`);
    expect(await answer.json()).toMatchObject({ data: { total_cost: expect.closeTo(input + output, 9) } });
  });

  it('has its prices of tokens among the image models', async () => {
    const answer = await gateway.get('/images/models/acme/painter/endpoints');
    expect(await answer.json()).toMatchObject({
      endpoints: [
        {
          pricing: [
            { billable: 'input_text', unit: 'token', cost_usd: 0.000001 },
            { billable: 'input_image', unit: 'token', cost_usd: 0.000001 },
            { billable: 'output_image', unit: 'token', cost_usd: 0.0001 },
          ],
        },
      ],
    });
  });

  it('costs null, never zero, without a known price', async () => {
    upstream.always(recorded('picture.whole'));
    const { body } = await draw(gateway, { model: 'acme/unpriced' });
    expect(body.usage).toMatchObject({ completion_tokens: 1332, cost: null });
  });

  it('shows its drafts as partial images', async () => {
    upstream.always(recorded('picture.stream'));
    const { events } = await draw(gateway, { model: 'acme/painter', stream: true });
    expect(events.map(({ type, partial_image_index: index }) => [type.split('.')[1], index])).toEqual([
      ['partial_image', 0],
      ['partial_image', 1],
      ['completed', undefined],
    ]);
    expect(events.at(-1)).toMatchObject({ media_type: 'image/png', usage: { completion_tokens: 1332 } });
  });

  it.each([
    ['blocked-midway', '400', 'content_policy_violation'],
    ['error-midway', '529', 'provider_overloaded'],
  ])('ends a stream that is %s with an error, at no cost', async (name, code, type) => {
    upstream.always(recorded(`${name}.stream`));
    const { status, headers, events, done } = await draw(gateway, { model: 'acme/painter', stream: true });
    expect(status).toBe(200);
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code, type } });
    expect(done).toBe(true);
    const answer = await gateway.get(`/generation?id=${headers.get('x-generation-id')}`);
    expect(await answer.json()).toMatchObject({ data: { total_cost: 0, tokens_completion: 0 } });
  });

  it('is in the built-in catalog, with its prices, and serves both paths', async () => {
    const { data } = (await (await gateway.get('/images/models')).json()) as { data: { id: string }[] };
    const ours = data.map(({ id }) => id).filter((id) => id.startsWith('google/'));
    expect(ours).toEqual(expect.arrayContaining(['google/gemini-nano-banana-2.1', 'google/gemini-3-pro-image']));
    upstream.always(recorded('picture.whole'));
    const { body } = await draw(gateway, { model: 'google/gemini-3-pro-image', resolution: '512' });
    expect(body.usage!['cost']).toBeCloseTo((9 * 2 + 212 * 12 + 1120 * 120) / 1e6, 9);
    expect(upstream.requests[0]!.path).toBe('/v1/models/gemini-3-pro-image:generateContent');
  });

  it('generates an image by chat completions, too, at the same prices', async () => {
    upstream.always(recorded('picture.whole', 'openai-chat'));
    const asked = { model: 'many/painter', aspect_ratio: '16:9', resolution: '2K', user: 'ada' };
    const { status, body } = await draw(gateway, asked);
    expect(status).toBe(200);
    expect(body.usage!['cost']).toBeCloseTo(9 * 1e-6 + 212 * 1e-5 + 1120 * 1e-4, 9);
    expect(upstream.requests[0]!.body).toMatchObject({
      modalities: ['image', 'text'],
      image_config: { aspect_ratio: '16:9', image_size: '2K' },
      user: expect.stringMatching(/^hg_[0-9a-f]{40}$/),
    });
  });

  it('streams by chat completions if configured, without partial images', async () => {
    upstream.always(recorded('picture.stream', 'openai-chat'));
    const { events, done } = await draw(gateway, { model: 'many/streaming', stream: true });
    expect(events.map(({ type }) => type)).toEqual(['image_generation.completed']);
    expect(events[0]).toMatchObject({ media_type: 'image/png', usage: { completion_tokens: 1332 } });
    expect(done).toBe(true);
    expect(upstream.requests[0]!.body).toMatchObject({ stream: true });
  });

  it.each([
    ['refusal', 400, 'refusal'],
    ['filtered', 400, 'content_policy_violation'],
    ['only-words', 502, 'provider_unavailable'],
  ])('reports a response with %s instead of an image', async (name, status, error_type) => {
    upstream.always(recorded(`${name}.whole`, 'openai-chat'));
    const outcome = await draw(gateway, { model: 'many/painter' });
    expect(outcome.status).toBe(status);
    expect(outcome.body.error!.metadata).toMatchObject({ error_type });
  });
});
