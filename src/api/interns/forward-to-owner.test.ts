import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTextSigner } from '../../access/sign-text.ts';
import type { Intern } from '../../domain/intern.ts';
import { writeInternChatError } from './chat-failure.ts';
import { createOwnerForwarder } from './forward-to-owner.ts';
import { proveOwnHost, createHostChallenge, HOST_PROOF, HOST_CHALLENGE, hashHost } from './host-proof.ts';
import { readOwnerAddress, writeOwnerAddress } from './owner-address.ts';

const sign = createTextSigner(Buffer.from('the master key of all hosts here'));
const [front, back] = ['front', 'back'].map((name) => ({ id: hashHost(name, '/data'), sign }));

describe('a request for an intern that another process runs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-owner-'));
  const socketPath = join(folder, 'owner.sock');
  const servers: Server[] = [];
  const received: string[] = [];
  /** `runtimeAddress` of the intern. */
  let address: string | null;
  let owners = createOwnerForwarder(front!);
  let url: string;
  let hostUrl: string;
  let hostProves: typeof proveOwnHost = proveOwnHost;
  let serveChunks: (response: ServerResponse) => void = () => {};
  let onEndless: (value?: unknown) => void = () => {};

  const serve = async (listener: RequestListener, at: string | number): Promise<Server> => {
    const server = createServer(listener);
    servers.push(typeof at === 'number' ? server.listen(at, '127.0.0.1') : server.listen(at));
    await once(server, 'listening');
    return server;
  };
  const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const own = async (at: string | number) => {
    const server = await serve(async (request, response) => {
      const proof = hostProves(back!, request.headers[HOST_CHALLENGE]);
      if (proof !== undefined) return response.writeHead(200, { [HOST_PROOF]: proof }).end('{}');
      received.push(`${request.method} ${request.url}`);
      if (request.url === '/chat') return serveChunks(response);
      if (request.url === '/endless') return response.once('close', onEndless).write('first');
      response.writeHead(202, { 'x-owner': 'yes', 'x-hop': String(request.headers['x-headgate-forwarded']) });
      return response.end(
        `${request.method} ${request.url} ${request.headers.host} ${request.headers.authorization} ${await text(request)}`,
      );
    }, at);
    server.on('upgrade', ({ url: path }, socket) => {
      if (path === '/no') return void socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno');
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\nhi ');
      socket.pipe(socket);
    });
    return server;
  };

  beforeAll(async () => {
    await own(socketPath);
    hostUrl = urlOf(await own(0));
    const intern = () => ({ runtimeAddress: address }) as Intern; // only this field is read
    const gateway = await serve(async (request, response) => {
      const body = request.url === '/read' ? Buffer.from(await text(request)) : undefined;
      owners.forward(intern(), { request, response, body, isChat: request.url === '/chat' }).catch((error) => {
        const { status, headers, body } = writeInternChatError(error);
        response.writeHead(status, headers).end(JSON.stringify(body));
      });
    }, 0);
    gateway.on('upgrade', (request, socket, head) => {
      owners.upgrade(intern(), { request, socket, head }).catch(() => socket.end('failed'));
    });
    url = urlOf(gateway);
  });
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(folder, { recursive: true });
  });

  const ofProcess = () => `${writeOwnerAddress(front!, socketPath, undefined)}#start`;
  const ofHost = (at: string | undefined = hostUrl) => `${writeOwnerAddress(back!, socketPath, at)}#start`;
  const readFailure = async (response: Response) => {
    const { error } = (await response.json()) as { error: { message: string; metadata: object } };
    return [response.status, error.metadata, response.headers.get('retry-after')];
  };

  it.each([
    ['the same host', ofProcess, 'process'],
    ['another host', ofHost, 'host'],
  ])('reaches the process of %s with its body and its headers', async (_, write, hop) => {
    address = write();
    const headers = { authorization: 'Bearer a', connection: 'close' };
    const response = await fetch(`${url}/chat?b=1`, { method: 'POST', body: 'body', headers });
    expect([response.status, response.headers.get('x-owner'), response.headers.get('x-hop')]).toEqual([
      202,
      'yes',
      hop,
    ]);
    expect(await response.text()).toBe(`POST /chat?b=1 ${new URL(url).host} Bearer a body`);
  });

  it.each([
    ['a body without a length', '/piped', { 'transfer-encoding': 'chunked' }],
    ['a body without a length that is read before', '/read', { 'transfer-encoding': 'chunked' }],
    ['a length that the client calls a header of the connection', '/piped', { connection: 'content-length' }],
  ])('has %s', async (_, path, headers) => {
    address = ofHost();
    received.length = 0;
    const body = 'GET /hidden HTTP/1.1\r\nhost: a\r\n\r\n';
    const length = 'connection' in headers && { 'content-length': body.length };
    const sent = httpRequest(url + path, { method: 'DELETE', headers: { ...headers, ...length } }).end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(await text(response)).toBe(`DELETE ${path} ${new URL(url).host} undefined ${body}`);
    expect(received).toEqual([`DELETE ${path}`]);
  });

  it.each([
    ['the same host', ofProcess],
    ['another host', ofHost],
  ])('of %s can be a WebSocket, and nothing follows one that is rejected', async (_, write) => {
    address = write();
    const open = (path: string) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`);
      return socket;
    };
    const socket = open('/ws');
    let said = '';
    socket.on('data', (bytes) => {
      said += String(bytes);
      if (said.endsWith('hi ')) socket.end('there');
    });
    await once(socket, 'close');
    expect(said).toMatch(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\nhi there$/);
    expect(await text(open('/no'))).toMatch(/^HTTP\/1\.1 404 [\s\S]*no$/);
  });

  it('to chat ends with an error if the owner ends during the stream, or is stopped', async () => {
    address = ofHost();
    const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' };
    const hello = `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { content: 'ä' } }] })}\n\n`;
    const read = async (...pieces: (string | Buffer)[]): Promise<string> => {
      serveChunks = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const piece of pieces) response.write(piece);
        setImmediate(() => response.destroy());
      };
      return (await fetch(`${url}/chat`)).text();
    };
    const [first, second, ...rest] = (await read(Buffer.from(hello), hello.slice(0, 20))).split('\n\n');
    expect(`${first}\n\n`).toBe(hello);
    const error = { code: 502, message: expect.any(String), metadata: { reason: 'stream_severed', retryable: true } };
    expect(JSON.parse(second!.slice(6))).toEqual({
      ...chunk,
      choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
      error,
    });
    expect(JSON.parse(rest[0]!.slice(6))).toEqual({ ...chunk, choices: [], session_id: null, usage: null });
    expect(rest.slice(1)).toEqual(['data: [DONE]', '']);
    owners = createOwnerForwarder(front!, 50);
    serveChunks = (response) => response.write(hello);
    expect(await (await fetch(`${url}/chat`)).text()).toMatch(/"content":"ä"[\s\S]*stream_severed[\s\S]*\[DONE\]\n\n$/);
    serveChunks = () => {};
    const silent = [502, { reason: 'intern_unreachable', retryable: true }, '20'];
    expect(await readFailure(await fetch(`${url}/chat`))).toEqual(silent);
    owners = createOwnerForwarder(front!);
    const whole = `${hello}data: [DONE]\n\n`;
    expect(await read(whole)).toBe(whole);
    expect(await read(...whole)).toBe(whole);
  });

  it('ends at the owner when the client disconnects', async () => {
    address = ofHost();
    const closed = new Promise((resolve) => (onEndless = resolve));
    const abort = new AbortController();
    const response = await fetch(`${url}/endless`, { signal: abort.signal });
    await response.body!.getReader().read();
    abort.abort();
    await closed;
  });

  it('makes one step between hosts and one within a host', async () => {
    const send = (hop: string) => fetch(url, { headers: { 'x-headgate-forwarded': hop } });
    address = ofProcess();
    expect((await send('host')).status).toBe(202);
    const starting = [503, { reason: 'busy', retryable: true }, '5'];
    expect(await readFailure(await send('process'))).toEqual(starting);
    address = ofHost();
    for (const hop of ['host', 'process', 'x']) expect(await readFailure(await send(hop))).toEqual(starting);
  });

  it('is a 503 with Retry-After while the intern is started again', async () => {
    const starting = [503, { reason: 'busy', retryable: true }, '5'];
    const gone = `${writeOwnerAddress(front!, join(folder, 'gone.sock'), undefined)}#start`;
    for (const each of [null, gone, 'unix:/tmp/old#start']) {
      address = each;
      expect(await readFailure(await fetch(url))).toEqual(starting);
    }
  });

  it('is a 503 that names the setting if the owner has no address', async () => {
    address = `${writeOwnerAddress(back!, socketPath, undefined)}#start`;
    const response = await fetch(url);
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({
      error: {
        code: 503,
        message: expect.stringContaining('server.advertise_url'),
        type: 'provider_overloaded',
        param: null,
        metadata: { reason: 'intern_unreachable', retryable: true },
      },
    });
  });

  it('is a 502 if the owner does not respond, and goes to no server that is not the owner', async () => {
    const lost = [502, { reason: 'intern_unreachable', retryable: true }, '20'];
    address = ofHost('http://127.0.0.1:9');
    expect(await readFailure(await fetch(url))).toEqual(lost);
    address = ofHost();
    received.length = 0;
    const other = { id: hashHost('other', '/data'), sign };
    const switcher = await serve(({ socket }) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    }, 0);
    address = ofHost(urlOf(switcher));
    expect(await readFailure(await fetch(url))).toEqual(lost);
    address = ofHost();
    const strangers: (typeof proveOwnHost)[] = [() => 'x', () => undefined, (_, sent) => proveOwnHost(other, sent)];
    for (const proof of strangers) {
      hostProves = proof;
      expect(await readFailure(await fetch(`${url}/secret`, { headers: { authorization: 'Bearer key' } }))).toEqual(
        lost,
      );
    }
    hostProves = proveOwnHost;
    expect(received.filter((line) => line.includes('secret'))).toEqual([]);
  });
});

describe('a host', () => {
  const stranger = { id: back!.id, sign: createTextSigner(Buffer.from('the master key of someone else..')) };

  it('proves itself to hosts with its master key only', () => {
    const challenge = createHostChallenge(front!);
    const proof = proveOwnHost(back!, challenge.text);
    expect(challenge.isProvenBy(back!.id, proof)).toBe(true);
    expect(challenge.isProvenBy(front!.id, proof)).toBe(false);
    expect(createHostChallenge(front!).isProvenBy(back!.id, proof)).toBe(false);
    expect(challenge.isProvenBy(back!.id, proveOwnHost(stranger, createHostChallenge(stranger).text))).toBe(false);
    expect(proveOwnHost(back!, createHostChallenge(stranger).text)).toBeUndefined();
    for (const sent of ['', 'x', challenge.text.slice(1), undefined, ['a']]) {
      expect(proveOwnHost(back!, sent)).toBeUndefined();
    }
  });

  it('trusts addresses that a host with its master key has written', () => {
    const written = writeOwnerAddress(back!, '/tmp/a b&c#.sock', 'http://10.0.0.5:8787');
    const read = { hostId: back!.id, socketPath: '/tmp/a b&c#.sock', url: 'http://10.0.0.5:8787' };
    expect(readOwnerAddress(front!, `${written}#0a1b`)).toEqual(read);
    expect(readOwnerAddress(front!, written.replace('10.0.0.5', '10.0.0.6'))).toBeUndefined();
    expect(readOwnerAddress(stranger, written)).toBeUndefined();
    expect(readOwnerAddress(front!, 'one/1')).toBeUndefined();
  });
});
