import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type Json, main, manage } from './manage.ts';

/* The models behind a wildcard are those in the list of the provider. */

let gateway: TestGateway;
let local: ScriptedUpstream;
let claude: ScriptedUpstream;
let google: ScriptedUpstream;
let own: ScriptedUpstream;
let silent: ScriptedUpstream;
const ask = manage(() => gateway);

const listOf = (...data: unknown[]) => json({ object: 'list', data });

beforeAll(async () => {
  [local, claude, google, own, silent] = (await Promise.all(Array.from({ length: 5 }, startUpstream))) as [
    ScriptedUpstream,
    ScriptedUpstream,
    ScriptedUpstream,
    ScriptedUpstream,
    ScriptedUpstream,
  ];
  local.always(
    listOf(
      { id: 'llama3:8b', object: 'model' },
      { id: 'Qwen/Qwen3-8B', object: 'model', max_model_len: 32_768 },
      { id: 'named', object: 'model' },
      { id: 'nomic-embed-text:latest', object: 'model' },
      { id: 'bge-reranker-v2', object: 'model' },
      { id: 'painter', object: 'model', type: 'image' },
      { id: 7 },
      null,
    ),
  );
  claude.always(json({ data: [{ type: 'model', id: 'opus', display_name: 'Opus' }], has_more: false }));
  google.always(
    json({
      models: [
        { name: 'models/pro', inputTokenLimit: 1000, supportedGenerationMethods: ['generateContent', 'countTokens'] },
        { name: 'models/vectors', supportedGenerationMethods: ['embedContent'] },
      ],
    }),
  );
  own.always(listOf({ id: 'secret' }));
  await silent.down();
  const provider = (id: string, { url }: ScriptedUpstream, models: object[], more: object = {}) => ({
    id,
    wire: 'openai-chat',
    base_url: url,
    api_key: `key-of-${id}-0001`,
    models,
    ...more,
  });
  gateway = await testGateway({
    catalog: { builtin: false, auto_discover: false },
    providers: [
      provider('local', local, [{ model: 'local/named' }, { model: 'local/*', upstream_model: '*' }]),
      provider('claude', claude, [{ model: 'claude/*' }], { wire: 'anthropic-messages' }),
      provider('google', google, [{ model: 'google/*' }], { wire: 'gemini' }),
      provider('own', own, [{ model: 'own/*' }], { workspace: 'other' }),
      provider('silent', silent, [{ model: 'silent/*' }]),
      provider('quiet', local, [{ model: 'quiet/*' }], { list_models: false }),
      provider('fine', local, [
        { model: 'fine/*', upstream_model: 'Qwen/*' },
        { model: 'one/*', upstream_model: 'x' },
      ]),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([local, claude, google, own, silent].map((each) => each?.close()));
});

async function idsOf(path: string, key?: string, headers?: Record<string, string>): Promise<string[]> {
  const response = await gateway.get(path, { ...(key !== undefined && { key }), ...(headers && { headers }) });
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id).filter((id) => !id.startsWith('router/'));
}

const chatModels = [
  'claude/opus',
  'fine/Qwen3-8B',
  'google/pro',
  'local/Qwen/Qwen3-8B',
  'local/llama3:8b',
  'local/named',
];

describe('GET /models', () => {
  it('lists the chat models behind wildcards, in both shapes, although a server is down', async () => {
    expect((await idsOf('/models')).toSorted()).toEqual(chatModels);
    const anthropic = await idsOf('/models?limit=100', undefined, { 'anthropic-version': '2023-06-01' });
    expect(anthropic.toSorted()).toEqual(chatModels);
    const { body } = await ask('GET', '/models/count', undefined, gateway.key);
    expect(body.data.count).toBe(chatModels.length + 7); // the routers
  });

  it('asks each provider once, with its key and the path of its wire', async () => {
    await idsOf('/models');
    await idsOf('/models');
    expect(claude.requests).toHaveLength(1);
    expect(claude.requests[0]).toMatchObject({ method: 'GET', path: '/v1/models?limit=1000' });
    expect(claude.requests[0]!.headers).toMatchObject({ 'x-api-key': 'key-of-claude-0001' });
    expect(google.requests.map(({ path }) => path)).toEqual(['/v1/models?pageSize=1000']);
    expect(local.requests.map(({ path }) => path)).toEqual(['/v1/models', '/v1/models']); // `local` and `fine`
    expect(own.requests).toHaveLength(0);
  });

  it('lists models for other outputs only on request', async () => {
    expect((await idsOf('/models?output_modalities=embeddings')).toSorted()).toEqual([
      'google/vectors',
      'local/nomic-embed-text:latest',
    ]);
    expect(await idsOf('/embeddings/models')).toHaveLength(2);
    expect(await idsOf('/rerank/models')).toEqual(['local/bge-reranker-v2']);
    expect(await idsOf('/models?output_modalities=image')).toEqual(['local/painter']);
  });

  it('shows one of them with the facts of the list, in its own spelling', async () => {
    const { status, body } = await ask('GET', '/models/local/Qwen/Qwen3-8B', undefined, gateway.key);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: 'local/Qwen/Qwen3-8B',
      context_length: 32_768,
      object: 'model',
      owned_by: 'local',
    });
    expect((await ask('GET', '/model/google/pro', undefined, gateway.key)).body.data.context_length).toBe(1000);
  });

  it('asks the provider of a workspace only for this workspace', async () => {
    const created = await ask('POST', '/keys', { name: 'k', workspace_id: '00000000-0000-4000-8000-0000000000a2' });
    expect(await idsOf('/models', created.body.key)).toContain('own/secret');
    expect(await idsOf('/models')).not.toContain('own/secret');
  });

  it('serves a listed model under its name', async () => {
    local.respond(
      json({ choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }] }),
    );
    const body = { model: 'local/Qwen/Qwen3-8B', messages: [{ role: 'user', content: 'Hi' }] };
    expect((await gateway.post('/chat/completions', body)).status).toBe(200);
    expect(local.requests.at(-1)!.body).toMatchObject({ model: 'Qwen/Qwen3-8B' });
  });
});

describe('a key with a guardrail', () => {
  const guard = async (rules: object): Promise<string> => {
    const created = await ask('POST', '/keys', { name: 'k', workspace_id: main });
    const { body } = await ask('POST', '/guardrails', { name: 'Narrow', workspace_id: main, ...rules });
    await ask('POST', `/guardrails/${body.data.id}/assignments/keys`, { key_hashes: [created.body.data.hash] });
    return created.body.key;
  };

  it('sees only the models that it can use, on every route', async () => {
    const key = await guard({ allowed_models: ['local/named', 'local/llama3*'], ignored_providers: ['google'] });
    for (const path of ['/models', '/models/user']) {
      expect((await idsOf(path, key)).toSorted(), path).toEqual(['local/llama3:8b', 'local/named']);
    }
    const shown = await idsOf('/models?limit=100', key, { 'anthropic-version': '2023-06-01' });
    expect(shown.toSorted()).toEqual(['local/llama3:8b', 'local/named']);
    expect((await ask('GET', '/models/count', undefined, key)).body.data.count).toBe(2 + 7);
    expect(await idsOf('/embeddings/models', key)).toEqual([]);
    expect(await idsOf('/rerank/models', key)).toEqual([]);
  });

  it('gets a 404 with the reason for another model', async () => {
    const key = await guard({ allowed_models: ['local/named'] });
    for (const path of ['/model/claude/opus', '/models/claude/opus', '/models/claude/opus/endpoints']) {
      const { status, body } = await ask('GET', path, undefined, key);
      expect(status, path).toBe(404);
      expect((body as Json).error.message, path).toContain('that the guardrail Narrow does not allow');
    }
    expect((await ask('GET', '/models/local/named', undefined, key)).status).toBe(200);
  });
});
