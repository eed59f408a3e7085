import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json, resetAfter, sse, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { answerWith, dataUrl, draw, gptUsage, look, paint, reference } from './images-lab.ts';

const key = 'sk-upstream-secret-1234567890';
const metadata = { headers: { 'x-router-metadata': 'enabled' } };

let gateway: TestGateway;
let first: ScriptedUpstream;
let second: ScriptedUpstream;
let image: Buffer;
beforeAll(async () => {
  image = await paint({ width: 48, height: 32 });
});
beforeEach(async () => {
  [first, second] = await Promise.all([startUpstream(), startUpstream()]);
  gateway = await testGateway({ providers: providers(), server: { keep_alive_comment_ms: 50 } });
});
afterEach(() => Promise.all([gateway.close(), first.close(), second.close()]));

const tokens = [
  { billable: 'input_text', unit: 'token', cost_usd: 0.000005 },
  { billable: 'input_image', unit: 'token', cost_usd: 0.00001 },
  { billable: 'output_image', unit: 'token', cost_usd: 0.00004 },
];

function providers(): object[] {
  const entry = (id: string, upstream: ScriptedUpstream, models: object[], more: object = {}) => ({
    id,
    wire: 'openai-images',
    base_url: upstream.url,
    api_key: key,
    models,
    ...more,
  });
  const single = { streaming: false, parameters: { size: { type: 'enum', values: ['1024x1024'] } } };
  return [
    entry('one', first, [
      { model: 'acme/draw', upstream_model: 'gpt-image-1', image: { pricing: tokens } },
      { model: 'acme/plain', upstream_model: 'p', image: single },
      {
        model: 'acme/metered',
        image: {
          parameters: {
            n: { type: 'range', min: 1, max: 4 },
            resolution: { type: 'enum', values: ['1K', '2K', '4K'] },
          },
          pricing: [
            { billable: 'output_image', unit: 'image', cost_usd: 0.04 },
            { billable: 'output_image', unit: 'image', cost_usd: 0.13, variant: '2k' },
            { billable: 'output_image', unit: 'megapixel', cost_usd: 1 },
            { billable: 'input_text', unit: 'request', cost_usd: 0.01 },
          ],
        },
      },
    ]),
    entry('two', second, [
      { model: 'acme/draw', upstream_model: 'other', image: { pricing: tokens } },
      { model: 'acme/plain', upstream_model: 'p' },
    ]),
    entry('hasty', second, [{ model: 'acme/hasty', upstream_model: 'h' }], { timeouts: { first_byte_ms: 200 } }),
    {
      id: 'both',
      wire: 'openai-responses',
      base_url: first.url,
      api_key: key,
      models: [{ model: 'acme/both', capabilities: { output: ['image'] } }, { model: 'acme/text' }],
    },
  ];
}

/** The first provider; the other one is its fallback. */
const order = { provider: { order: ['one', 'two'] } };

const frames = (type: string, partials: Buffer[], done: Buffer | undefined) => [
  ...partials.map((bytes, partial_image_index) => ({
    type: `${type}.partial_image`,
    partial_image_index,
    b64_json: bytes.toString('base64'),
  })),
  ...(done ? [{ type: `${type}.completed`, b64_json: done.toString('base64'), usage: gptUsage }] : []),
];

describe('a generation at OpenAI', () => {
  it('writes the request and reads the image', async () => {
    first.respond(json(answerWith([image], gptUsage)));

    const { status, body } = await draw(gateway, {
      model: 'acme/draw',
      prompt: 'A fox',
      n: 2,
      size: '1536x1024',
      quality: 'high',
      background: 'opaque',
      output_format: 'webp',
      output_compression: 30,
      seed: 5,
      user: 'ada@example.org',
      session_id: 's',
      ...order,
      provider: { ...order.provider, options: { one: { moderation: 'low', secret: 1 } } },
    });

    expect(status).toBe(200);
    const [asked] = first.requests;
    expect(asked).toMatchObject({ method: 'POST', path: '/v1/images/generations' });
    expect(asked!.headers).toMatchObject({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });
    expect(asked!.body).toEqual({
      model: 'gpt-image-1',
      prompt: 'A fox',
      n: 2,
      size: '1536x1024',
      quality: 'high',
      background: 'opaque',
      output_format: 'webp',
      output_compression: 30,
      user: expect.stringMatching(/^hg_[0-9a-f]{40}$/),
      moderation: 'low',
    });
    expect(asked!.text).not.toContain('ada@');
    expect(body.data).toEqual([{ b64_json: image.toString('base64'), media_type: 'image/png' }]);
    expect(body.usage).toMatchObject({ prompt_tokens: 14, completion_tokens: 1056, total_tokens: 1070 });
  });

  it('sends references as files of a form', async () => {
    first.respond(json(answerWith([image])));
    const other = await paint({ width: 20, height: 20 }, 'jpeg');

    const input_references = [reference(dataUrl(image)), reference(dataUrl(other))];
    const { status } = await draw(gateway, { model: 'acme/draw', prompt: 'Grüße', input_references, ...order });

    expect(status).toBe(200);
    const [asked] = first.requests;
    expect(asked!.path).toBe('/v1/images/edits');
    expect(asked!.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    const form = await new Response(asked!.text, { headers: { 'content-type': asked!.headers['content-type']! } })
      .formData()
      .catch(() => undefined);
    expect(asked!.text).toContain('name="prompt"\r\n\r\nGrüße\r\n');
    expect(asked!.text.match(/name="image\[\]"; filename="reference-\d\.(png|jpeg)"/g)).toHaveLength(2);
    expect(form?.get('model')).toBe('gpt-image-1');
  });

  it('streams partial images as they arrive', async () => {
    const early = await paint({ width: 12, height: 8 });
    first.respond(sse(frames('image_generation', [early, image], image), { named: true }));

    const { headers, events, done } = await draw(gateway, { model: 'acme/draw', stream: true, ...order });

    expect(headers.get('content-type')).toBe('text/event-stream');
    expect(first.requests[0]!.body).toMatchObject({ stream: true, partial_images: 2 });
    expect(events.map(({ type }) => type.split('.')[1])).toEqual(['partial_image', 'partial_image', 'completed']);
    expect(await look(events[0]!.b64_json)).toMatchObject({ width: 12 });
    expect(events[2]).toMatchObject({ b64_json: image.toString('base64'), usage: { total_tokens: 1070 } });
    expect(done).toBe(true);
  });

  it('returns JSON if the provider does not stream', async () => {
    first.respond(json(answerWith([image])));
    const { headers, body } = await draw(gateway, { model: 'acme/plain', stream: true, ...order });
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(first.requests[0]!.body).not.toHaveProperty('stream');
    expect(body.data).toHaveLength(1);
  });

  it('reads a buffered response to a request for a stream', async () => {
    first.respond(json(answerWith([image], gptUsage)));
    const { events, done } = await draw(gateway, { model: 'acme/draw', stream: true, ...order });
    expect(events.map(({ type }) => type)).toEqual(['image_generation.completed']);
    expect(done).toBe(true);
  });

  it('has images beside text at one provider', async () => {
    first.respond(json(answerWith([image])));
    expect((await draw(gateway, { model: 'acme/both' })).status).toBe(200);
    expect(first.requests[0]!.path).toBe('/v1/images/generations');
  });

  it('does not fetch an image from an address of this machine that a provider names', async () => {
    first.respond(json({ created: 1, data: [{ url: 'http://127.0.0.1:9/made.png' }] }));
    const { status, body } = await draw(gateway, { model: 'acme/plain', provider: { only: ['one'] } });
    expect(status).toBe(502);
    expect(body.error!.message).toMatch(/cannot be fetched from 127.0.0.1:9/);
  });

  it('fetches an image from the provider’s own host', async () => {
    first.respond(json({ created: 1, data: [{ url: `${first.url}/files/made.png` }] }));
    first.respond({
      ...json({}),
      headers: { 'content-type': 'image/png' },
      pieces: async function* () {
        yield image;
      },
      contentLength: image.length,
    });
    const { status, body } = await draw(gateway, { model: 'acme/plain', provider: { only: ['one'] } });
    expect(status).toBe(200);
    expect(first.requests[1]).toMatchObject({ method: 'GET', path: '/v1/files/made.png' });
    expect(first.requests[1]!.headers).not.toHaveProperty('authorization');
    expect(body.data![0]!.b64_json).toBe(image.toString('base64'));
  });
});

describe('an unsupported setting', () => {
  it('becomes the nearest size, and is reported', async () => {
    first.respond(json(answerWith([image])));
    const { body } = await draw(
      gateway,
      { model: 'acme/draw', aspect_ratio: '21:9', resolution: '4K', ...order },
      metadata,
    );
    expect(first.requests[0]!.body).toMatchObject({ size: '1536x1024' });
    const { params } = body.router_metadata as { params: { clamped: string[] } };
    expect(params.clamped).toEqual([
      'aspect_ratio: 21:9 became 1536x1024, which is what acme/draw at one has.',
      'resolution: 4K became 1536x1024, which is what acme/draw at one has.',
    ]);
  });

  it('becomes the nearest quality, and the seed is dropped', async () => {
    first.respond(json(answerWith([image])));
    const { body } = await draw(gateway, { model: 'acme/draw', quality: 'max', seed: 1, ...order }, metadata);
    expect(first.requests[0]!.body).toMatchObject({ quality: 'high' });
    expect(body.router_metadata).toMatchObject({
      params: { dropped_fields: ['seed'], clamped: [/quality: max became high/] },
    });
  });

  it('limits the number of images', async () => {
    first.respond(json(answerWith([image])));
    await draw(gateway, { model: 'acme/metered', n: 9 });
    expect(first.requests[0]!.body).toMatchObject({ n: 4 });
  });

  it('rejects several images if the endpoint generates single ones', async () => {
    const { status, body } = await draw(gateway, { model: 'acme/plain', n: 2, provider: { only: ['one'] } });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ message: /single pictures only/, metadata: { param: 'n' } });
    expect(first.requests).toHaveLength(0);
  });

  it('selects an endpoint that generates several images', async () => {
    second.respond(json(answerWith([image, image])));
    const { body } = await draw(gateway, { model: 'acme/plain', n: 2 });
    expect(body.data).toHaveLength(2);
  });

  it('rejects references if the endpoint accepts none', async () => {
    const input_references = [reference(dataUrl(image))];
    const { status, body } = await draw(gateway, {
      model: 'acme/plain',
      input_references,
      provider: { only: ['one'] },
    });
    expect(status).toBe(400);
    expect(body.error!.metadata).toMatchObject({ param: 'input_references' });
  });

  it('rejects SVG if the endpoint generates none', async () => {
    const { status, body } = await draw(gateway, { model: 'acme/draw', output_format: 'svg' });
    expect(status).toBe(400);
    expect(body.error!.metadata).toMatchObject({ param: 'output_format' });
  });
});

describe('failures of providers', () => {
  it.each([
    [
      '429',
      json(
        { error: { message: 'Slow down', code: 'rate_limit_exceeded' } },
        { status: 429, headers: { 'retry-after': '7' } },
      ),
      429,
      'rate_limit_exceeded',
    ],
    ['401', json({ error: { message: `Wrong key ${key}` } }, { status: 401 }), 502, 'provider_unavailable'],
    ['403', json({ error: { message: 'Not yours' } }, { status: 403 }), 502, 'provider_unavailable'],
    ['500', json({ error: { message: 'Oh' } }, { status: 500 }), 502, 'provider_unavailable'],
    ['503', json({ error: { message: 'Busy' } }, { status: 503 }), 529, 'provider_overloaded'],
    ['504', json({ error: { message: 'Slow' } }, { status: 504 }), 524, 'timeout'],
    ['422', json({ error: { message: 'Odd' } }, { status: 422 }), 400, 'invalid_request'],
    ['400', json({ error: { message: 'Bad size', code: 'invalid_value' } }, { status: 400 }), 400, 'invalid_request'],
    [
      'a refusal',
      json({ error: { message: 'No', code: 'moderation_blocked' } }, { status: 400 }),
      400,
      'content_policy_violation',
    ],
    ['no JSON', { ...json('x'), headers: { 'content-type': 'text/html' } }, 502, 'provider_unavailable'],
    ['no picture', json({ created: 1, data: [] }), 502, 'provider_unavailable'],
    [
      'text instead of an image',
      json({ created: 1, data: [{ b64_json: Buffer.from('hello hello').toString('base64') }] }),
      502,
      'provider_unavailable',
    ],
    ['no base64', json({ created: 1, data: [{ b64_json: '???' }] }), 502, 'provider_unavailable'],
    ['a reset', resetAfter(40, json(answerWith([Buffer.alloc(500)]))), 502, 'provider_unavailable'],
  ])('%s becomes the right status, and nothing is charged', async (_, answer, expected, error_type) => {
    first.always(answer);
    const { status, headers, body, text } = await draw(gateway, { model: 'acme/draw', provider: { only: ['one'] } });
    expect(status).toBe(expected);
    expect(body.error).toMatchObject({ code: expected, metadata: { error_type } });
    expect(text).not.toContain(key);
    if (expected === 429) expect(headers.get('retry-after')).toBe('7');
    const entry = await gateway.get(`/generation?id=${headers.get('x-generation-id')}`);
    expect(await entry.json()).toMatchObject({ data: { api_type: 'image', total_cost: 0, status: expected } });
  });

  it('rejects a truncated image', async () => {
    first.respond(json(answerWith([(await paint({ width: 64, height: 64 })).subarray(0, 70)])));
    const { status, body } = await draw(gateway, { model: 'acme/draw', provider: { only: ['one'] } });
    expect(status).toBe(502);
    expect(body.error!.message).toMatch(/The image of one is not passed on. It cannot be decoded/);
  });

  it('rejects more than images.answer_limit without reading it all', async () => {
    await gateway.reload({ providers: providers(), images: { answer_limit: 4096 } });
    first.respond(json(answerWith([Buffer.alloc(100_000)])));
    const { status, body } = await draw(gateway, { model: 'acme/draw', provider: { only: ['one'] } });
    expect(status).toBe(502);
    expect(body.error!.message).toMatch(/more than 4096 bytes \(images.answer_limit\)/);
  });

  it('returns 524 if the provider is too slow', async () => {
    second.always(stallBeforeHeaders());
    const { status, body } = await draw(gateway, { model: 'acme/hasty' });
    expect(status).toBe(524);
    expect(body.error!.metadata).toMatchObject({ error_type: 'timeout' });
  });

  it('returns 524 when the deadline of the gateway passes', async () => {
    await gateway.reload({ providers: providers(), images: { request_ms: 150 } });
    first.always(stallBeforeHeaders());
    const { status, body } = await draw(gateway, { model: 'acme/draw', ...order });
    expect(status).toBe(524);
    expect(body.error!.message).toContain('images.request_ms');
  });
});

describe('fallback', () => {
  it('falls back to the next endpoint before the first image', async () => {
    first.respond(json({ error: { message: 'Oh' } }, { status: 500 }));
    second.respond(json(answerWith([image], gptUsage)));
    const { status, body } = await draw(gateway, { model: 'acme/draw', ...order }, metadata);
    expect(status).toBe(200);
    expect(body.router_metadata).toMatchObject({
      attempts: [
        { provider: 'one', status: 502 },
        { provider: 'two', status: 200 },
      ],
    });
  });

  it('falls back if an image is invalid', async () => {
    first.respond(json({ created: 1, data: [{ b64_json: Buffer.from('hello hello').toString('base64') }] }));
    second.respond(json(answerWith([image])));
    expect((await draw(gateway, { model: 'acme/draw', ...order })).status).toBe(200);
  });

  it('falls back if a stream is interrupted before its first image', async () => {
    first.respond(sse([], { named: true }));
    second.respond(sse(frames('image_generation', [image], image), { named: true }));
    const { events, done } = await draw(gateway, { model: 'acme/draw', stream: true, ...order });
    expect(events.map(({ type }) => type.split('.')[1])).toEqual(['partial_image', 'completed']);
    expect(done).toBe(true);
  });

  it('ends with an error after a partial image', async () => {
    first.respond(sse(frames('image_generation', [image], undefined), { named: true }));
    const { events, done } = await draw(gateway, { model: 'acme/draw', stream: true, ...order });
    expect(events.map(({ type }) => type)).toEqual(['image_generation.partial_image', 'error']);
    expect(events[1]!.error).toMatchObject({ code: '502' });
    expect(second.requests).toHaveLength(0);
    expect(done).toBe(true);
  });

  it('stops after the first provider if fallbacks are off', async () => {
    first.respond(json({ error: { message: 'Oh' } }, { status: 500 }));
    const provider = { ...order.provider, order: ['one'], allow_fallbacks: false };
    expect((await draw(gateway, { model: 'acme/draw', provider })).status).toBe(502);
    expect(second.requests).toHaveLength(0);
  });

  it('calls no other endpoint of the model if the content was rejected', async () => {
    first.respond(json({ error: { message: 'No', code: 'moderation_blocked' } }, { status: 400 }));
    expect((await draw(gateway, { model: 'acme/draw', ...order })).status).toBe(400);
    expect(second.requests).toHaveLength(0);
  });

  it('sends comments while a stream is silent, and none if the response may be JSON', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    first.respond(async () => {
      await promise;
      return sse(frames('image_generation', [], image), { named: true });
    });
    const answer = await gateway.post('/images', { model: 'acme/draw', prompt: 'x', stream: true, ...order });
    resolve();
    expect(await answer.text()).toMatch(/^: ROUTER PROCESSING\n\n/);
  });
});

describe('the cost of a generation', () => {
  it('is tokens times their prices, of text and of images', async () => {
    first.respond(
      json(
        answerWith([image], {
          ...gptUsage,
          input_tokens: 314,
          input_tokens_details: { text_tokens: 14, image_tokens: 300 },
        }),
      ),
    );
    const { body, headers } = await draw(gateway, { model: 'acme/draw', ...order });
    const input = 14 * 0.000005 + 300 * 0.00001;
    const output = 1056 * 0.00004;
    expect(body.usage!['cost']).toBeCloseTo(input + output, 9);
    expect(body.usage!['cost_details']).toMatchObject({ upstream_inference_prompt_cost: expect.closeTo(input, 9) });
    const entry = (await (await gateway.get(`/generation?id=${headers.get('x-generation-id')}`)).json()) as {
      data: { total_cost: number };
    };
    expect(entry.data.total_cost).toBeCloseTo(input + output, 9);
  });

  it('is null if the provider reports no tokens', async () => {
    first.respond(json(answerWith([image])));
    const { body } = await draw(gateway, { model: 'acme/draw', ...order });
    expect(body.usage).toBeUndefined();
  });

  it.each([
    ['1K', 0.04],
    ['2K', 0.13],
    ['4K', 0.04],
  ])('has a price per image in the tier %s, per megapixel and per request', async (resolution, perImage) => {
    first.respond(json(answerWith([image, image])));
    const { body } = await draw(gateway, { model: 'acme/metered', n: 2, resolution });
    const megapixels = (2 * 48 * 32) / 1e6;
    expect(body.usage!['cost']).toBeCloseTo(2 * perImage + megapixels + 0.01, 9);
  });

  it('is reserved before dispatch: a key without enough budget gets 402', async () => {
    const made = await gateway.send('POST', '/keys', { name: 'poor', limit: 0.000001 }, { key: gateway.managementKey });
    const { key: poor } = (await made.json()) as { key: string };
    const { status } = await draw(gateway, { model: 'acme/metered' }, { key: poor });
    expect([made.status, status]).toEqual([201, 402]);
    expect(first.requests).toHaveLength(0);
  });
});

describe('the other path', () => {
  it('rejects a model for images only on POST /responses', async () => {
    for (const model of ['acme/draw', 'acme/both']) {
      const answer = await gateway.post('/responses', { model, input: 'hello' });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { availability: { code: 'wrong_endpoint' } } });
    }
    expect(first.requests).toHaveLength(0);
  });

  it('lists prices and capabilities by endpoint, and all of them for the model', async () => {
    const { data } = (await (await gateway.get('/images/models')).json()) as {
      data: { id: string; supported_parameters: object }[];
    };
    expect(data.map(({ id }) => id)).toEqual(['acme/draw', 'acme/plain', 'acme/metered', 'acme/hasty', 'acme/both']);
    expect(data[1]!.supported_parameters).toMatchObject({
      n: { max: 10 },
      size: { values: expect.arrayContaining(['1536x1024']) },
    });
    const endpoints = await (await gateway.get('/images/models/acme/metered/endpoints')).json();
    expect(endpoints).toMatchObject({
      endpoints: [
        { pricing: [{ billable: 'output_image', unit: 'image', cost_usd: 0.04 }, { variant: '2k' }, {}, {}] },
      ],
    });
  });
});

describe('a client that disconnects', () => {
  it('aborts the generation at the provider', async () => {
    first.always(stallBeforeHeaders());
    const client = new AbortController();
    const answer = gateway.post('/images', { model: 'acme/draw', prompt: 'x', ...order }, { signal: client.signal });
    const asked = await first.nextRequest();
    client.abort();
    await expect(answer).rejects.toThrow();
    expect(await asked.closed).toBe('aborted');
  });
});
