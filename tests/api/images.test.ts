import { randomBytes } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aspectRatios } from '../../src/domain/images.ts';
import { bytes, json } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { startUpstream } from '../../src/testing/scripted-upstream.ts';
import { dataUrl, draw, look, paint, reference } from './images-lab.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

describe('POST /images, buffered', () => {
  it('returns the image as base64, its media type, and the usage', async () => {
    const { status, headers, body } = await draw(gateway, {});

    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('x-generation-id')).toMatch(/^gen-/);
    expect(body.created).toBeCloseTo(Date.now() / 1000, -2);
    expect(body.data).toHaveLength(1);
    expect(body.data![0]!.media_type).toBe('image/png');
    expect(await look(body.data![0]!.b64_json)).toMatchObject({ format: 'png', width: 1024, height: 1024 });
    expect(body.usage).toEqual({
      prompt_tokens: 3,
      completion_tokens: 256,
      total_tokens: 259,
      cost: 0,
      is_byok: false,
      cost_details: {
        upstream_inference_prompt_cost: 0,
        upstream_inference_completions_cost: 0,
        upstream_inference_cost: 0,
      },
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { image_tokens: 256 },
    });
    expect(body).not.toHaveProperty('router_metadata');
  });

  it('has the length of the body in a header', async () => {
    const { headers, text } = await draw(gateway, { n: 2, size: '64x64' });
    expect(headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
  });

  it.each([
    ['png', 'image/png', 'png'],
    ['jpeg', 'image/jpeg', 'jpeg'],
    ['webp', 'image/webp', 'webp'],
    ['svg', 'image/svg+xml', 'svg'],
  ])('generates %s of exactly the size', async (output_format, type, format) => {
    const { body } = await draw(gateway, { output_format, size: '320x200' });
    expect(body.data![0]!.media_type).toBe(type);
    expect(await look(body.data![0]!.b64_json)).toMatchObject({ format, width: 320, height: 200 });
  });

  it('has UTF-8 markup with the words of the prompt in an SVG', async () => {
    const { body } = await draw(gateway, { prompt: 'Grüße & <Küsse>', output_format: 'svg', size: '64x64' });
    const markup = Buffer.from(body.data![0]!.b64_json, 'base64').toString('utf8');
    expect(markup).toContain('<title>Grüße &amp; &lt;Küsse&gt;</title>');
  });

  it.each([
    ['1:1', { width: 512, height: 512 }],
    ['16:9', { width: 688, height: 384 }],
    ['9:16', { width: 384, height: 688 }],
    ['2.35:1', { width: 784, height: 336 }],
    ['8:1', { width: 1456, height: 176 }],
  ])('derives pixels of the ratio %s in a tier', async (aspect_ratio, size) => {
    const { body } = await draw(gateway, { aspect_ratio, resolution: '512', output_format: 'jpeg' });
    expect(await look(body.data![0]!.b64_json)).toMatchObject(size);
  });

  it.each([...aspectRatios])('accepts the aspect ratio %s', async (aspect_ratio) => {
    const { status } = await draw(gateway, { aspect_ratio, size: '512', output_format: 'svg' });
    expect(status).toBe(200);
  });

  it.each([
    ['512', 512],
    ['2K', 2048],
  ])('accepts the tier %s as size and as resolution', async (tier, edge) => {
    const bySize = await draw(gateway, { size: tier, output_format: 'svg' });
    const byResolution = await draw(gateway, { resolution: tier, output_format: 'svg' });
    expect(await look(bySize.body.data![0]!.b64_json)).toMatchObject({ width: edge, height: edge });
    expect(byResolution.body.data).toEqual(bySize.body.data);
  });

  it('generates the same image for the same request, and another one for another seed', async () => {
    const [one, again, other] = await Promise.all(
      [{ seed: 7 }, { seed: 7 }, { seed: 8 }].map((more) => draw(gateway, { output_format: 'svg', ...more })),
    );
    expect(again!.body.data).toEqual(one!.body.data);
    expect(other!.body.data).not.toEqual(one!.body.data);
  });

  it('generates the requested number of different images', async () => {
    const { body } = await draw(gateway, { n: 10, output_format: 'svg', size: '64x64' });
    expect(new Set(body.data!.map(({ b64_json }) => b64_json)).size).toBe(10);
    expect(body.usage).toMatchObject({ completion_tokens: 2560 });
  });

  it('generates a transparent background', async () => {
    const clear = await draw(gateway, { background: 'transparent', output_format: 'webp', size: '64x64' });
    const opaque = await draw(gateway, { background: 'opaque', output_format: 'webp', size: '64x64' });
    expect(await look(clear.body.data![0]!.b64_json)).toMatchObject({ alpha: true });
    expect(await look(opaque.body.data![0]!.b64_json)).toMatchObject({ alpha: false });
  });

  it('compresses more with a higher compression, and not at all for png', async () => {
    const bytesOf = async (more: object) =>
      (await draw(gateway, { size: '256x256', ...more })).body.data![0]!.b64_json.length;
    const [little, much] = [
      await bytesOf({ output_format: 'jpeg', output_compression: 5 }),
      await bytesOf({ output_format: 'jpeg', output_compression: 95 }),
    ];
    expect(much).toBeLessThan(little);
    const metadata = { headers: { 'x-router-metadata': 'enabled' } };
    const png = await draw(gateway, { size: '64x64', output_format: 'png', output_compression: 50 }, metadata);
    expect(png.body.router_metadata).toMatchObject({ params: { dropped_fields: ['output_compression'] } });
  });

  it('returns the route if metadata are requested', async () => {
    const headers = { 'x-router-metadata': 'enabled' };
    const { body } = await draw(gateway, { size: '64x64', quality: 'max', colour: 'red' }, { headers });
    expect(body.router_metadata).toMatchObject({
      requested: 'simulator/image',
      strategy: 'direct',
      attempt: 1,
      params: { ignored_fields: ['colour'], dropped_fields: ['quality'] },
    });
  });

  it('passes the allowed options to their provider', async () => {
    const options = { simulator: { caption: 'Hello', secret: 1 }, openai: { caption: 'Never' } };
    const { body } = await draw(gateway, { output_format: 'svg', size: '64x64', provider: { options } });
    const markup = Buffer.from(body.data![0]!.b64_json, 'base64').toString('utf8');
    expect(markup).toContain('<title>Hello</title>');
  });
});

describe('POST /images, streamed', () => {
  it('sends partial images in the format, the finished one with usage, and [DONE]', async () => {
    const { status, headers, events, done } = await draw(gateway, {
      stream: true,
      output_format: 'jpeg',
      size: '96x64',
    });

    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/event-stream');
    expect(headers.get('x-generation-id')).toMatch(/^gen-/);
    expect(events.map(({ type, partial_image_index: index }) => [type.split('.')[1], index])).toEqual([
      ['partial_image', 0],
      ['partial_image', 1],
      ['partial_image', 2],
      ['completed', undefined],
    ]);
    for (const { b64_json } of events) {
      expect(await look(b64_json)).toMatchObject({ format: 'jpeg', width: 96, height: 64 });
    }
    expect(events.at(-1)).toMatchObject({ media_type: 'image/jpeg', usage: { completion_tokens: 256, cost: 0 } });
    expect(events[0]).not.toHaveProperty('media_type');
    expect(done).toBe(true);
  });

  it('sends one completed event for each image, with usage on the last one only', async () => {
    const { events, done } = await draw(gateway, { stream: true, n: 3, size: '64x64' });
    const completed = events.filter(({ type }) => type === 'image_generation.completed');
    expect(completed.map(({ usage }) => usage !== undefined)).toEqual([false, false, true]);
    expect(done).toBe(true);
  });

  it('sends the text of an SVG', async () => {
    const { events } = await draw(gateway, { stream: true, output_format: 'svg', size: '64x64' });
    expect(events.map(({ type }) => type)).toEqual(['image_generation.text_chunk', 'image_generation.completed']);
    expect(events[0]).toMatchObject({ phase: 'content', text: expect.stringMatching(/^<svg/) });
    expect(Buffer.from(events[1]!.b64_json!, 'base64').toString()).toBe(events[0]!.text);
  });

  it('reports a failure in the stream, and ends it with [DONE]', async () => {
    const { status, events, done } = await draw(gateway, {
      stream: true,
      prompt: '[[break 2 500 Out of paint]] x',
      size: '64x64',
    });
    expect(status).toBe(200);
    expect(events.map(({ type }) => type)).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'error',
    ]);
    expect(events.at(-1)!.error).toEqual({
      message: 'The provider failed: Out of paint',
      code: '502',
      type: 'provider_unavailable',
      param: null,
    });
    expect(done).toBe(true);
  });

  it('never treats an interrupted stream as complete', async () => {
    const { events, done } = await draw(gateway, { stream: true, prompt: '[[cut 4]] x', size: '64x64' });
    expect(events.filter(({ type }) => type === 'image_generation.completed')).toHaveLength(0);
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: '502' } });
    expect(done).toBe(true);
  });

  it('keeps the status of a failure before the first image', async () => {
    const { status, body } = await draw(gateway, { stream: true, prompt: '[[fail 503 3s Busy]] x' });
    expect(status).toBe(529);
    expect(body.error).toMatchObject({ code: 529, metadata: { error_type: 'provider_overloaded' } });
  });
});

describe('an invalid body', () => {
  it.each([
    [{ prompt: '' }, 'prompt', /must not be empty/],
    [{ prompt: null }, 'prompt', /must be a string/],
    [{ model: undefined }, 'model', /is missing/],
    [{ n: 0 }, 'n', /an integer from 1 to 10, got 0/],
    [{ n: 11 }, 'n', /an integer from 1 to 10, got 11/],
    [{ n: 1.5 }, 'n', /an integer from 1 to 10, got 1.5/],
    [{ aspect_ratio: '7:5' }, 'aspect_ratio', /got "7:5"/],
    [{ resolution: '1k' }, 'resolution', /one of `512`, `1K`, `2K`, `4K`, got "1k"/],
    [{ size: '3K' }, 'size', /must be a tier .* or pixels like "1024x1536", got "3K"/],
    [{ size: '0x100' }, 'size', /got "0x100"/],
    [{ size: '512', resolution: '1K' }, 'size', /tier "512".*`resolution` is "1K"/],
    [{ size: '1000x1000', aspect_ratio: '16:9' }, 'size', /"1000x1000".*`aspect_ratio` "16:9"/],
    [{ size: '1024x1024', resolution: '4K' }, 'size', /tier 1K.*`resolution` is "4K"/],
    [{ quality: 'best' }, 'quality', /got "best"/],
    [{ output_format: 'gif' }, 'output_format', /got "gif"/],
    [{ output_compression: 101 }, 'output_compression', /from 0 to 100/],
    [
      { background: 'transparent', output_format: 'jpeg' },
      'background',
      /`output_format` must be "png" or "webp".*"jpeg"/,
    ],
    [{ seed: 2 ** 60 }, 'seed', /an integer/],
    [{ stream: 'yes' }, 'stream', /must be a boolean/],
    [{ user: 'x'.repeat(257) }, 'user', /at most 256/],
    [{ session_id: 'x'.repeat(257) }, 'session_id', /at most 256/],
    [{ trace: { trace_id: 5 } }, 'trace.trace_id', /must be a string/],
    [{ provider: { sort: 'fame' } }, 'provider.sort', /fame/],
    [{ provider: { options: { openai: 1 } } }, 'provider.options.openai', /an object/],
    [{ input_references: Array(17).fill(reference('data:,')) }, 'input_references', /at most 16/],
    [
      { input_references: [reference('ftp://example.com/a.png')] },
      'input_references[0].image_url.url',
      /http or https/,
    ],
    [{ input_references: [{ ...reference('data:,'), type: 'file' }] }, 'input_references[0].type', /image_url/],
  ])('%j is a 400 that names %s', async (more, param, message) => {
    const { status, body } = await draw(gateway, more);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 400, metadata: { error_type: 'invalid_request', param } });
    expect(body.error!.message).toMatch(message);
  });

  it.each([
    [{ size: '1920x1080', aspect_ratio: '16:9' }],
    [{ size: '1000x1000', aspect_ratio: 'auto' }],
    [{ size: '1024x1024', resolution: '1K' }],
    [{ size: '1K', resolution: '1K' }],
    [{ size: '2K', aspect_ratio: '16:9' }],
    [{ background: 'opaque' }],
    [{ provider: { only: null, order: null, ignore: null, sort: null, allow_fallbacks: null } }],
  ])('%j is valid', async (more) => {
    expect((await draw(gateway, { output_format: undefined, ...more })).status).toBe(200);
  });

  it('rejects a header x-session-id of more than 256 characters', async () => {
    const { status, body } = await draw(gateway, {}, { headers: { 'x-session-id': 'x'.repeat(257) } });
    expect(status).toBe(400);
    expect(body.error!.metadata).toMatchObject({ param: 'x-session-id' });
  });

  it('returns 413 above 64 MiB', async () => {
    const small = await testGateway({ images: { body_limit: 2048 } });
    const { status, body } = await draw(small, { prompt: 'x'.repeat(3000) });
    await small.close();
    expect(status).toBe(413);
    expect(body.error!.message).toBe('The body is larger than 2048 bytes (images.body_limit).');
    expect(body.error!.metadata).toMatchObject({ error_type: 'payload_too_large' });
  });

  it('returns 401 without a key', async () => {
    expect((await draw(gateway, {}, { key: null })).status).toBe(401);
  });

  it('returns 403 for a management key', async () => {
    expect((await draw(gateway, {}, { key: gateway.managementKey })).status).toBe(403);
  });
});

describe('references', () => {
  it('accepts PNG, JPEG, WebP and GIF with any media type in the data URL', async () => {
    const size = { width: 32, height: 32 };
    const images = await Promise.all((['png', 'jpeg', 'webp', 'gif'] as const).map((format) => paint(size, format)));
    const input_references = images.map((bytes) => reference(dataUrl(bytes, 'application/x-anything')));
    const { status, body } = await draw(gateway, { input_references, size: '64x64' });
    expect(status).toBe(200);
    expect(body.usage).toMatchObject({ prompt_tokens: 3 + 4 * 64 });
  });

  it('accepts 16 of them', async () => {
    const one = reference(dataUrl(await paint({ width: 16, height: 16 })));
    expect((await draw(gateway, { input_references: Array(16).fill(one), output_format: 'svg' })).status).toBe(200);
  });

  it.each([
    ['no base64', async () => 'data:image/png,hello', 'invalid_image'],
    ['what is no base64', async () => 'data:image/png;base64,@@@@', 'invalid_image'],
    ['text', async () => dataUrl(Buffer.from('hello, this is no picture')), 'invalid_image'],
    [
      'a truncated image',
      async () => dataUrl((await paint({ width: 64, height: 64 })).subarray(0, 90)),
      'invalid_image',
    ],
    [
      'an SVG',
      async () => dataUrl(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')),
      'unsupported_image_format',
    ],
    ['a picture of 8 pixels', async () => dataUrl(await paint({ width: 8, height: 8 })), 'image_too_small'],
    ['a picture of 17,000 pixels', async () => dataUrl(await paint({ width: 17_000, height: 20 })), 'image_too_large'],
  ])('rejects %s and names it', async (_, url, error_type) => {
    const good = reference(dataUrl(await paint({ width: 32, height: 32 })));
    const { status, body } = await draw(gateway, { input_references: [good, reference(await url())] });
    expect(status).toBe(400);
    const param = 'input_references[1].image_url.url';
    expect(body.error).toMatchObject({ metadata: { error_type, param } });
    expect(body.error!.message.startsWith(`${param}: `)).toBe(true);
  });

  it('rejects one that is larger than images.reference_limit', async () => {
    const strict = await testGateway({ images: { reference_limit: 1024 } });
    const url = dataUrl(Buffer.concat([await paint({ width: 32, height: 32 }), Buffer.alloc(2000)]));
    const { status, body } = await draw(strict, { input_references: [reference(url)] });
    await strict.close();
    expect(status).toBe(400);
    expect(body.error!.metadata).toMatchObject({ error_type: 'image_too_large' });
  });

  it('fetches addresses on allowed networks', async () => {
    const host = await startUpstream();
    const image = await paint({ width: 40, height: 40 }, 'webp');
    const { port } = new URL(host.url);
    const open = await testGateway({ outbound: { allow: [`127.0.0.1:${port}`] } });
    host.respond({
      ...json({}),
      headers: { 'content-type': 'text/plain' },
      contentLength: image.length,
      pieces: async function* () {
        yield image;
      },
    });
    host.respond(json({ not: 'a picture' }));
    host.respond(json({}, { status: 404 }));
    const ask = () => draw(open, { input_references: [reference(`${host.url}/a`)], output_format: 'svg' });
    const [good, bad, gone] = [await ask(), await ask(), await ask()];
    await Promise.all([open.close(), host.close()]);
    expect([good.status, bad.status, gone.status]).toEqual([200, 400, 404]);
    expect(bad.body.error!.metadata).toMatchObject({ error_type: 'invalid_image' });
    expect(gone.body.error!.metadata).toMatchObject({ error_type: 'image_not_found' });
  });

  it('fetches at most images.body_limit in total', async () => {
    const host = await startUpstream();
    const { port } = new URL(host.url);
    const noise = randomBytes(128 * 128 * 3);
    const image = await sharp(noise, { raw: { width: 128, height: 128, channels: 3 } })
      .png()
      .toBuffer();
    const open = await testGateway({ outbound: { allow: [`127.0.0.1:${port}`] }, images: { body_limit: 65_536 } });
    host.always(bytes(image, { headers: { 'content-type': 'image/png' } }));
    const ask = (count: number) =>
      draw(open, { input_references: Array.from({ length: count }, () => reference(`${host.url}/a.png`)) });
    const [one, two] = [await ask(1), await ask(2)];
    await Promise.all([open.close(), host.close()]);
    expect(one.status).toBe(200);
    expect(two).toMatchObject({
      status: 400,
      body: { error: { metadata: { error_type: 'image_too_large', param: 'input_references[1].image_url.url' } } },
    });
  });

  it('does not fetch from addresses of this machine', async () => {
    const { status, body } = await draw(gateway, { input_references: [reference('http://127.0.0.1:9/a.png')] });
    expect(status).toBe(400);
    expect(body.error!.metadata).toMatchObject({ error_type: 'image_download_failed' });
  });
});

describe('models', () => {
  it('rejects a model without images with wrong_endpoint', async () => {
    const { status, body } = await draw(gateway, { model: 'simulator/echo' });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      metadata: { error_type: 'invalid_request' },
      availability: { code: 'wrong_endpoint' },
    });
  });

  it('rejects a model without a provider with model_not_found', async () => {
    const { status, body } = await draw(gateway, { model: 'nobody/nothing' });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ availability: { code: 'model_not_found' } });
  });

  it('lists image models', async () => {
    const { data } = (await (await gateway.get('/images/models')).json()) as { data: Record<string, unknown>[] };
    expect(data.map(({ id }) => id)).toEqual(['simulator/image']);
    expect(data[0]).toMatchObject({
      name: 'Simulator: image',
      architecture: { input_modalities: ['text', 'image'], output_modalities: ['text', 'image'] },
      supported_parameters: { n: { type: 'range', min: 1, max: 10 }, seed: { type: 'boolean' } },
      supports_streaming: true,
      endpoints: '/api/v1/images/models/simulator/image/endpoints',
    });
    expect(data[0]).toHaveProperty('description');
    expect(data[0]).toHaveProperty('created');
  });

  it('lists the endpoints of one, and 404 for any other', async () => {
    const answer = await gateway.get('/images/models/simulator/image/endpoints');
    expect(await answer.json()).toMatchObject({
      id: 'simulator/image',
      endpoints: [
        {
          provider_name: 'Simulator',
          provider_slug: 'simulator',
          provider_tag: 'simulator',
          allowed_passthrough_parameters: ['caption'],
          supports_streaming: true,
          pricing: [{ billable: 'output_image', unit: 'image', cost_usd: 0 }],
        },
      ],
    });
    expect((await gateway.get('/images/models/simulator/echo/endpoints')).status).toBe(404);
    expect((await gateway.get('/images/models/nobody/nothing/endpoints')).status).toBe(404);
  });

  it('lists them among all models by their output', async () => {
    const { data } = (await (await gateway.get('/models?output_modalities=image')).json()) as {
      data: { id: string }[];
    };
    expect(data.map(({ id }) => id)).toEqual(['simulator/image']);
  });
});

describe('the ledger', () => {
  const generation = async (id: string | null) => {
    const answer = await gateway.get(`/generation?id=${id}`);
    return ((await answer.json()) as { data: Record<string, unknown> }).data;
  };

  it('has a generation under the id of the header, as an image', async () => {
    const { headers } = await draw(gateway, { size: '64x64', session_id: 's-1', user: 'ada@example.org' });
    expect(await generation(headers.get('x-generation-id'))).toMatchObject({
      api_type: 'image',
      model: 'simulator/image',
      provider_name: 'Simulator',
      streamed: false,
      cancelled: false,
      tokens_prompt: 3,
      tokens_completion: 256,
      total_cost: 0,
      session_id: 's-1',
      num_media_prompt: 0,
      num_media_completion: 1,
    });
  });

  it('records no cost for a failed generation', async () => {
    const { status, headers } = await draw(gateway, { prompt: '[[break 1 500 Oh]] x', n: 2, size: '64x64' });
    expect(status).toBe(502);
    expect(await generation(headers.get('x-generation-id'))).toMatchObject({
      api_type: 'image',
      status: 502,
      tokens_prompt: 0,
      tokens_completion: 0,
      total_cost: 0,
      finish_reason: 'failed',
    });
  });

  it('records no cost for a client that disconnected, with the status of a cancellation', async () => {
    const client = new AbortController();
    const answer = await gateway.post(
      '/images',
      { model: 'simulator/image', prompt: '[[stall 1]] x', stream: true, size: '64x64' },
      { signal: client.signal },
    );
    const id = answer.headers.get('x-generation-id');
    client.abort();
    await expect(answer.text()).rejects.toThrow();
    await expect.poll(() => generation(id)).toMatchObject({ cancelled: true, total_cost: 0, tokens_completion: 0 });
  });
});
