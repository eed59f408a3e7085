import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startPostgres } from '../../src/testing/postgres.ts';
import { type RequestOptions, type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { probeBubblewrap } from './probe-bubblewrap.ts';
import { patient } from '../../src/testing/patience.ts';

const workspace_id = '00000000-0000-4000-8000-0000000000a1';
const postgres = await startPostgres();
const problem = 'skipped' in postgres ? postgres.skipped : await probeBubblewrap();
const skipped = problem === undefined ? '' : ` (skipped: ${problem})`;

/** The network in front of a host. When it is cut, the host is as unreachable as if its machine had ended. */
async function openNetwork(port: string) {
  const sockets = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect(Number(port), '127.0.0.1');
    for (const [socket, peer] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {}).once('close', () => sockets.delete(socket) && peer.destroy());
      socket.pipe(peer);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** An intern that runs on the host `owner`. Clients talk to the host `other`. */
describe.skipIf(problem !== undefined)(`an intern of another host${skipped}`, () => {
  const files = mkdtempSync(join(tmpdir(), 'headgate-intern-hosts-'));
  let url: string;
  let owner: TestGateway;
  let other: TestGateway;
  let network: Awaited<ReturnType<typeof openNetwork>>;
  let path: string;
  let hostname: string;
  let token: string;

  const agent = join(import.meta.dirname, 'scripted-agent.js');
  const configure = (server: object = {}, interns: object = {}) => ({
    server,
    storage: { url },
    secrets: { master_key: 'the same on all hosts, 32 letters' },
    files: { url: `file:${files}` },
    interns: {
      runtime: 'scripted',
      runtimes: { scripted: { command: ['node', '/tmp/headgate/files/scripted-agent.js'], files: [agent] } },
      ...interns,
    },
  });
  const say = (steps: unknown[], options?: RequestOptions) => {
    const body = { stream: true, session_id: 's', messages: [{ role: 'user', content: JSON.stringify(steps) }] };
    return other.post(`${path}/chat/completions`, body, options);
  };
  const says = (content: string) => ({ type: 'text', text: content });
  const end = { type: 'end', status: 'completed' };
  const provision = async (): Promise<void> => {
    expect((await owner.post(`${path}/provision`, {})).status).toBe(202);
    await vi.waitFor(
      async () => {
        const intern = (await (await owner.get(path)).json()) as { status: string; hostname: string };
        expect(intern.status).toBe('running');
        ({ hostname } = intern);
      },
      { interval: 25 },
    );
  };
  const readReason = async (response: Response) => {
    const { error } = (await response.json()) as { error: { message: string; metadata?: { reason: string } } };
    return { status: response.status, reason: error.metadata?.reason, message: error.message };
  };
  /** A request to the host name of the intern at the other host. */
  const visit = async (target: string, headers: Record<string, string>, body = '') => {
    const { port } = new URL(other.url);
    const options = { host: '127.0.0.1', port, path: target, method: body === '' ? 'GET' : 'POST' };
    const request = httpRequest({ ...options, headers: { host: hostname, ...headers } });
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return `${response.statusCode} ${await text(response)}`;
  };

  beforeAll(async () => {
    if ('skipped' in postgres) throw new Error(postgres.skipped);
    url = await postgres.createDatabase();
    owner = await testGateway(configure());
    network = await openNetwork(new URL(owner.url).port);
    const created = await owner.post('/interns', { name: 'scout', workspace_id });
    path = `/interns/${((await created.json()) as { id: string }).id}`;
    await provision();
    other = await testGateway(configure());
  });
  afterAll(async () => {
    network?.cut();
    await other?.close();
    await owner?.close();
    if ('stop' in postgres) await postgres.stop();
    rmSync(files, { recursive: true, force: true });
  });

  it('is a 503 that names the setting while its host has no address', async () => {
    const refusal = { reason: 'intern_unreachable', message: expect.stringContaining('server.advertise_url') };
    expect(await readReason(await say([]))).toEqual({ status: 503, ...refusal });
    expect(await readReason(await other.post(`${path}/invoke`, { input: '[]' }))).toEqual({ status: 503, ...refusal });
    expect(await readReason(await other.get(`${path}/daemon`))).toEqual({ status: 409, ...refusal });
  });

  it('chats, with its status and the end of a disconnected client', async () => {
    expect((await owner.post(`${path}/suspend`, {})).status).toBe(200);
    await other.reload(configure({}, { enabled: false })); // so that it does not start the intern itself
    await owner.reload(configure({ advertise_url: network.url }));
    await provision();
    await other.reload(configure());

    const reply = await say([says('Hello'), end]);
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(await reply.text()).toMatch(/"content":"Hello"[\s\S]*data: \[DONE\]\n\n$/);

    const abort = new AbortController();
    const long = await say([says('a'), 'hang'], { signal: abort.signal });
    await long.body!.getReader().read();
    const busy = await say([end], { headers: { 'content-type': 'application/json' } });
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([409, '5']);
    abort.abort();
    await expect.poll(async () => (await say([end])).status).toBe(200);
    expect(await readReason(await say(['no event\n']))).toMatchObject({ status: 502, reason: 'intern_rejected' });
    const invoked = await other.post(`${path}/invoke`, { input: JSON.stringify([end]) });
    expect([invoked.status, await invoked.json()]).toMatchObject([202, { status: 'started' }]);
    expect(await (await other.get(`${path}/logs`)).text()).toContain('the runtime is ready');
  });

  it('serves its host name, also as a WebSocket', async () => {
    const daemon = await other.get(`${path}/daemon`);
    const access = (await daemon.json()) as { origin: string; token: string };
    expect(access.origin).toBe(`http://${hostname}:${new URL(other.url).port}`);
    ({ token } = access);
    const authorization = `Bearer ${token}`;
    expect(await visit('/a?b=1', { authorization })).toBe('200 page GET /a?b=1 ');
    expect(await visit('/a', { authorization }, 'body')).toBe('200 page POST /a body');
    const azure = '/openai/deployments/a/responses'; // a path that the gateway itself rewrites
    expect(await visit(azure, { authorization }, 'body')).toBe(`200 page POST ${azure} body`);
    const message = { stream: true, messages: [{ role: 'user', content: JSON.stringify([says('by name'), end]) }] };
    const headers = { authorization, 'content-type': 'application/json' };
    expect(await visit('/chat/completions', headers, JSON.stringify(message))).toContain('by name');

    const socket = connect(Number(new URL(other.url).port), '127.0.0.1');
    const head = `GET /ws HTTP/1.1\r\nhost: ${hostname}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n`;
    socket.write(`${head}authorization: ${authorization}\r\n\r\nping`);
    let received = '';
    socket.on('data', (bytes) => {
      received += String(bytes);
    });
    await vi.waitFor(() => expect(received).toMatch(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\nping$/));
    socket.destroy();
  });

  it('is closed to requests without a key or a token, whatever they say about themselves', async () => {
    for (const forwarded of ['host', 'process']) {
      const headers = { 'x-headgate-forwarded': forwarded };
      expect((await say([end], { key: null, headers })).status).toBe(401);
      expect((await owner.get(path, { key: 'unknown', headers })).status).toBe(401);
      expect(await visit('/', headers)).toMatch(/^401 /);
    }
    const asked = await fetch(`${owner.url}/health`, {
      headers: { 'x-headgate-host-challenge': `${'a'.repeat(32)}.${'b'.repeat(64)}` },
    });
    expect([asked.status, asked.headers.get('x-headgate-host-proof')]).toEqual([200, null]);
  });

  it('is a 502 with Retry-After while its host is unreachable, which ends its streams', async () => {
    const long = await say([says('a'), 'hang']);
    const reader = long.body!.pipeThrough(new TextDecoderStream()).getReader();
    let received = '';
    while (!received.includes('"content":"a"')) received += (await reader.read()).value ?? '[closed]';
    network.cut();
    for (let read = await reader.read(); !read.done; read = await reader.read()) received += read.value;
    expect(received).toMatch(/"finish_reason":"error"[\s\S]*"reason":"stream_severed"[\s\S]*data: \[DONE\]\n\n$/);
    for (const [response, status] of [
      [await say([end]), 502],
      [await other.post(`${path}/invoke`, { input: '[]' }), 502],
      [await other.get(`${path}/logs`), 502],
      [await other.get(`${path}/daemon`), 409],
    ] as const) {
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await readReason(response)).toMatchObject({ status, reason: 'intern_unreachable' });
    }
    expect(await visit('/', { authorization: `Bearer ${token}` })).toMatch(/^502 .*intern_unreachable/);
  });

  it('can be retried after its host has shut down, until it runs on this one', async () => {
    await owner.close();
    const rejections: object[] = [];
    const chat = async () => {
      const reply = await say([says('here'), end]);
      if (reply.status === 200) return reply.text();
      const { reason } = await readReason(reply);
      rejections.push({ reason, canRetry: Number(reply.headers.get('retry-after')) > 0 });
      return '';
    };
    await expect.poll(chat, { timeout: patient(100_000) }).toContain('here');
    const reason = expect.stringMatching(/^(busy|intern_unreachable)$/);
    for (const rejection of rejections) expect(rejection).toEqual({ reason, canRetry: true });
  });
});
