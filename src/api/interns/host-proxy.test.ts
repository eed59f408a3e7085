import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Intern } from '../../domain/intern.ts';
import type { LiveIntern } from '../../interns/runtime/create-runtime.ts';
import { createOwnerForwarder } from './forward-to-owner.ts';
import { createHostProxy } from './host-proxy.ts';

const hostname = 'scout-0a1b2c3d.interns.test';
const intern = { id: 'i1', status: 'running', hostname, runtimeAddress: 'unix:/none#1' } as Intern; // the read fields
const sign = (purpose: string, text: string): string => Buffer.from(`${purpose} ${text}`).toString('base64url');
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n';
const token = sign('intern-daemon', 'i1 unix:/none#1');

describe('the host name of an intern', () => {
  const seen: IncomingMessage[] = [];
  const upstreams = new Set<Socket>();
  const servers: Server[] = [];
  let agentPort: number;
  let port: number;
  /** Called before a connection to the agent is used. */
  let onConnect = async (): Promise<void> => {};
  const listen = async (server: Server): Promise<number> => {
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');
    return (server.address() as AddressInfo).port; // not a path
  };

  beforeAll(async () => {
    const agent = createServer((request, response) => {
      seen.push(request);
      response.setHeader('set-cookie', ['a=1; Domain=interns.test; Path=/', 'b=2']);
      if (request.url === '/101') return request.socket.write(SWITCH);
      if (request.url === '/99') return request.socket.end('HTTP/1.1 099 No\r\n\r\n');
      if (request.url !== '/silent') response.end(`agent ${request.url}`);
      return response;
    });
    agent.on('upgrade', (request, socket) => {
      seen.push(request);
      if (request.url === '/silent') return socket.resume();
      if (request.url === '/no') return socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno');
      socket.write(`${SWITCH}hello `);
      return socket.pipe(socket);
    });
    agentPort = await listen(agent);
    const running = {
      async connect() {
        const socket = connect(agentPort, '127.0.0.1');
        upstreams.add(socket.on('close', () => upstreams.delete(socket)));
        await once(socket, 'connect');
        await onConnect();
        return socket;
      },
    };
    const proxy = createHostProxy({
      domain: () => 'interns.test',
      sign,
      owners: createOwnerForwarder({ id: 'a', sign }),
      findByHostname: async (name) => (name === hostname ? intern : undefined),
      findLive: () => ({ running }) as unknown as LiveIntern, // no other field is read
    });
    const gateway = createServer((request, response) => void proxy.serve(request, response));
    gateway.on('upgrade', (request, socket, head) => void proxy.upgrade(request, socket, head));
    port = await listen(gateway);
  });
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    for (const socket of upstreams) socket.destroy();
  });

  /** Sends bytes and returns what comes back until the connection ends. */
  async function exchange(lines: string[], until = 'close'): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (bytes) => {
      received += String(bytes);
    });
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    if (until === 'close') await once(socket, 'close');
    else await vi.waitFor(() => expect(received).toContain(until));
    socket.destroy();
    return received;
  }
  const get = (target: string, ...headers: string[]) =>
    exchange([`GET ${target} HTTP/1.1`, `host: ${hostname}`, 'connection: close', ...headers]);

  it('needs the token, whatever the spelling of the name, and rejects other targets than paths', async () => {
    const authorization = `authorization: Bearer ${token}`;
    for (const host of [hostname.toUpperCase(), `${hostname}.`, `${hostname}:8787`]) {
      expect(await exchange(['GET / HTTP/1.1', `host: ${host}`, 'connection: close', authorization])).toContain(
        'agent /',
      );
      expect(await exchange(['GET / HTTP/1.1', `host: ${host}`, 'connection: close'])).toMatch(/^HTTP\/1.1 401/);
    }
    expect(
      await exchange(['GET / HTTP/1.1', 'host: gone-0a1b2c3d.interns.test', 'connection: close', authorization]),
    ).toMatch(/^HTTP\/1.1 401/);
    for (const target of ['http://[', '//.headgate/health', '/a/..//.headgate/health', 'http://other.test/x']) {
      expect(await get(target, authorization), target).toMatch(/^HTTP\/1.1 400/);
    }
    for (const target of ['/.headgate/health', '/%2eheadgate/health', '/a/../.headgate/runs']) {
      expect(await get(target, authorization), target).toMatch(/^HTTP\/1.1 404/);
    }
  });

  it('does not show the token to the agent, and leaves the query as it is', async () => {
    const page = `http://${hostname}/?token=${token}`;
    expect(await get('/a?x=%20y&flag', `authorization: Bearer ${token}`, `referer: ${page}`)).toContain(
      'agent /a?x=%20y&flag',
    );
    expect(await get(`/b?token=${token}&x=1`)).toContain('agent /b?x=1');
    const headers = JSON.stringify(seen.map((request) => [request.url, request.rawHeaders]));
    expect(headers).not.toContain(token);
  });

  it('keeps cookies of an agent at its own name', async () => {
    const page = await get('/', `authorization: Bearer ${token}`);
    expect(page).toContain('set-cookie: a=1; Path=/\r\nset-cookie: b=2\r\n');
  });

  it('frees the connection to an agent when the client disconnects', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /silent HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n\r\n`);
    await vi.waitFor(() => expect(seen.at(-1)?.url).toBe('/silent'));
    socket.destroy();
    await vi.waitFor(() => expect(upstreams.size).toBe(0));
  });

  it.each([
    [],
    ['connection: Upgrade', 'upgrade: websocket'],
  ])('frees it also if the client disconnects before it is used, or a WebSocket before it is accepted', async (...headers) => {
    const lines = [`GET /silent HTTP/1.1`, `host: ${hostname}`, `authorization: Bearer ${token}`, ...headers];
    const reached = Promise.withResolvers<void>();
    for (const isEarly of [true, false]) {
      const socket = connect(port, '127.0.0.1');
      const closed = once(socket, 'close');
      onConnect = async () => {
        if (isEarly) socket.destroy();
        await (isEarly && closed);
        reached.resolve();
      };
      const before = seen.length;
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      await reached.promise;
      if (!isEarly) {
        await vi.waitFor(() => expect(seen.length).toBeGreaterThan(before));
        socket.destroy();
      }
      await vi.waitFor(() => expect(upstreams.size).toBe(0));
    }
    onConnect = async () => {};
  });

  it('is a 502 if the agent switches protocols without a request for it, or its status is none', async () => {
    for (const path of ['/101', '/99']) {
      expect(await get(path, `authorization: Bearer ${token}`), path).toMatch(/^HTTP\/1.1 502 [\s\S]*unreachable/);
    }
  });

  it('frames each body, also if the client calls its length a header of the connection', async () => {
    const before = seen.length;
    const hidden = 'GET /hidden HTTP/1.1\r\nhost: a';
    const length = [`content-length: ${hidden.length + 4}`, 'connection: content-length'];
    await get('/outer', `authorization: Bearer ${token}`, ...length, '', hidden);
    const received = seen.slice(before).map((request) => [request.url, request.headers['transfer-encoding']]);
    expect(received).toEqual([['/outer', 'chunked']]);
  });

  it('passes a WebSocket on, and nothing after an agent has rejected it', async () => {
    const upgrade = (path: string) => [
      `GET ${path} HTTP/1.1`,
      `host: ${hostname}`,
      'connection: Upgrade',
      'upgrade: websocket',
      `authorization: Bearer ${token}`,
    ];
    const accepted = await exchange([...upgrade('/ws'), '', 'ping'], 'hello ping');
    expect(accepted).toMatch(/^HTTP\/1.1 101/);
    const rejected = await exchange([...upgrade('/no'), '', 'GET /.headgate/health HTTP/1.1', 'host: a']);
    expect(rejected).toMatch(/^HTTP\/1.1 404 [\s\S]*connection: close\r\n\r\nno$/);
    expect(seen.map((request) => request.url)).not.toContain('/.headgate/health');
    const anonymous = await exchange(upgrade('/ws').slice(0, -1));
    expect(anonymous).toMatch(/^HTTP\/1.1 401 Unauthorized\r\ncontent-type: application\/json\r\n/);
  });
});
