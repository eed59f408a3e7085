import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BubblewrapDriver } from '../../src/platform/sandbox/bubblewrap/bubblewrap-driver.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

const workspace_id = '00000000-0000-4000-8000-0000000000a1';
const probe = new BubblewrapDriver({ folder: `/var/tmp/headgate-chat-test-${process.pid}`, hidden: [] });
const problem = await probe.probe();
await probe.close();

interface Chunk {
  id: string;
  object: string;
  model: string;
  choices: {
    index: number;
    delta: { content?: string; role?: string; tool_calls?: Call[] };
    finish_reason: string | null;
  }[];
  error?: { code: number; message: string; metadata: { reason: string; retryable: boolean } };
  session_id?: string | null;
  usage?: { prompt_tokens: number; total_tokens: number } | null;
}
interface Call {
  id: string;
  function: { name: string; arguments: string };
}

/** Reads a stream of chunks. */
async function readChunks(response: Response) {
  const body = await response.text();
  const lines = body
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice(6));
  const chunks = lines.filter((line) => line !== '[DONE]').map((line) => JSON.parse(line) as Chunk);
  const deltas = chunks.flatMap(({ choices }) => choices);
  return {
    status: response.status,
    body,
    chunks,
    done: lines.at(-1) === '[DONE]',
    text: deltas.map(({ delta }) => delta.content ?? '').join(''),
    finish: deltas.findLast(({ finish_reason }) => finish_reason !== null)?.finish_reason,
    call: deltas.flatMap(({ delta }) => delta.tool_calls ?? [])[0],
    final: chunks.at(-1)!,
    error: chunks.find(({ error }) => error)?.error,
  };
}

describe.skipIf(problem !== undefined)('chat with an intern', () => {
  let gate: TestGateway;
  let id: string;
  let hostname: string;
  let followed: Promise<string>;
  const send = (body: object, path = 'chat/completions') => gate.post(`/interns/${id}/${path}`, body);
  const say = (content: string, more: object = {}) =>
    send({ stream: true, session_id: 's', messages: [{ role: 'user', content }], ...more });
  const chat = async (content: string, more?: object) => readChunks(await say(content, more));
  const reply = async (call: Call, content: string, more: object = {}) =>
    send({ stream: true, session_id: 's', messages: [{ role: 'tool', tool_call_id: call.id, content }], ...more });
  const find = async () => (await (await gate.get(`/interns/${id}`)).json()) as { status: string; hostname: string };
  const untilStatus = (status: string) =>
    vi.waitFor(async () => expect((await find()).status).toBe(status), { interval: 25 });

  beforeAll(async () => {
    gate = await testGateway({ interns: { health_ms: 200, schedules: { enabled: true } } });
    const created = await gate.post('/interns', { name: 'scout', workspace_id, instructions: 'Be brief.' });
    expect(created.status).toBe(201);
    ({ id } = (await created.json()) as { id: string });
    expect((await say('hello')).status).toBe(409);
    await gate.send('PATCH', `/interns/${id}`, { model: 'simulator/echo' });
    expect((await gate.post(`/interns/${id}/provision`, {})).status).toBe(202);
    await untilStatus('running');
    ({ hostname } = await find());
  });
  afterAll(async () => {
    await gate?.close();
  });

  it('streams chunks of chat completions', async () => {
    const { chunks, text, finish, final, done } = await chat('Hello there');
    expect(text).toBe('Hello there');
    expect(chunks[0]).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f-]{36}$/),
      object: 'chat.completion.chunk',
      model: 'router/intern',
      choices: [{ index: 0, delta: { role: 'assistant' }, finish_reason: null }],
    });
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(finish).toBe('stop');
    expect(final).toMatchObject({
      choices: [],
      model: 'simulator/echo',
      session_id: 's',
      usage: { prompt_tokens: expect.any(Number), prompt_tokens_details: { cached_tokens: 0 } },
    });
    expect(done).toBe(true);
  });

  it('starts a session if the request has none, and keeps the conversation', async () => {
    const { final } = await chat('one', { session_id: undefined });
    expect(final.session_id).toMatch(/^[0-9a-f-]{36}$/);
    const first = (await chat('again', { session_id: final.session_id })).final.usage!.prompt_tokens;
    const second = (await chat('again', { session_id: final.session_id })).final.usage!.prompt_tokens;
    expect(second).toBeGreaterThan(first);
  });

  it('runs for a webhook, with its text and its body', async () => {
    const created = await gate.post(`/interns/${id}/schedules`, { kind: 'webhook', input: 'Keep this.' });
    const hook = (await created.json()) as { id: string; path: string };
    const body = '[[call write_file {"path": "hook.txt", "content": "called"}]]';
    expect((await fetch(`${gate.url}${hook.path}`, { method: 'POST', body })).status).toBe(202);
    const readRun = async () => {
      const schedule = await (await gate.get(`/interns/${id}/schedules/${hook.id}`)).json();
      return (schedule as { last_run: { status: string } }).last_run;
    };
    await expect.poll(readRun).toMatchObject({ status: 'completed', failure: null });
    expect((await chat('[[call read_file {"path": "hook.txt"}]]')).text).toContain('called');
  });

  it('rejects invalid requests with 400 bad_request', async () => {
    const user = (content: string) => [{ role: 'user', content }];
    const bodies = [
      { stream: false, messages: user('a') },
      { stream: true, messages: [] },
      { stream: true, messages: [{ role: 'assistant', content: 'a' }] },
      { stream: true, messages: user('') },
      { stream: true, messages: user('a'.repeat(32_001)) },
      { stream: true, messages: [{ role: 'tool', tool_call_id: 'x', content: 'a' }] },
      { stream: true, session_id: 's', messages: [{ role: 'tool', content: 'a' }] },
      { stream: true, session_id: 's'.repeat(257), messages: user('a') },
      { stream: true, approval_mode: 'other', messages: user('a') },
    ];
    for (const body of bodies) {
      const response = await send(body);
      const expected = [400, { error: { code: 400, metadata: { reason: 'bad_request', retryable: false } } }];
      expect([response.status, await response.json()], JSON.stringify(body).slice(0, 200)).toMatchObject(expected);
    }
  });

  it('hides interns of others, and has no intern for management keys', async () => {
    const body = { stream: true, messages: [{ role: 'user', content: 'a' }] };
    const missing = await gate.post('/interns/00000000-0000-4000-8000-000000000000/chat/completions', body);
    expect([missing.status, await missing.json()]).toMatchObject([
      404,
      { error: { metadata: { reason: 'not_found' } } },
    ]);
    const management = await gate.post(`/interns/${id}/chat/completions`, body, { key: gate.managementKey });
    expect(management.status).toBe(401);
    const organization = await gate.post(`/interns/${id}/chat/completions`, body, { key: gate.organizationKey });
    expect((await readChunks(organization)).finish).toBe('stop');
  });

  it('asks for permission in the mode manual, and goes on after the answer', async () => {
    const first = await chat('[[call shell {"command": "echo out-$((40+2)) | tee kept.txt"}]]', {
      approval_mode: 'manual',
    });
    expect(first.finish).toBe('tool_calls');
    expect(first.final).toMatchObject({ session_id: 's', usage: null });
    expect(first.call).toMatchObject({ type: 'function', function: { name: 'router.provide_input' } });
    expect(JSON.parse(first.call!.function.arguments)).toEqual({
      kind: 'permission',
      operation: 'shell: echo out-$((40+2)) | tee kept.txt',
      options: ['allow_once', 'allow_always', 'reject_once', 'reject_always'],
    });
    const invalid = await reply(first.call!, 'maybe');
    expect([invalid.status, await invalid.json()]).toMatchObject([
      400,
      { error: { metadata: { reason: 'bad_request' } } },
    ]);
    const busy = await say('me too', { session_id: 'other' });
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([409, '5']);
    expect(await busy.json()).toMatchObject({ error: { metadata: { reason: 'busy', retryable: true } } });
    const second = await readChunks(await reply(first.call!, 'allow_once'));
    expect(second.text).toContain('out-42');
    const again = await reply(first.call!, 'allow_once');
    expect([again.status, await again.json()]).toMatchObject([
      409,
      { error: { metadata: { reason: 'interaction_not_pending' } } },
    ]);
    const unknown = await reply({ ...first.call!, id: 'call_x' }, 'allow_once');
    expect([unknown.status, await unknown.json()]).toMatchObject([
      404,
      { error: { metadata: { reason: 'interaction_unknown' } } },
    ]);
  });

  it('tells the model that a call was rejected', async () => {
    const { call } = await chat('[[call write_file {"path": "no.txt", "content": "no"}]]', { approval_mode: 'manual' });
    expect((await readChunks(await reply(call!, 'reject_once'))).text).toContain('The person has rejected this call.');
  });

  it('keeps the mode of a run, whatever the answers to its questions say', async () => {
    const write = (path: string) => `[[call write_file {"path": "${path}", "content": "x"}]]`;
    const first = await chat(`${write('one.txt')} ${write('two.txt')}`, { approval_mode: 'manual' });
    const second = await readChunks(await reply(first.call!, 'allow_once', { approval_mode: 'self-drive' }));
    expect([second.finish, JSON.parse(second.call!.function.arguments)]).toMatchObject([
      'tool_calls',
      { kind: 'permission', operation: 'write_file: two.txt' },
    ]);
    expect((await readChunks(await reply(second.call!, 'reject_once'))).finish).toBe('stop');
    const { call } = await chat(`[[call ask {"message": "Go on?"}]] [[then]] ${write('three.txt')}`);
    const answer = '{"action": "accept", "content": {"answer": "yes"}}';
    const rest = await readChunks(await reply(call!, answer, { approval_mode: 'manual' }));
    expect([rest.finish, rest.call]).toEqual(['stop', undefined]);
  });

  it('asks questions', async () => {
    const { call } = await chat('[[call ask {"message": "Which color?", "options": ["red", "blue"]}]]');
    expect(JSON.parse(call!.function.arguments)).toMatchObject({
      kind: 'elicitation',
      message: 'Which color?',
      fields: [{ name: 'answer', type: 'string', required: true, options: ['red', 'blue'] }],
    });
    expect((await reply(call!, '{"action": "accept", "content": {"answer": "green"}}')).status).toBe(400);
    const answered = await readChunks(await reply(call!, '{"action": "accept", "content": {"answer": "blue"}}'));
    expect(answered.text).toContain('blue');
  });

  it('takes further messages of a session into its run, and ends a run when the client disconnects', async () => {
    const abort = new AbortController();
    const long = await gate.post(
      `/interns/${id}/chat/completions`,
      { stream: true, session_id: 's', messages: [{ role: 'user', content: '[[words 5000]] [[slow 50]]' }] },
      { signal: abort.signal },
    );
    const steered = await say('and this');
    expect([steered.status, await steered.json()]).toEqual([202, { session_id: 's', status: 'steered' }]);
    abort.abort();
    await long.text().catch(() => {});
    await expect.poll(async () => (await chat('free?', { session_id: 't' })).finish).toBe('stop');
  });

  it('reports a failure of the model in the stream', async () => {
    const { error, finish, final, done } = await chat('[[fail 400 broken]]');
    expect(error).toMatchObject({ code: 502, metadata: { reason: 'turn_failed' } });
    expect([finish, final.choices, done]).toEqual(['error', [], true]);
  });

  it('shows the log of its agent, and follows it until the intern stops', async () => {
    const log = await gate.get(`/interns/${id}/logs`);
    expect(await log.text()).toMatch(/^\d{4}-\d\d-\d\dT.* the agent is ready\n/);
    followed = (await gate.get(`/interns/${id}/logs?follow=true`)).text();
    followed.catch(() => {}); // awaited by a later test
    expect((await gate.get(`/interns/${id}/logs?follow=maybe`)).status).toBe(400);
  });

  it('ends the log of a key that is disabled, and of a session that was ended', async () => {
    const manage = (method: string, path: string, body?: object) =>
      gate.send(method, path, body, { key: gate.managementKey });
    const made = await manage('POST', '/keys', { name: 'short', workspace_id });
    const { key, data } = (await made.json()) as { key: string; data: { hash: string } };
    const signed = await gate.send('POST', '/console/sessions', { key: gate.key }, { key: null });
    const session = (await signed.json()) as { data: { id: string } };
    const headers = { cookie: signed.headers.get('set-cookie')!.split(';', 1)[0]! };
    const path = `/interns/${id}/logs?follow=true`;
    const logs = [
      await gate.send('GET', path, undefined, { key }),
      await gate.send('GET', path, undefined, { key: null, headers }),
    ];
    expect(logs.map(({ status }) => status)).toEqual([200, 200]);
    await manage('PATCH', `/keys/${data.hash}`, { disabled: true });
    await manage('DELETE', `/console/sessions/${session.data.id}`);
    for (const log of logs) expect(await log.text()).toContain('the runtime is ready'); // ends only with the log
  });

  it('runs without a connection', async () => {
    const started = await send({ input: '[[call write_file {"path": "invoked.txt", "content": "yes"}]]' }, 'invoke');
    const { session_id, status } = (await started.json()) as { session_id: string; status: string };
    expect([started.status, status]).toEqual([202, 'started']);
    await expect.poll(async () => (await chat('[[call read_file {"path": "invoked.txt"}]]')).text).toContain('yes');
    expect((await send({ input: 'more', session_id }, 'invoke')).status).toBe(202);
    const foreign = await gate.post(`/interns/${id}/invoke`, { input: 'x', session_id }, { key: gate.organizationKey });
    expect(foreign.status).toBe(404);
    expect((await send({ input: '' }, 'invoke')).status).toBe(400);
    const isFree = async () => (await chat('free?')).finish === 'stop';
    await expect.poll(isFree).toBe(true);
  });

  it('serves the host name of the intern to holders of its token', async () => {
    const access = await gate.get(`/interns/${id}/daemon`);
    expect(access.headers.get('cache-control')).toBe('no-store');
    const { origin, token } = (await access.json()) as { origin: string; token: string };
    const { port } = new URL(gate.url);
    expect(origin).toBe(`http://${hostname}:${port}`);
    expect(token).toMatch(/^[\w-]+$/);
    const call = async (path: string, method: string, headers: Record<string, string>, body?: string) => {
      const outgoing = httpRequest({
        host: '127.0.0.1',
        port,
        path,
        method,
        headers: { host: `${hostname}:${port}`, ...headers },
      });
      outgoing.end(body);
      const [response] = await once(outgoing, 'response');
      return { status: response.statusCode, body: await text(response) };
    };
    const authorization = `Bearer ${token}`;
    expect((await call('/', 'GET', {})).status).toBe(401);
    expect((await call('/', 'GET', { authorization: 'Bearer wrong' })).status).toBe(401);
    expect(await call('/page?a=1', 'GET', { authorization })).toMatchObject({
      status: 404,
      body: expect.stringContaining('This agent has no pages'),
    });
    expect((await call(`/page?token=${token}`, 'GET', {})).body).toContain('This agent has no pages');
    expect((await call('/.headgate/health', 'GET', { authorization })).body).toContain('There is no such path');
    const body = JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'by host' }] });
    const chatted = await call(
      '/chat/completions',
      'POST',
      { authorization, 'content-type': 'application/json' },
      body,
    );
    expect(chatted.body).toContain('[DONE]');
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `GET /ws HTTP/1.1\r\nhost: ${hostname}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nauthorization: ${authorization}\r\n\r\n`,
    );
    const [first] = await once(socket, 'data');
    expect(String(first)).toMatch(/^HTTP\/1\.1 404/); // of the agent, which has no WebSocket
    socket.destroy();
    for (let reads = 1; reads < 10; reads++) await gate.get(`/interns/${id}/daemon-access`);
    const limited = await gate.get(`/interns/${id}/daemon`);
    expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true]);
  });

  it('keeps its files and conversations over a suspension, and leaves nothing after its removal', async () => {
    const before = (await chat('again')).final.usage!.prompt_tokens;
    expect((await gate.post(`/interns/${id}/suspend`, {})).status).toBe(200);
    expect((await say('hello')).status).toBe(409);
    expect(await followed).toContain('the runtime is ready');
    await gate.post(`/interns/${id}/provision`, {});
    await untilStatus('running');
    const { text: read } = await chat('[[call read_file {"path": "kept.txt"}]]');
    expect(read).toContain('out-42');
    expect((await chat('again')).final.usage!.prompt_tokens).toBeGreaterThan(before);
    expect((await gate.send('DELETE', `/interns/${id}`, {})).status).toBe(202);
    await expect.poll(async () => (await gate.get(`/interns/${id}`)).status).toBe(404);
    expect(await gate.gateway.storage.containers.findContainers(`intern:${id}`)).toEqual([]);
  });
});
