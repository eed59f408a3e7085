import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json, sse, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { testKeys } from '../../src/testing/test-gateway.ts';
import { answerWith, paint } from '../api/images-lab.ts';
import { readRows } from '../api/ledger-rows.ts';
import { openStream } from '../api/open-stream.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, shownItems, stageOf, type ToolLab, wireNames } from './lab.ts';

let painter: ScriptedUpstream;
let lab: ToolLab;
let image: Buffer;
beforeAll(async () => {
  image = await paint({ width: 64, height: 64 });
  painter = await startUpstream();
  /** Its images cost a dollar each. */
  const provider = {
    id: 'painter',
    wire: 'openai-images',
    base_url: painter.url,
    api_key: 'key-of-the-painter',
    models: [
      {
        model: 'painter/m',
        image: {
          parameters: { size: { type: 'enum', values: ['64x64'] } },
          streaming: true,
          pricing: [{ billable: 'output_image', unit: 'image', cost_usd: 1 }],
        },
      },
    ],
  };
  lab = await openToolLab({ providers: [provider] }, { 'openai-responses': { native_images: false } });
});
afterAll(async () => {
  await lab.close();
  await painter.close();
});

const tools = [{ type: 'router:image_generation', parameters: { model: 'painter/m' } }];
const prompt = 'A red fox';
const drawing: Turn = { calls: [call('router_image_generation', { prompt })] };
const answering: Turn = { text: 'Here it is.' };
const turnUsd = (defaultCounts.input + defaultCounts.output * 10) / 1e6;
let earlier = 0;
const promptsSent = () => painter.requests.slice(earlier).map(({ body }) => (body as { prompt?: string }).prompt);

/** Scripts the painter to send one image. */
const paintOne = () => painter.respond(() => json(answerWith([image])));

describe.each(wireNames)('router:image_generation on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    beforeEach(() => {
      lab.takeRequests();
      earlier = painter.requests.length;
    });
    const respond = (request: object, ...turns: Turn[]) => {
      lab.script(wire, ...turns);
      return lab.respond(wire, mode, { tools, ...request });
    };

    it('creates an image, which the client sees and the model does not', async () => {
      paintOne();
      const served = await respond({}, drawing, answering);

      const base64 = image.toString('base64');
      expect(served.body.status).toBe('completed');
      expect(shownItems(served)).toMatchObject([
        {
          type: 'router:image_generation',
          status: 'completed',
          prompt,
          result: base64,
          id: expect.stringMatching(/^st_/),
          imageUrl: `data:image/png;base64,${base64}`,
        },
        { type: 'message' },
      ]);
      expect(promptsSent()).toEqual([prompt]);
      const [, second] = lab.takeRequests();
      expect(second!.text).not.toContain(base64.slice(0, 40));
      expect(second!.text).toMatch(/status\\*":\\*"ok/);
      expect(stageOf(served)).toMatchObject({ calls: [{ tool: 'router:image_generation' }] });
    });

    it('charges the image to the caller, with an entry of its own that names the response', async () => {
      paintOne();
      const { body } = await respond({}, drawing, answering);

      expect(body.usage!.cost).toBeCloseTo(2 * turnUsd + 1, 9);
      expect(body.usage).toMatchObject({ total_tokens: 2 * (defaultCounts.input + defaultCounts.output) });
      await expect
        .poll(() =>
          readRows(lab.gateway.dataDir)
            .filter((row) => row['model'] === 'painter/m')
            .at(-1),
        )
        .toMatchObject({ outcome: 'completed', cost_nano_usd: 1e9, parent_id: expect.stringMatching(/^gen-/) });
    });

    it('replays the item as the call and its result', async () => {
      paintOne();
      const first = await respond({}, drawing, answering);
      lab.takeRequests();
      const input = [{ role: 'user', content: 'Draw.' }, ...first.body.output, { role: 'user', content: 'Thanks.' }];
      const { status } = await respond({ input }, answering);

      expect(status).toBe(200);
      const [sent] = lab.takeRequests();
      expect(sent!.text).toContain('router_image_generation');
      expect(sent!.text).toContain(prompt);
      expect(sent!.text).not.toContain(image.toString('base64').slice(0, 40));
    });

    it('gives the model the error if the image model fails', async () => {
      painter.respond(() => json({ error: { message: 'The prompt is not allowed.' } }, { status: 400 }));
      const served = await respond({}, drawing, answering);

      expect(served.body.status).toBe('completed');
      expect(shownItems(served)[0]).toMatchObject({ prompt, error: expect.stringContaining('not allowed') });
      expect(shownItems(served)[0]).not.toHaveProperty('result');
      const [, second] = lab.takeRequests();
      expect(second!.text).toMatch(/status\\*":\\*"error/);
      expect(served.body.usage!.cost).toBeCloseTo(2 * turnUsd, 9);
    });

    it('rejects unknown models and settings before anything is sent', async () => {
      const issuesOf = async (parameters: object) => {
        const { status, body } = await respond({ tools: [{ type: 'router:image_generation', parameters }] });
        return [status, ...(body.error!.metadata!['issues'] as { path: string }[]).map(({ path }) => path)];
      };
      expect(await issuesOf({ model: 'painter/none' })).toEqual([400, 'tools[0].parameters.model']);
      expect(await issuesOf({ model: `acme/${wire}` })).toEqual([400, 'tools[0].parameters.model']);
      expect(await issuesOf({})).toEqual([400, 'tools[0].parameters.model']); // the default has no endpoint here
      expect(await issuesOf({ model: 'painter/m', n: 2 })).toEqual([400, 'tools[0].parameters.n']);
      expect(await issuesOf({ model: 'painter/m', color: 'red' })).toEqual([400, 'tools[0].parameters.color']);
      expect(await issuesOf({ model: 'painter/m', size: 'big' })).toEqual([400, 'tools[0].parameters.size']);
      expect(lab.takeRequests()).toEqual([]);
      expect(promptsSent()).toEqual([]);
    });

    it('passes settings on, and names those that were changed', async () => {
      paintOne();
      const parameters = { model: 'painter/m', size: '128x128', moderation: 'low' };
      const served = await respond({ tools: [{ ...tools[0]!, parameters }] }, drawing, answering);

      expect(painter.requests.at(-1)!.body).toMatchObject({ size: '64x64', moderation: 'low' });
      expect(stageOf(served)).toMatchObject({ calls: [{ adjusted: [expect.stringContaining('64x64')] }] });
    });

    it('runs the hosted tool, with its own item and events', async () => {
      const b64_json = image.toString('base64');
      const partials = [0, 1].map((partial_image_index) => {
        return { type: 'image_generation.partial_image', partial_image_index, b64_json };
      });
      const completed = { type: 'image_generation.completed', b64_json };
      painter.respond(({ body }) =>
        (body as { stream?: boolean }).stream
          ? sse([...partials, completed], { named: true })
          : json(answerWith([image])),
      );
      const hosted = { type: 'image_generation', model: 'painter/m', partial_images: 1, quality: 'auto' };
      const served = await respond({ tools: [hosted] }, drawing, answering);

      const [item] = shownItems(served);
      expect(item).toMatchObject({
        type: 'image_generation_call',
        status: 'completed',
        prompt,
        result: image.toString('base64'),
        id: expect.stringMatching(/^img_/),
      });
      if (mode === 'buffered') return;
      const events = served.events as unknown as Record<string, unknown>[];
      const own = events.filter(({ item_id: id, item: shown }) => id === item!.id || (shown as object) === item);
      expect(own.filter(({ item_id: id }) => id === item!.id)).toMatchObject([
        { type: 'response.image_generation_call.in_progress', output_index: 0 },
        { type: 'response.image_generation_call.generating' },
        { type: 'response.image_generation_call.partial_image', partial_image_index: 0 },
        { type: 'response.image_generation_call.completed' },
      ]);
    });

    it('leaves the hosted tool out if the gateway has no such model', async () => {
      const hosted = { type: 'image_generation', model: 'gpt-image-9' };
      const { status, body } = await respond({ tools: [hosted] }, answering);

      expect(status).toBe(200);
      const { dropped_fields: dropped } = body.router_metadata!.params as { dropped_fields: string[] };
      expect(dropped).toContain('tools[0] (image_generation)');
    });

    it('fails the hosted item if the image model fails', async () => {
      painter.respond(() => json({ error: { message: 'Not today.' } }, { status: 400 }));
      const hosted = { type: 'image_generation', model: 'painter/m' };
      const served = await respond({ tools: [hosted] }, drawing, answering);

      expect(shownItems(served)[0]).toMatchObject({ type: 'image_generation_call', status: 'failed', result: null });
    });
  });
});

describe('router:image_generation', () => {
  beforeEach(() => {
    lab.takeRequests();
    earlier = painter.requests.length;
  });

  it('uses the default model of the workspace', async () => {
    const { gateway } = lab;
    const key = { key: gateway.managementKey };
    const patched = await gateway.send('PATCH', '/workspaces/main', { default_image_model: 'painter/m' }, key);
    expect(patched.status).toBe(200);
    paintOne();
    lab.script('openai-chat', drawing, answering);
    const served = await lab.respond('openai-chat', 'buffered', { tools: [{ type: 'router:image_generation' }] });
    await gateway.send('PATCH', '/workspaces/main', { default_image_model: null }, key);

    expect(shownItems(served)[0]).toMatchObject({ status: 'completed', result: image.toString('base64') });
  });

  it('uses the tool of the provider where there is one', async () => {
    const other = await openToolLab();
    other.script('openai-responses', answering);
    const { status } = await other.respond('openai-responses', 'buffered', {
      tools: [{ type: 'image_generation', quality: 'low' }],
    });
    expect(status).toBe(200);
    const [sent] = other.takeRequests();
    expect((sent!.body as { tools: object[] }).tools).toEqual([{ type: 'image_generation', quality: 'low' }]);
    await other.close();
  });

  it('rejects an image that is too large for an item, and the response goes on', async () => {
    const large = Buffer.concat([image, Buffer.alloc(13 * 1024 * 1024)]); // decoders ignore what follows an image
    painter.respond(() => json(answerWith([large])));
    lab.script('openai-chat', drawing, answering);
    const served = await lab.respond('openai-chat', 'buffered', { tools });

    expect(served.body.status).toBe('completed');
    expect(shownItems(served)[0]).toMatchObject({ error: expect.stringContaining('12582912') });
  });

  it('bounds the images of a response together', async () => {
    const large = Buffer.concat([image, Buffer.alloc(11 * 1024 * 1024)]);
    for (let count = 0; count < 3; count++) painter.respond(() => json(answerWith([large])));
    const calls = [1, 2, 3].map((number) => call('router_image_generation', { prompt: `Fox ${number}` }));
    lab.script('openai-chat', { calls }, answering);
    const served = await lab.respond('openai-chat', 'buffered', { tools });

    const errors = shownItems(served).flatMap(({ error }) => (error === undefined ? [] : [error]));
    expect(errors).toEqual([expect.stringContaining('too large together')]);
  });

  it('is rejected by a budget of the key, which the model reads', async () => {
    const body = { name: 'limited', limit: 0.5, workspace_id: '00000000-0000-4000-8000-0000000000a1' };
    const made = await lab.gateway.post('/keys', body, { key: testKeys.managementKey });
    const { key } = (await made.json()) as { key: string };
    lab.script('openai-chat', drawing, answering);
    const served = await lab.respond('openai-chat', 'buffered', { tools }, { key });

    expect(served.status).toBe(200);
    expect(shownItems(served)[0]).toMatchObject({ error: expect.stringMatching(/limit|budget/i) });
    expect(promptsSent()).toEqual([]);
  });

  it('ends with the client', async () => {
    painter.respond(stallBeforeHeaders());
    lab.script('openai-chat', drawing);
    const stream = await openStream(lab.gateway, { model: 'acme/openai-chat', input: 'Draw.', tools });
    await expect.poll(() => painter.requests.length).toBe(earlier + 1);
    stream.leave();
    expect(await painter.requests.at(-1)!.closed).toBe('aborted');
  });
});
