import { createServer, type Server } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cancellation } from '../domain/cancellation.ts';
import { json } from '../testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../testing/scripted-upstream.ts';
import { createUpstream, type Upstream } from './transport.ts';

const timeouts = { connectMs: 20_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 60_000 };

let target: ScriptedUpstream;
let proxy: Server;
let seen: { host: string | undefined; authorization: string | undefined }[];
let sockets: Set<Socket>;
let refuses: number | undefined;
let upstream: Upstream | undefined;
beforeEach(async () => {
  target = await startUpstream();
  seen = [];
  sockets = new Set();
  refuses = undefined;
  proxy = createServer();
  proxy.on('connect', (request, client: Socket) => {
    seen.push({ host: request.url, authorization: request.headers['proxy-authorization'] });
    sockets.add(client);
    client.on('error', () => {});
    if (refuses !== undefined) {
      client.end(`HTTP/1.1 ${refuses} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const port = Number(new URL(target.url).port); // whatever host was named
    const server = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      server.pipe(client);
      client.pipe(server);
    });
    sockets.add(server);
    server.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await upstream?.close(true);
  for (const socket of sockets) socket.destroy();
  proxy.close();
  await target.close();
});

function open(baseUrl: string): Upstream {
  const { port } = proxy.address() as AddressInfo;
  upstream = createUpstream({ name: 'Acme', baseUrl, timeouts, proxy: `http://user:p%40ss@127.0.0.1:${port}` });
  return upstream;
}
const send = (to: Upstream) =>
  to.send('/chat', ['content-type', 'application/json'], Buffer.from('{"a":1}'), new Cancellation());

it('requests reach the provider through a tunnel, which is used again', async () => {
  target.always(json({ ok: true }));
  const acme = open('http://api.acme.example:8080/v1');
  for (let round = 0; round < 2; round++) {
    const response = await send(acme);
    expect(response.status).toBe(200);
    await response.each({ write: () => undefined });
    response.release();
    await nextTurn(); // the connection is free again when the turn in which it ended is over
  }
  expect(seen).toEqual([
    { host: 'api.acme.example:8080', authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}` },
  ]);
  expect(target.requests.map(({ headers }) => headers['proxy-authorization'])).toEqual([undefined, undefined]);
  expect(target.requests[0]!.headers.host).toBe('api.acme.example:8080');
});

it('TLS goes through the tunnel to the provider', async () => {
  // The target does not speak TLS, so the handshake fails behind the proxy.
  await expect(send(open('https://api.acme.example/v1'))).rejects.toMatchObject({ kind: 'upstream_failed' });
  expect(seen[0]!.host).toBe('api.acme.example:443');
});

it.each([407, 403, 502])('a proxy that responds with %i is named', async (status) => {
  refuses = status;
  await expect(send(open('http://api.acme.example/v1'))).rejects.toMatchObject({
    kind: 'upstream_failed',
    message: `Acme cannot be reached. The proxy responded to CONNECT with the status ${status}.`,
    retryable: true,
  });
});

it('a proxy that is down is an outage of the provider', async () => {
  const acme = open('http://api.acme.example/v1');
  proxy.close();
  await expect(send(acme)).rejects.toMatchObject({ kind: 'upstream_failed', retryable: true });
});

describe('a proxy that breaks the protocol', () => {
  let broken: TcpServer;
  const respond = async (write: (socket: Socket) => void): Promise<string> => {
    broken = createTcpServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('data', () => write(socket));
    });
    await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(broken.address() as AddressInfo).port}`;
  };
  afterEach(() => broken.close());

  it.each([
    '\xff\xfe',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
  ])('by data after its 200 is an error, once: %j', async (text) => {
    let connections = 0;
    const url = await respond((socket) => {
      connections++;
      socket.write(`HTTP/1.1 200 OK\r\n\r\n${text}`);
    });
    upstream = createUpstream({ name: 'Acme', baseUrl: 'http://api.acme.example/v1', timeouts, proxy: url });
    await expect(send(upstream)).rejects.toMatchObject({ kind: 'upstream_failed' });
    expect(connections).toBe(1);
  });

  it('by a response that comes byte by byte is too slow', async () => {
    const timers = new Set<NodeJS.Timeout>();
    const url = await respond((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx: ');
      const timer = setInterval(() => socket.write('a'), 20);
      timers.add(timer);
      socket.on('close', () => clearInterval(timer));
    });
    const slow = { ...timeouts, connectMs: 300 };
    upstream = createUpstream({ name: 'Acme', baseUrl: 'http://api.acme.example/v1', timeouts: slow, proxy: url });
    await expect(send(upstream)).rejects.toMatchObject({ kind: 'upstream_timeout' });
    for (const timer of timers) clearInterval(timer);
  });
});
