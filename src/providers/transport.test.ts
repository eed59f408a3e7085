import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';
import {
  bytes,
  hugeBody,
  json,
  resetBeforeHeaders,
  stallAfter,
  stallBeforeHeaders,
} from '../testing/scripted-responses.ts';
import { pull } from '../testing/pull.ts';
import { type ScriptedUpstream, startUpstream } from '../testing/scripted-upstream.ts';
import { createUpstream, type Upstream, type UpstreamResponse } from './transport.ts';

const timeouts = { connectMs: 20_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 60_000 };
const never = new Cancellation();

let scripted: ScriptedUpstream;
let upstream: Upstream;
beforeEach(async () => {
  scripted = await startUpstream();
  upstream = createUpstream({ name: 'Acme', baseUrl: scripted.url, timeouts });
});
afterEach(async () => {
  await upstream.close(true);
  await scripted.close();
});

const send = (to = upstream, cancellation = never): Promise<UpstreamResponse> =>
  to.send('/chat', ['content-type', 'application/json'], Buffer.from('{"a":1}'), cancellation);

async function readAll(answer: UpstreamResponse): Promise<string> {
  const pieces: Buffer[] = [];
  await answer.each({ write: (batch) => void pieces.push(...batch) });
  answer.release();
  await nextTurn(); // the connection is free again when the turn in which it ended is over
  return Buffer.concat(pieces).toString();
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\nx-a: b\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nHTTP/1.1 100 ';

const timed = (changes: Partial<typeof timeouts>): Upstream =>
  createUpstream({ name: 'Acme', baseUrl: scripted.url, timeouts: { ...timeouts, ...changes } });

describe('the network of a provider', () => {
  it.each([
    ['alone', [CONTINUE, OK]],
    ['twice', [CONTINUE + CONTINUE, OK]],
    ['with the response', [CONTINUE + OK]],
  ])('passes over a 100 Continue that it did not ask for, %s', async (_how, pieces) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', async () => {
        for (const piece of pieces) {
          socket.write(piece);
          await nextTurn();
        }
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const to = createUpstream({
      name: 'Acme',
      timeouts,
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    });

    for (let times = 0; times < 2; times++) {
      const answer = await send(to);
      expect([answer.status, await readAll(answer)]).toEqual([200, 'HTTP/1.1 100 ']);
    }

    await to.close(true);
    server.close();
  });

  it('sends to the path behind the base URL, and keeps its query', async () => {
    scripted.always(json({ ok: true }));
    const azure = createUpstream({ name: 'Acme', baseUrl: `${scripted.url}/deep/?api-version=7`, timeouts });
    const answer = await send(azure);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(await readAll(answer)).toBe('{"ok":true}');
    expect(scripted.requests[0]).toMatchObject({
      method: 'POST',
      path: '/v1/deep/chat?api-version=7',
      text: '{"a":1}',
    });
    await azure.close(true);
  });

  it('reuses a connection whose response was read', async () => {
    scripted.always(json({}));
    for (let count = 0; count < 3; count++) await readAll(await send());
    expect(scripted.connectionCount).toBe(1);
  });

  it('reuses a connection with a short unread response', async () => {
    scripted.always(json({ padding: 'x'.repeat(10_000) }));
    for (let count = 0; count < 3; count++) {
      (await send()).release();
      await scripted.requests.at(-1)!.closed;
      await nextTurn();
    }
    expect(scripted.connectionCount).toBe(1);
  });

  it('drops a connection with a long unread response', async () => {
    scripted.always(hugeBody(1_000_000_000));
    (await send()).release();
    expect(await scripted.requests[0]!.closed).toBe('aborted');
  });

  it('reads no further than somebody takes', async () => {
    scripted.always(hugeBody(1_000_000_000));
    const answer = await send();
    const first = await pull(answer).read();
    expect(Buffer.concat(first!).length).toBeLessThan(1_000_000);
    const client = new Cancellation();
    const second = await send(upstream, client);
    client.cancel(new GatewayError('client_closed', 'The client left.'));
    await expect(readAll(second)).rejects.toThrow('The client left.');
    expect(await scripted.requests[1]!.closed).toBe('aborted');
    expect(scripted.requests[0]!.aborted).toBe(false);
    answer.release();
  });

  it('delivers what has arrived before it reports that the rest is missing', async () => {
    scripted.always(stallAfter(10, json({ padding: 'x'.repeat(100) })));
    const client = new Cancellation();
    const answer = await send(upstream, client);
    const { read } = pull(answer);
    expect(Buffer.concat((await read())!).toString()).toBe('{"padding"');
    client.cancel(new GatewayError('client_closed', 'The client left.'));
    await expect(read()).rejects.toThrow('The client left.');
  });
});

describe('the time limits', () => {
  it('name which of them it was', async () => {
    const late = timed({ firstByteMs: 60 });
    const hasty = timed({ idleMs: 60 });
    scripted.always(stallBeforeHeaders());
    await expect(send(late)).rejects.toMatchObject({
      kind: 'upstream_timeout',
      retryable: true,
      message: 'Acme sent no response within 60 ms.',
    });
    scripted.always(stallAfter(5, json({ padding: 'x' })));
    await expect(send(hasty).then(readAll)).rejects.toThrow(
      'Acme sent nothing for 60 ms in the middle of its response.',
    );
    const brief = timed({ totalMs: 80 });
    await expect(send(brief).then(readAll)).rejects.toThrow('Acme took longer than 80 ms in all.');
    await Promise.all([late, hasty, brief].map((each) => each.close(true)));
  });

  it('are paused while the gateway does not read', async () => {
    const hasty = timed({ idleMs: 60 });
    scripted.always(hugeBody(3_000_000));
    const answer = await send(hasty);
    // Long enough for the limit to pass while the connection is paused.
    const pausedAt = performance.now();
    await vi.waitUntil(() => performance.now() - pausedAt > 150);
    expect((await readAll(answer)).length).toBe(3_000_000);
    await hasty.close(true);
  });

  it('stop at the end of the response', async () => {
    const hasty = timed({ idleMs: 250, totalMs: 500 });
    scripted.always(json({ ok: true }));
    const answer = await send(hasty);
    await scripted.requests[0]!.closed;
    const overAt = performance.now();
    await vi.waitUntil(() => performance.now() - overAt > 700);
    expect(await readAll(answer)).toBe('{"ok":true}');
    await hasty.close(true);
  });
});

describe('a cancellation', () => {
  it('that came already sends nothing', async () => {
    const reason = new GatewayError('client_closed', 'The client left.');
    const client = new Cancellation();
    client.cancel(reason);
    await expect(send(upstream, client)).rejects.toBe(reason);
    expect(scripted.connectionCount).toBe(0);
  });

  it('that comes before the headers gives its reason', async () => {
    scripted.always(stallBeforeHeaders());
    const client = new Cancellation();
    const reason = new GatewayError('client_closed', 'The client left.');
    const asked = send(upstream, client);
    const request = await scripted.nextRequest();
    client.cancel(reason);
    await expect(asked).rejects.toBe(reason);
    expect(await request.closed).toBe('aborted');
  });

  it('is released at the end of the response', async () => {
    scripted.always(json({}));
    const client = new Cancellation();
    const remove = vi.spyOn(client, 'remove');
    await readAll(await send(upstream, client));
    expect(remove).toHaveBeenCalledTimes(1);
  });
});

describe('a connection that was kept', () => {
  it('and reset meanwhile is replaced', async () => {
    scripted.respond(json({ count: 1 }));
    await readAll(await send());
    scripted.respond(resetBeforeHeaders());
    scripted.respond(json({ count: 2 }));
    expect(await readAll(await send())).toBe('{"count":2}');
  });

  it('is replaced once', async () => {
    scripted.respond(json({ count: 1 }));
    await readAll(await send());
    scripted.always(resetBeforeHeaders());
    await expect(send()).rejects.toMatchObject({ kind: 'upstream_failed', retryable: true });
    expect(scripted.requests).toHaveLength(3);
  });

  it('is not replaced when the provider may have done the work, and reset it then', async () => {
    scripted.respond(json({ count: 1 }));
    await readAll(await send());
    const before = scripted.requests.length;
    const now = performance.now.bind(performance);
    let late = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + late);
    scripted.always(() => {
      late = 2000;
      return resetBeforeHeaders();
    });
    await expect(send()).rejects.toMatchObject({ kind: 'upstream_failed', retryable: true });
    expect(scripted.requests.length - before).toBe(1);
    clock.mockRestore();
  });

  it('is not replaced after the first byte of a response', async () => {
    let connections = 0;
    const raw = await listen((socket) => {
      connections++;
      let requests = 0;
      socket.on('data', () => {
        if (++requests === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
        else socket.end('HTTP/1.1 200 O');
      });
    });
    const to = createUpstream({ name: 'Acme', baseUrl: raw.url, timeouts });
    await readAll(await send(to));
    await expect(send(to)).rejects.toThrow('closed the connection before its response was complete');
    expect(connections).toBe(1);
    await to.close(true);
    raw.server.close();
  });
});

// can1357/oh-my-pi#3731
it('says that a certificate is not trusted, and how to trust it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=localhost'];
  execFileSync('openssl', ['req', '-x509', ...made, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const to = createUpstream({ name: 'Acme', baseUrl: `https://127.0.0.1:${port}`, timeouts });
  await expect(send(to)).rejects.toThrow(
    /certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. NODE_EXTRA_CA_CERTS/,
  );
  await to.close(true);
  server.close();
  rmSync(folder, { recursive: true });
});

describe('what is no HTTP', () => {
  it.each([
    ['noise', 'hello\r\n\r\n', /not valid HTTP/],
    ['a strange length', 'HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n', /not valid HTTP/],
    ['half a head', 'HTTP/1.1 200 OK\r\ncontent-', /closed the connection/],
    ['nothing', '', /closed the connection/],
  ])('is a failure: %s', async (_name, text, message) => {
    const raw = await listen((socket) => socket.once('data', () => socket.end(text)));
    const to = createUpstream({ name: 'Acme', baseUrl: raw.url, timeouts });
    await expect(send(to)).rejects.toMatchObject({ kind: 'upstream_failed', message: expect.stringMatching(message) });
    await to.close(true);
    raw.server.close();
  });

  it('is not an interim response', async () => {
    const raw = await listen((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')),
    );
    const to = createUpstream({ name: 'Acme', baseUrl: raw.url, timeouts });
    expect(await readAll(await send(to))).toBe('{}');
    await to.close(true);
    raw.server.close();
  });

  it('reports a closed port, and an unknown host', async () => {
    await scripted.down();
    await expect(send()).rejects.toThrow('Acme cannot be reached (ECONNREFUSED).');
    const nowhere = createUpstream({ name: 'Acme', baseUrl: 'http://headgate.invalid/v1', timeouts });
    await expect(send(nowhere)).rejects.toThrow('its host name does not resolve');
    await nowhere.close(true);
  });
});

it('reads an empty body as the end', async () => {
  scripted.always(bytes('', { status: 204 }));
  const answer = await send();
  expect(answer.status).toBe(204);
  expect(await readAll(answer)).toBe('');
});

async function listen(onConnection: (socket: Socket) => void): Promise<{ server: Server; url: string }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
