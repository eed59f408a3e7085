import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OtherEvent } from '../../src/domain/events.ts';
import type { OutputItem } from '../../src/domain/items.ts';
import type { ResponseObject } from '../../src/domain/response.ts';
import { type ScriptedResponse, json, recording, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { around, order, text, whole } from './event-order.ts';
import { look } from './images-lab.ts';
import { ask, type Mode, providerKey } from './lab.ts';

/** Wires whose providers generate images in text responses, with a recording of each. */
const makers = { 'openai-responses': 'image-generation', gemini: 'image-tries', 'openai-chat': 'image' } as const;
type Maker = keyof typeof makers;
const wires = Object.keys(makers) as Maker[];
const modes: Mode[] = ['buffered', 'streamed'];
const cases = wires.flatMap((wire) => modes.map((mode) => ({ wire, mode })));

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeEach(async () => {
  upstream = await startUpstream();
  const pricing = { prompt: 0.000001, completion: 0.00001, image_output: 0.0001 };
  const providers = wires.map((wire) => ({
    id: wire,
    wire,
    base_url: upstream.url,
    api_key: providerKey,
    models: [
      { model: `${wire}/painter`, upstream_model: 'm', pricing, capabilities: { output: ['text', 'image'] } },
      { model: `${wire}/writer`, upstream_model: 'm', pricing, capabilities: { output: ['text'] } },
    ],
  }));
  gateway = await testGateway({ providers });
});
afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

const recorded = (wire: Maker, mode: Mode, name: string = makers[wire]): ScriptedResponse =>
  recording(
    new URL(
      `../../src/providers/${wire}/recordings/${name}.${mode === 'streamed' ? 'stream' : 'whole'}.http`,
      import.meta.url,
    ),
  );
const imagesOf = ({ output }: ResponseObject): OutputItem[] =>
  output.filter(({ type }) => type === 'image_generation_call');
const lastBody = () => upstream.requests.at(-1)!.body as Record<string, unknown>;

describe.each(cases)('an image in a response of $wire, $mode', ({ wire, mode }) => {
  const draw = async (body: object = {}) => {
    upstream.always(recorded(wire, mode));
    return ask(gateway, mode, { model: `${wire}/painter`, ...body });
  };

  it('is an image_generation_call with the image as base64', async () => {
    const { status, response } = await draw();
    expect(status).toBe(200);
    const [image, ...others] = imagesOf(response!);
    expect(others).toEqual([]);
    expect(image).toMatchObject({ status: 'completed', id: expect.stringMatching(/^(?:img|ig)_/) });
    expect(image!['result']).toMatch(/^iVBORw0KGgo/);
  });

  it('has the price of image tokens', async () => {
    const { response } = await draw();
    const { usage } = response!;
    const cost = {
      'openai-responses': undefined,
      gemini: 9 + 216 * 10 + 1120 * 100,
      'openai-chat': 7 + 50 + 1290 * 100,
    };
    expect(usage!.cost).toBeGreaterThan(0);
    if (cost[wire] !== undefined) expect(usage!.cost).toBeCloseTo(cost[wire] / 1e6, 9);
  });

  it.each(wires)('is sent back on the next turn to a model of %s', async (next) => {
    const { response } = await draw();
    const [image] = imagesOf(response!);
    upstream.always(recorded(next, mode, 'text'));
    const input = [{ role: 'user', content: 'A fox' }, ...response!.output, { role: 'user', content: 'Now at night' }];
    const second = await ask(gateway, mode, { model: `${next}/painter`, input });
    expect(second.response).toMatchObject({ status: 'completed' });
    expect(upstream.requests.at(-1)!.text).toContain(image!['result']);
    if (next === 'openai-responses' && wire === next) {
      // unchanged, including the id of the image, without the name of the model, which is the gateway's own
      const sent = response!.output.map((item) =>
        Object.fromEntries(
          Object.entries(item).filter(([name]) => name !== 'model' && !(name === 'id' && item.type === 'message')),
        ),
      );
      expect((lastBody()['input'] as unknown[]).slice(1, -1)).toEqual(sent);
    }
  });

  it('is not requested from models that generate none', async () => {
    const { status, envelope } = await draw({ model: `${wire}/writer`, modalities: ['text', 'image'] });
    expect(status).toBe(404);
    expect(envelope!.error.message).toContain('image');
    expect(upstream.requests).toHaveLength(0);
  });
});

describe('the events of an image', () => {
  const steps = (...between: string[]) =>
    ['in_progress', 'generating', ...between, 'completed'].map((step) => `image_generation_call.${step}`);
  const eventsOf = async (wire: Maker, body: object = {}) => {
    upstream.always(recorded(wire, 'streamed'));
    return ask(gateway, 'streamed', { model: `${wire}/painter`, ...body });
  };

  it('of the same format are unchanged, including partial images', async () => {
    const outcome = await eventsOf('openai-responses', { tools: [{ type: 'image_generation', partial_images: 1 }] });
    expect(order(outcome)).toEqual(whole(around(0, ...steps('partial_image')), around(1, ...text('a'))));
    const { events } = outcome;
    const partial = (events as OtherEvent[]).find(({ type }) => type.endsWith('.partial_image'))!;
    expect(partial).toMatchObject({ partial_image_index: 0, size: '1024x1024', output_format: 'png' });
    expect(lastBody()).toMatchObject({ tools: [{ type: 'image_generation', partial_images: 1 }] });
  });

  it('of Gemini have its drafts as partial images, after the preceding text', async () => {
    const outcome = await eventsOf('gemini');
    const reasoning = [
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
    ];
    expect(order(outcome)).toEqual(
      whole(
        around(0, ...reasoning),
        around(1, ...text('a')),
        around(2, ...steps('partial_image', 'partial_image')),
        around(3),
      ),
    );
    const partials = (outcome.events as OtherEvent[]).filter(({ type }) => type.endsWith('.partial_image'));
    expect(partials.map(({ partial_image_index: index }) => index)).toEqual([0, 1]);
    for (const partial of partials) expect(partial['partial_image_b64']).toMatch(/^\/9j\//);
  });

  it('of the simulator have partial images, too, so that clients can be tested without a key', async () => {
    const simulated = await testGateway();
    const outcome = await ask(simulated, 'streamed', { model: 'simulator/image', modalities: ['text', 'image'] });
    await simulated.close();
    expect(order(outcome)).toEqual(whole(around(0, ...steps('partial_image', 'partial_image'))));
    const told = outcome.events as OtherEvent[];
    const partials = told.flatMap(({ partial_image_b64: image }) => image ?? []);
    const images = [...partials, imagesOf(outcome.response!)[0]!['result']];
    expect(new Set(images).size).toBe(3);
    for (const image of images) expect(await look(image as string)).toMatchObject({ format: 'png', width: 256 });
  });

  it('of a chat model report its progress, too, and close the message before', async () => {
    expect(order(await eventsOf('openai-chat'))).toEqual(whole(around(0, ...text('a', 'b')), around(1, ...steps())));
  });

  it('report its failure if the response is interrupted before it', async () => {
    const item = { id: 'ig_1', type: 'image_generation_call', status: 'in_progress', result: null };
    const place = { output_index: 0, item_id: 'ig_1' };
    const progress = (step: string, more?: object) => ({
      type: `response.image_generation_call.${step}`,
      ...place,
      ...more,
    });
    const frames = [
      { type: 'response.created', response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item },
      progress('in_progress'),
      progress('partial_image', { partial_image_index: 0, partial_image_b64: 'iVBORw0KGgo=' }),
    ];
    upstream.always(sse(frames));
    const { response } = await ask(gateway, 'streamed', { model: 'openai-responses/painter' });
    expect(response).toMatchObject({ status: 'failed', output: [{ id: 'ig_1', status: 'failed', result: null }] });
  });
});

describe('the image settings of a request', () => {
  const asked = { modalities: ['text', 'image'], image_config: { aspect_ratio: '16:9', image_size: '2K' } };

  it('reach Gemini as responseModalities and imageConfig', async () => {
    upstream.always(recorded('gemini', 'buffered', 'image'));
    await ask(gateway, 'buffered', { model: 'gemini/painter', ...asked });
    expect(lastBody()).toMatchObject({
      generationConfig: {
        responseModalities: ['TEXT', 'IMAGE'],
        imageConfig: { aspectRatio: '16:9', imageSize: '2K' },
      },
    });
  });

  it('without an equivalent at Gemini are reported', async () => {
    upstream.always(recorded('gemini', 'buffered', 'image'));
    const { response } = await ask(
      gateway,
      'buffered',
      { model: 'gemini/painter', modalities: ['image'], image_config: { quality: 'high' } },
      { headers: { 'x-router-metadata': 'enabled' } },
    );
    expect(response!.router_metadata).toMatchObject({ params: { dropped_fields: ['image_config.quality'] } });
    expect(lastBody()).toMatchObject({ generationConfig: { responseModalities: ['IMAGE'] } });
  });

  it('reach a chat model unchanged', async () => {
    upstream.always(recorded('openai-chat', 'buffered', 'image'));
    await ask(gateway, 'buffered', { model: 'openai-chat/painter', ...asked });
    expect(lastBody()).toMatchObject(asked);
  });

  it('choose the image model from a list of models', async () => {
    upstream.always(recorded('gemini', 'buffered', 'image'));
    const models = ['openai-chat/writer', 'gemini/painter'];
    const { response } = await ask(gateway, 'buffered', { models, ...asked });
    expect(response).toMatchObject({ status: 'completed', model: 'gemini/painter' });
  });

  it('are a 400 of the content policy if the provider rejects the prompt', async () => {
    upstream.always(recorded('gemini', 'buffered', 'prompt-blocked'));
    const { status, envelope } = await ask(gateway, 'buffered', { model: 'gemini/painter', ...asked });
    expect(status).toBe(400);
    expect(envelope!.error.metadata).toMatchObject({ error_type: 'content_policy_violation' });
  });

  it('do not select a model that is only for POST /images', async () => {
    upstream.always(json({}));
    const only = await testGateway({
      providers: [
        {
          id: 'acme',
          wire: 'openai-chat',
          base_url: upstream.url,
          api_key: providerKey,
          models: [{ model: 'acme/only', capabilities: { output: ['image'] } }],
        },
      ],
    });
    const { status, envelope } = await ask(only, 'buffered', { model: 'acme/only', ...asked });
    await only.close();
    expect(status).toBe(400);
    expect(envelope!.error).toMatchObject({ availability: { code: 'wrong_endpoint' } });
  });
});
