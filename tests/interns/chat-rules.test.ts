import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RequestOptions, type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { holdTimers } from './hold-timers.ts';
import { probeBubblewrap } from './probe-bubblewrap.ts';

const workspace_id = '00000000-0000-4000-8000-0000000000a1';
const problem = await probeBubblewrap();
const limitedKey = 'test-inference-key-limited';
const agent = join(import.meta.dirname, 'scripted-agent.js');

interface Chunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: {
    index: number;
    delta: { role?: string; content?: string; reasoning?: string; tool_calls?: object[] };
    finish_reason: string | null;
  }[];
  error?: object;
  session_id?: string | null;
  usage?: object | null;
}

/** The rules of the chat API, with an agent that does what a message says: see scripted-agent.js. */
describe.skipIf(problem !== undefined)('the chat API of interns', () => {
  let gate: TestGateway;
  let path: string;
  const end = { type: 'end', status: 'completed' };
  const permission = { id: 'q1', kind: 'permission', operation: 'shell: ls', options: ['allow_once', 'reject_once'] };
  const question = { type: 'interaction', interaction: permission };
  const says = (text: string) => ({ type: 'text', text });
  const send = (body: object, options?: RequestOptions) => gate.post(`${path}/chat/completions`, body, options);
  const user = (steps: unknown[]) => ({ role: 'user', content: JSON.stringify(steps) });
  const start = (steps: unknown[], more: object = {}, options?: RequestOptions) =>
    send({ stream: true, session_id: 's', messages: [user(steps)], ...more }, options);
  const reply = (content: string, more: object = {}) =>
    send({ stream: true, session_id: 's', messages: [{ role: 'tool', tool_call_id: 'q1', content }], ...more });
  const readError = async (response: Response) => {
    const { error } = (await response.json()) as {
      error: { code: number; message: string; metadata?: { reason: string; retryable: boolean } };
    };
    expect(error.code).toBe(response.status);
    return [response.status, error.metadata?.reason, error.metadata?.retryable];
  };
  const parse = (body: string): Chunk[] =>
    [...body.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!) as Chunk);
  const chat = async (steps: unknown[], more?: object) => {
    const response = await start(steps, more);
    const body = await response.text();
    expect(response.status, body).toBe(200);
    expect(body.endsWith('data: [DONE]\n\n')).toBe(true);
    return parse(body);
  };
  const provision = async () => {
    expect((await gate.post(`${path}/provision`, {})).status).toBe(202);
    const isRunning = async () => expect(await (await gate.get(path)).json()).toMatchObject({ status: 'running' });
    await vi.waitFor(isRunning, { interval: 25 });
  };
  const untilFree = () => expect.poll(async () => (await start([end])).status).toBe(200);
  const errorOf = (chunks: Chunk[]) => chunks.find(({ error }) => error)?.error;

  beforeAll(async () => {
    const runtimes = { scripted: { command: ['node', '/tmp/headgate/files/scripted-agent.js'], files: [agent] } };
    const key = { key: limitedKey, name: 'limited', workspace: 'main', member: 'ada', requests_per_minute: 2 };
    gate = await testGateway({ interns: { runtime: 'scripted', runtimes }, bootstrap: { keys: [key] } });
    const created = await gate.post('/interns', { name: 'scout', workspace_id });
    path = `/interns/${((await created.json()) as { id: string }).id}`;
    await provision();
  });
  afterEach(() => void vi.restoreAllMocks());
  afterAll(() => gate?.close());

  it('streams the role, the reply, the finish, and a chunk with session and usage, in this order', async () => {
    const usage = { input_tokens: 9, output_tokens: 3, cached_tokens: 4, cost: 0.5 };
    const events = [{ type: 'reasoning', text: 'Hm' }, { type: 'model', model: 'a/b' }, says('Hi'), { ...end, usage }];
    const chunks = await chat(events);
    const shared = { id: chunks[0]!.id, object: 'chat.completion.chunk', created: expect.any(Number) };
    const choice = (delta: object, finish_reason: string | null = null) => [{ index: 0, delta, finish_reason }];
    expect(chunks).toEqual([
      { ...shared, model: 'router/intern', choices: choice({ role: 'assistant', content: '' }) },
      { ...shared, model: 'router/intern', choices: choice({ reasoning: 'Hm' }) },
      { ...shared, model: 'a/b', choices: choice({ content: 'Hi' }) },
      { ...shared, model: 'a/b', choices: choice({}, 'stop') },
      {
        ...shared,
        model: 'a/b',
        choices: [],
        session_id: 's',
        usage: {
          prompt_tokens: 9,
          completion_tokens: 3,
          total_tokens: 12,
          cost: 0.5,
          prompt_tokens_details: { cached_tokens: 4 },
        },
      },
    ]);
    expect(shared.id).toMatch(/^chatcmpl-[0-9a-f-]{36}$/);
  });

  it('reads only the last message, and ignores the model and unknown fields', async () => {
    const messages = [
      { role: 'system', content: 'no steps' },
      { role: 'developer', content: null },
      { role: 'assistant', content: null, tool_calls: [{ id: 'a', function: { name: 'n', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '[' },
          { type: 'text', text: `${JSON.stringify(end)}]` },
        ],
      },
    ];
    const ignored = { model: 'none/such', temperature: 9, tools: 'x', n: 3 };
    expect((await send({ stream: true, messages, ...ignored })).status).toBe(200);
    const longest = JSON.stringify([end]).padEnd(32_000);
    expect((await send({ stream: true, messages: [{ role: 'user', content: longest }] })).status).toBe(200);
    const wide = [{ ...end, note: '\u{1f4e6}'.repeat(20_000) }]; // 20,000 characters, 40,000 code units
    expect((await start(wide)).status).toBe(200);
    for (const [more, status] of [
      [{ model: '' }, 400],
      [{ model: 'm'.repeat(257) }, 400],
      [{ session_id: '' }, 400],
      [{ session_id: 's'.repeat(256) }, 200],
      [{ stream: undefined }, 400],
      [{ messages: undefined }, 400],
      [{ messages: [{ role: 'function', content: 'a' }] }, 400],
      [{ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'a' }] }] }, 400],
      [{ messages: [{ role: 'tool', tool_call_id: 'x'.repeat(129), content: 'a' }] }, 400],
    ] as const) {
      expect((await start([end], more)).status, JSON.stringify(more).slice(0, 80)).toBe(status);
    }
  });

  it('has a body of at most 1 MiB, of JSON, with a key', async () => {
    const large = await start([end], { padding: 'x'.repeat(1_048_576) });
    expect(await readError(large)).toEqual([413, 'payload_too_large', false]);
    const headers = { 'content-type': 'text/plain' };
    expect(await readError(await start([end], {}, { headers }))).toEqual([400, 'bad_request', false]);
    for (const key of [null, 'unknown', gate.managementKey]) {
      expect(await readError(await start([end], {}, { key }))).toEqual([401, undefined, undefined]);
    }
  });

  it('has one run at a time: other sessions, no session and answers are a 409 busy', async () => {
    const abort = new AbortController();
    const long = await start([says('a'), 'hang'], {}, { signal: abort.signal });
    await long.body!.getReader().read();
    for (const other of [
      start([end], { session_id: 'other' }),
      start([end], { session_id: undefined }),
      start([end]), // this agent takes no further messages
      reply('allow_once'),
      gate.post(`${path}/invoke`, { input: '[]' }),
    ]) {
      const response = await other;
      expect([response.headers.get('retry-after'), ...(await readError(response))]).toEqual(['5', 409, 'busy', true]);
    }
    abort.abort();
    await untilFree();
  });

  it('pauses for a question, and keeps what follows for the answer', async () => {
    const asked = await chat([says('a'), question, 'wait', says('b'), end]);
    expect(asked.at(-2)!.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'tool_calls' }]);
    expect(asked.at(-1)).toMatchObject({ choices: [], session_id: 's', usage: null });
    const { id: _, ...offered } = permission;
    const call = { name: 'router.provide_input', arguments: JSON.stringify(offered) };
    expect(asked.at(-3)!.choices[0]!.delta).toEqual({
      tool_calls: [{ index: 0, id: 'q1', type: 'function', function: call }],
    });
    expect(await readError(await reply('allow_always'))).toEqual([400, 'bad_request', false]); // not offered
    expect(await readError(await reply('allow_once', { session_id: 'other' }))).toEqual([
      ...[404, 'interaction_unknown', false],
    ]);
    const rest = parse(await (await reply('allow_once', { approval_mode: 'manual' })).text());
    expect(rest.map(({ choices }) => choices[0]?.delta.content).join('')).toBe('b');
    expect(await readError(await reply('allow_once'))).toEqual([409, 'interaction_not_pending', false]);
  });

  it('ends a run whose question is not answered in 5 minutes', async () => {
    const timers = holdTimers(300_000);
    await chat([question, 'wait', end]);
    const [timer, ...others] = timers.list();
    expect([timer === undefined, others]).toEqual([false, []]);
    expect(await readError(await reply('maybe'))).toEqual([400, 'bad_request', false]);
    expect(timers.list()[0]).toBe(timer); // a wrong answer does not extend it
    timers.end(300_000);
    expect(await readError(await reply('allow_once'))).toEqual([409, 'interaction_not_pending', false]);
  });

  it('is a 410 if a run produced more than is kept until the answer', async () => {
    await chat([question, { flood: 3_000_000 }, { flood: 3_000_000 }, 'hang']);
    const lost = async () => readError(await reply('allow_once'));
    await untilFree();
    expect(await lost()).toEqual([410, 'attachment_failed', false]);
  });

  it('sends a comment every 30 seconds, and ends a stream of 5 minutes with a timeout', async () => {
    const timers = holdTimers(30_000, 300_000);
    const response = await start([says('a'), 'hang']);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let received = '';
    const until = async (wanted: string) => {
      while (!received.includes(wanted)) received += (await reader.read()).value ?? '[closed]';
    };
    await until('"a"');
    expect(received).not.toContain('keepalive');
    timers.end(30_000);
    await until(': keepalive\n\n');
    timers.end(300_000);
    await until('[DONE]');
    const chunks = parse(received);
    expect(errorOf(chunks)).toMatchObject({ code: 504, metadata: { reason: 'timeout', retryable: true } });
    expect(chunks.at(-1)).toMatchObject({ choices: [], session_id: 's', usage: null });
    await untilFree();
  });

  it('reports failures of a run before its stream as statuses, and then as chunks', async () => {
    expect(await readError(await start(['no event\n']))).toEqual([502, 'intern_rejected', false]);
    expect(await readError(await start([{ reject: 500 }]))).toEqual([502, 'intern_rejected', false]);
    expect(await readError(await start([]))).toEqual([502, 'stream_severed', true]); // it ends without a result
    const failed = (error: object) => ({ type: 'end', status: 'failed', error });
    for (const retryable of [true, false]) {
      expect(errorOf(await chat([failed({ message: 'Too bad.', retryable })]))).toEqual({
        code: 502,
        message: 'Too bad.',
        metadata: { reason: 'turn_failed', retryable },
      });
    }
    const cancelled = await chat([says('a'), { type: 'end', status: 'cancelled' }]);
    expect(errorOf(cancelled)).toMatchObject({ code: 410, metadata: { reason: 'run_ended', retryable: false } });
    expect(cancelled.at(-2)!.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'error' }]);
    const broken = await chat([says('a'), 'no event\n']);
    expect(errorOf(broken)).toMatchObject({ code: 502, metadata: { reason: 'intern_rejected', retryable: false } });
  });

  it('invokes without a connection, for the caller that has the session', async () => {
    const invoke = (body: object, options?: RequestOptions) => gate.post(`${path}/invoke`, body, options);
    const input = JSON.stringify([end]);
    const started = await invoke({ input });
    const { session_id, ...rest } = (await started.json()) as { session_id: string };
    expect([started.status, rest]).toEqual([202, { status: 'started' }]);
    await untilFree();
    expect((await invoke({ input, session_id })).status).toBe(202);
    await untilFree();
    const hidden = [404, 'not_found', false];
    expect(await readError(await invoke({ input, session_id }, { key: gate.organizationKey }))).toEqual(hidden);
    expect(await readError(await invoke({ input, session_id: 's' }))).toEqual(hidden);
    for (const body of [
      {},
      { input: '' },
      { input: 'x'.repeat(32_001) },
      { input, model: 'a/b' },
      { input, session_id: '' },
    ]) {
      expect(await readError(await invoke(body))).toEqual([400, 'bad_request', false]);
    }
    expect(await readError(await invoke({ input: 'x'.repeat(1_048_576) }))).toEqual([413, 'payload_too_large', false]);
  });

  it('adds an invocation to the run of its session', async () => {
    const invoke = async (body: object) => {
      const response = await gate.post(`${path}/invoke`, body);
      return [response.status, (await response.json()) as { session_id: string; status: string }] as const;
    };
    const [, { session_id }] = await invoke({ input: JSON.stringify(['listen', 'hang']) });
    expect(await invoke({ input: 'more', session_id })).toEqual([202, { session_id, status: 'steered' }]);
    expect((await invoke({ input: 'again', session_id }))[0]).toBe(409); // the agent takes no more
    await gate.post(`${path}/suspend`, {}); // ends the run
    await provision();
  });

  it('counts messages and invocations for the rate limits of the key, and none that is rejected', async () => {
    const options = { key: limitedKey };
    const abort = new AbortController();
    const long = await start([says('a'), 'hang'], {}, { signal: abort.signal });
    await long.body!.getReader().read();
    expect(await readError(await start([end], {}, options))).toEqual([409, 'busy', true]);
    abort.abort();
    await untilFree();
    expect(await readError(await send({}, options))).toEqual([400, 'bad_request', false]);
    expect((await (await start([end], {}, options)).text()).endsWith('[DONE]\n\n')).toBe(true);
    expect((await gate.post(`${path}/invoke`, { input: JSON.stringify([end]) }, options)).status).toBe(202);
    for (const limited of [start([end], {}, options), gate.post(`${path}/invoke`, { input: '[]' }, options)]) {
      const response = await limited;
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(response.headers.get('x-ratelimit-limit')).toBe('2');
      expect(await readError(response)).toEqual([429, 'rate_limited', true]);
    }
    await untilFree(); // another key
  });

  it('ends the stream with stream_severed if the agent ends, and is unreachable until it is back', async () => {
    const chunks = await chat([says('a'), 'crash']);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content)).toContain('a');
    expect(errorOf(chunks)).toMatchObject({ code: 502, metadata: { reason: 'stream_severed', retryable: true } });
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('error');
    expect(chunks.at(-1)).toMatchObject({ choices: [], session_id: 's', usage: null });
    await expect.poll(async () => (await gate.get(`${path}/logs`)).text()).toContain('the runtime ended');
    for (const [response, status] of [
      [await gate.get(`${path}/daemon`), 409],
      [await start([end]), 502],
      [await gate.post(`${path}/invoke`, { input: '[]' }), 502],
    ] as const) {
      expect(response.headers.get('retry-after')).toBe('5');
      expect(await readError(response)).toEqual([status, 'intern_unreachable', true]);
    }
  });

  it('has no host name in another domain until the intern is provisioned again', async () => {
    const configuration = { interns: { domain: 'agents.test' } };
    await gate.reload(configuration);
    expect(await readError(await gate.get(`${path}/daemon`))).toEqual([409, 'intern_needs_restart', false]);
    await gate.post(`${path}/suspend`, {});
    expect(await readError(await gate.get(`${path}/daemon`))).toEqual([409, 'intern_not_running', true]);
    expect(await readError(await start([end]))).toEqual([409, 'intern_not_ready', true]);
    await provision();
    expect(await (await gate.get(path)).json()).toMatchObject({
      hostname: expect.stringMatching(/^scout-[0-9a-f]{8}\.agents\.test$/),
    });
    const access = (await (await gate.get(`${path}/daemon-access`)).json()) as { origin: string; token: string };
    expect(access.origin).toMatch(/^http:\/\/[a-z0-9-]+(\.[a-z0-9-]+)*:\d+$/);
    const audit = (await (await gate.get('/audit?limit=1', { key: gate.managementKey })).json()) as { data: object[] };
    expect(audit.data).toMatchObject([{ action: 'intern.read_access' }]);
  });

  it('is a 404 without a reason in a gateway without interns', async () => {
    await gate.reload({ interns: { enabled: false } });
    expect(await readError(await start([end]))).toEqual([404, undefined, undefined]);
    expect(await readError(await gate.get(`${path}/daemon`))).toEqual([404, undefined, undefined]);
  });
});
