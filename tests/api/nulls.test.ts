import { afterAll, beforeAll, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

/*
 * The fields that may be null in a response of a format that others define. Their clients check what they read: a field
 * may be null only if the schema of its format requires the field and allows null. `cost` and `native_finish_reason` are
 * fields of this gateway.
 */

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(json(completion));
  const base = { base_url: upstream.url, api_key: 'upstream-key-of-a-test' };
  const models = ['echo', 'embedding', 'rerank'].map((name) => ({ model: `acme/${name}`, upstream_model: name }));
  gateway = await testGateway({
    providers: [
      { id: 'chat', wire: 'openai-chat', ...base, models: [{ model: 'acme/chat' }] },
      { id: 'simulator', wire: 'simulator', models },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

/** Text, reasoning without an id, and a citation without a title. The model has no price. */
const completion = {
  model: 'acme/chat',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      message: {
        role: 'assistant',
        content: 'They heat.',
        reasoning_details: [{ type: 'reasoning.text', text: 'Pumps.' }],
        annotations: [
          { type: 'url_citation', url_citation: { url: 'https://a.example/', start_index: 0, end_index: 4 } },
        ],
      },
    },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
};

const messages = [{ role: 'user', content: 'Pumps?' }];
/** Counts that the schema requires of a message, also where the provider has none. */
const counts = ['cache_creation', 'inference_geo', 'output_tokens_details', 'server_tool_use', 'speed'];
const counted = [...counts, 'cost'].map((name) => `usage.${name}`);
const started = [
  ...['container', 'diagnostics', 'stop_details', 'stop_reason', 'stop_sequence'],
  ...[...counts, 'service_tier'].map((name) => `usage.${name}`),
].map((name) => `message.${name}`);
const delta = ['container', 'stop_details', 'stop_sequence'].map((name) => `delta.${name}`);
const choice = ['choices[].logprobs', 'choices[].native_finish_reason'];
const ended = ['choices[].finish_reason', ...choice, 'usage.cost'];

it.each([
  [
    '/messages',
    { max_tokens: 9, messages },
    ['container', 'diagnostics', 'stop_details', 'stop_sequence', ...counted].sort(),
  ],
  ['/messages', { max_tokens: 9, messages, stream: true }, [...delta, ...started, ...counted].sort()],
  [
    '/chat/completions',
    { messages },
    ['choices[].logprobs', 'choices[].message.refusal', 'system_fingerprint', 'usage.cost'],
  ],
  ['/chat/completions', { messages, stream: true, stream_options: { include_usage: true } }, ended],
  ['/completions', { prompt: 'Pumps?' }, ['choices[].logprobs', 'usage.cost']],
  ['/completions', { prompt: 'Pumps?', stream: true, stream_options: { include_usage: true } }, ended],
  ['/embeddings', { model: 'acme/embedding', input: 'Pumps?' }, []],
  ['/rerank', { model: 'acme/rerank', query: 'Pumps?', documents: ['Pumps'] }, []],
])('%s has null only where its format wants it: %o', async (path, body, expected) => {
  const response = await gateway.post(path, { model: 'acme/chat', ...body });
  expect(response.status).toBe(200);
  const text = await response.text();
  const objects = 'stream' in body ? [...text.matchAll(/^data: (\{.*)$/gm)].map(([, line]) => line!) : [text];
  const nulls = new Set(objects.flatMap((object) => listNulls(JSON.parse(object), '')));
  expect([...nulls].toSorted()).toEqual(expected);
});

/** Lists the paths of all nulls in a value. */
function listNulls(value: unknown, path: string): string[] {
  if (value === null) return [path];
  if (Array.isArray(value)) return value.flatMap((entry) => listNulls(entry, `${path}[]`));
  if (typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, entry]) => listNulls(entry, path === '' ? name : `${path}.${name}`));
}
