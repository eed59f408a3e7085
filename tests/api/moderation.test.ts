import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  bytes,
  hugeBody,
  json,
  resetBeforeHeaders,
  type Script,
  type ScriptedUpstream,
  stallBeforeHeaders,
  startUpstream,
  type TestGateway,
} from '../../src/testing/index.ts';
import { paint } from './images-lab.ts';
import { answer, ask, type Mode } from './lab.ts';
import { shareGateways } from './share-gateways.ts';

let upstream: ScriptedUpstream;
let service: ScriptedUpstream;
let gateway: TestGateway;
const shared = shareGateways();
beforeAll(async () => {
  upstream = await startUpstream();
  service = await startUpstream();
});
afterAll(async () => {
  await upstream.close();
  await service.close();
});
beforeEach(() => {
  upstream.always(({ body }) => {
    const { stream } = body as { stream?: boolean };
    return answer({ wire: 'openai-chat', mode: stream ? 'streamed' : 'buffered' });
  });
  service.always(({ body }) => judge(body));
});
afterAll(() => shared.close());

const apiKey = 'sk-moderation-secret-0001';
const plugins = [{ id: 'moderation' }];
type Sent = { model?: string; input: string | unknown[] };
const listOf = (input: Sent['input']): unknown[] => (typeof input === 'string' ? [input] : input);

/** Flags every input that contains the word. */
const judge = (body: unknown) =>
  json({
    id: 'modr-1',
    model: 'm',
    results: listOf((body as Sent).input).map((input) => {
      const flagged = JSON.stringify(input).includes('poison');
      return {
        flagged,
        categories: { violence: flagged, hate: false, 'self-harm': flagged },
        category_scores: { violence: flagged ? 0.91 : 0.01, hate: 0.02, 'self-harm': flagged ? 0.6 : 0 },
      };
    }),
  });

const chat = (id: string, model: object) => ({ id, wire: 'openai-chat', base_url: upstream.url, models: [model] });
async function open(moderation: object | undefined, more: object = {}) {
  gateway = await shared.open({
    providers: [
      chat('free', { model: 'a/free' }),
      chat('strict', { model: 'a/strict', is_moderated: true }),
      chat('both-strict', { model: 'a/both', is_moderated: true }),
      chat('both-free', { model: 'a/both' }),
      chat('pair-one', { model: 'a/pair', is_moderated: true }),
      chat('pair-two', { model: 'a/pair', is_moderated: true }),
    ],
    ...(moderation && { plugins: { moderation } }),
    ...more,
  });
}
const openService = (more: object = {}, parts: object = {}) =>
  open({ url: `${service.url}/moderations`, api_key: apiKey, model: 'omni', ...more }, parts);

async function send(body: object, mode: Mode = 'buffered') {
  const [toProviders, toService] = [upstream.requests.length, service.requests.length];
  const { status, response, envelope, text } = await ask(gateway, mode, body, {
    headers: { 'x-router-metadata': 'enabled' },
  });
  type Metadata = { router_metadata?: { pipeline?: object[] } };
  const { router_metadata: metadata } = (response ?? envelope ?? {}) as Metadata;
  return {
    status,
    text,
    error: envelope?.error,
    pipeline: metadata?.pipeline,
    toProviders: upstream.requests.length - toProviders,
    checked: service.requests.slice(toService).map(({ body: sent }) => (sent as Sent).input),
  };
}

const flaggedStage = {
  type: 'guardrail',
  name: 'moderation',
  summary: expect.any(String),
  data: {
    flagged: true,
    decision: 'blocked',
    confidence_level: 'high',
    action: 'blocked',
    detected: true,
    engines: ['moderations'],
    patterns: ['violence', 'self-harm'],
  },
};
const skippedStage = {
  type: 'guardrail',
  name: 'moderation',
  summary: expect.stringContaining('was not moderated'),
  data: { flagged: false, decision: 'skipped', detected: false, engines: ['moderations'], patterns: [] },
};

describe.each<Mode>(['buffered', 'streamed'])('a request with the plugin, %s', (mode) => {
  it('is a 403 with the reasons if its input is flagged, is not sent, and costs nothing', async () => {
    await openService();
    const result = await send({ model: 'a/free', plugins, input: `${'x'.repeat(200)} poison` }, mode);
    expect(result.status).toBe(403);
    expect(result.toProviders).toBe(0);
    expect(result.error).toMatchObject({
      code: 403,
      message: 'Request blocked by moderation: violence, self-harm.',
      metadata: {
        error_type: 'permission_denied',
        reasons: ['violence', 'self-harm'],
        provider_name: 'moderation',
        model_slug: 'a/free',
      },
    });
    expect(result.pipeline).toEqual([flaggedStage]);
    const { flagged_input: shown } = result.error!.metadata as { flagged_input: string };
    expect(shown.length).toBeLessThanOrEqual(100);
    expect(shown).toMatch(/^x+…x+ poison$/);
    const { data } = (await (await gateway.get('/generations?limit=1', { key: gateway.managementKey })).json()) as {
      data: object[];
    };
    expect(data).toMatchObject([{ status: 403, streamed: mode === 'streamed', total_cost: 0 }]);
  });

  it('is sent if its input is clean, without a stage', async () => {
    await openService();
    const result = await send({ model: 'a/free', plugins, input: 'Hello.' }, mode);
    expect(result).toMatchObject({ status: 200, toProviders: 1, pipeline: undefined, checked: ['Hello.'] });
    const { headers, body, path } = service.requests.at(-1)!;
    expect(headers.authorization).toBe(`Bearer ${apiKey}`);
    expect(path).toBe('/v1/moderations');
    expect(body).toEqual({ model: 'omni', input: 'Hello.' });
  });

  it('skips endpoints that demand moderation if its input is flagged and the plugin is not named', async () => {
    await openService();
    const input = 'poison';
    const result = await send({ model: 'a/both', input, provider: { order: ['both-strict'] } }, mode);
    expect(result).toMatchObject({ status: 200, toProviders: 1, pipeline: [flaggedStage] });
  });
});

describe('moderation', () => {
  it('does not run if neither the request nor an endpoint asks for it', async () => {
    await openService();
    expect(await send({ model: 'a/free', input: 'poison' })).toMatchObject({ status: 200, checked: [] });
  });

  it('has its stage in the error', async () => {
    await openService();
    expect((await send({ model: 'a/strict', input: 'poison' })).pipeline).toEqual([flaggedStage]);
  });

  it('checks what users wrote, in every message and part', async () => {
    await openService();
    const input = [
      { role: 'system', content: 'poison' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'poison' },
      { role: 'user', content: [{ type: 'input_text', text: 'two' }] },
    ];
    const result = await send({ model: 'a/free', plugins, instructions: 'poison', input });
    expect(result).toMatchObject({ status: 200, checked: ['one\n\ntwo'] });
  });

  it('checks a long text in pieces, to its end', async () => {
    await openService();
    const input = `${'word '.repeat(200_000)}poison`;
    const result = await send({ model: 'a/free', plugins, input });
    expect(result.status).toBe(403);
    expect(result.checked.length).toBeGreaterThan(1);
    for (const pieces of result.checked.map(listOf)) {
      expect(pieces.length).toBeLessThanOrEqual(32);
      for (const piece of pieces) expect((piece as string).length).toBeLessThanOrEqual(16_000);
    }
  });

  it('checks images only if it is configured to', async () => {
    const image = 'https://images.example/poison.png';
    const content = [
      { type: 'input_text', text: 'Look.' },
      { type: 'input_image', image_url: image },
    ];
    const body = { model: 'a/free', plugins, input: [{ role: 'user', content }] };
    await openService();
    expect(await send(body)).toMatchObject({ status: 200, checked: ['Look.'] });
    await openService({ images: true });
    const result = await send(body);
    expect(result.status).toBe(403);
    expect(result.error!.metadata).toMatchObject({ flagged_input: '[image]' });
    expect(result.checked).toContainEqual([{ type: 'image_url', image_url: { url: image } }]);
  });

  it('reports hostile categories in part', async () => {
    const categories = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`${at}${'c'.repeat(500)}`, true]));
    service.always(json({ results: [{ flagged: true, categories, category_scores: { x: 'high' } }] }));
    await openService();
    const { error } = await send({ model: 'a/free', plugins, input: 'Hi.' });
    const { reasons } = error!.metadata as { reasons: string[] };
    expect(reasons).toHaveLength(50);
    for (const reason of reasons) expect(reason).toHaveLength(100);
    service.always(json({ results: [{ flagged: true }] }));
    expect((await send({ model: 'a/free', plugins, input: 'Hi.' })).error!.metadata).toMatchObject({
      reasons: ['flagged'],
    });
  });

  it('ends when the client disconnects', async () => {
    service.always(stallBeforeHeaders());
    await openService({ timeout_ms: 60_000 });
    const client = new AbortController();
    const sent = gateway.post('/responses', { model: 'a/free', plugins, input: 'Wait.' }, { signal: client.signal });
    let request = await service.nextRequest();
    while ((request.body as Sent).input !== 'Wait.') request = await service.nextRequest();
    client.abort();
    await expect(sent).rejects.toThrow();
    expect(await request.closed).toBe('aborted');
  });

  it('does nothing without an engine, unless it is required', async () => {
    await open(undefined);
    const body = { plugins, input: 'poison' };
    expect(await send({ model: 'a/free', ...body })).toMatchObject({ status: 200, pipeline: undefined });
    expect(await send({ model: 'a/strict', input: 'poison' })).toMatchObject({ status: 200, pipeline: undefined });
    await open({ required: true });
    const { status, error } = await send({ model: 'a/free', ...body });
    expect(status).toBe(400);
    expect(error!.message).toContain('Set `plugins.moderation.url`');
  });
});

describe.each<Mode>(['buffered', 'streamed'])('the text of a file, %s', (mode) => {
  const fileOf = (text: string, filename = 'notes.txt') => ({
    type: 'input_file',
    filename,
    file_data: `data:text/plain;base64,${Buffer.from(text).toString('base64')}`,
  });
  const inputOf = (...files: object[]) => [
    { role: 'user', content: [{ type: 'input_text', text: 'Summarize it.' }, ...files] },
  ];
  const poisoned = inputOf(fileOf('Some poison.'));
  const written = (text: string) => `<file name="notes.txt">\n${text}\n</file>`;
  const withPlugins = { plugins: [...plugins, { id: 'file-parser' }] };
  /** Endpoints that read files, that get text, and that get only moderated inputs. */
  const openFiles = (more: object = {}) => {
    const text = { capabilities: { input: ['text'] } };
    const reads = { capabilities: { input: ['text', 'file'] } };
    return openService(more, {
      providers: [
        chat('text', { model: 'a/text', ...text }),
        chat('strict', { model: 'a/strict', ...text, is_moderated: true }),
        chat('reader', { model: 'a/reader', ...reads, is_moderated: true }),
        chat('mixed-strict', { model: 'a/mixed', ...text, is_moderated: true }),
        chat('mixed-free', { model: 'a/mixed', ...text }),
        chat('pair-one', { model: 'a/pair', ...text, is_moderated: true }),
        chat('pair-two', { model: 'a/pair', ...text, is_moderated: true }),
      ],
    });
  };

  it('is checked if the request names the plugin: a flagged one is a 403 for all endpoints', async () => {
    await openFiles();
    const result = await send({ models: ['a/text', 'a/mixed'], ...withPlugins, input: poisoned }, mode);
    expect(result).toMatchObject({ status: 403, toProviders: 0, checked: ['Summarize it.', written('Some poison.')] });
    expect(result.error).toMatchObject({
      message: 'Request blocked by moderation: violence, self-harm.',
      metadata: { provider_name: 'moderation', model_slug: 'a/text', flagged_input: written('Some poison.') },
    });
    expect(result.pipeline).toContainEqual(flaggedStage);
  });

  it('is checked although the request does not name the file parser', async () => {
    await openFiles();
    expect(await send({ model: 'a/text', plugins, input: poisoned }, mode)).toMatchObject({ status: 403 });
  });

  it('is sent if it is clean', async () => {
    await openFiles();
    const result = await send({ model: 'a/text', ...withPlugins, input: inputOf(fileOf('Some news.')) }, mode);
    expect(result).toMatchObject({ status: 200, toProviders: 1, checked: ['Summarize it.', written('Some news.')] });
    expect(upstream.requests.at(-1)!.text).toContain('Some news.');
  });

  it('is checked for an endpoint that demands moderation, which is skipped if it is flagged', async () => {
    await openFiles();
    const order = { provider: { order: ['mixed-strict', 'mixed-free'] } };
    const result = await send({ model: 'a/mixed', input: poisoned, ...order }, mode);
    expect(result).toMatchObject({ status: 200, toProviders: 1 });
    expect(result.pipeline).toContainEqual(flaggedStage);
    const refused = await send({ model: 'a/strict', input: poisoned }, mode);
    expect(refused).toMatchObject({ status: 403, toProviders: 0 });
    expect(refused.error!.metadata).toMatchObject({ provider_name: 'strict', model_slug: 'a/strict' });
  });

  it('is checked once, however many endpoints get it', async () => {
    await openFiles();
    const flagged = await send({ model: 'a/pair', input: poisoned }, mode);
    expect(flagged).toMatchObject({ status: 403, checked: ['Summarize it.', written('Some poison.')] });
    upstream.respond(json({ error: { message: 'Busy.' } }, { status: 503 }));
    const clean = await send({ model: 'a/pair', input: inputOf(fileOf('Some news.')) }, mode);
    expect(clean).toMatchObject({ status: 200, toProviders: 2, checked: ['Summarize it.', written('Some news.')] });
  });

  it('does not count for an endpoint that gets the file itself', async () => {
    await openFiles();
    const native = { plugins: [{ id: 'file-parser', pdf: { engine: 'native' } }] };
    const result = await send({ model: 'a/reader', ...native, input: poisoned }, mode);
    expect(result).toMatchObject({ checked: ['Summarize it.'] });
    const fallback = await send({ models: ['a/strict', 'a/reader'], input: poisoned }, mode);
    expect(fallback).toMatchObject({ checked: ['Summarize it.', written('Some poison.')], toProviders: 1 });
  });

  it('is not checked without the plugin, at endpoints that do not demand it', async () => {
    await openFiles();
    expect(await send({ model: 'a/text', input: poisoned }, mode)).toMatchObject({ status: 200, checked: [] });
  });

  it('has one stage for a service that is down, and is a 503 if moderation is required', async () => {
    service.always(resetBeforeHeaders());
    await openFiles();
    const passed = await send({ model: 'a/text', ...withPlugins, input: poisoned }, mode);
    expect(passed.status).toBe(200);
    expect(passed.pipeline!.filter((stage) => (stage as { name: string }).name === 'moderation')).toEqual([
      skippedStage,
    ]);
    await openFiles({ required: true });
    service.respond(({ body }) => judge(body));
    const rejected = await send({ model: 'a/text', ...withPlugins, input: poisoned }, mode);
    expect(rejected).toMatchObject({ status: 503, toProviders: 0 });
  });
});

describe.each<Mode>(['buffered', 'streamed'])('a service that cannot be trusted, %s', (mode) => {
  it.each<[string, Script]>([
    ['rejects the key', json({ error: { message: `Bad key ${apiKey}.` } }, { status: 401 })],
    ['fails', json({ error: { message: `Bad key ${apiKey}.` } }, { status: 500 })],
    ['is down', resetBeforeHeaders()],
    ['is slow', stallBeforeHeaders()],
    ['sends a page', bytes('<html>', { headers: { 'content-type': 'text/html' } })],
    ['sends too much', hugeBody(8 * 1024 * 1024)],
    ['sends no results', json({ results: [] })],
    ['sends null', json(null)],
    ['sends another number of results', json({ results: [{ flagged: false }, { flagged: true }] })],
    ['does not decide', json({ results: [{ flagged: 'no', categories: {} }] })],
  ])('lets the request pass if the service %s, and says so; or rejects it if it is required', async (trouble, script) => {
    service.always(script);
    // A short time limit only where it must pass: a slow machine would change the other errors.
    const limit = { timeout_ms: trouble === 'is slow' ? 500 : 60_000 };
    await openService(limit);
    const passed = await send({ model: 'a/free', plugins, input: 'poison' }, mode);
    expect(passed).toMatchObject({ status: 200, toProviders: 1, pipeline: [skippedStage] });
    expect(await send({ model: 'a/strict', input: 'poison' })).toMatchObject({ status: 200, toProviders: 1 });
    expect(passed.text).not.toContain(apiKey);

    await openService({ ...limit, required: true });
    const rejected = await send({ model: 'a/free', plugins, input: 'poison' }, mode);
    const status = trouble === 'rejects the key' ? 502 : 503;
    expect(rejected).toMatchObject({ status, toProviders: 0 });
    expect(rejected.error!.message).toMatch(/^The input could not be moderated, and this gateway requires it: /);
    expect(rejected.text).not.toContain(apiKey);
    expect(await send({ model: 'a/strict', input: 'poison' })).toMatchObject({ status, toProviders: 0 });
    expect(await send({ model: 'a/both', input: 'poison' })).toMatchObject({ status: 200, toProviders: 1 });
  });
});

describe('an endpoint that demands moderation', () => {
  it('gets clean inputs, which are checked once', async () => {
    await openService();
    upstream.respond(json({ error: { message: 'Busy.' } }, { status: 503 }));
    const result = await send({ model: 'a/pair', input: 'Hello.' });
    expect(result).toMatchObject({ status: 200, toProviders: 2, checked: ['Hello.'] });
  });

  it('is skipped for another model', async () => {
    await openService();
    expect(await send({ models: ['a/strict', 'a/free'], input: 'poison' })).toMatchObject({
      status: 200,
      toProviders: 1,
      pipeline: [flaggedStage],
    });
  });

  it('is named in the error if no other is left', async () => {
    await openService();
    const result = await send({ model: 'a/pair', input: 'poison' });
    expect(result).toMatchObject({ status: 403, toProviders: 0, checked: ['poison'] });
    expect(result.error!.metadata).toMatchObject({
      reasons: ['violence', 'self-harm'],
      flagged_input: 'poison',
      provider_name: expect.stringMatching(/^pair-/),
      model_slug: 'a/pair',
    });
  });

  it('cannot be used without it', async () => {
    await openService();
    const off = [{ id: 'moderation', enabled: false }];
    expect(await send({ model: 'a/strict', plugins: off, input: 'poison' })).toMatchObject({ status: 403 });
    expect(await send({ model: 'a/free', plugins: off, input: 'poison' })).toMatchObject({ status: 200, checked: [] });
  });

  it('is marked in the list of models', async () => {
    await openService();
    const { data } = (await (await gateway.get('/models')).json()) as {
      data: { id: string; top_provider: { is_moderated: boolean } }[];
    };
    const marks = Object.fromEntries(data.map(({ id, top_provider: top }) => [id, top.is_moderated]));
    expect(marks).toMatchObject({ 'a/free': false, 'a/strict': true });
  });
});

it('prompts of images are checked for endpoints that demand it', async () => {
  const image = await paint({ width: 64, height: 64 });
  upstream.always(json({ created: 1, data: [{ b64_json: image.toString('base64') }] }));
  const images = (id: string, models: object[]) => ({ id, wire: 'openai-images', base_url: upstream.url, models });
  await openService(
    {},
    {
      providers: [
        images('strict', [
          { model: 'a/draw', is_moderated: true },
          { model: 'a/both', is_moderated: true },
        ]),
        images('free', [{ model: 'a/both' }]),
      ],
    },
  );
  const create = async (model: string, prompt: string) => {
    const before = upstream.requests.length;
    const response = await gateway.post('/images', { model, prompt, provider: { order: ['strict'] } });
    const { error } = (await response.json()) as { error?: { metadata: object } };
    return { status: response.status, sent: upstream.requests.length - before, metadata: error?.metadata };
  };
  expect(await create('a/draw', 'A red fox')).toMatchObject({ status: 200, sent: 1 });
  expect(await create('a/both', 'A fox with poison')).toMatchObject({ status: 200, sent: 1 });
  expect(await create('a/draw', 'A fox with poison')).toMatchObject({
    status: 403,
    sent: 0,
    metadata: { reasons: ['violence', 'self-harm'], provider_name: 'strict', model_slug: 'a/draw' },
  });
  const checked = service.requests.slice(-3).map(({ body }) => (body as Sent).input);
  expect(checked).toEqual(['A red fox', 'A fox with poison', 'A fox with poison']);
});

describe('a classifier of this gateway', () => {
  const classify = (text: string) =>
    upstream.always(({ body }) => {
      const { model } = body as { model: string };
      if (model !== 'judge') return answer({ wire: 'openai-chat', mode: 'buffered' });
      return json({
        model,
        choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
      });
    });
  const openClassifier = (more: object = {}) =>
    open(
      { model: 'a/judge', ...more },
      {
        providers: [
          chat('free', { model: 'a/free' }),
          chat('judge', { model: 'a/judge', upstream_model: 'judge', is_moderated: true }),
        ],
      },
    );

  it('judges inputs with a request of its own', async () => {
    await openClassifier();
    classify('{"flagged": true, "categories": ["hate", "unknown"], "confidence": "medium"}');
    const result = await send({ model: 'a/free', plugins, input: 'poison' });
    expect(result).toMatchObject({ status: 403, toProviders: 1 });
    expect(result.error!.metadata).toMatchObject({ reasons: ['hate'], flagged_input: 'poison' });
    expect(result.pipeline).toMatchObject([{ data: { engines: ['classifier'], confidence_level: 'medium' } }]);
    classify('{"flagged": false, "categories": [], "confidence": "low"}');
    expect(await send({ model: 'a/free', plugins, input: 'Hello.' })).toMatchObject({
      status: 200,
      toProviders: 2,
      pipeline: undefined,
    });
  });

  it.each(['I cannot judge this.', '{"flagged": "yes"}', '[]'])('is skipped if it says %s', async (text) => {
    await openClassifier();
    classify(text);
    const result = await send({ model: 'a/free', plugins, input: 'poison' });
    expect(result).toMatchObject({ status: 200, pipeline: [{ data: { decision: 'skipped' } }] });
  });

  it('is skipped if its model is unknown, or the input is too long for it', async () => {
    await openClassifier({ model: 'a/unknown' });
    const skipped = { status: 200, pipeline: [{ data: { decision: 'skipped' } }] };
    expect(await send({ model: 'a/free', plugins, input: 'poison' })).toMatchObject(skipped);
    expect(await send({ model: 'a/free', plugins, input: 'word '.repeat(40_000) })).toMatchObject(skipped);
  });
});
