import OpenAI, { APIError, AzureOpenAI, toFile } from 'openai';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { collect } from './collect.ts';
import { paint } from '../api/images-lab.ts';

/*
 * The images of the `openai` client, whose paths and shapes differ from those of `POST /images`.
 *
 * @see docs/reference/images.md#the-paths-of-openai
 */

const model = 'simulator/image';
const prompt = 'A red fox';

let gateway: TestGateway;
let upstream: ScriptedUpstream;
let client: OpenAI;
let red: Buffer;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      { id: 'simulator', wire: 'simulator', models: [{ model }] },
      {
        id: 'acme',
        wire: 'openai-images',
        base_url: upstream.url,
        api_key: 'a-key-of-the-provider',
        models: [
          {
            model: 'acme/painter',
            image: { parameters: { input_references: { type: 'range', min: 0, max: 16 } } },
          },
        ],
      },
    ],
  });
  client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
  red = await paint({ width: 32, height: 32 });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const look = async (b64: string | undefined) => sharp(Buffer.from(b64 ?? '', 'base64')).metadata();

describe('images.generate of the openai client', () => {
  it('returns images with every field of the format', async () => {
    const images = await client.images.generate({
      model,
      prompt,
      n: 2,
      size: '256x256',
      quality: 'standard',
      response_format: 'b64_json',
      safety_identifier: 'someone',
    });

    expect(images).toMatchObject({ output_format: 'png', size: '256x256' });
    expect(images).not.toHaveProperty('background');
    expect(images).not.toHaveProperty('quality');
    expect(images.data).toHaveLength(2);
    expect(await look(images.data![0]!.b64_json)).toMatchObject({ format: 'png', width: 256, height: 256 });
    expect(images.usage).toMatchObject({
      input_tokens: expect.any(Number),
      input_tokens_details: { image_tokens: 0, text_tokens: images.usage!.input_tokens },
      output_tokens: expect.any(Number),
      total_tokens: images.usage!.input_tokens + images.usage!.output_tokens,
    });
  });

  it('returns data URLs for response_format: "url"', async () => {
    const { data } = await client.images.generate({ model, prompt, size: '512x512', response_format: 'url' });
    expect(data![0]).toMatchObject({ url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) });
    expect(data![0]).not.toHaveProperty('b64_json');
  });

  it('takes null and auto, and a transparent background without a format', async () => {
    const images = await client.images.generate({ model, prompt, n: null, size: 'auto', background: 'transparent' });
    expect(images).toMatchObject({ background: 'transparent', output_format: 'png' });
  });

  it('names the fields without effect', async () => {
    const { response } = await client.images
      .generate({ model, prompt, size: '256x256', moderation: 'low', style: 'vivid' })
      .withResponse();
    expect(response.headers.get('x-router-dropped-fields')).toBe('moderation, style');
  });

  it.each([0, 2])('streams with %i partial images', async (partial_images) => {
    const stream = await client.images.generate({ model, prompt, size: '128x128', stream: true, partial_images });
    const events = await collect(stream);
    expect(events.map(({ type }) => type)).toEqual([
      ...Array<string>(partial_images).fill('image_generation.partial_image'),
      'image_generation.completed',
    ]);
    expect(events.at(-1)).toMatchObject({
      created_at: expect.any(Number),
      size: '128x128',
      output_format: 'png',
      background: 'auto',
      quality: 'auto',
      usage: { input_tokens: expect.any(Number) },
    });
    expect(await look(events.at(-1)!.b64_json)).toMatchObject({ width: 128 });
  });

  it('streams an image of an endpoint that does not stream', async () => {
    upstream.always(() => json({ created: 1, data: [{ b64_json: red.toString('base64') }] }));
    const stream = await client.images.generate({ model: 'acme/painter', prompt, stream: true });
    const events = await collect(stream);
    expect(events.map(({ type }) => type)).toEqual(['image_generation.completed']);
  });

  it.each([
    [{ model: 'no/body' }, 'model_not_found'],
    [{ size: 'tiny' as '256x256' }, 'invalid_request'],
    [{ response_format: 'file' as 'url' }, 'invalid_request'],
  ])('throws for %j', async (fields, code) => {
    const error = await client.images.generate({ model, prompt, ...fields }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 400, code });
  });

  it('works in the client of Azure', async () => {
    const azure = new AzureOpenAI({
      endpoint: `${gateway.url}/api`,
      apiKey: gateway.key,
      apiVersion: '2024-10-21',
      deployment: model,
      maxRetries: 0,
    });
    const { data } = await azure.images.generate({ prompt, size: '256x256' });
    expect(data).toHaveLength(1);
  });
});

describe('images.edit of the openai client', () => {
  it('sends one image or several as references', async () => {
    upstream.always(() => json({ created: 1, data: [{ b64_json: red.toString('base64') }] }));
    const one = await toFile(red, 'one.png', { type: 'image/png' });
    const two = await toFile(red, 'two.png', { type: 'application/octet-stream' });

    const single = await client.images.edit({ model: 'acme/painter', prompt, image: one, n: 1 });
    expect(single.data).toHaveLength(1);
    expect(upstream.requests.at(-1)!.path).toContain('/images/edits');

    const events = await collect(
      await client.images.edit({ model: 'acme/painter', prompt, image: [one, two], stream: true }),
    );
    expect(events.map(({ type }) => type)).toEqual(['image_edit.completed']);
  });

  it('takes JSON with data URLs', async () => {
    upstream.always(() => json({ created: 1, data: [{ b64_json: red.toString('base64') }] }));
    const image_url = `data:image/png;base64,${red.toString('base64')}`;
    const response = await gateway.post('/images/edits', { model: 'acme/painter', prompt, images: [{ image_url }] });
    expect(response.status).toBe(200);
    expect(upstream.requests.at(-1)!.path).toContain('/images/edits');
  });

  it('rejects a mask, a form without an image and a malformed form', async () => {
    const image = await toFile(red, 'one.png', { type: 'image/png' });
    await expect(client.images.edit({ model, prompt, image, mask: image })).rejects.toMatchObject({
      status: 400,
      param: 'mask',
    });
    const form = new FormData();
    form.set('prompt', prompt);
    const send = (body: string | FormData, type?: string) =>
      fetch(`${gateway.baseUrl}/images/edits`, {
        method: 'POST',
        body,
        headers: { authorization: `Bearer ${gateway.key}`, ...(type !== undefined && { 'content-type': type }) },
      });
    const without = await send(form);
    expect(without.status).toBe(400);
    expect(await without.json()).toMatchObject({ error: { param: 'image' } });
    expect((await send('--x\r\nbroken', 'multipart/form-data; boundary=x')).status).toBe(400);
    expect((await send('x', 'multipart/form-data')).status).toBe(400);
    expect((await send('{}', 'text/plain')).status).toBe(400);
  });
});
