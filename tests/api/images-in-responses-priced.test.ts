import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ResponseObject } from '../../src/domain/response.ts';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { paint } from './images-lab.ts';
import { ask, type Mode, providerKey } from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';

const perImage = [{ billable: 'output_image', unit: 'image', cost_usd: 0.04 }];
const perMegapixel = [{ billable: 'output_image', unit: 'megapixel', cost_usd: 0.5 }];
const perTier = [
  { billable: 'output_image', unit: 'image', cost_usd: 0.04, variant: '1k' },
  { billable: 'output_image', unit: 'image', cost_usd: 0.09, variant: '2k' },
];
const words = { prompt: 0.00001, completion: 0.0001, image_output: 0.5 };

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeEach(async () => {
  upstream = await startUpstream();
  const painter = (name: string, image: unknown, pricing?: object) => ({
    model: `acme/${name}`,
    upstream_model: 'm',
    capabilities: { output: ['text', 'image'] },
    image: { pricing: image },
    ...(pricing && { pricing }),
  });
  gateway = await testGateway({
    providers: [
      {
        id: 'acme',
        wire: 'openai-responses',
        base_url: upstream.url,
        api_key: providerKey,
        models: [
          painter('pictures', perImage),
          painter('both', perImage, words),
          painter('sizes', perMegapixel, words),
          painter('tiers', perTier, words),
        ],
      },
      {
        id: 'simulator',
        wire: 'simulator',
        models: [{ ...painter('drawn', perImage, { prompt: 0, completion: 0 }), upstream_model: 'image' }],
      },
    ],
    bootstrap: {
      keys: [{ key: 'test-poor-key-000000000001', name: 'poor', workspace: 'main', member: 'ada', credit_usd: 0.1 }],
    },
  });
});
afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

const imageOf = (id: string, result: string | null) => ({
  type: 'image_generation_call',
  id,
  status: result === null ? 'failed' : 'completed',
  result,
});
const reported = {
  input_tokens: 10,
  output_tokens: 300,
  total_tokens: 310,
  output_tokens_details: { reasoning_tokens: 0, image_tokens: 200 },
};
/** Makes the upstream respond with these images. */
function answer(mode: Mode, results: readonly (string | null)[], usage: object | null = reported): void {
  const output = results.map((result, index) => imageOf(`ig_${index}`, result));
  const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output, usage };
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  const items = output.flatMap((item, index) => [
    {
      type: 'response.output_item.added',
      output_index: index,
      item: { ...item, status: 'in_progress', result: null },
    },
    { type: 'response.output_item.done', output_index: index, item },
  ]);
  const end = { type: 'response.completed', response };
  const stream = sse([{ type: 'response.created', response: begun }, ...items, end]);
  upstream.always(mode === 'buffered' ? json(response) : stream);
}
const square = async (edge: number) => (await paint({ width: edge, height: edge })).toString('base64');
const booked = async ({ id }: { id: string | null }): Promise<Record<string, unknown>> =>
  ((await (await gateway.get(`/generation?id=${id}`)).json()) as { data: Record<string, unknown> }).data;

describe.each<Mode>(['buffered', 'streamed'])('a picture in a %s answer', (mode) => {
  const draw = async (model: string, options?: object) =>
    ask(gateway, mode, { model: `acme/${model}`, input: 'A fox' }, options);
  const costOf = async (model: string) => (await draw(model)).response!.usage?.cost;

  it('costs the price of the endpoint per image, once for each', async () => {
    const picture = await square(64);
    answer(mode, [picture]);
    const { response, headers } = await draw('pictures');
    expect(response!.usage!.cost).toBe(0.04);
    expect(await booked({ id: headers.get('x-generation-id') })).toMatchObject({ total_cost: 0.04 });
    answer(mode, [picture, picture]);
    expect(await costOf('pictures')).toBe(0.08);
  });

  it('is counted in the ledger, and measured if its size has a price', async () => {
    const picture = await square(64);
    for (const [model, results, counted] of [
      ['both', [picture, picture], { output_images: 2, output_pixels: null, picture_tier: null }],
      ['tiers', [picture, null], { output_images: 1, output_pixels: 64 * 64, picture_tier: '512' }],
      ['sizes', [null], { output_images: 0, output_pixels: 0, picture_tier: null }],
    ] as const) {
      const session = newSession();
      answer(mode, results);
      const { headers } = await draw(model, { headers: { 'x-session-id': session } });
      expect(await rowsOf(gateway.dataDir, session)).toMatchObject([{ ...counted, reference_images: 0 }]);
      expect(await booked({ id: headers.get('x-generation-id') })).toMatchObject({
        num_media_completion: counted.output_images,
      });
    }
  });

  it('costs nothing beyond the tokens that the provider reports', async () => {
    answer(mode, [await square(64)]);
    expect(await costOf('both')).toBeCloseTo(0.04 + 10 * 0.00001 + 100 * 0.0001, 9);
  });

  it('is priced if the provider reports no usage', async () => {
    answer(mode, [await square(64)], null);
    const { response } = await draw('pictures');
    expect((response as ResponseObject).usage!.cost).toBe(0.04);
  });

  it('that failed is not priced', async () => {
    answer(mode, [null]);
    expect(await costOf('both')).toBeCloseTo(10 * 0.00001 + 100 * 0.0001 + 200 * 0.5, 9);
  });

  it('is priced by its size, and has no price if its size is unknown', async () => {
    const tokens = 10 * 0.00001 + 100 * 0.0001;
    answer(mode, [await square(1000)]);
    expect(await costOf('sizes')).toBeCloseTo(0.5 + tokens, 9);
    answer(mode, ['AAAA']);
    expect(await costOf('sizes')).toBeNull();
    const claim = Buffer.from(await square(1000), 'base64');
    claim.writeUInt32BE(50_000, 16);
    claim.writeUInt32BE(50_000, 20);
    answer(mode, [claim.toString('base64')]);
    expect(await costOf('sizes')).toBeNull();
    answer(mode, [await square(2048)]);
    expect(await costOf('tiers')).toBeCloseTo(0.09 + tokens, 9);
    answer(mode, ['AAAA']);
    expect(await costOf('tiers')).toBeNull();
  });

  it('is reserved before the request is sent, and counts for the limit of its key', async () => {
    answer(mode, [await square(64)]);
    const poor = { key: 'test-poor-key-000000000001' };
    expect((await draw('pictures', poor)).status).toBe(200);
    expect((await draw('pictures', poor)).status).toBe(200);
    const refused = await draw('pictures', poor);
    expect(refused.status).toBe(402);
    expect(refused.envelope!.error.message).toContain('an image');
    expect(upstream.requests).toHaveLength(2);
  });

  it('has its price even if text is free', async () => {
    const { response } = await ask(gateway, mode, { model: 'acme/drawn', input: 'A fox' });
    expect(response!.output[0]!.type).toBe('image_generation_call');
    expect(response!.usage!.cost).toBe(0.04);
  });
});

it('a finished image is priced, too, if the stream is interrupted after it', async () => {
  const item = imageOf('ig_1', await square(64));
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] };
  const begun = { ...item, status: 'in_progress', result: null };
  upstream.always(
    sse([
      { type: 'response.created', response },
      { type: 'response.output_item.added', output_index: 0, item: begun },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.output_item.added', output_index: 1, item: { ...begun, id: 'ig_2' } },
    ]),
  );
  const cut = await ask(gateway, 'streamed', { model: 'acme/pictures' });
  expect(cut.response).toMatchObject({ status: 'failed', usage: { cost: 0.04 } });
  expect(await booked({ id: cut.headers.get('x-generation-id') })).toMatchObject({ total_cost: 0.04 });
});
