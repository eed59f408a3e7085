import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ScriptedResponse, json, sse } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { expectImageShape } from './image-shapes.ts';
import { dataUrl, draw, type ImageOutcome, paint } from './images-lab.ts';
import { imagesOf, usageOf } from './images-wires.ts';

let gateway: TestGateway;
let upstream: ScriptedUpstream;
let image: Buffer;
let text: string;
beforeAll(async () => {
  [upstream, image] = await Promise.all([startUpstream(), paint({ width: 64, height: 48 })]);
  text = image.toString('base64');
  const entry = (wire: string, model: string, more: object) => ({
    id: model,
    name: model,
    wire,
    base_url: upstream.url,
    api_key: 'sk-upstream-secret-1234567890',
    models: [{ model: `odd/${model}`, ...more }],
  });
  const perImage = { image: { pricing: [{ billable: 'output_image', unit: 'image', cost_usd: 0.1 }] } };
  const perMegapixel = { image: { pricing: [{ billable: 'output_image', unit: 'megapixel', cost_usd: 1 }] } };
  const perToken = {
    image: {
      pricing: [
        { billable: 'input_text', unit: 'token', cost_usd: 0.000005 },
        { billable: 'output_image', unit: 'token', cost_usd: 0.00004 },
      ],
    },
  };
  const speaks = { capabilities: { output: ['text', 'image'] }, pricing: { prompt: 0.000001, completion: 0.00001 } };
  gateway = await testGateway({
    providers: [
      entry('openai-images', 'pictures', perImage),
      entry('openai-images', 'tokens', perToken),
      entry('openai-images', 'sizes', perMegapixel),
      entry('recraft', 'recraft', { upstream_model: 'recraftv3', ...perImage }),
      entry('fal', 'fal', { upstream_model: 'fal-ai/flux-2', ...perImage }),
      entry('openai-chat', 'chat', speaks),
      entry('gemini', 'gemini', speaks),
    ],
  });
});
afterAll(() => Promise.all([gateway.close(), upstream.close()]));

const listOf = (images: object[], usage?: unknown): ScriptedResponse =>
  json({ created: 1, data: images, ...(usage !== undefined && { usage }) });

async function ask(answer: ScriptedResponse, body: object): Promise<ImageOutcome> {
  upstream.respond(answer);
  const outcome = await draw(gateway, body, { headers: { 'x-router-metadata': 'enabled' } });
  if (outcome.events.length === 0) expectImageShape('ImageGenerationResponse', outcome.body);
  for (const event of outcome.events) expectImageShape('ImageStreamEvent', event);
  return outcome;
}

/** Returns its ledger entry. */
async function recordedFor({ headers }: ImageOutcome): Promise<number | null> {
  const answer = await gateway.get(`/generation?id=${headers.get('x-generation-id')}`);
  return ((await answer.json()) as { data: { total_cost: number | null } }).data.total_cost;
}

describe('more images than requested', () => {
  it.each<[string, () => ScriptedResponse]>([
    ['pictures', () => listOf([{ b64_json: text }, { b64_json: text }, { url: 'https://elsewhere.test/b.png' }])],
    ['recraft', () => listOf([{ b64_json: text }, { b64_json: text }, { b64_json: text }])],
    ['fal', () => json({ images: [1, 2, 3].map(() => ({ url: dataUrl(image) })) })],
  ])('are neither returned nor charged, and reported (%s)', async (model, answer) => {
    const outcome = await ask(answer(), { model: `odd/${model}` });

    expect(imagesOf(outcome)).toEqual([{ b64_json: text, media_type: 'image/png' }]);
    expect(usageOf(outcome)).toMatchObject({ cost: 0.1 });
    expect(await recordedFor(outcome)).toBe(0.1);
    expect(JSON.stringify(outcome.body.router_metadata)).toContain('2 more images than were requested');
  });

  it('fewer are a success at their price', async () => {
    const outcome = await ask(listOf([{ b64_json: text }, { b64_json: text }]), { model: 'odd/pictures', n: 5 });
    expect(imagesOf(outcome)).toHaveLength(2);
    expect(await recordedFor(outcome)).toBe(0.2);
  });
});

it.each<[string, (text: string) => string]>([
  ['with broken lines', (letters) => letters.replace(/.{76}/g, '$&\r\n')],
  ['with an end of line', (letters) => `${letters}\n`],
  ['in the alphabet of URLs', (letters) => letters.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')],
  ['as a data URL in capitals', (letters) => `DATA:image/png;base64,${letters}`],
])('accepts base64 %s', async (_, write) => {
  const outcome = await ask(listOf([{ b64_json: write(text) }]), { model: 'odd/pictures' });
  expect(imagesOf(outcome)).toEqual([{ b64_json: text, media_type: 'image/png' }]);
});

it.each([
  [500, 0.5 * 0.5],
  [100_000, null],
])('ignores an SVG size of %i pixels per edge beyond the maximum of an image', async (edge, cost) => {
  const drawing = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${edge}" height="${edge}"/>`);
  const outcome = await ask(listOf([{ b64_json: drawing.toString('base64') }]), { model: 'odd/sizes' });
  expect(imagesOf(outcome)).toEqual([{ b64_json: drawing.toString('base64'), media_type: 'image/svg+xml' }]);
  expect(await recordedFor(outcome)).toBe(cost);
});

it('rejects base64 with invalid letters', async () => {
  upstream.respond(listOf([{ b64_json: `${text.slice(0, 80)}*${text.slice(80)}` }]));
  const outcome = await draw(gateway, { model: 'odd/pictures' });
  expect(outcome.status).toBe(502);
  expect(await recordedFor(outcome)).toBe(0);
});

describe('counts of a provider', () => {
  it.each<[unknown]>([
    [{}],
    [{ total_tokens: 100 }],
    [{ input_tokens: 10 }],
    [{ input_tokens: 10, output_tokens: 0 }],
    [{ input_tokens: -5, output_tokens: 10 }],
    [{ input_tokens: 10.5, output_tokens: 10 }],
    [{ input_tokens: 1e30, output_tokens: 10 }],
    [{ input_tokens: '10', output_tokens: 10 }],
    ['many'],
  ])('give no price if they are %j, and lose no image', async (usage) => {
    const outcome = await ask(listOf([{ b64_json: text }], usage), { model: 'odd/tokens' });

    expect(imagesOf(outcome)).toHaveLength(1);
    expect(usageOf(outcome)?.['cost'] ?? null).toBeNull();
    expect(await recordedFor(outcome)).toBeNull();
  });

  it('that contradict one another are reduced', async () => {
    const usage = { input_tokens: 10, output_tokens: 100, output_tokens_details: { image_tokens: 500 } };
    const outcome = await ask(listOf([{ b64_json: text }], usage), { model: 'odd/tokens' });
    expect(await recordedFor(outcome)).toBe(10 * 0.000005 + 100 * 0.00004);
  });

  it.each<[string, () => ScriptedResponse]>([
    [
      'chat',
      () => {
        const message = { role: 'assistant', images: [{ type: 'image_url', image_url: { url: dataUrl(image) } }] };
        const usage = { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 };
        return json({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
      },
    ],
    [
      'gemini',
      () => {
        const parts = [{ inlineData: { mimeType: 'image/png', data: text } }];
        const usageMetadata = { promptTokenCount: 7, totalTokenCount: 7 };
        return json({ candidates: [{ content: { parts }, finishReason: 'STOP' }], usageMetadata });
      },
    ],
  ])('without image tokens give no price if the price is per token (%s)', async (model, answer) => {
    const outcome = await ask(answer(), { model: `odd/${model}` });
    expect(usageOf(outcome)).toMatchObject({ prompt_tokens: 7, cost: null });
    expect(await recordedFor(outcome)).toBeNull();
  });
});

it.each([-1, 1.5, 1e20, 'first'])('numbers partial pictures itself where the provider says %j', async (index) => {
  const events = [
    { type: 'image_generation.partial_image', partial_image_index: index, b64_json: text },
    { type: 'image_generation.completed', b64_json: text },
    { type: 'image_generation.partial_image', partial_image_index: 1, b64_json: text },
  ];
  const outcome = await ask(sse(events), { model: 'odd/pictures', stream: true });
  expect(outcome.events.map(({ type, partial_image_index }) => [type, partial_image_index])).toEqual([
    ['image_generation.partial_image', 0],
    ['image_generation.completed', undefined],
  ]);
  expect(outcome.done).toBe(true);
});

it('is not charged to a client that disconnects between the images of one generation', async () => {
  const completed = { type: 'image_generation.completed', b64_json: text };
  upstream.respond({ ...sse([completed, completed]), end: 'silence' });
  const leave = new AbortController();
  const asked = { model: 'odd/pictures', prompt: 'A red fox', n: 3, stream: true };
  const answer = await gateway.post('/images', asked, { signal: leave.signal });
  const { value } = await answer.body!.getReader().read();
  expect(Buffer.from(value!).toString()).toContain('image_generation.completed');
  leave.abort();
  expect(await upstream.requests.at(-1)!.closed).toBe('aborted');
  await vi.waitFor(async () => {
    const found = await gateway.get(`/generation?id=${answer.headers.get('x-generation-id')}`);
    expect(await found.json()).toMatchObject({ data: { total_cost: 0, cancelled: true } });
  });
});
