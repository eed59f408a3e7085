import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { isFull } from '../../src/testing/full.ts';
import { sse } from '../../src/testing/scripted-responses.ts';
import { chatResponse } from '../clients/chat-responses.ts';
import { geminiResponse } from '../clients/gemini-responses.ts';
import { messagesResponse } from '../clients/messages-responses.ts';
import { responsesApiResponse } from '../clients/responses-api-responses.ts';
import type { Turn } from '../clients/turn.ts';
import { ask as send, type Case, type Mode, provider, type WireName, wireNames } from './lab.ts';
import { expectFailure } from './outcome.ts';
import { type Json, main, manage } from './manage.ts';

const speakers = {
  'openai-chat': chatResponse,
  'openai-responses': responsesApiResponse,
  'anthropic-messages': messagesResponse,
  gemini: geminiResponse,
} satisfies Record<WireName, unknown>;

let gateway: TestGateway;
let first: ScriptedUpstream;
let second: ScriptedUpstream;
const ask = manage(() => gateway);
const cases: Case[] = wireNames.flatMap((wire) => (['buffered', 'streamed'] as const).map((mode) => ({ wire, mode })));

beforeAll(async () => {
  [first, second] = await Promise.all([startUpstream(), startUpstream()]);
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  const serve = (wire: WireName, name: string, upstream: ScriptedUpstream) =>
    provider(wire, name, upstream, { models: [{ model: `acme/${wire}`, upstream_model: 'm', pricing }] });
  gateway = await testGateway({
    catalog: { builtin: false },
    providers: wireNames.flatMap((wire) => [serve(wire, 'first', first), serve(wire, 'second', second)]),
  });
  await ask('PATCH', '/workspaces/main', { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1 });
});
afterAll(() => Promise.all([gateway.close(), first.close(), second.close()]));

let sentBefore = [0, 0];
beforeEach(() => {
  sentBefore = [first.requests.length, second.requests.length];
});
/** Requests that the servers got in this test. */
const sent = () => [first.requests.length - sentBefore[0]!, second.requests.length - sentBefore[1]!];

const script = (upstream: ScriptedUpstream, wire: WireName, turn: Turn): void => {
  upstream.respond((request) => speakers[wire](turn, request));
};

/** Creates a key with a guardrail whose filters apply to output. */
async function createKey(filters: Json): Promise<{ key: string; guardrailId: string }> {
  const made = await ask('POST', '/keys', { name: 'k', workspace_id: main });
  const guardrail = await ask('POST', '/guardrails', { name: 'G', workspace_id: main, ...filters });
  expect(guardrail.status, JSON.stringify(guardrail.body)).toBe(201);
  const { id } = guardrail.body.data;
  await ask('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [made.body.data.hash] });
  return { key: made.body.key, guardrailId: id };
}

const builtins = (action: string, ...slugs: string[]) => ({
  content_filter_builtins: slugs.map((slug) => ({ slug, action, apply_to: ['output'] })),
});

const request = (key: string, { wire, mode }: Case, more: object = {}) => {
  const order = ['first', 'second'].map((name) => `${wire}-${name}`);
  const body = { model: `acme/${wire}`, provider: { order }, ...more };
  return send(gateway, mode, body, { key, headers: { 'x-router-metadata': 'enabled' } });
};

const stagesOf = (response: unknown): Json[] => (response as Json)?.router_metadata?.pipeline ?? [];
const idOf = ({ headers }: { headers: Headers }): string => headers.get('x-generation-id')!;
async function entryOf(outcome: { headers: Headers }): Promise<Json> {
  await gateway.gateway.flush();
  return (await ask('GET', `/generation?id=${idOf(outcome)}`)).body.data;
}
const contentOf = async (outcome: { headers: Headers }): Promise<Json> =>
  (await ask('GET', `/generation/content?id=${idOf(outcome)}`)).body.data;

describe.each(cases)('a filter of the output with the action redact, $wire, $mode', (how) => {
  it('passes on a response without output', async () => {
    const { key } = await createKey(builtins('redact', 'email'));
    for (const upstream of [first, second]) script(upstream, how.wire, {});
    const outcome = await request(key, how);
    expect(outcome.response).toMatchObject({ status: 'completed' });
  });

  it('redacts text, reasoning and arguments, also in the record, and charges as usual', async () => {
    const { key, guardrailId } = await createKey(builtins('redact', 'email', 'ssn', 'secrets'));
    const plain = await createKey(builtins('redact', 'phone'));
    const turn: Turn = {
      reasoning: 'The customer is 123-45-6789, I think.',
      text: 'Write to jane@example.com or joe@example.org, please.',
      calls: [
        { name: 'send', input: { to: 'jane@example.com', note: `key ghp_${'a1B2'.repeat(9)} "quoted"`, count: 2 } },
      ],
    };
    const tools = [{ type: 'function', name: 'send', parameters: { type: 'object', properties: {} } }];
    script(first, how.wire, turn);
    const outcome = await request(key, how, { tools });
    script(first, how.wire, turn);
    const unchanged = await request(plain.key, how, { tools });

    expect(outcome.response).toMatchObject({ status: 'completed' });
    const items = outcome.response!.output as Json[];
    const textOf = (type: string) => JSON.stringify(items.filter((item) => item.type === type));
    expect(textOf('reasoning')).toContain('The customer is [SSN], I think.');
    expect(textOf('message')).toContain('Write to [EMAIL] or [EMAIL], please.');
    const call = items.find((item) => item.type === 'function_call');
    const note = 'key [SECRET:github-token] "quoted"';
    expect(JSON.parse(call.arguments)).toEqual({ to: '[EMAIL]', note, count: 2 });
    for (const secret of ['example.', '123-45', 'a1B2a1B2']) expect(outcome.text).not.toContain(secret);

    const [stage, ...others] = stagesOf(outcome.response);
    expect(others).toEqual([]);
    expect(stage).toMatchObject({
      name: 'content-filter',
      summary: 'redacted in the output: Email address, Social Security number, Secret',
      guardrail_id: guardrailId,
      data: { side: 'output', action: 'redacted', patterns: ['EMAIL', 'SSN', 'SECRET:github-token'] },
    });
    expect(stagesOf(unchanged.response)).toEqual([]);
    expect(JSON.stringify(unchanged.response)).toContain('jane@example.com');
    expect(outcome.response!.usage).toEqual(unchanged.response!.usage);
    const content = JSON.stringify((await contentOf(outcome)).output);
    expect(content).toContain('[EMAIL]');
    expect(content).not.toContain('example.');
  });

  it('redacts disguised text, and keeps the rest as it is, also in the record', async () => {
    const { key } = await createKey(builtins('redact', 'email', 'ssn'));
    const address = 'j\u0332ane\u200b＠𝐞xample\u00ad．com';
    const turn: Turn = {
      reasoning: 'É… １２３\u2011４５\u2011６７８９ ｂ',
      text: `Ａ ${address} 한국어…`,
      calls: [{ name: 'send', input: { to: address, note: 'ｘ\u200b' } }],
    };
    script(first, how.wire, turn);
    const tools = [{ type: 'function', name: 'send', parameters: { type: 'object', properties: {} } }];
    const outcome = await request(key, how, { tools });
    for (const output of [outcome.response!.output as Json[], (await contentOf(outcome)).output as Json]) {
      const text = JSON.stringify(output);
      expect(text).toContain('Ａ [EMAIL] 한국어…');
      expect(text).not.toMatch(/xample|６７８９/);
    }
    expect(JSON.stringify(outcome.response!.output)).toContain('É… [SSN] ｂ');
    const call = (outcome.response!.output as Json[]).find((item) => item.type === 'function_call');
    expect(JSON.parse(call.arguments)).toEqual({ to: '[EMAIL]', note: 'ｘ\u200b' });
  });

  it('keeps encrypted reasoning byte for byte', async () => {
    const { key } = await createKey(builtins('redact', 'email'));
    const encrypted = Buffer.from('of jane@example.com, twice').toString('base64');
    script(first, how.wire, { reasoning: 'Hm.', encrypted, text: 'To jane@example.com.' });
    const { response, text } = await request(key, how);
    expect(text).not.toContain('jane@');
    const given = JSON.stringify(response!.output);
    script(first, how.wire, { reasoning: 'Hm.', encrypted, text: 'To jane@example.com.' });
    const plain = await request((await createKey(builtins('redact', 'phone'))).key, how);
    const opaque = (items: string) => items.match(/"(?:encrypted_content|signature)":"[^"]+"/g);
    expect(opaque(given)).toEqual(opaque(JSON.stringify(plain.response!.output)));
  });
});

it('disguised text is redacted if it arrives in pieces of one code unit', async () => {
  const { key } = await createKey(builtins('redact', 'email'));
  const text = 'Ａ 😀 j\u0332ane\u200b＠𝐞xample\u00ad．com 한국어…';
  const write = (delta: object, finish: string | null = null) => {
    const chunk = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' };
    return { ...chunk, choices: [{ index: 0, delta, finish_reason: finish }] };
  };
  first.respond(() => sse([...text.split('').map((content) => write({ content })), write({}, 'stop'), '[DONE]']));
  const outcome = await request(key, { wire: 'openai-chat', mode: 'streamed' });
  expect(outcome.response).toMatchObject({ output: [{ content: [{ text: 'Ａ 😀 [EMAIL] 한국어…' }] }] });
  expect(outcome.text).not.toMatch(/xample|[＠𝐞]/u);
});

describe.each(cases)('a filter of the output with the action block, $wire, $mode', (how) => {
  it('rejects a response before its first output with a 403, records it and does not fall back', async () => {
    const { key, guardrailId } = await createKey(builtins('block', 'email'));
    script(first, how.wire, { text: 'jane@example.com is the address.' });
    const outcome = await request(key, how);

    const { error, router_metadata } = expectFailure(outcome, 403, 'permission_denied');
    expect(error).toMatchObject({
      message: 'Response blocked by content filter: Email address',
      metadata: { patterns: ['EMAIL'] },
    });
    expect(outcome.text).not.toMatch(/\bjane\b/);
    expect(router_metadata!['pipeline']).toMatchObject([
      { name: 'content-filter', guardrail_id: guardrailId, data: { action: 'blocked', side: 'output' } },
    ]);
    expect(sent()).toEqual([1, 0]);
    const { total_cost } = await entryOf(outcome);
    expect(total_cost).toBeGreaterThan(0);
    expect(await contentOf(outcome)).toMatchObject({ output: [], error: { code: 403 } });
  });

  it('never shows an argument of a call', async () => {
    const { key } = await createKey(builtins('block', 'ssn'));
    script(first, how.wire, { calls: [{ name: 'find', input: { id: '123-45-6789' } }] });
    const tools = [{ type: 'function', name: 'find', parameters: { type: 'object', properties: {} } }];
    const outcome = await request(key, how, { tools });
    expect(outcome.text).not.toMatch(/\b6789\b/);
    if (outcome.response) expect(outcome.response).toMatchObject({ status: 'failed' });
    else expect(outcome.status).toBe(403);
  });
});

describe.each(wireNames)('a stream that is blocked after its first output, %s', (wire) => {
  it('ends with response.failed and content_filter, and is charged', async () => {
    const { key } = await createKey(builtins('block', 'email'));
    // The pause sends the first words before the others arrive.
    script(first, wire, { text: 'The address that you want is jane@example.com and so on.', slowMs: 20 });
    const outcome = await request(key, { wire, mode: 'streamed' });

    expect(outcome.events.at(-1)).toMatchObject({ type: 'response.failed' });
    expect(outcome.response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: 'Response blocked by content filter: Email address' },
      error_type: 'permission_denied',
      incomplete_details: { reason: 'content_filter' },
      output: [{ type: 'message', status: 'incomplete', content: [{ text: 'The address that you want is ' }] }],
    });
    expect(outcome.text).not.toMatch(/\bjane\b/);
    expect(stagesOf(outcome.response)).toMatchObject([{ data: { action: 'blocked', side: 'output' } }]);
    expect(sent()).toEqual([1, 0]);
    expect((await entryOf(outcome)).total_cost).toBeGreaterThan(0);
    const { output } = await contentOf(outcome);
    expect(output).toMatchObject([{ content: [{ text: 'The address that you want is ' }] }]);
  });
});

describe.each(wireNames)('a stream that fails, %s', (wire) => {
  it('falls back to another provider while its text is held back', async () => {
    const { key } = await createKey(builtins('redact', 'email'));
    script(first, wire, { text: 'jane@example', after: 'failure' });
    script(second, wire, { text: 'Hello there.' });
    const outcome = await request(key, { wire, mode: 'streamed' });
    expect(outcome.response).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Hello there.' }] }] });
    expect(sent()).toEqual([1, 1]);
    expect(outcome.text).not.toMatch(/\bjane\b/);
    expect(stagesOf(outcome.response)).toEqual([]);
  });

  it('shows only what was redacted, and is charged for what was produced', async () => {
    const { key } = await createKey(builtins('redact', 'email'));
    script(first, wire, { text: 'It is jane@example.com, not joe@exam', after: 'failure', slowMs: 20 });
    const outcome = await request(key, { wire, mode: 'streamed' });
    expect(outcome.response).toMatchObject({ status: 'failed', incomplete_details: null });
    expect(JSON.stringify(outcome.response!.output)).toContain('It is [EMAIL], not ');
    expect(outcome.text).not.toMatch(/\b(?:jane|joe)\b/);
    expect(stagesOf(outcome.response)).toMatchObject([{ data: { action: 'redacted', side: 'output' } }]);
    expect((await entryOf(outcome)).total_cost).toBeGreaterThan(0);
  });
});

describe.each(cases)('random output, $wire, $mode', (how) => {
  it('never contains what is redacted', async () => {
    const { key } = await createKey({
      content_filters: [
        { pattern: 'K[0-9]{6}-[a-z]{4}', action: 'redact', apply_to: ['output'] },
        { pattern: '[\\u{1F600}-\\u{1F60E}]|e\\u0301', action: 'redact', apply_to: ['output'] },
      ],
    });
    const piece = fc.constantFrom(
      'K123',
      '456-abcd',
      'K123456-abcd',
      ' ',
      'a',
      '😀',
      '👩‍👩‍👧',
      'e',
      '\u0301',
      '"',
      '\\',
      '\n',
      '日本',
    );
    const words = fc.array(piece, { minLength: 1, maxLength: 12 }).map((parts) => `.${parts.join('')}.`);
    const tools = [{ type: 'function', name: 'find', parameters: { type: 'object', properties: {} } }];
    await fc.assert(
      fc.asyncProperty(words, words, words, async (text, reasoning, argument) => {
        script(first, how.wire, { text, reasoning, calls: [{ name: 'find', input: { argument, n: 1 } }] });
        const outcome = await request(key, how, { tools });
        expect(outcome.status).toBe(200);
        const call = (outcome.response!.output as Json[]).find((item) => item.type === 'function_call');
        const redact = (given: string) => given.replace(/K[0-9]{6}-[a-z]{4}|[😀-😎]|e\u0301/gu, '[REDACTED]');
        expect(JSON.parse(call.arguments)).toEqual({ argument: redact(argument), n: 1 });
        expect(JSON.stringify(outcome.response!.output)).toContain(JSON.stringify(redact(text)).slice(1, -1));
        expect(outcome.text).not.toMatch(/K[0-9]{6}-[a-z]{4}|[😀-😎]|e\u0301/u);
      }),
      { numRuns: isFull ? 40 : 8 },
    );
  });
});

describe.each<Mode>(['buffered', 'streamed'])('a scan that takes long, %s', (mode) => {
  // Text that keeps attempts of all patterns in progress: tens of microseconds for each character.
  const content_filters = Array.from({ length: 60 }, (_, index) => ({
    pattern: `[ab]*a[ab]{20}c${index}`,
    action: 'redact',
    apply_to: ['output'],
  }));
  const writeText = (length: number): string => {
    let state = 1;
    return Array.from({ length }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return 'ab'[(state >>> 12) % 2];
    }).join('');
  };
  const how: Case = { wire: 'openai-chat', mode };

  it('lets other requests be served meanwhile', async () => {
    const { key } = await createKey({ content_filters });
    const text = writeText(4000);
    script(first, how.wire, { text });
    const arrived = first.requests.length;
    let isDone = false;
    const slow = request(key, how).finally(() => {
      isDone = true;
    });
    await expect.poll(() => first.requests.length).toBeGreaterThan(arrived);
    let served = 0;
    while (!isDone) {
      expect((await ask('GET', '/keys')).status).toBe(200);
      served++;
    }
    expect(served).toBeGreaterThan(2); // two at most if the scan did not pause
    expect((await slow).response).toMatchObject({ output: [{ content: [{ text }] }] });
  });

  it('ends when the client disconnects', async () => {
    const { key } = await createKey({ content_filters });
    script(first, how.wire, { text: writeText(400_000) }); // half a minute
    const arrived = first.requests.length;
    const client = new AbortController();
    const body = { model: `acme/${how.wire}`, input: 'Hi.', stream: mode === 'streamed', user: 'ada' };
    const asked = gateway.post('/responses', body, { key, signal: client.signal }).then(
      (response) => response.text(),
      () => 'gone',
    );
    await expect.poll(() => first.requests.length).toBeGreaterThan(arrived);
    client.abort();
    await asked.catch(() => {});
    await expect
      .poll(async () => {
        await gateway.gateway.flush();
        return (await ask('GET', '/generations?limit=1', undefined, key)).body.data;
      })
      .toMatchObject([{ cancelled: true }]);
  });
});

describe('a filter of the output', () => {
  const how: { wire: WireName; mode: Mode } = { wire: 'openai-chat', mode: 'buffered' };

  it('does not apply to the input, and one of the input does not apply to the output', async () => {
    const { key } = await createKey({
      content_filter_builtins: [
        { slug: 'email', action: 'redact', apply_to: ['output'] },
        { slug: 'ssn', action: 'block' },
      ],
    });
    script(first, 'openai-chat', { text: 'Of 123-45-6789.' });
    const outcome = await request(key, how, { input: 'I am jane@example.com.' });
    expect(outcome.response).toMatchObject({ output: [{ content: [{ text: 'Of 123-45-6789.' }] }] });
    expect(JSON.stringify(first.requests.at(-1)!.body)).toContain('jane@example.com');
  });

  it('can apply to both', async () => {
    const apply_to = ['input', 'output'];
    const { key } = await createKey({ content_filter_builtins: [{ slug: 'email', action: 'redact', apply_to }] });
    script(first, 'openai-chat', { text: 'Hello jane@example.com.' });
    const outcome = await request(key, how, { input: 'I am jane@example.com.' });
    expect(outcome.response).toMatchObject({ output: [{ content: [{ text: 'Hello [EMAIL].' }] }] });
    expect(JSON.stringify(first.requests.at(-1)!.body)).toContain('I am [EMAIL].');
    expect(stagesOf(outcome.response).map(({ data }) => data.side)).toEqual([undefined, 'output']);
  });

  it.each(['person-name', 'address'])('cannot be %s', async (slug) => {
    const filter = { slug, action: 'redact', apply_to: ['output'] };
    const made = await ask('POST', '/guardrails', { name: 'G', workspace_id: main, content_filter_builtins: [filter] });
    expect(made.status).toBe(400);
    expect(made.body.error.metadata.issues).toContainEqual({
      path: 'content_filter_builtins[0].apply_to',
      message: expect.stringContaining(`${slug} cannot apply to output`),
    });
  });
});
