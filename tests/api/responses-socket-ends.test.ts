import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testGateway } from '../../src/testing/test-gateway.ts';
import { type Lab, openFrames, openLab, provider, stream, streamFrames, wires } from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';
import { openSocket, type SocketEvent, type TestSocket, textOf } from './open-socket.ts';
import { gate } from './open-stream.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

type Gateway = Pick<Lab['gateway'], 'baseUrl' | 'key'>;
const open = (gateway: Gateway = lab.gateway, key = gateway.key): Promise<TestSocket> =>
  openSocket(`${gateway.baseUrl}/responses`, key);
const echo = { model: 'simulator/echo', input: 'hello' };
const slow = { model: 'simulator/echo', input: '[[slow 150]] one two three four five six seven eight nine ten' };
/** Reads up to an event of a type. */
async function readUntil(socket: TestSocket, type: string): Promise<SocketEvent> {
  for (;;) {
    const event = await socket.next();
    if (event.type === type) return event;
  }
}
const limitReached = { type: 'error', status: 400, error: { code: 'websocket_connection_limit_reached' } };

describe.each(wires)('%s', (wire) => {
  const words = 'four score and seven years ago our fathers brought forth';
  const endless = { ...stream(wire, openFrames(wire, [words]), { done: false }), end: 'silence' as const };

  it.each([
    ['leaves', (socket: TestSocket) => socket.leave()],
    ['closes the socket', (socket: TestSocket) => socket.webSocket.close()],
  ])('cancels and charges the response when the client %s in the middle of it', async (_name, leave) => {
    const session = newSession();
    lab.upstream.always(endless);
    const before = lab.upstream.requests.length;
    const socket = await open();
    socket.send({ type: 'response.create', model: `${wire}/patient`, input: 'Say hello.', session_id: session });
    await readUntil(socket, 'response.output_text.delta');
    leave(socket);
    expect(await lab.upstream.requests[before]!.closed).toBe('aborted');
    const [row] = await rowsOf(lab.gateway.dataDir, session);
    expect(row).toMatchObject({ outcome: 'cancelled', status: 499, estimated: 1 });
    expect(row!.cost_nano_usd).toBeGreaterThan(0);
  });

  it('gets the whole conversation of a continuation', async () => {
    lab.upstream.always(stream(wire, streamFrames(wire, ['Hello', ' there.'])));
    const session = newSession();
    const socket = await open();
    const body = { model: `${wire}/patient`, session_id: session, instructions: 'Be brief.' };
    const first = await socket.respond({ ...body, input: 'First question.' });
    const before = lab.upstream.requests.length;
    const previous_response_id = first.at(-1)!['response'].id;
    await socket.respond({ ...body, previous_response_id, input: 'Second question.' });
    const { text } = lab.upstream.requests[before]!;
    const places = ['First question.', 'Hello there.', 'Second question.'].map((words) => text.indexOf(words));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
    expect(await rowsOf(lab.gateway.dataDir, session, 2)).toMatchObject([
      { outcome: 'completed', status: 200 },
      { outcome: 'completed', status: 200 },
    ]);
    socket.leave();
  });
});

describe('the key', () => {
  it('is checked for each response: a disabled one ends the socket with an event', async () => {
    const { access } = lab.gateway.gateway.storage;
    const { key } = await createKey();
    const socket = await open(lab.gateway, key);
    expect((await socket.respond(slowless())).at(-1)!.type).toBe('response.completed');
    const { hash } = (await access.listKeys()).find(({ name }) => name === 'socket')!;
    await access.setKeyDisabled(hash, true);
    await expect.poll(async () => (await lab.gateway.get('/key', { key })).status, { interval: 20 }).toBe(401);
    expect(await socket.respond(slowless())).toMatchObject([
      { type: 'error', status: 401, error: { code: 'invalid_api_key', type: 'invalid_request_error' } },
    ]);
    expect(await socket.closed).toMatchObject({ code: 1008 });
  });

  async function createKey(): Promise<{ key: string }> {
    const response = await lab.gateway.send('POST', '/keys', { name: 'socket' }, { key: lab.gateway.managementKey });
    expect(response.status).toBe(201);
    return (await response.json()) as { key: string };
  }
  function slowless(): object {
    lab.upstream.always(stream('openai-chat', streamFrames('openai-chat')));
    return { model: 'openai-chat/patient', input: 'hello' };
  }
});

describe('limits', () => {
  it('count each response: the error has the headers of a 429', async () => {
    await using closing = new AsyncDisposableStack();
    const gateway = await testGateway({ limits: { requests_per_minute: 2 } });
    closing.defer(() => gateway.close());
    const socket = await open(gateway);
    for (let count = 0; count < 2; count++) await socket.respond(echo);
    const [error] = await socket.respond(echo);
    expect(error).toMatchObject({
      type: 'error',
      status: 429,
      error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
      headers: { 'retry-after': expect.stringMatching(/^\d+$/), 'x-ratelimit-limit': '2' },
    });
    expect(error!['headers']['x-request-id']).toMatch(/^req_/);
    socket.leave();
  });

  it('count responses in flight of all lanes', async () => {
    await using closing = new AsyncDisposableStack();
    const gateway = await testGateway({ limits: { concurrent_requests: 1 } });
    closing.defer(() => gateway.close());
    const socket = await open(gateway);
    socket.send({ type: 'response.create', ...slow, stream_id: 'a' });
    await readUntil(socket, 'response.output_text.delta');
    socket.send({ type: 'response.create', ...echo, stream_id: 'b' });
    expect(await readUntil(socket, 'error')).toMatchObject({ status: 429, stream_id: 'b' });
    await readUntil(socket, 'response.completed');
    expect(textOf(await socket.respond(echo))).toBe('hello');
    socket.leave();
  });

  it.each(['arrive', 'wait for a response'])('of the memory for bodies count messages that %s', async (state) => {
    await using closing = new AsyncDisposableStack();
    const gateway = await testGateway({ server: { body_memory: 70_000 } });
    closing.defer(() => gateway.close());
    const [one, other] = [await open(gateway), await open(gateway)];
    const large = { ...slow, input: `${slow.input} [[say x]] ${' '.repeat(66_000)}` };
    one.send({ type: 'response.create', ...(state === 'arrive' ? large : slow) });
    await readUntil(one, 'response.created');
    if (state !== 'arrive') {
      one.send({ type: 'response.create', ...large });
      one.send({ type: 'unknown' });
      await readUntil(one, 'error'); // the message before it has arrived
    }
    other.send({ type: 'response.create', ...large });
    expect(await readUntil(other, 'error')).toMatchObject({ status: 429 });
    one.leave();
    other.leave();
  });
});

describe('a shutdown', () => {
  it('finishes the running response, and closes the socket with an event', async () => {
    const refused = gate();
    lab.upstream.always(
      stream(
        'openai-chat',
        (async function* () {
          const frames = streamFrames('openai-chat');
          yield* frames.slice(0, 2);
          await refused.opened;
          yield* frames.slice(2);
        })(),
      ),
    );
    const gateway = await testGateway({
      server: { drain_ms: 0 },
      providers: [provider('openai-chat', 'patient', lab.upstream)],
    });
    const [busy, idle] = [await open(gateway), await open(gateway)];
    busy.send({ type: 'response.create', ...echo, model: 'openai-chat/patient' });
    await readUntil(busy, 'response.output_text.delta');
    busy.send({ type: 'response.create', ...echo });
    gateway.gateway.drain();
    const closing = gateway.close();
    expect(await idle.next()).toMatchObject(limitReached);
    expect(await idle.closed).toMatchObject({ code: 1001 });
    expect(await readUntil(busy, 'error')).toMatchObject(limitReached); // the response that waited
    refused.open();
    expect((await readUntil(busy, 'response.completed'))['response'].status).toBe('completed');
    expect(await busy.next()).toMatchObject(limitReached);
    expect(await busy.closed).toMatchObject({ code: 1001 });
    await closing;
  });

  it('ends a response that exceeds the grace period with response.failed', async () => {
    const gateway = await testGateway({ server: { drain_ms: 0, shutdown_grace_ms: 1 } });
    const socket = await open(gateway);
    socket.send({ type: 'response.create', ...slow, input: `[[slow 1000]] ${slow.input}` });
    await readUntil(socket, 'response.output_text.delta');
    const closing = gateway.close();
    expect(await readUntil(socket, 'response.failed')).toMatchObject({
      response: { error: { message: expect.stringContaining('shut down') } },
    });
    expect(await socket.next()).toMatchObject(limitReached);
    await closing;
  });

  it('is not delayed by a client that does not close its socket', async () => {
    const gateway = await testGateway({ server: { drain_ms: 0 } });
    const socket = await open(gateway);
    socket.webSocket.pause();
    await gateway.close();
    socket.webSocket.resume();
    await socket.closed;
  });

  it('that drains serves one more response on a new socket', async () => {
    const gateway = await testGateway({ server: { drain_ms: 0 } });
    gateway.gateway.drain();
    const socket = await open(gateway);
    expect(textOf(await socket.respond(echo))).toBe('hello');
    expect(await socket.next()).toMatchObject(limitReached);
    expect(await socket.closed).toMatchObject({ code: 1001 });
    await gateway.close();
  });
});

describe('the time', () => {
  const withTimes = async (server: object) => {
    const gateway = await testGateway({ server });
    return { gateway, [Symbol.asyncDispose]: () => gateway.close() };
  };

  it('of a socket is limited, once its responses are complete', async () => {
    await using made = await withTimes({ socket_lifetime_ms: 1500 });
    const socket = await open(made.gateway);
    socket.send({ type: 'response.create', ...slow, input: slow.input.replace('slow 150', 'slow 250') });
    await readUntil(socket, 'response.completed');
    const event = await readUntil(socket, 'error');
    expect(event).toMatchObject(limitReached);
    expect(event['error'].message).toContain('Create a new websocket connection');
    await socket.closed;
  });

  it('without a response is limited', async () => {
    await using made = await withTimes({ socket_idle_ms: 50 });
    const socket = await open(made.gateway);
    expect(await readUntil(socket, 'error')).toMatchObject(limitReached);
    expect(await socket.closed).toMatchObject({ code: 1000 });
  });

  it('of a client that does not react to pings is limited', async () => {
    await using made = await withTimes({ socket_ping_ms: 1500 });
    const [present, absent] = [
      await open(made.gateway),
      await openSocket(`${made.gateway.baseUrl}/responses`, made.gateway.key, { autoPong: false }),
    ];
    const pinged = gate();
    present.webSocket.on('ping', pinged.open);
    await pinged.opened;
    expect(await absent.closed).toMatchObject({ code: 1006 });
    expect(textOf(await present.respond(echo))).toBe('hello');
    present.leave();
  });
});
