import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from './load.ts';
import { findLocalServers, findUnconfigured, localServers, readModels, withLocalServers } from './local-servers.ts';

/** Responses of the listing endpoints, from the documentation of the servers. */
const answers = {
  ollama: {
    object: 'list',
    data: [
      { id: 'llama3.2:3b', object: 'model', created: 1763633321, owned_by: 'library' },
      { id: 'qwen3:8b', object: 'model', created: 1763630005, owned_by: 'library' },
    ],
  },
  lmstudio: {
    data: [
      { id: 'qwen2.5-7b-instruct', object: 'model', owned_by: 'organization_owner' },
      { id: 'text-embedding-nomic-embed-text-v1.5', object: 'model', owned_by: 'organization_owner' },
    ],
    object: 'list',
  },
  llamacpp: {
    models: [{ name: '/models/gemma-3-4b.gguf', model: '/models/gemma-3-4b.gguf', capabilities: ['completion'] }],
    object: 'list',
    data: [
      {
        id: '/models/gemma-3-4b.gguf',
        object: 'model',
        created: 1763633500,
        owned_by: 'llamacpp',
        meta: { vocab_type: 2, n_vocab: 262144, n_ctx_train: 131072, n_embd: 2560, n_params: 3880099328 },
      },
    ],
  },
  vllm: {
    object: 'list',
    data: [
      {
        id: 'Qwen/Qwen3-8B',
        object: 'model',
        created: 1763633601,
        owned_by: 'vllm',
        root: 'Qwen/Qwen3-8B',
        parent: null,
        max_model_len: 40960,
        permission: [{ id: 'modelperm-1', object: 'model_permission', allow_sampling: true }],
      },
    ],
  },
};

let server: Server;
let port: number;
beforeAll(async () => {
  server = createServer((request, response) => {
    const name = request.url!.split('/')[1] as keyof typeof answers;
    response.end(JSON.stringify(answers[name]));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => void server.close());

const here = () => localServers.map((each) => ({ ...each, baseUrl: `http://127.0.0.1:${port}/${each.id}` }));
const load = (env: Record<string, string> = {}) => loadConfig({ env, cwd: import.meta.dirname });

it('knows the servers and their ports', () => {
  expect(localServers.map(({ id, baseUrl }) => [id, new URL(baseUrl).port])).toEqual([
    ['ollama', '11434'],
    ['lmstudio', '1234'],
    ['llamacpp', '8080'],
    ['vllm', '8000'],
    ['sglang', '30000'],
    ['jan', '1337'],
    ['docker', '12434'],
    ['koboldcpp', '5001'],
    ['textgen', '5000'],
    ['xinference', '9997'],
    ['gpt4all', '4891'],
  ]);
  const places = localServers.map(({ baseUrl }) => new URL(baseUrl).host);
  expect(new Set(places).size).toBe(places.length); // otherwise one server is found twice
});

it('reads their models and creates providers', async () => {
  const found = await findLocalServers(here());
  const { config } = withLocalServers(load(), found);
  expect(config.providers.map(({ id, models }) => [id, models.map(({ model }) => model)])).toEqual([
    ['ollama', ['ollama/llama3.2:3b', 'ollama/qwen3:8b', 'ollama/*']],
    ['lmstudio', ['lmstudio/qwen2.5-7b-instruct', 'lmstudio/text-embedding-nomic-embed-text-v1.5', 'lmstudio/*']],
    ['llamacpp', ['llamacpp//models/gemma-3-4b.gguf', 'llamacpp/*']],
    ['vllm', ['vllm/Qwen/Qwen3-8B', 'vllm/*']],
  ]);
  expect(config.providers[0]).toMatchObject({ wire: 'openai-chat' });
});

it('adds them to the configured providers, and replaces the default simulator', async () => {
  const found = await findLocalServers(here().slice(0, 1));
  expect(withLocalServers(load(), found).config.providers.map(({ id }) => id)).toEqual(['ollama']);
  const own = load({ GROQ_API_KEY: 'gsk' });
  expect(withLocalServers(own, found).config.providers.map(({ id }) => id)).toEqual(['groq', 'ollama']);
  expect(withLocalServers(own, [])).toBe(own);
});

it('skips configured servers, and all if discovery is off', () => {
  const env = {
    HEADGATE_PROVIDERS:
      '[{ id: mine, wire: openai-chat, base_url: "http://127.0.0.1:8000/v1", models: [{ model: m }] }, { id: ollama }]',
  };
  expect(findUnconfigured(load(env), localServers).map(({ id }) => id)).toEqual(
    localServers.map(({ id }) => id).filter((id) => id !== 'vllm' && id !== 'ollama'),
  );
  expect(findUnconfigured(load({ HEADGATE_CATALOG_AUTO_DISCOVER: 'false' }), localServers)).toEqual([]);
});

it.each([
  null,
  'hello',
  [],
  { data: [] },
  { object: 'list' },
  { object: 'list', data: [{ id: 'x' }] },
  { object: 'list', data: [{ id: 7, object: 'model' }] },
  { object: 'list', data: [{ id: 'x', object: 'user' }] },
])('does not mistake another program for a model server: %j', (body) => {
  expect(readModels(body)).toBeUndefined();
});
