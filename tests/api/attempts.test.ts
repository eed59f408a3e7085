import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readHistory } from '../../src/domain/request-history.ts';
import { openJournal } from '../../src/metering/journal.ts';
import { type ScriptedResponse, json, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { call, openToolLab, type ToolLab } from '../tools/lab.ts';
import { ask, type Case, cases, answer, provider, providerKey, wires } from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';
import { type Json, main, manage } from './manage.ts';
import type { Outcome } from './outcome.ts';

/**
 * Operators ask why another endpoint served a request: https://github.com/BerriAI/litellm/issues/16752
 *
 * @see docs/reference/management.md#attempts
 */

const pricing = { prompt: '0.000001', completion: '0.000002' };
let upstream: ScriptedUpstream;
let gateway: TestGateway;
// New ones for each test, because an endpoint that failed comes last afterwards.
beforeEach(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: wires.flatMap((wire) => [
      provider(wire, 'one', upstream, { models: [{ model: `${wire}/one`, upstream_model: 'm', pricing }] }),
      provider(wire, 'two', upstream, {
        api_key: [providerKey, 'another-key-of-a-test'],
        key_names: ['primary', 'backup'],
        models: [{ model: `${wire}/two`, upstream_model: 'm', pricing }],
      }),
    ]),
  });
});
afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

const failing = (status: number, message: string, headers: Record<string, string> = {}) =>
  json({ error: { message } }, { status, headers });

async function send({ wire, mode }: Case, body: object, ...responses: ScriptedResponse[]): Promise<Outcome> {
  for (const response of responses) upstream.respond(response);
  return ask(gateway, mode, { model: `${wire}/one`, ...body });
}
const idOf = ({ headers }: Outcome): string => headers.get('x-generation-id')!;
const find = async (id: string): Promise<Json> =>
  ((await (await gateway.get(`/generation?id=${id}`)).json()) as Json).data;

describe.each(cases)('$wire, $mode', (how) => {
  const { wire } = how;
  const both = { models: [`${wire}/two`] };

  it('lists a failed attempt before the successful one, with its message and without its key', async () => {
    const outcome = await send(
      how,
      both,
      failing(500, `It broke with ${providerKey}.`, { 'x-request-id': 'req-7' }),
      answer(how),
    );
    const generation = await find(idOf(outcome));
    expect(generation).toMatchObject({ status: 200, error_type: null, error_message: null, history_omitted: null });
    expect(generation['attempts']).toEqual([
      {
        step: 1,
        provider_name: `${wire}-one`,
        provider_id: `${wire}-one`,
        model: `${wire}/one`,
        endpoint_id: `${wire}/one@${wire}-one`,
        is_byok: false,
        provider_key: 'key 1',
        status: 502,
        error_type: 'provider_unavailable',
        error_message: expect.stringContaining('It broke with [masked]'),
        upstream_request_id: 'req-7',
        start_ms: expect.any(Number),
        first_byte_ms: null,
        duration_ms: expect.any(Number),
        tokens_prompt: 0,
        tokens_cached: 0,
        tokens_completion: 0,
        tokens_reasoning: 0,
        usage_estimated: false,
        total_cost: 0,
      },
      expect.objectContaining({
        step: 1,
        provider_name: `${wire}-two`,
        provider_id: `${wire}-two`,
        model: `${wire}/two`,
        endpoint_id: `${wire}/two@${wire}-two`,
        provider_key: expect.stringMatching(/^(?:primary|backup)$/),
        status: 200,
        error_type: null,
        error_message: null,
        first_byte_ms: expect.any(Number),
        tokens_prompt: 20,
        tokens_completion: 10,
        total_cost: generation['total_cost'],
      }),
    ]);
    expect(generation['provider_responses']).toMatchObject([
      { provider_name: `${wire}-one`, status: 502 },
      { provider_name: `${wire}-two`, status: 200 },
    ]);
    expect(JSON.stringify(generation)).not.toContain(providerKey);
    const listed = (await (await gateway.get('/generations?limit=1')).json()) as Json;
    expect(listed['data'][0]).toMatchObject({ attempts: generation['attempts'] });
  });

  it('lists every attempt of a request that failed', async () => {
    const outcome = await send(how, both, failing(500, 'First.'), failing(503, 'Second.'));
    expect(outcome.status).toBe(529);
    const generation = await find(idOf(outcome));
    expect(generation).toMatchObject({
      provider_name: null,
      total_cost: 0,
      error_type: 'provider_overloaded',
      error_message: expect.stringContaining('Second'),
      attempts: [
        { provider_id: `${wire}-one`, status: 502, error_message: expect.stringContaining('First') },
        { provider_id: `${wire}-two`, status: 529, error_message: expect.stringContaining('Second') },
      ],
    });
  });

  it('lists an attempt for each key that is rejected', async () => {
    const outcome = await send(how, { model: `${wire}/two` }, failing(401, 'No.'), failing(401, 'No.'));
    const { attempts } = (await find(idOf(outcome))) as unknown as { attempts: Json[] };
    expect(attempts.map(({ status, error_type: type }) => [status, type])).toEqual([
      [502, 'provider_unavailable'],
      [502, 'provider_unavailable'],
    ]);
    expect(new Set(attempts.map(({ provider_key: name }) => name))).toEqual(new Set(['primary', 'backup']));
  });

  it('stores nothing more for the usual request, whose attempt is the entry', async () => {
    const session = newSession();
    const outcome = await send(how, { session_id: session }, answer(how));
    const [row] = await rowsOf(gateway.dataDir, session);
    expect(row!['history']).toBeNull();
    const generation = await find(idOf(outcome));
    expect(generation['attempts']).toEqual([
      expect.objectContaining({
        step: 1,
        provider_id: `${wire}-one`,
        provider_key: null,
        status: 200,
        start_ms: 0,
        first_byte_ms: generation['latency'],
        duration_ms: generation['generation_time'],
        tokens_prompt: 20,
        total_cost: generation['total_cost'],
      }),
    ]);
  });

  it('stores the name of the key if the provider has several', async () => {
    const session = newSession();
    await send(how, { model: `${wire}/two`, session_id: session }, answer(how));
    const [row] = await rowsOf(gateway.dataDir, session);
    const history = row!['history'] as string;
    expect(history.length).toBeLessThan(120);
    expect(readHistory(history)).toEqual({
      attempts: [
        {
          line: 0,
          key: expect.stringMatching(/^(?:primary|backup)$/),
          status: 200,
          startMs: expect.any(Number),
          firstByteMs: expect.any(Number),
          durationMs: expect.any(Number),
        },
      ],
    });
  });

  it('keeps the failed attempt in the journal while the next one is in flight', async () => {
    const session = newSession();
    const before = upstream.requests.length;
    const client = new AbortController();
    upstream.respond(failing(500, 'It broke.'));
    upstream.respond(stallBeforeHeaders());
    const body = { model: `${wire}/one`, ...both, input: 'Hello', session_id: session };
    const answered = gateway.post('/responses', body, { signal: client.signal }).catch(() => {});
    await expect.poll(() => upstream.requests.length).toBe(before + 2);
    // The files that a kill would leave at this moment.
    const folder = mkdtempSync(join(tmpdir(), 'headgate-killed-'));
    cpSync(join(gateway.dataDir, 'journal'), folder, { recursive: true });
    const { orphaned, journal } = openJournal(folder);
    journal.close();
    rmSync(folder, { recursive: true });
    client.abort();
    await answered;
    const entry = orphaned.entries.find(({ sessionId }) => sessionId === session)!;
    expect(entry).toMatchObject({ errorType: 'gateway_stopped', providerId: `${wire}-two` });
    expect(readHistory(entry.history)).toMatchObject({
      attempts: [
        { endpoint: { providerId: `${wire}-one` }, status: 502, message: expect.stringContaining('It broke') },
        { line: 0, status: 503, errorType: 'gateway_stopped', startMs: expect.any(Number) },
      ],
    });
    // And the client that disconnected has both attempts, too.
    const [row] = await rowsOf(gateway.dataDir, session);
    expect(await find(row!.id)).toMatchObject({
      cancelled: true,
      attempts: [
        { provider_id: `${wire}-one`, status: 502 },
        { provider_id: `${wire}-two`, status: 499, error_message: expect.stringContaining('disconnected') },
      ],
    });
  });
});

it('has the message of an error without an attempt', async () => {
  const outcome = await ask(gateway, 'buffered', { model: 'nobody/nothing' });
  expect(outcome.status).toBe(400);
  const found = await find(idOf(outcome));
  expect(found).toMatchObject({ attempts: [], error_message: outcome.envelope!.error.message });
});

it('keeps the first attempts and the last one of a long request, and counts the others', async () => {
  const many = await testGateway({
    providers: Array.from({ length: 60 }, (_, at) =>
      provider('openai-chat', `many-${at}`, upstream, { models: [{ model: 'acme/many', upstream_model: 'm' }] }),
    ),
    routing: { max_attempts: 60 },
    retry: { attempts: 1 },
  });
  upstream.always(failing(500, '\u0001'.repeat(2000)));
  const session = newSession();
  const headers = { 'x-router-metadata': 'enabled' };
  const outcome = await ask(many, 'buffered', { model: 'acme/many', session_id: session }, { headers });
  expect(outcome.status).toBe(502);
  const tried: string[] = (outcome.envelope as Json)['router_metadata'].attempts.map((each: Json) => each['provider']);
  const [row] = await rowsOf(many.dataDir, session);
  expect(Buffer.byteLength(row!['history'] as string)).toBeLessThanOrEqual(16 * 1024);
  const generation = ((await (await many.get(`/generation?id=${idOf(outcome)}`)).json()) as Json)['data'];
  const shown: string[] = generation.attempts.map((each: Json) => each['provider_name']);
  expect(shown.length).toBeLessThan(tried.length);
  expect(generation.history_omitted).toEqual({ attempts: tried.length - shown.length, tool_calls: 0, pipeline: 0 });
  expect(shown).toEqual([...tried.slice(0, shown.length - 1), tried.at(-1)]);
  await many.close();
});

describe('a request with stages', () => {
  const administer = manage(() => gateway);
  let key: string;
  beforeEach(async () => {
    const made = await administer('POST', '/keys', { name: 'guarded', workspace_id: main });
    key = made.body.key;
    const filters = { content_filters: [{ pattern: 'blue whale', action: 'block', label: 'Animals' }] };
    const guardrail = await administer('POST', '/guardrails', { name: 'G', workspace_id: main, ...filters });
    const { id } = guardrail.body.data;
    await administer('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [made.body.data.hash] });
  });

  it('lists what a guardrail blocked, without the text', async () => {
    const outcome = await ask(gateway, 'buffered', { model: 'openai-chat/one', input: 'A blue whale, 5 m.' }, { key });
    expect(outcome.status).toBe(403);
    const found = await find(idOf(outcome));
    expect(found).toMatchObject({
      attempts: [],
      error_message: 'Request blocked by content filter: Animals',
      pipeline: [
        {
          type: 'guardrail',
          name: 'content-filter',
          guardrail_id: expect.any(String),
          guardrail_scope: expect.any(String),
          data: { action: 'blocked', engines: ['regex'] },
        },
      ],
    });
    expect(JSON.stringify(found)).not.toContain('whale, 5 m');
  });
});

describe('a request with server tools', () => {
  let lab: ToolLab;
  beforeAll(async () => {
    lab = await openToolLab();
  });
  afterAll(() => lab.close());

  it.each(['buffered', 'streamed'] as const)('lists every step and every call, %s', async (mode) => {
    lab.script(
      'openai-chat',
      { calls: [call('router_datetime')] },
      { calls: [call('router_datetime')] },
      { text: 'Done.' },
    );
    const served = await lab.respond('openai-chat', mode, { tools: [{ type: 'router:datetime' }] });
    expect(served.body.status).toBe('completed');
    const listed = (await (await lab.gateway.get('/generations?limit=1')).json()) as Json;
    const [generation] = listed['data'] as Json[];
    expect(generation!['attempts'].map(({ step, status }: Json) => [step, status])).toEqual([
      [1, 200],
      [2, 200],
      [3, 200],
    ]);
    const costs = generation!['attempts'].map(({ total_cost: cost }: Json) => cost);
    expect(costs.reduce((sum: number, cost: number) => sum + cost, 0)).toBeCloseTo(generation!['total_cost'], 9);
    expect(generation!['tool_calls']).toEqual(
      [1, 2].map((step) => ({
        step,
        tool: 'router:datetime',
        outcome: 'ok',
        start_ms: expect.any(Number),
        duration_ms: expect.any(Number),
      })),
    );
    expect(generation!['pipeline']).toMatchObject([{ type: 'server_tools', name: 'server-tools' }]);
  });
});
