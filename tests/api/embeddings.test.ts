import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { decodeFloats, encodeFloats } from '../../src/providers/kit/convert-vector.ts';
import { bytes, json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { newSession, rowsOf } from './ledger-rows.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;

const priced = { pricing: { prompt: 0.000001 }, capabilities: { input: ['text'], output: ['embeddings'] } };

beforeAll(async () => {
  upstream = await startUpstream();
  const served = { base_url: upstream.url, api_key: 'sk-upstream-secret-1' };
  const model = { model: 'acme/embed', upstream_model: 'embed', max_batch: 3, context_length: 50, ...priced };
  gateway = await testGateway({
    providers: [
      { id: 'first', wire: 'openai-embeddings', ...served, models: [model, { ...model, model: 'acme/other' }] },
      { id: 'second', wire: 'openai-embeddings', ...served, models: [{ ...model, upstream_model: 'backup' }] },
      { id: 'texts', wire: 'gemini', ...served, models: [{ ...model, model: 'acme/texts' }] },
      {
        id: 'slow',
        wire: 'openai-embeddings',
        ...served,
        timeouts: { first_byte_ms: 200 },
        models: [{ ...model, model: 'acme/slow' }],
      },
      { id: 'local', wire: 'openai-chat', ...served, models: [{ model: 'local/*', upstream_model: '*' }] },
      {
        id: 'voyage',
        same_as: 'voyage',
        ...served,
        models: [
          { model: 'voyage/m', capabilities: { output: ['embeddings'] } },
          { model: 'voyage/rank', capabilities: { output: ['rerank'] } },
        ],
      },
      {
        id: 'tei',
        wire: 'openai-embeddings',
        ...served,
        dialect: { rerank_texts: true },
        models: [{ model: 'tei/rank', capabilities: { output: ['rerank'] } }],
      },
      {
        id: 'nim',
        wire: 'openai-embeddings',
        ...served,
        dialect: { rerank_passages: '/ranking' },
        models: [{ model: 'nim/rank', capabilities: { output: ['rerank'] } }],
      },
      {
        id: 'ranks',
        wire: 'cohere',
        ...served,
        models: [
          {
            model: 'acme/rank',
            upstream_model: 'rank',
            max_batch: 150,
            pricing: { web_search: 0.002 },
            capabilities: { output: ['rerank'] },
          },
        ],
      },
    ],
    embeddings: { max_inputs: 20, parallel_calls: 2, answer_limit: '1MiB' },
    bootstrap: {
      guardrails: [
        {
          name: 'personal',
          workspace: 'main',
          keys: ['org'],
          rules: {
            content_filter_builtins: [
              { slug: 'email', action: 'redact' },
              { slug: 'ssn', action: 'block' },
            ],
          },
        },
      ],
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

type Wanted = { model: string; input: string[]; encoding_format?: 'base64' };
const order = { order: ['first', 'second'] };
const wantedOf = ({ body }: ScriptedRequest) => body as Wanted;

/** Answers each text with a vector of its length and its last character, for any format. */
function embed(request: ScriptedRequest) {
  const { input, encoding_format: format } = wantedOf(request);
  const vectors = input.map((text) => [text.length, text.charCodeAt(text.length - 1), 0.5]);
  return json({
    object: 'list',
    data: vectors.map((vector, index) => ({ index, embedding: format ? encodeFloats(vector) : vector })),
    model: 'embed-v1',
    usage: { prompt_tokens: input.length * 10, total_tokens: input.length * 10 },
  });
}

interface Sent {
  status: number;
  headers: Headers;
  body: {
    data: { index: number; embedding: never }[];
    usage: Record<string, unknown>;
    error: { message: string; metadata: Record<string, never> };
    [field: string]: unknown;
  };
}

async function send(body: object, path = '/embeddings', headers: Record<string, string> = {}): Promise<Sent> {
  const response = await gateway.post(path, { model: 'acme/embed', provider: order, ...body }, { headers });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Sent['body'] };
}
const texts = (count: number) => Array.from({ length: count }, (_, index) => `text ${String.fromCharCode(97 + index)}`);
const lastOf = (vectors: Sent['body']['data']) =>
  vectors.map(({ embedding }) => String.fromCharCode(embedding[1] as number)).join('');

describe('POST /embeddings', () => {
  it('splits a list, keeps its order, and adds up usage and cost to the nano-dollar', async () => {
    const session = newSession();
    const from = upstream.requests.length;
    // The first call ends last, so that order cannot come from time.
    const others = Promise.withResolvers<void>();
    let ended = 0;
    upstream.always(async (request) => {
      if (wantedOf(request).input.includes('text a')) await others.promise;
      else if (++ended === 2) others.resolve();
      return embed(request);
    });

    const { status, body } = await send({ input: texts(8), session_id: session });

    expect(status).toBe(200);
    expect(lastOf(body.data)).toBe('abcdefgh');
    expect(body.data.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(upstream.requests.slice(from).map((each) => wantedOf(each).input.length)).toEqual([3, 3, 2]);
    expect(body).toMatchObject({
      object: 'list',
      model: 'acme/embed',
      provider: 'first',
      usage: { prompt_tokens: 80, total_tokens: 80, cost: 0.00008, is_byok: false },
    });
    expect(await rowsOf(gateway.dataDir, session)).toMatchObject([
      {
        id: body['id'],
        outcome: 'completed',
        status: 200,
        api_type: 'embeddings',
        estimated: 0,
        input_tokens: 80,
        output_tokens: 0,
        cost_nano_usd: 80_000,
        priced: 1,
        provider: 'first',
      },
    ]);
  });

  it('sends no more calls at the same time than it may', async () => {
    let open = 0;
    let most = 0;
    upstream.always(async (request) => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open--;
      return embed(request);
    });

    expect((await send({ input: texts(18) })).status).toBe(200);
    expect(most).toBeLessThanOrEqual(2);
  });

  it('gives all inputs to the next endpoint if one call fails, and records the calls that are charged', async () => {
    const session = newSession();
    upstream.always((request) => {
      const { model, input } = wantedOf(request);
      if (model === 'embed' && input.includes('text d')) return json({ error: { message: 'broken' } }, { status: 500 });
      return embed(request);
    });

    const { status, body } = await send({ input: texts(4), session_id: session }, '/embeddings', {
      'x-router-metadata': 'enabled',
    });

    expect(status).toBe(200);
    expect(lastOf(body.data)).toBe('abcd');
    expect(body).toMatchObject({
      provider: 'second',
      usage: { prompt_tokens: 40 },
      router_metadata: {
        attempts: [
          { provider: 'first', status: 502 },
          { provider: 'second', status: 200 },
        ],
      },
    });
    const [row] = await rowsOf(gateway.dataDir, session);
    // One of the two calls of the first endpoint may have succeeded before the other one failed.
    expect([40_000, 70_000]).toContain(row!.cost_nano_usd);
    expect(row!.cost_nano_usd).toBe((row!['input_tokens'] as number) * 1000);
  });

  it('responds with nothing if a call fails everywhere', async () => {
    const session = newSession();
    upstream.always((request) =>
      wantedOf(request).input.includes('text d')
        ? json({ error: { message: 'broken' } }, { status: 500 })
        : embed(request),
    );

    const { status, body } = await send({ input: texts(4), session_id: session });

    expect(status).toBe(502);
    expect(body.data).toBeUndefined();
    expect(await rowsOf(gateway.dataDir, session)).toMatchObject([{ outcome: 'failed', status: 502 }]);
  });

  it('copies the vectors of a provider that responds in the format of the client', async () => {
    const text = '[1.50,-2e0,\n 0.1]';
    upstream.respond(bytes(`{"data":[{"index":0,"embedding":${text}}],"usage":{"prompt_tokens":1}}`));

    const response = await gateway.post('/embeddings', { model: 'acme/embed', input: 'a' });

    expect(await response.text()).toContain(`"embedding":${text}}]`);
  });

  it('asks in the format of the client, and converts what comes in the other one', async () => {
    upstream.always(embed);
    const base64 = await send({ input: 'abc', encoding_format: 'base64', user: 'ada', input_type: 'query' });
    const asked = upstream.requests.at(-1)!.body as Record<string, unknown>;
    expect(asked).toMatchObject({ encoding_format: 'base64' });
    expect(asked['user']).not.toBe('ada');
    expect(Array.from(decodeFloats(base64.body.data[0]!.embedding as string))).toEqual([3, 99, 0.5]);
    expect(base64.headers.get('x-router-dropped-fields')).toBe('input_type');

    upstream.respond(json({ data: [{ embedding: [0.1, 1] }], usage: { prompt_tokens: 1 } }));
    const converted = await send({ input: 'abc', encoding_format: 'base64' });
    expect(converted.body.data[0]!.embedding).toBe(encodeFloats([0.1, 1]));

    upstream.respond(json({ data: [{ embedding: encodeFloats([0.25, 1]) }], usage: { prompt_tokens: 1 } }));
    expect((await send({ input: 'abc' })).body.data[0]!.embedding).toEqual([0.25, 1]);
  });

  const floats = json({ data: [{ embedding: [0.1, 1] }], usage: { prompt_tokens: 1 } });
  // getzep/graphiti#1782, plastic-labs/honcho#932
  it.each([
    [400, 'Value error, batch size is invalid, it should not be larger than 2.: input.contents'],
    [413, 'batch size 5 > maximum allowed batch size 2'],
    [400, '* BatchEmbedContentsRequest.requests: at most 2 requests can be in one batch'],
  ])('splits the inputs as a server demands with %i, then and later: %s', async (status, message) => {
    upstream.always((request) =>
      wantedOf(request).input.length > 2 ? json({ error: { message } }, { status }) : embed(request),
    );
    const model = `local/few-${status}-${message.length}`;
    for (const sizes of [
      [5, 2, 2, 1],
      [2, 2, 1],
    ]) {
      const before = upstream.requests.length;
      const { status: got, body } = await send({ model, provider: {}, input: ['a', 'bb', 'ccc', 'dddd', 'eeeee'] });
      expect([got, body.data.map(({ embedding }) => embedding[0])]).toEqual([200, [1, 2, 3, 4, 5]]);
      const sent = upstream.requests.slice(before).map((request) => wantedOf(request).input.length);
      expect(sent.sort()).toEqual(sizes.toSorted());
    }
  });

  it.each([
    [
      'refuses base64',
      json({ error: { message: "does not support parameters: {'encoding_format': 'base64'}" } }, { status: 400 }),
    ],
    ['responds to base64 with an empty list', json({ data: [], usage: { prompt_tokens: 1 } })],
  ])('requests numbers of a server that %s, then and later, and converts them', async (_, answer) => {
    const model = `local/${_.replaceAll(' ', '-')}`;
    const ask = () => send({ model, provider: {}, input: 'abc', encoding_format: 'base64' });
    const before = upstream.requests.length;
    upstream.respond(answer);
    upstream.always(floats);
    expect((await ask()).body.data[0]!.embedding).toBe(encodeFloats([0.1, 1]));
    expect((await ask()).body.data[0]!.embedding).toBe(encodeFloats([0.1, 1]));
    const formats = upstream.requests.slice(before).map((request) => wantedOf(request).encoding_format);
    expect(formats).toEqual(['base64', undefined, undefined]);
  });

  // danny-avila/rag_api#115, NorthlandPositronics/Cogtrix#2069
  it.each([
    ['an error', json({ error: "'input' field must be a string or an array of strings" }, { status: 400 })],
    ['an empty list', json({ data: [] })],
  ])('says to send texts if a server responds to token ids with %s', async (_, answer) => {
    upstream.respond(answer);
    const { status, body } = await send({ model: 'local/m', provider: {}, input: [[1, 2]] });
    expect(status).toBe(400);
    expect(body.error.message).toContain('did not accept token ids. Send texts');
  });

  // diegosouzapw/OmniRoute#7809
  it('writes a space instead of an empty text, for a server that rejects it', async () => {
    upstream.respond(json({ data: [{ embedding: [1] }, { embedding: [2] }], usage: { total_tokens: 1 } }));
    expect((await send({ model: 'voyage/m', provider: {}, input: ['a', ''] })).body.data).toHaveLength(2);
    expect(upstream.requests.at(-1)!.body).toMatchObject({ input: ['a', ' '] });
    upstream.respond(json({ data: [{ index: 1, relevance_score: 0.5 }] }));
    const ranked = await send({ model: 'voyage/rank', provider: {}, query: 'q', documents: ['a', ''] }, '/rerank');
    expect(ranked.body['results']).toMatchObject([{ index: 1, document: { text: '' } }]);
    expect(upstream.requests.at(-1)!.body).toMatchObject({ documents: ['a', ' '] });
  });

  // CrispStrobe/CrispEmbed#51
  it('reads results whose score is named as TEI does', async () => {
    upstream.respond(
      json({
        results: [
          { index: 0, score: -8.1, document: 'a' },
          { index: 1, score: 3.2, document: 'b' },
        ],
      }),
    );
    const { body } = await send({ model: 'local/rank', provider: {}, query: 'q', documents: ['a', 'b'] }, '/rerank');
    expect(body['results']).toMatchObject([
      { index: 1, relevance_score: 3.2 },
      { index: 0, relevance_score: -8.1 },
    ]);
  });

  // CortexReach/memory-lancedb-pro#578, murtaza-nasir/speakr#352
  it.each([
    "detail={'type': 'extra_forbidden', 'loc': ('body', 'dimensions'), 'msg': 'Extra inputs are not permitted'}",
    'Model bge-m3 does not support matryoshka representation, changing output dimensions will lead to poor results.',
  ])('leaves dimensions out for a server that says: %s', async (message) => {
    const model = 'local/fixed';
    const vectors = json({ data: [{ embedding: [1, 2, 3] }], usage: { total_tokens: 1 } });
    for (const [dimensions, status] of [
      [3, 200],
      [2, 400],
    ]) {
      upstream.respond(json({ error: { message } }, { status: 400 }));
      upstream.respond(vectors);
      const answer = await send({ model, provider: {}, input: 'a', dimensions });
      expect(answer.status).toBe(status);
      if (status === 400) expect(JSON.stringify(answer.body)).toContain('have 3 dimensions, not 2');
      expect(upstream.requests.at(-1)!.body).not.toHaveProperty('dimensions');
    }
  });

  // andresgd2003-art/bano#7
  it.each([
    [undefined, 'passage'],
    ['search_query', 'query'],
    ['search_document', 'passage'],
  ])('sends an input type to a server that needs one: %s → %s', async (type, word) => {
    const message = "'input_type' parameter is required for asymmetric models";
    upstream.always(({ body }: ScriptedRequest) =>
      (body as { input_type?: unknown }).input_type === undefined
        ? json({ object: 'error', message, type: 'invalid_request_error' }, { status: 400 })
        : json({ data: [{ embedding: [1, 2] }], usage: { total_tokens: 1 } }),
    );
    const body = { model: `local/typed-${word}-${type}`, provider: {}, input: 'a', ...(type && { input_type: type }) };
    for (const tries of [2, 1]) {
      const before = upstream.requests.length;
      expect((await send(body)).status).toBe(200);
      expect(upstream.requests.length - before).toBe(tries);
      expect(upstream.requests.at(-1)!.body).toMatchObject({ input_type: word });
    }
  });

  it.each([
    ['a vector with a number that JSON does not have', {}, json({ data: [{ embedding: encodeFloats([Number.NaN]) }] })],
    ['too few vectors', {}, json({ data: [] })],
    ['more bytes than the limit', {}, json({ data: [{ embedding: [1], more: 'x'.repeat(1_100_000) }] })],
    ['a body that is not JSON', {}, bytes('{')],
    ['a vector that is too long', {}, json({ data: [{ embedding: Array<number>(65_537).fill(1) }] })],
    [
      'a deep list instead of a vector',
      {},
      bytes(`{"data":[{"embedding":${'['.repeat(40_000)}${']'.repeat(40_000)}}]}`),
    ],
  ])('fails if the provider sends %s', async (_, fields, answer) => {
    upstream.respond(answer);
    upstream.respond(answer);

    expect((await send({ input: 'a', ...fields })).status).toBe(502);
  });

  it.each([
    ['none', undefined],
    ['a negative one', { prompt_tokens: -5 }],
    ['an impossible one', { prompt_tokens: 2e9 }],
  ])('estimates the usage of a provider that reports %s', async (_, usage) => {
    const session = newSession();
    upstream.respond(json({ data: [{ embedding: [1] }], usage }));

    const { body } = await send({ input: 'one two three', session_id: session });

    expect(body.usage['prompt_tokens']).toBeGreaterThan(1);
    expect(body.usage['cost']).toBeGreaterThan(0);
    expect(await rowsOf(gateway.dataDir, session)).toMatchObject([{ estimated: 1 }]);
  });

  it('passes a client’s mistake on, without another attempt', async () => {
    const from = upstream.requests.length;
    upstream.always(json({ error: { message: 'input is too silly' } }, { status: 400 }));

    const { status, body } = await send({ model: 'acme/other', input: 'a', provider: null });

    expect(status).toBe(400);
    expect(body.error.message).toContain('too silly');
    expect(upstream.requests.length).toBe(from + 1);
  });

  it('says that a provider is too slow, and which setting has a wrong path', async () => {
    upstream.respond(() => new Promise(() => {}));
    expect((await send({ model: 'acme/slow', input: 'a', provider: null })).status).toBe(524);

    upstream.respond(json({ detail: 'Not Found' }, { status: 404 }));
    const { status, body } = await send({ model: 'acme/other', input: 'a', provider: null });
    expect(status).toBe(502);
    expect(body.error.message).toContain('Correct base_url or wire of the provider first');
  });

  it('cancels all calls if the client disconnects, and records what is charged', async () => {
    const session = newSession();
    upstream.always(() => new Promise(() => {}));
    const controller = new AbortController();
    const from = upstream.requests.length;
    const sent = gateway.post(
      '/embeddings',
      { model: 'acme/other', input: texts(9), session_id: session },
      { signal: controller.signal },
    );
    sent.catch(() => {});
    await vi.waitFor(() => expect(upstream.requests.length).toBe(from + 2));
    controller.abort();

    await expect(sent).rejects.toThrow();
    expect(await Promise.all(upstream.requests.slice(from).map(({ closed }) => closed))).toEqual([
      'aborted',
      'aborted',
    ]);
    expect(await rowsOf(gateway.dataDir, session)).toMatchObject([{ outcome: 'cancelled', status: 499 }]);
    expect(upstream.requests.length).toBe(from + 2); // the third call was never sent
  });

  it.each<[string, object, string]>([
    ['an empty list', { input: [] }, 'a list of 0'],
    ['a mixed list', { input: ['a', 1] }, '`input` must be'],
    ['no input', {}, '`input` must be'],
    ['too many inputs', { input: texts(21) }, 'at most 20 are allowed (embeddings.max_inputs)'],
    ['another model', { input: 'a', models: ['acme/embed:nitro', 'acme/other'] }, 'Vectors of different models'],
    ['a router', { input: 'a', model: 'router/auto' }, 'Name a model of GET /api/v1/embeddings/models'],
    ['an unknown format', { input: 'a', encoding_format: 'int8' }, '`encoding_format` must be'],
    ['a purpose that nobody has', { input: 'a', input_type: 'poetry' }, '`input_type` must be'],
    ['an input that is too long', { input: 'word '.repeat(200) }, 'Split it into shorter texts'],
    ['tokens for a wire without them', { model: 'acme/texts', provider: null, input: [1, 2] }, 'send texts'],
    [
      'an image for a model of texts',
      { input: [{ content: [{ type: 'image_url', image_url: { url: 'https://a.test/b' } }] }] },
      'does not support image input',
    ],
    [
      'a model that only reranks',
      { model: 'acme/rank', provider: null, input: 'a' },
      'does not serve this model with POST /embeddings',
    ],
  ])('rejects %s before anything is sent', async (_, body, says) => {
    const from = upstream.requests.length;

    const { status, body: answer } = await send(body);

    expect([400, 404]).toContain(status);
    expect(answer.error.message).toContain(says);
    expect(upstream.requests.length).toBe(from);
  });

  it('has errors with the fields that the openai client reads', async () => {
    const { status, body } = await send({ input: [] });

    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'invalid_request', type: 'invalid_request', param: 'input' });
  });

  it('passes tokens on unchanged', async () => {
    upstream.respond(json({ data: [{ embedding: [1] }, { embedding: [2] }], usage: { prompt_tokens: 3 } }));

    expect((await send({ input: [[1, 2], [3]] })).status).toBe(200);
    expect(upstream.requests.at(-1)!.body).toMatchObject({ input: [[1, 2], [3]] });
  });

  it('is not offered by models of embeddings elsewhere', async () => {
    const { status, body } = await send({ input: 'a' }, '/responses');

    expect(status).toBe(400);
    expect(body.error.message).toContain('makes only embeddings, with POST /embeddings');
  });
});

describe('POST /rerank', () => {
  const documents = ['a blue bird', { text: 'the red fox' }, 'a fox'];
  const scores = (count: number, units: number) =>
    json({
      results: Array.from({ length: count }, (_, index) => ({ index, relevance_score: index / 100 })),
      meta: { billed_units: { search_units: units } },
    });
  const rank = (body: object) =>
    send({ model: 'acme/rank', provider: null, query: 'fox', documents, ...body }, '/rerank');

  it('orders the documents, and charges search units', async () => {
    const session = newSession();
    upstream.respond(scores(3, 2));

    const { status, body } = await rank({ top_n: 2, session_id: session });

    expect(status).toBe(200);
    expect(upstream.requests.at(-1)).toMatchObject({
      path: '/v1/rerank',
      body: { model: 'rank', query: 'fox', documents: ['a blue bird', 'the red fox', 'a fox'], top_n: 2 },
    });
    expect(body).toMatchObject({
      model: 'acme/rank',
      results: [
        { index: 2, relevance_score: 0.02, document: { text: 'a fox' } },
        { index: 1, relevance_score: 0.01, document: { text: 'the red fox' } },
      ],
      meta: { billed_units: { search_units: 2 } },
      usage: { search_units: 2, cost: 0.004 },
    });
    expect(await rowsOf(gateway.dataDir, session)).toMatchObject([
      { api_type: 'rerank', cost_nano_usd: 4_000_000, priced: 1, outcome: 'completed' },
    ]);
  });

  it('serves NVIDIA NIM, which takes passages and sends logits', async () => {
    const rankings = [
      { index: 1, logit: 0.6 },
      { index: 2, logit: -1.5 },
      { index: 0, logit: -7.25 },
    ];
    upstream.respond(json({ rankings, usage: { prompt_tokens: 30, total_tokens: 30 } }));
    const { status, body } = await rank({ model: 'nim/rank', top_n: 2, return_documents: false });

    expect(status).toBe(200);
    const passages = ['a blue bird', 'the red fox', 'a fox'].map((text) => ({ text }));
    expect(upstream.requests.at(-1)).toMatchObject({ path: '/v1/ranking' });
    expect(upstream.requests.at(-1)!.body).toEqual({
      model: 'nim/rank',
      query: { text: 'fox' },
      passages,
      truncate: 'END',
    });
    expect(body['results']).toEqual([
      { index: 1, relevance_score: 0.6 },
      { index: 2, relevance_score: -1.5 },
    ]);
    expect(body['usage']).toMatchObject({ total_tokens: 30 });
  });

  it('serves Hugging Face TEI, which takes texts and sends a list', async () => {
    upstream.respond(
      json([
        { index: 2, score: 0.1 },
        { index: 1, score: 0.9 },
        { index: 0, score: 0.5 },
      ]),
    );
    const { status, body } = await rank({ model: 'tei/rank', top_n: 2, return_documents: false });

    expect(status).toBe(200);
    expect(upstream.requests.at(-1)).toMatchObject({
      path: '/v1/rerank',
      body: { query: 'fox', texts: ['a blue bird', 'the red fox', 'a fox'] },
    });
    expect(Object.keys(upstream.requests.at(-1)!.body as object)).toEqual(['query', 'texts']);
    expect(body['results']).toEqual([
      { index: 1, relevance_score: 0.9 },
      { index: 0, relevance_score: 0.5 },
    ]);
  });

  it.each([
    [413, 'Input validation error: `inputs` must have less than 512 tokens. Given: 600', 'Validation', 400],
    [422, 'Tokenization error', 'Tokenizer', 422],
    [424, 'Inference failed', 'Backend', 502],
    [429, 'Model is overloaded', 'Overloaded', 529],
  ])('explains the error %i of TEI: %s', async (sent, error, type, expected) => {
    upstream.respond(json({ error, error_type: type }, { status: sent }));
    const { status, body } = await rank({ model: 'tei/rank' });
    expect(status).toBe(expected);
    expect(body.error.message).toContain(error);
  });

  it('leaves out the documents on request', async () => {
    upstream.respond(scores(3, 1));

    expect((await rank({ return_documents: false })).body['results']).toEqual([
      { index: 2, relevance_score: 0.02 },
      { index: 1, relevance_score: 0.01 },
      { index: 0, relevance_score: 0 },
    ]);
  });

  it.each<[string, object, string]>([
    ['no documents', { documents: [] }, 'documents'],
    ['no query', { query: '' }, 'query'],
    ['too many documents', { documents: texts(21) }, 'at most 20 are allowed'],
    ['a model of embeddings', { model: 'acme/texts' }, 'does not serve this model with POST /rerank'],
  ])('rejects %s', async (_, body, says) => {
    const { status, body: answer } = await rank(body);

    expect(status).toBe(400);
    expect(answer.error.message).toContain(says);
  });

  it('fails if the provider names a document that is not there', async () => {
    upstream.respond(json({ results: [{ index: 3, relevance_score: 1 }] }));

    expect((await rank({})).status).toBe(502);
  });
});

describe('limits of a caller', () => {
  const sendFiltered = (path: string, body: object) =>
    gateway.post(path, body, { key: gateway.organizationKey }).then(async (response) => ({
      status: response.status,
      body: (await response.json()) as Sent['body'],
    }));
  const lastBody = () => upstream.requests.at(-1)!.body;

  it('redact and block texts before they are sent', async () => {
    upstream.always(embed);
    const from = upstream.requests.length;
    const input = ['mail ada@example.com', 'nothing'];
    expect((await sendFiltered('/embeddings', { model: 'acme/other', input })).status).toBe(200);
    expect(lastBody()).toMatchObject({ input: ['mail [EMAIL]', 'nothing'] });

    upstream.respond(json({ results: [{ index: 0, relevance_score: 1 }] }));
    const ranking = { model: 'acme/rank', query: 'ada@example.com', documents: ['eve@example.com'] };
    const ranked = await sendFiltered('/rerank', ranking);
    expect(lastBody()).toMatchObject({ query: '[EMAIL]', documents: ['[EMAIL]'] });
    expect(ranked.body['results']).toMatchObject([{ document: { text: '[EMAIL]' } }]);

    const blocked = await sendFiltered('/embeddings', { model: 'acme/other', input: ['a', '123-45-6789'] });
    expect(blocked.status).toBe(403);
    const tokens = await sendFiltered('/embeddings', { model: 'acme/other', input: [1, 2] });
    expect([tokens.status, tokens.body.error.message]).toEqual([400, expect.stringContaining('cannot be scanned')]);
    expect(upstream.requests.length).toBe(from + 2);
  });

  it('reserve the cost of all inputs', async () => {
    const settings = { name: 'poor', limit: 0.00002, workspace_id: '00000000-0000-4000-8000-0000000000a1' };
    const made = await gateway.send('POST', '/keys', settings, { key: gateway.managementKey });
    const { key } = (await made.json()) as { key: string };
    upstream.respond(json({ data: [{ embedding: [1] }], usage: { prompt_tokens: 1 } }));

    const few = await gateway.post('/embeddings', { model: 'acme/other', input: 'a' }, { key });
    const input = Array.from({ length: 10 }, () => 'several words of a text');
    const many = await gateway.post('/embeddings', { model: 'acme/other', input }, { key });

    expect([few.status, many.status]).toEqual([200, 402]);
    expect(((await many.json()) as Sent['body']).error.message).toContain('tokens of input');
  });
});

describe('the lists of models', () => {
  it('contain the models of one kind', async () => {
    const list = async (path: string) =>
      ((await (await gateway.get(path)).json()) as { data: { id: string }[] }).data.map(({ id }) => id).sort();

    const embedding = ['acme/embed', 'acme/other', 'acme/slow', 'acme/texts', 'voyage/m'];
    expect(await list('/embeddings/models')).toEqual(embedding);
    const ranking = ['acme/rank', 'nim/rank', 'tei/rank', 'voyage/rank'];
    expect(await list('/rerank/models')).toEqual(ranking);
    expect(await list('/models?output_modalities=rerank')).toEqual(ranking);
  });
});
