import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type EgressLab, type LabProxy, noTraffic, startEgressLab, type Talk } from './egress-lab.ts';

let lab: EgressLab;
let usual: EgressLab['answer'];
beforeAll(async () => {
  lab = await startEgressLab();
  usual = lab.answer;
});
afterAll(async () => await lab[Symbol.asyncDispose]());
afterEach(() => {
  lab.answer = usual;
  lab.addresses.clear();
  for (const list of [lab.resolved, lab.dialed, lab.requests, lab.reports]) list.length = 0;
  Object.assign(lab.counts, noTraffic);
});

const get = (url: string, headers = ''): string =>
  `GET ${url} HTTP/1.1\r\nHost: ignored\r\n${headers}Connection: close\r\n\r\n`;
const connectTo = (target: string): string => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`;
const ask = async (proxy: LabProxy, text: string): Promise<string> => await proxy.connect(text).end();

const closeOf = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => (socket.closed ? resolve(undefined) : socket.once('close', resolve)));

/** Opens a tunnel, and TLS in it. */
async function openTls(proxy: LabProxy, target: string, servername: string): Promise<{ tunnel: Talk; secure: Socket }> {
  const tunnel = proxy.connect(connectTo(target));
  await tunnel.expect(/^HTTP\/1\.1 200 Connection established\r\n\r\n/);
  tunnel.socket.removeAllListeners('data');
  const secure = connectTls({ socket: tunnel.socket, servername, ca: lab.certificate });
  secure.on('error', () => {}); // a test that expects one waits for it
  return { tunnel, secure };
}

describe('requests of the egress proxy', () => {
  it('reach allowed hosts, and have the host of the URL', async () => {
    await using proxy = await lab.open(['files.example.org', '*.pkg.example.org']);
    expect(await ask(proxy, get('http://files.example.org/a?b=c'))).toMatch(
      /200 OK[\s\S]*GET files\.example\.org \/a\?b=c$/,
    );
    expect(await ask(proxy, get('http://FILES.example.org.:80'))).toMatch(/200 OK[\s\S]*GET files\.example\.org \/$/);
    expect(await ask(proxy, get('http://a.b.pkg.example.org/'))).toContain('200 OK');
    expect(lab.dialed).toEqual(Array(3).fill('93.184.216.34:80'));
    expect(lab.counts).toMatchObject({ served: 3, refused: 0, failed: 0 });
    expect(lab.counts.sentBytes).toBeGreaterThan(100);
    expect(lab.counts.receivedBytes).toBeGreaterThan(100);
  });

  it('follow a change of the allowed hosts, also in tunnels that are open', async () => {
    let allowed = ['files.example.org', 'kept.example.org'];
    await using proxy = await lab.open(() => allowed);
    const { tunnel, secure } = await openTls(proxy, 'files.example.org:443', 'files.example.org');
    await once(secure, 'secureConnect');
    const kept = await openTls(proxy, 'kept.example.org:443', 'kept.example.org');
    await once(kept.secure, 'secureConnect');
    allowed = ['kept.example.org'];
    expect(await ask(proxy, get('http://files.example.org/'))).toContain('403 Forbidden');
    await closeOf(tunnel.socket);
    expect(kept.tunnel.socket.closed).toBe(false);
    allowed = ['files.example.org'];
    expect(await ask(proxy, get('http://files.example.org/'))).toContain('200 OK');
    await closeOf(kept.tunnel.socket);
  });

  it.each([
    ['http://example.org/', 'example.org is not among the allowed_domains of this container.'],
    ['http://sub.files.example.org/', 'sub.files.example.org is not among the allowed_domains'],
    ['http://pkg.example.org/', 'pkg.example.org is not among the allowed_domains'],
    ['http://files.example.org:8080/', 'Port 8080 is closed. Only the ports 80 and 443 are open.'],
    ['http://files.example.org:22/', 'Port 22 is closed.'],
    ['http://93.184.216.34/', '93.184.216.34 is not among the allowed_domains'],
  ])('to %s are a 403', async (url, reason) => {
    await using proxy = await lab.open(['files.example.org', '*.pkg.example.org']);
    const { port, hostname } = new URL(url);
    for (const text of [get(url), connectTo(`${hostname}:${port || 443}`)]) {
      const answer = await ask(proxy, text);
      expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
      expect(answer).toContain(reason);
    }
    expect(lab.resolved).toEqual([]);
    expect(lab.dialed).toEqual([]);
    expect(lab.counts).toMatchObject({ served: 0, refused: 2 });
  });

  it.each([
    ['loopback', '127.0.0.1'],
    ['private', '10.1.2.3'],
    ['link-local', '169.254.1.1'],
    ['metadata', '169.254.169.254'],
    ['mapped', '::ffff:127.0.0.1'],
    ['unique local', 'fd00::1'],
  ])('to a %s address are a 403, as the address and as a name', async (_, address) => {
    lab.addresses.set('evil.example.org', [address]);
    lab.addresses.set('mixed.example.org', ['93.184.216.34', address]);
    lab.addresses.set('unknown.example.org', undefined);
    await using proxy = await lab.open(['*']);
    const literal = address.includes(':') ? `[${address}]` : address;
    for (const host of [literal, 'evil.example.org', 'mixed.example.org', 'unknown.example.org']) {
      for (const text of [get(`http://${host}/`), connectTo(`${host}:443`), connectTo(`${host}:80`)]) {
        if (text.startsWith('CONNECT') && text.includes(':80')) {
          const tunnel = proxy.connect(text);
          await tunnel.expect(/ 200 /);
          tunnel.socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
          expect(await tunnel.end()).toContain('was not found, or its address is not public.');
          continue;
        }
        const answer = await ask(proxy, text);
        expect(answer).toMatch(/^HTTP\/1\.1 403 /);
        expect(answer).toContain('was not found, or its address is not public.');
      }
    }
    expect(lab.dialed).toEqual([]);
  });

  it.each([
    'localhost',
    '2130706433',
    '0x7f.1',
    '127.1',
    '017700000001',
    '[::1]',
    'metadata.google.internal',
    'intranet',
  ])('to %s are refused with every host allowed', async (host) => {
    await using proxy = await lab.open(['*']);
    expect(await ask(proxy, get(`http://${host}/`))).toMatch(/^HTTP\/1\.1 403 /);
    expect(await ask(proxy, connectTo(`${host}:443`))).toMatch(/^HTTP\/1\.1 403 /);
    expect(lab.dialed).toEqual([]);
  });

  it('to a public address need every host allowed', async () => {
    await using proxy = await lab.open(['*']);
    expect(await ask(proxy, get('http://93.184.216.34/'))).toContain('GET 93.184.216.34 /');
    expect(await ask(proxy, get('http://[2606:4700::1111]/'))).toContain('GET [2606:4700::1111] /');
  });

  it('connect to the address that was checked', async () => {
    lab.addresses.set('rebinding.example.org', ['93.184.216.34']);
    await using proxy = await lab.open(['rebinding.example.org']);
    await ask(proxy, get('http://rebinding.example.org/'));
    expect(lab.resolved).toEqual(['rebinding.example.org']);
    expect(lab.dialed).toEqual(['93.184.216.34:80']);
  });

  it.each([
    'GET / HTTP/1.1\r\nHost: files.example.org\r\n\r\n',
    'GET https://files.example.org/ HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET ftp://files.example.org/ HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET http://user:password@files.example.org/ HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT files.example.org HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT files.example.org:443:443 HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT files.example.org:99999 HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT http://files.example.org:443/ HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT user@files.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n',
    'CONNECT under_score..org:443 HTTP/1.1\r\nHost: x\r\n\r\n',
    'nonsense\r\n\r\n',
    `GET http://files.example.org/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`,
  ])('of another form are a 400: %j', async (text) => {
    await using proxy = await lab.open(['*']);
    const talk = proxy.connect(text);
    expect(await talk.expect(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 400 /);
    talk.socket.destroy();
    expect(lab.dialed).toEqual([]);
    expect(lab.requests).toEqual([]);
  });

  it('lose the headers that are for one connection, in both directions', async () => {
    lab.answer = (_request, response) => {
      const headers = [
        ['x-kept', 'one'],
        ['x-kept', 'two'],
        ['x-named', 'lost'],
        ['connection', 'x-named'],
        ['proxy-authenticate', 'lost'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ];
      response.writeHead(200, headers.flat());
      response.end('body');
    };
    await using proxy = await lab.open(['*']);
    const answer = await ask(
      proxy,
      'GET http://files.example.org/ HTTP/1.1\r\nHost: other\r\nProxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nX-Mine: kept\r\nX-Named: lost\r\nTE: trailers\r\nUpgrade: websocket\r\nConnection: close, X-Named\r\n\r\n',
    );
    expect(lab.requests[0]!.headers).toEqual({ host: 'files.example.org', 'x-mine': 'kept', connection: 'close' });
    const head = answer.slice(0, answer.indexOf('\r\n\r\n')).toLowerCase();
    expect(head).toContain('x-kept: one\r\nx-kept: two');
    expect(head).toContain('set-cookie: a=1\r\nset-cookie: b=2');
    expect(head).not.toContain('lost');
  });

  it('carry bodies of every kind', async () => {
    lab.answer = (request, response) => {
      void readAll(request).then((body) =>
        response.end(`${request.method} ${body.length} ${JSON.stringify(request.headers)}`),
      );
    };
    await using proxy = await lab.open(['*']);
    const body = 'x'.repeat(300_000);
    const post = (headers: string, sent: string): string =>
      `POST http://files.example.org/ HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n${sent}`;
    expect(await ask(proxy, post(`Content-Length: ${body.length}\r\n`, body))).toContain('POST 300000');
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    expect(await ask(proxy, post('Transfer-Encoding: chunked\r\n', chunk))).toContain('POST 300000');
    const early = proxy.connect(post('Content-Length: 4\r\nExpect: 100-continue\r\n', ''));
    await early.expect(/^HTTP\/1\.1 100 Continue/);
    early.socket.write('body');
    const answer = await early.end();
    expect(answer).toContain('POST 4');
    expect(answer).not.toContain('"expect"');
    expect(await ask(proxy, post('Content-Length: 0\r\n', ''))).toContain('POST 0');
  });

  it('end the connection if the host responds before the end of the body', async () => {
    lab.answer = (_request, response) => void response.writeHead(413, { connection: 'close' }).end('too much');
    await using proxy = await lab.open(['*']);
    const talk = proxy.connect(
      'POST http://files.example.org/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nthe first bytes',
    );
    expect(await talk.end()).toMatch(/^HTTP\/1\.1 413 [\s\S]*too much/);
  });

  it('use a connection of the client again, and a new one to the host', async () => {
    await using proxy = await lab.open(['*']);
    const talk = proxy.connect('GET http://a.example.org/1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await talk.expect(/GET a\.example\.org \/1/);
    talk.socket.write(get('http://b.example.org/2'));
    expect(await talk.end()).toContain('GET b.example.org /2');
    expect(lab.dialed).toHaveLength(2);
  });

  it('are a 502 if the host breaks off before its response, and end with it afterwards', async () => {
    await using proxy = await lab.open(['*']);
    lab.answer = (request) => request.socket.destroy();
    expect(await ask(proxy, get('http://files.example.org/'))).toMatch(/^HTTP\/1\.1 502 [\s\S]*did not respond/);
    lab.answer = (request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => request.socket.destroy());
    };
    const answer = await ask(proxy, get('http://files.example.org/'));
    expect(answer).toMatch(/half$/);
    await expect.poll(() => lab.counts.failed).toBe(2);
  });

  it('end at the host when the client disconnects', async () => {
    await using proxy = await lab.open(['*']);
    const arrived = Promise.withResolvers<Socket>();
    lab.answer = (request) => arrived.resolve(request.socket);
    const talk = proxy.connect(get('http://files.example.org/'));
    const host = await arrived.promise;
    talk.socket.destroy();
    await closeOf(host);
  });
});

describe('tunnels of the egress proxy', () => {
  it('carry TLS with the name of the host', async () => {
    await using proxy = await lab.open(['files.example.org']);
    const { secure } = await openTls(proxy, 'files.example.org:443', 'files.example.org');
    const answer = await new Promise<string>((resolve, reject) => {
      httpRequest(
        { createConnection: () => secure, headers: { host: 'files.example.org' }, path: '/x' },
        (response) => {
          readAll(response).then(resolve, reject);
        },
      ).end();
    });
    expect(answer).toBe('GET files.example.org /x');
    secure.destroy();
    await expect.poll(() => lab.counts.receivedBytes).toBeGreaterThan(500);
  });

  it.each(['other.example.org', 'example.org', ''])('end with an alert if TLS names %j', async (name) => {
    await using proxy = await lab.open(['files.example.org']);
    const { secure } = await openTls(proxy, 'files.example.org:443', name);
    const [error] = (await once(secure, 'error')) as [Error];
    expect(error.message).toMatch(/unrecognized.name/i);
    expect(lab.requests).toEqual([]);
    expect(lab.reports).toEqual([
      { host: 'files.example.org', port: 443, reason: 'The server name of TLS is not that of CONNECT.' },
    ]);
  });

  it.each([
    ['HTTP', 'GET / HTTP/1.1\r\nHost: files.example.org\r\n\r\n'],
    ['SSH', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['TLS that is no greeting', '\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00'],
  ])('end if a client speaks %s', async (_, text) => {
    await using proxy = await lab.open(['files.example.org']);
    const tunnel = proxy.connect(connectTo('files.example.org:443'));
    await tunnel.expect(/ 200 /);
    tunnel.socket.write(Buffer.from(text, 'latin1'));
    expect(await tunnel.end()).toMatch(/established\r\n\r\n$/);
    expect(lab.reports).toMatchObject([{ reason: 'The tunnel is not TLS.' }]);
    expect(lab.counts.sentBytes).toBe(0);
  });

  it('end if a client says nothing, or greets without end', async () => {
    await using proxy = await lab.open(['files.example.org'], { beginMs: 300 });
    for (const text of ['', '\x16\x03\x01\x3f\xff\x01\x00\x3f\xf0']) {
      const tunnel = proxy.connect(connectTo('files.example.org:443'));
      await tunnel.expect(/ 200 /);
      tunnel.socket.write(Buffer.from(text, 'latin1'));
      await tunnel.end();
    }
  });

  it('to port 80 carry HTTP with the name of the host only', async () => {
    await using proxy = await lab.open(['files.example.org']);
    const open = async (): Promise<Talk> => {
      const tunnel = proxy.connect(connectTo('files.example.org:80'));
      await tunnel.expect(/ 200 /);
      return tunnel;
    };
    const good = await open();
    good.socket.write('GET /1 HTTP/1.1\r\nHost: files.example.org\r\n\r\n');
    await good.expect(/GET files\.example\.org \/1/);
    good.socket.write('GET /2 HTTP/1.1\r\nHost: FILES.example.org:80\r\nConnection: close\r\n\r\n');
    expect(await good.end()).toContain('GET files.example.org /2');
    for (const [text, reason] of [
      ['GET / HTTP/1.1\r\nHost: other.example.org\r\n\r\n', 'The Host header must be files.example.org'],
      ['GET / HTTP/1.1\r\nHost: files.example.org:443\r\n\r\n', 'The Host header must be files.example.org'],
      ['GET / HTTP/1.0\r\n\r\n', 'The Host header must be files.example.org'],
      ['GET http://other.example.org/ HTTP/1.1\r\nHost: files.example.org\r\n\r\n', 'needs a path'],
      [
        'CONNECT other.example.org:443 HTTP/1.1\r\nHost: files.example.org\r\n\r\n',
        'A tunnel must not contain another tunnel',
      ],
    ] as const) {
      const bad = await open();
      bad.socket.write(text);
      expect(await bad.end()).toContain(reason);
    }
    const other = await open();
    other.socket.write('SSH-2.0-OpenSSH_9.2\r\n');
    await other.expect(/400 Bad Request/);
    other.socket.destroy();
    expect(lab.requests).toHaveLength(2);
  });

  it('carry what arrives together with the request', async () => {
    await using proxy = await lab.open(['files.example.org']);
    const request = 'GET /at-once HTTP/1.1\r\nHost: files.example.org\r\nConnection: close\r\n\r\n';
    expect(await ask(proxy, connectTo('files.example.org:80') + request)).toContain('/at-once');
  });

  it('to the port 22 and others are closed', async () => {
    await using proxy = await lab.open(['*']);
    for (const port of [1, 22, 25, 53, 8080, 65_535]) {
      expect(await ask(proxy, connectTo(`files.example.org:${port}`))).toContain(`Port ${port} is closed.`);
    }
  });
});

describe('the egress proxy', () => {
  it('has a maximum of connections', async () => {
    await using proxy = await lab.open(['*'], { connections: 2 });
    const held = [proxy.connect(), proxy.connect()];
    await Promise.all(held.map(({ socket }) => once(socket, 'connect')));
    const third = proxy.connect(get('http://files.example.org/'));
    expect(await third.end()).toBe('');
    for (const { socket } of held) socket.destroy();
    await Promise.all(held.map(async (one) => await one.end()));
    await expect.poll(async () => await ask(proxy, get('http://files.example.org/'))).toContain('200 OK');
  });

  it('rejects long headers', async () => {
    await using proxy = await lab.open(['*'], { headerBytes: 2000 });
    const talk = proxy.connect(get('http://files.example.org/', `X-Long: ${'x'.repeat(3000)}\r\n`));
    expect(await talk.expect(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 431 /);
    lab.answer = (_request, response) => response.writeHead(200, { 'x-long': 'x'.repeat(3000) }).end();
    expect(await ask(proxy, get('http://files.example.org/'))).toMatch(/^HTTP\/1\.1 502 /);
  });

  it('closes idle connections', async () => {
    await using proxy = await lab.open(['*'], { idleMs: 300 });
    lab.answer = () => {};
    expect(await ask(proxy, get('http://files.example.org/'))).toMatch(/^(HTTP\/1\.1 502 |$)/);
    const { secure } = await openTls(proxy, 'files.example.org:443', 'files.example.org');
    await closeOf(secure);
  });

  it('closes everything at once, also connections that are being made', async () => {
    const proxy = await lab.open(['*']);
    lab.answer = () => {};
    const plain = proxy.connect(get('http://files.example.org/'));
    const { secure } = await openTls(proxy, 'files.example.org:443', 'files.example.org');
    await once(secure, 'secureConnect');
    await expect.poll(() => lab.requests.length).toBe(1);
    const host = lab.requests[0]!.socket;
    const waiting = Promise.withResolvers<never>();
    const resolving = Promise.withResolvers<void>();
    lab.addresses.get = (name) => {
      if (name === 'slow.example.org') resolving.resolve();
      return waiting.promise as never;
    };
    lab.addresses.has = () => true;
    const slow = proxy.connect(connectTo('slow.example.org:443'));
    await resolving.promise;
    await proxy.close();
    await proxy.close();
    await Promise.all([plain.end(), slow.end(), closeOf(secure), closeOf(host)]);
    Reflect.deleteProperty(lab.addresses, 'get');
    Reflect.deleteProperty(lab.addresses, 'has');
    expect(await proxy.connect().end()).toBe('');
  });

  it('reports each refusal once, without paths, and not without end', async () => {
    await using proxy = await lab.open(['files.example.org']);
    for (let each = 0; each < 3; each++) await ask(proxy, get('http://evil.example.org/secret-path?token=secret'));
    expect(lab.reports).toEqual([
      {
        host: 'evil.example.org',
        port: 80,
        reason: 'evil.example.org is not among the allowed_domains of this container.',
      },
    ]);
    for (let each = 0; each < 30; each++) await ask(proxy, get(`http://${each}.example.org/`));
    expect(lab.reports).toHaveLength(20);
    expect(lab.counts.refused).toBe(33);
  });
});
