import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { patienceMs } from './agent-seat.ts';

/** A client that a generator has written from the OpenAPI document, with the program of tests/clients/openapi that uses it. */
interface Generated {
  generator: string;
  folder: string;
  command(folder: string): string[];
}

const variable = 'HEADGATE_TEST_OPENAPI';
const folder = process.env[variable] ?? '';
const generated: Generated[] = [
  { generator: 'oapi-codegen (Go)', folder: 'go', command: (at) => [join(at, 'openapi')] },
  {
    generator: 'openapi-generator (Java)',
    folder: 'java',
    command: (at) => ['java', '-cp', `${join(at, 'classes')}:${join(at, 'jars', '*')}`, 'Main'],
  },
  {
    generator: 'openapi-generator (Python)',
    folder: 'python',
    command: (at) => [join(at, 'bin', 'python'), join(at, 'main.py')],
  },
];

interface Call {
  operation: string;
  key: 'inference' | 'management';
  path?: string[];
  query?: Record<string, unknown>;
  body?: unknown;
  status: number;
}

/** Lists requests for routes of most kinds, and errors of each form. */
async function listCalls(gateway: TestGateway): Promise<Call[]> {
  const create = async (path: string, body: object): Promise<{ id: string; hash: string }> => {
    const response = await gateway.post(path, body, { key: gateway.managementKey });
    return ((await response.json()) as { data: { id: string; hash: string } }).data;
  };
  const generation = await gateway.post('/responses', { model: 'simulator/echo', input: 'Hello' });
  await generation.text();
  const key = await create('/keys', { name: 'shop', limit: 5.25, limit_reset: 'monthly' });
  const workspace = await create('/workspaces', { name: 'Lab', slug: 'lab' });
  const model = 'simulator/echo';
  const messages = [{ role: 'user', content: 'Hello' }];
  const call = (
    operation: string,
    body?: unknown,
    more: { path?: string[]; query?: object; status?: number } = {},
  ) => ({ operation, key: 'inference' as const, status: 200, ...(body !== undefined && { body }), ...more });
  const managed = (...parameters: Parameters<typeof call>) => ({ ...call(...parameters), key: 'management' as const });
  const weather = { type: 'object', properties: { city: { type: 'string' } } };
  const tools = [{ type: 'function', function: { name: 'get_weather', parameters: weather } }];
  const calling = [{ role: 'user', content: '[[call get_weather {"city":"Bern"}]]' }];
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
  return [
    call('createResponse', { model, input: 'Hello', metadata: { shop: 'Bern' }, reasoning: { effort: 'low' } }),
    call('createChatCompletion', { model, messages: calling, tools }),
    call('createResponse', { model: 'unknown/model', input: 'Hello' }, { status: 400 }),
    call('countInput', { model, input: 'Hello' }),
    call('createChatCompletion', { model, messages, provider: { sort: 'price', max_price: { prompt: 1 } } }),
    call('createChatCompletion', { model: 'unknown/model', messages }, { status: 400 }),
    call('createCompletion', { model, prompt: 'Hello' }),
    call('createMessage', { model, messages, max_tokens: 100 }),
    call('createMessage', { model: 'unknown/model', messages, max_tokens: 100 }, { status: 400 }),
    call('countTokens', { model, messages }),
    call('callGemini', { contents }, { path: [`${model}:generateContent`] }),
    call('createEmbeddings', { model: 'simulator/embedding', input: 'A fox' }),
    call('createRerank', { model: 'simulator/rerank', query: 'fox', documents: ['A fox', { text: 'A bird' }] }),
    call('createImage', { model: 'simulator/image', prompt: 'A circle', size: '64x64' }),
    call('generateImage', { model: 'simulator/image', prompt: 'A circle', size: '64x64' }),
    call('listModels'),
    call('listUserModels'),
    call('countModels'),
    call('findModel', undefined, { path: [model] }),
    call('retrieveModel', undefined, { path: [model] }),
    call('retrieveModel', undefined, { path: ['a/none'], status: 404 }),
    call('listEndpoints', undefined, { path: ['simulator', 'echo'] }),
    call('listZeroRetentionEndpoints'),
    call('listImageModels'),
    call('listProviders'),
    call('findCurrentKey'),
    call('listGenerations', undefined, { query: { limit: 5 } }),
    call('findGeneration', undefined, { query: { id: generation.headers.get('x-generation-id')! } }),
    call('createPreset', { slug: 'short', config: { temperature: 0.5 } }, { status: 201 }),
    call('listPresets'),
    call('deletePreset', undefined, { path: ['short'] }),
    call('health'),
    managed('createKey', { name: 'store', limit: 0.1 }, { status: 201 }),
    managed('listKeys'),
    managed('findKey', undefined, { path: [key.hash] }),
    managed('updateKey', { name: 'market', limit: null }, { path: [key.hash] }),
    managed('listWorkspaces', undefined, { query: { limit: 5 } }),
    managed('findWorkspace', undefined, { path: [workspace.id] }),
    managed('createGuardrail', { name: 'cheap', limit_usd: 5, reset_interval: 'daily' }, { status: 201 }),
    managed('listGuardrails'),
    managed('listMembers'),
    managed('showCredits'),
    managed('listActivity'),
    managed('listAudit'),
    managed('findKey', undefined, { path: ['0'.repeat(64)], status: 404 }),
    managed('deleteKey', undefined, { path: [key.hash] }),
  ] as Call[];
}

const isHere = existsSync(join(folder, 'installed'));

it.skipIf(isHere)('the generators are not here', ({ skip }) => {
  const reason = `${variable} names no folder that tests/clients/openapi/build.sh has filled`;
  process.stderr.write(`tests/clients/openapi.full.test.ts is skipped: ${reason}\n`);
  skip(reason);
});

describe.skipIf(!isHere)('a client from the OpenAPI document', () => {
  it('compiles in Go, Java, Python and TypeScript: tests/clients/openapi/build.sh prints why not', () => {
    expect(existsSync(join(folder, 'complete'))).toBe(true);
  });

  it.each(generated)(
    'of $generator reads every answer',
    { timeout: 2 * patienceMs },
    async ({ folder: at, command }) => {
      const gateway = await testGateway();
      onTestFinished(() => gateway.close());
      const calls = await listCalls(gateway);
      const [program, ...parameters] = command(join(folder, at));
      const child = spawn(program!, parameters, { stdio: ['pipe', 'pipe', 'inherit'], timeout: patienceMs });
      const keys = { inference: gateway.key, management: gateway.managementKey };
      child.stdin.end(JSON.stringify({ base_url: gateway.url, keys, calls }));
      const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
      const lines = printed
        .trim()
        .split('\n')
        .filter((line) => line.startsWith('{'));
      expect(lines.map((line) => JSON.parse(line) as object)).toEqual([{ answers: calls.length }]);
    },
  );
});
