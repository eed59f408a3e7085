import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { openSocket, type SocketEvent, type TestSocket, textOf, UpgradeRefused } from './open-socket.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({
    server: { body_limit: 100_000 },
    bootstrap: {
      keys: [{ key: 'test-disabled-key-0001', name: 'old', workspace: 'main', member: 'ada', disabled: true }],
    },
  });
});
afterAll(() => gateway.close());

const open = (key: string | null = gateway.key): Promise<TestSocket> => openSocket(`${gateway.baseUrl}/responses`, key);
const good = { model: 'simulator/echo', input: 'hello' };
const typesOf = (events: readonly object[]): string[] => events.map((event) => (event as SocketEvent).type);
/** The response of the last event. */
const lastOf = (events: readonly SocketEvent[]) => events.at(-1)!['response'];

describe('the upgrade', () => {
  const refused = async (path: string, key: string | null): Promise<UpgradeRefused> => {
    const error = await openSocket(gateway.url + path, key).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(UpgradeRefused);
    return error as UpgradeRefused;
  };

  it.each([
    ['without a key', null, 401],
    ['with an unknown key', 'wrong-key-wrong-key', 401],
    ['with a disabled key', 'test-disabled-key-0001', 401],
    ['with a management key', 'test-management-key-001', 403],
  ])('is refused %s', async (_name, key, status) => {
    const { body, headers, ...error } = await refused('/api/v1/responses', key);
    expect(error.status).toBe(status);
    expect(JSON.parse(body)).toMatchObject({ error: { code: status } });
    expect(headers['x-request-id']).toMatch(/^req_/);
  });

  it.each([
    '/api/v1/chat/completions',
    '/api/v1/messages',
    '/api/v1/responses/compact',
  ])('is a 426 elsewhere: %s', async (path) => {
    expect((await refused(path, gateway.key)).status).toBe(426);
  });

  it('is required: a plain GET is a 426 that says so', async () => {
    const response = await gateway.get('/responses');
    expect(response.status).toBe(426);
    const sent = request(`${gateway.baseUrl}/responses`, { headers: { authorization: `Bearer ${gateway.key}` } });
    const headers = await new Promise((resolve) => {
      sent.on('response', (raw) => resolve(raw.resume().headers)).end();
    });
    expect(headers).toMatchObject({ upgrade: 'websocket' });
  });

  it('of another version of the protocol is refused', async () => {
    const sent = request(`${gateway.baseUrl}/responses`, {
      headers: {
        authorization: `Bearer ${gateway.key}`,
        connection: 'upgrade',
        upgrade: 'websocket',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-version': '7',
      },
    });
    const status = await new Promise((resolve) => {
      sent.on('response', (raw) => resolve(raw.resume().statusCode)).end();
    });
    expect(status).toBe(426);
  });

  it('has the request id, which the client may choose, and no compression', async () => {
    const socket = await openSocket(`${gateway.baseUrl}/responses`, gateway.key, {
      headers: { 'x-request-id': 'mine-1', 'openai-beta': 'responses_websockets=2026-02-06' },
      perMessageDeflate: true,
    });
    expect(socket.headers).toMatchObject({ 'x-request-id': 'mine-1' });
    expect(socket.headers).not.toHaveProperty('sec-websocket-extensions');
    expect(typesOf(await socket.respond(good))).toContain('response.completed');
    socket.leave();
  });

  it('takes the keys of all headers, and the paths of clients of Azure', async () => {
    const path = '/openai/deployments/simulator%2Fecho/responses?api-version=v1';
    const socket = await openSocket(gateway.url + path, null, { headers: { 'api-key': gateway.key } });
    expect(textOf(await socket.respond({ input: 'hello' }))).toBe('hello');
    socket.leave();
  });
});

describe('a response', () => {
  it('has the events of the same response over HTTP, one for each message', async () => {
    const socket = await open();
    const events = await socket.respond(good);
    const streamed = await gateway.stream(good);
    expect(typesOf(events)).toEqual(typesOf(streamed.events));
    expect(textOf(events)).toBe('hello');
    expect(lastOf(events)).toMatchObject({ status: 'completed', previous_response_id: null });
    socket.leave();
  });

  it('follows another one on the same socket, and fields of HTTP have no effect', async () => {
    const socket = await open();
    for (const input of ['one', 'two', 'three']) {
      const events = await socket.respond({ ...good, input, stream: false, stream_options: {}, background: true });
      expect(textOf(events)).toBe(input);
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    }
    socket.leave();
  });

  it('waits for the response before it', async () => {
    const socket = await open();
    for (const input of ['one', 'two', 'three']) socket.send({ type: 'response.create', ...good, input });
    for (const input of ['one', 'two', 'three']) expect(textOf(await socket.readResponse())).toBe(input);
    socket.leave();
  });

  it('has lines and all letters in its text', async () => {
    const input = `${'word 🙂\n'.repeat(200)}end`;
    const socket = await open();
    const events = await socket.respond({ ...good, input });
    expect(lastOf(events).output[0].content[0].text).toBe(input);
    socket.leave();
  });

  it('without output prepares the next one, and costs nothing', async () => {
    const socket = await open();
    const events = await socket.respond({ ...good, generate: false });
    expect(typesOf(events)).toEqual(['response.created', 'response.in_progress', 'response.completed']);
    const { id, output, usage } = lastOf(events);
    expect({ output, usage }).toEqual({ output: [], usage: null });
    const next = await socket.respond({ ...good, previous_response_id: id, input: 'again' });
    expect(lastOf(next)).toMatchObject({ status: 'completed', previous_response_id: id });
    const unknown = await socket.respond({ model: 'no/such-model', input: 'hello', generate: false });
    expect(unknown).toMatchObject([{ type: 'error', status: 400, error: { code: 'model_not_found' } }]);
    socket.leave();
  });

  it('counts as complete, as does the upgrade', async () => {
    const socket = await open();
    await socket.respond(good);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    for (const method of ['GET', 'POST']) {
      expect(metrics).not.toContain(`{method="${method}",route="/api/v1/responses",status="cancelled"}`);
      expect(metrics).toContain(`{method="${method}",route="/api/v1/responses",status="2xx"}`);
    }
    socket.leave();
  });

  it('is confirmed by some clients, which needs no response', async () => {
    const socket = await open();
    socket.send({ type: 'response.processed', response_id: 'resp_1' });
    expect(textOf(await socket.respond(good))).toBe('hello');
    socket.leave();
  });
});

describe('an error', () => {
  const deep = `{"type":"response.create","model":"simulator/echo","input":${'['.repeat(200)}${']'.repeat(200)}}`;
  it.each([
    ['text that is not JSON', '{"type":', 400, 'invalid_request', null],
    ['a list', '[]', 400, 'invalid_request', null],
    ['no type', '{}', 400, 'invalid_request', 'type'],
    ['an unknown type', '{"type":"response.cancel"}', 400, 'invalid_request', 'type'],
    ['too many levels', deep, 400, 'invalid_request', 'input'],
    ['an invalid body', '{"type":"response.create","model":7,"input":"x"}', 400, 'invalid_request', 'model'],
    ['an empty stream_id', '{"type":"response.create","stream_id":""}', 400, 'invalid_stream_id', 'stream_id'],
    ['a stream_id with spaces', '{"type":"response.create","stream_id":"a b"}', 400, 'invalid_stream_id', 'stream_id'],
    ['generate that is a text', '{"type":"response.create","generate":"no"}', 400, 'invalid_request', 'generate'],
    [
      'an id that is a number',
      '{"type":"response.create","previous_response_id":7}',
      400,
      'invalid_request',
      'previous_response_id',
    ],
    [
      'an unknown id',
      '{"type":"response.create","model":"simulator/echo","input":"x","previous_response_id":"resp_1"}',
      400,
      'previous_response_not_found',
      'previous_response_id',
    ],
    [
      'a model without endpoints',
      '{"type":"response.create","model":"no/such","input":"x"}',
      400,
      'model_not_found',
      null,
    ],
    [
      'a failure of the provider',
      '{"type":"response.create","model":"simulator/echo","input":"[[fail 503]]"}',
      529,
      'provider_overloaded',
      null,
    ],
  ])('is an event, and the socket stays open: %s', async (_name, message, status, code, param) => {
    const socket = await open();
    socket.send(message);
    const event = await socket.next();
    expect(event).toMatchObject({ type: 'error', status, error: { code, param, message: expect.any(String) } });
    expect(event['error'].type).toBe(status < 500 ? 'invalid_request_error' : 'server_error');
    expect(textOf(await socket.respond(good))).toBe('hello');
    socket.leave();
  });

  it('after the first output is response.failed alone', async () => {
    const socket = await open();
    const events = await socket.respond({ ...good, input: 'one two three four [[cut 2]]' });
    expect(typesOf(events)).toContain('response.output_text.delta');
    expect(lastOf(events)).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(typesOf(events)).not.toContain('error');
    expect(textOf(await socket.respond(good))).toBe('hello');
    socket.leave();
  });

  it('of a binary message ends the socket', async () => {
    const socket = await open();
    socket.send(Buffer.from(JSON.stringify({ type: 'response.create', ...good })));
    expect(await socket.next()).toMatchObject({ type: 'error', status: 400, error: { code: 'invalid_request' } });
    expect(await socket.closed).toMatchObject({ code: 1003 });
  });

  it('of a message that is too large ends the socket before the message has arrived', async () => {
    const socket = await open();
    socket.send(JSON.stringify({ type: 'response.create', ...good, input: 'x'.repeat(100_000) }));
    expect(await socket.next()).toMatchObject({
      type: 'error',
      status: 413,
      error: { code: 'payload_too_large', message: expect.stringContaining('server.body_limit') },
    });
    expect(await socket.closed).toMatchObject({ code: 1009 });
  });

  it('ends a conversation that has become too large', async () => {
    const socket = await open();
    const first = await socket.respond({ ...good, input: 'x'.repeat(40_000) });
    const second = await socket.respond({ ...good, previous_response_id: lastOf(first).id, input: 'y'.repeat(40_000) });
    expect(second).toMatchObject([{ type: 'error', status: 413, error: { code: 'payload_too_large' } }]);
    socket.leave();
  });
});

describe('a conversation', () => {
  it('continues with the new items alone', async () => {
    const socket = await open();
    let previous: string | undefined;
    for (const input of ['one', 'two', 'three']) {
      const events = await socket.respond({ ...good, store: false, previous_response_id: previous ?? null, input });
      expect(textOf(events)).toBe(input);
      for (const event of events.filter(({ response }) => response)) {
        expect(event['response'].previous_response_id).toBe(previous ?? null);
      }
      const { id, usage } = lastOf(events);
      if (previous !== undefined) expect(usage.input_tokens).toBeGreaterThan(2);
      previous = id;
    }
    socket.leave();
  });

  it('is unknown on another socket, after which a new one begins', async () => {
    const socket = await open();
    const { id } = lastOf(await socket.respond(good));
    const other = await open();
    const missing = await other.respond({ ...good, previous_response_id: id });
    expect(missing).toMatchObject([{ type: 'error', error: { code: 'previous_response_not_found' } }]);
    expect(textOf(await other.respond(good))).toBe('hello');
    socket.leave();
    other.leave();
  });

  it('keeps only its last response', async () => {
    const socket = await open();
    const first = lastOf(await socket.respond(good)).id;
    const second = lastOf(await socket.respond({ ...good, previous_response_id: first })).id;
    const stale = await socket.respond({ ...good, previous_response_id: first });
    expect(stale).toMatchObject([{ error: { code: 'previous_response_not_found' } }]);
    expect(lastOf(await socket.respond({ ...good, previous_response_id: second })).status).toBe('completed');
    socket.leave();
  });

  it('ends when a continuation fails', async () => {
    const socket = await open();
    const { id } = lastOf(await socket.respond(good));
    const output = { type: 'function_call_output', call_id: 'call_missing', output: 'x' };
    const failed = await socket.respond({ ...good, previous_response_id: id, input: [output] });
    expect(failed).toMatchObject([{ type: 'error', status: 422 }]);
    const retried = await socket.respond({ ...good, previous_response_id: id, input: 'again' });
    expect(retried).toMatchObject([{ error: { code: 'previous_response_not_found' } }]);
    socket.leave();
  });

  it('has a compacted window as its input', async () => {
    const input = [
      { type: 'message', role: 'user', content: 'Remember slate.' },
      { type: 'message', role: 'assistant', content: 'OK.' },
    ];
    const response = await gateway.post('/responses/compact', { model: 'simulator/echo', input });
    const { output } = (await response.json()) as { output: object[] };
    const socket = await open();
    const next = { type: 'message', role: 'user', content: 'Go on.' };
    expect(lastOf(await socket.respond({ ...good, input: [...output, next] })).status).toBe('completed');
    socket.leave();
  });
});

describe('lanes', () => {
  const slow = (stream_id: string) => ({
    ...good,
    input: `[[slow 5]] one two three four five ${stream_id}-word`,
    stream_id,
  });

  it('run at the same time, and their events have the stream_id', async () => {
    const socket = await open();
    const names = ['planner', 'critic', 'a.b-c_d'];
    for (const name of names) socket.send({ type: 'response.create', ...slow(name) });
    const ended = new Set<string>();
    while (ended.size < names.length) {
      const event = await socket.next();
      expect(names).toContain(event.stream_id);
      if (event.type === 'response.completed') ended.add(event.stream_id!);
    }
    const begun = socket.events.flatMap(({ type }, at) => (type === 'response.created' ? [at] : []));
    const done = socket.events.findIndex(({ type }) => type === 'response.completed');
    expect(Math.max(...begun)).toBeLessThan(done);
    for (const name of names) {
      const own = socket.events.filter(({ stream_id }) => stream_id === name);
      expect(textOf(own)).toContain(`${name}-word`);
    }
    socket.leave();
  });

  it('fork a conversation, whose own lane goes on after a failure of the fork', async () => {
    const socket = await open();
    const { id } = lastOf(await socket.respond({ ...good, stream_id: 'main' }));
    const failed = await socket.respond({ ...good, model: 'no/such', stream_id: 'fork', previous_response_id: id });
    expect(failed).toMatchObject([{ stream_id: 'fork', error: { code: 'model_not_found' } }]);
    const fork = await socket.respond({ ...good, stream_id: 'fork', previous_response_id: id });
    expect(lastOf(fork)).toMatchObject({ status: 'completed', previous_response_id: id });
    const main = await socket.respond({ ...good, stream_id: 'main', previous_response_id: id });
    expect(lastOf(main).status).toBe('completed');
    socket.leave();
  });

  it('are limited', async () => {
    const socket = await open();
    for (let count = 0; count < 32; count++) await socket.respond({ ...good, stream_id: `lane_${count}` });
    expect(await socket.respond({ ...good, stream_id: 'lane_33' })).toMatchObject([
      { status: 400, stream_id: 'lane_33', error: { code: 'websocket_stream_limit_reached', param: 'stream_id' } },
    ]);
    expect(textOf(await socket.respond(good))).toBe('hello');
    expect(textOf(await socket.respond({ ...good, stream_id: 'lane_0' }))).toBe('hello');
    socket.leave();
  });

  it('have a limited queue', async () => {
    const socket = await open();
    socket.send({ type: 'response.create', ...slow('default'), stream_id: null });
    for (let count = 0; count < 65; count++) socket.send({ type: 'response.create', ...good });
    const responses: SocketEvent[] = [];
    while (responses.filter(({ type }) => type === 'response.completed').length < 65) {
      responses.push((await socket.readResponse()).at(-1)!);
    }
    expect(responses.filter(({ type }) => type === 'error')).toMatchObject([
      { status: 429, error: { code: 'rate_limit_exceeded' } },
    ]);
    socket.leave();
  });
});
