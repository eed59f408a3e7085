import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createEgress } from '../../src/compose/create-egress.ts';
import { openPodProxies } from '../../src/compose/open-pod-proxies.ts';
import { createCertificateAuthority } from '../../src/platform/egress/certificate-authority.ts';
import { EgressListener, type EgressListenerOptions } from '../../src/platform/egress/egress-listener.ts';
import type { ProxyCredentials } from '../../src/platform/egress/proxy-credentials.ts';
import type { SandboxEgressOptions } from '../../src/platform/egress/sandbox-egress.ts';
import { type EgressLab, noTraffic, startEgressLab, talk } from './egress-lab.ts';

let lab: EgressLab;
let listener: EgressListener;
beforeAll(async () => {
  lab = await startEgressLab();
});
afterAll(async () => await lab[Symbol.asyncDispose]());
afterEach(async () => {
  await listener.close();
  for (const list of [lab.dialed, lab.requests, lab.reports]) list.length = 0;
  Object.assign(lab.counts, noTraffic);
});

const open = async (options: Partial<EgressListenerOptions> = {}): Promise<void> => {
  listener = await EgressListener.open({ host: '127.0.0.1', port: 0, ...options });
};
const add = (allowedDomains: string[], fields: Partial<SandboxEgressOptions> = {}) =>
  listener.add({
    allowedDomains,
    counts: lab.counts,
    connect: lab.outbound.connectTo,
    report: (refusal) => void lab.reports.push(refusal),
    ...fields,
  });
const sign = ({ username, password }: ProxyCredentials): string =>
  `Proxy-Authorization: Basic ${Buffer.from(`${username}:${password}`).toString('base64')}\r\n`;
const get = (host: string, headers: string): string =>
  `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n`;
const tunnel = (target: string, headers: string): string =>
  `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${headers}\r\n`;
const send = (text: string) => talk(listener.port, text);
const CLOSE = 'Connection: close\r\n';
const denied =
  /^HTTP\/1\.1 407 Proxy Authentication Required\r\n[\s\S]*proxy-authenticate: Basic realm="headgate"\r\n/i;

describe('the listener of egress proxies', () => {
  it('serves sandboxes with their own credentials, and each only the hosts of its policy', async () => {
    await open();
    const [a, b] = [add(['a.example.org']), add(['b.example.org'])];
    const answer = await send(get('a.example.org', sign(a.credentials) + CLOSE)).end();
    expect(answer).toMatch(/200 OK[\s\S]*GET a\.example\.org \/$/);
    expect(lab.requests[0]!.headers).not.toHaveProperty('proxy-authorization');
    expect(await send(get('b.example.org', sign(a.credentials) + CLOSE)).end()).toMatch(/^HTTP\/1\.1 403 /);
    expect(await send(get('b.example.org', sign(b.credentials) + CLOSE)).end()).toContain('200 OK');
    expect(await send(tunnel('a.example.org:22', sign(a.credentials))).end()).toContain('Port 22 is closed.');
    expect(lab.counts).toMatchObject({ served: 2, refused: 2 });
  });

  it('serves no client without valid credentials, and reports the invalid ones', async () => {
    const rejected: unknown[] = [];
    await open({ report: (each) => void rejected.push(each) });
    const { credentials } = add(['*']);
    const other = add(['*']).credentials;
    const wrong = [
      { ...credentials, password: other.password },
      { ...credentials, password: '' },
      { ...credentials, username: 'unknown' },
      { username: '', password: '' },
    ];
    const headers = [
      '',
      ...wrong.map(sign),
      sign(credentials) + sign(credentials),
      `Proxy-Authorization: Bearer ${credentials.password}\r\n`,
      `Authorization: Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}\r\n`,
    ];
    for (const header of headers) {
      expect(await send(get('files.example.org', header)).end()).toMatch(denied);
      for (const port of [80, 443]) {
        expect(await send(tunnel(`files.example.org:${port}`, header)).end()).toMatch(denied);
      }
    }
    expect(lab.dialed).toEqual([]);
    expect(rejected).toEqual([{ address: '127.0.0.1', count: 1 }]); // the next one is due after a minute
  });

  it('needs them in every request, and binds a connection to the sandbox of its first', async () => {
    await open();
    const [a, b] = [add(['*']), add(['*'])];
    for (const second of ['', sign(b.credentials)]) {
      const connection = send(get('files.example.org', sign(a.credentials)));
      await connection.expect(/GET files\.example\.org \/$/);
      connection.socket.write(get('files.example.org', second));
      expect(await connection.end()).toContain(' 407 ');
    }
    expect(lab.requests).toHaveLength(2);
  });

  it('needs none in a tunnel, which stays one of its host', async () => {
    await open();
    const { credentials } = add(['files.example.org', 'other.example.org']);
    const plain = send(tunnel('files.example.org:80', sign(credentials)));
    await plain.expect(/ 200 Connection established/);
    plain.socket.write('GET /in HTTP/1.1\r\nHost: files.example.org\r\n\r\n');
    await plain.expect(/GET files\.example\.org \/in$/);
    plain.socket.write(tunnel('other.example.org:80', sign(credentials)));
    expect(await plain.end()).toContain('A tunnel must not contain another tunnel.');

    const opaque = send(tunnel('files.example.org:443', sign(credentials)));
    await opaque.expect(/ 200 Connection established\r\n\r\n/);
    opaque.socket.removeAllListeners('data');
    const secure = connectTls({ socket: opaque.socket, servername: 'files.example.org', ca: lab.certificate });
    secure.end(`GET /tls HTTP/1.1\r\nHost: files.example.org\r\n${CLOSE}\r\n`);
    expect((await secure.setEncoding('utf8').toArray()).join('')).toContain('GET files.example.org /tls');
  });

  it('puts secrets into requests to their host', async () => {
    await open();
    const authority = createCertificateAuthority();
    const placeholder = `hgsecret_token__${'a'.repeat(32)}`;
    const value = 'the-value-of-the-secret';
    const { credentials } = add([], {
      secrets: {
        authority,
        hostAuthorities: lab.certificate,
        onFailure: () => {},
        release: {
          isBound: async (host) => host === 'api.example.org',
          list: async () => [{ placeholder, version: '1' }],
          release: async () => [
            { name: 'token', placeholder, version: '1', locations: ['header'], value: Buffer.from(value) },
          ],
        },
      },
    });
    const opened = send(tunnel('api.example.org:443', sign(credentials)));
    await opened.expect(/ 200 Connection established\r\n\r\n/);
    opened.socket.removeAllListeners('data');
    const trusted = { servername: 'api.example.org', ca: authority.certificate };
    const secure = connectTls({ socket: opened.socket, ...trusted });
    secure.write(`GET / HTTP/1.1\r\nHost: api.example.org\r\nX-Key: ${placeholder}\r\n${CLOSE}\r\n`);
    expect((await secure.setEncoding('utf8').toArray()).join('')).toContain('200 OK');
    expect(lab.requests[0]!.headers['x-key']).toBe(value);
  });

  it('revokes the credentials of a sandbox that ends, and closes its connections', async () => {
    await open();
    const { credentials, close } = add(['*']);
    const idle = send(get('files.example.org', sign(credentials)));
    await idle.expect(/GET files\.example\.org \/$/);
    close();
    await idle.end();
    expect(await send(get('files.example.org', sign(credentials))).end()).toMatch(denied);
  });

  it('bounds the connections of a sandbox, and those of clients without credentials', async () => {
    const limits = { connections: 2, strangers: 3, beginMs: 60_000 };
    await open({ limits });
    const [a, b] = [add(['*']), add(['*'])];
    const held = [1, 2].map(() => send(get('files.example.org', sign(a.credentials))));
    for (const each of held) await each.expect(/GET files\.example\.org \/$/);
    const [third, other] = [
      get('files.example.org', sign(a.credentials)),
      get('files.example.org', sign(b.credentials)),
    ];
    expect(await send(third).end()).toMatch(/^HTTP\/1\.1 503 [\s\S]*too many connections/);
    await send(other).expect(/GET files\.example\.org \/$/);

    const strangers = [send(''), send(''), send('')];
    for (const { socket } of strangers) if (socket.connecting) await once(socket, 'connect');
    await send(other).expect(/GET files\.example\.org \/$/);
    expect(await strangers[0]!.end()).toBe('');
    expect(strangers.slice(1).map(({ socket }) => socket.closed)).toEqual([false, false]);
  });

  it('closes a client that says nothing', async () => {
    await open({ limits: { beginMs: 20 } });
    expect(await send('').end()).toBe('');
  });
});

describe('the proxies of pods', () => {
  it('have a URL with credentials, and the rules of the gateway', async () => {
    await open(); // for afterEach
    const logged: unknown[] = [];
    const log = (...entry: unknown[]): void => void logged.push(entry);
    await using resources = new AsyncDisposableStack();
    const openProxy = await openPodProxies({ host: '127.0.0.1', port: 0, address: '::1', log }, resources);
    const openEgress = createEgress({ outbound: lab.outbound, counts: lab.counts, log, openProxy });
    const { network, close } = await openEgress({ name: 's', workspaceId: 'w', allowedDomains: ['a.example.org'] });
    const url = new URL(network.proxyUrl!);
    expect(url.hostname).toBe('[::1]');
    const ask = async (host: string) => await talk(Number(url.port), get(host, sign(url) + CLOSE)).end();
    expect(await ask('a.example.org')).toContain('200 OK');
    expect(await ask('b.example.org')).toContain('403 Forbidden');
    await close();
    expect(await ask('a.example.org')).toMatch(denied);
    expect(logged).toEqual([
      ['egress refused', expect.objectContaining({ sandbox: 's', host: 'b.example.org' })],
      ['egress client rejected', { address: '127.0.0.1', count: 1 }],
    ]);
    expect(JSON.stringify(logged)).not.toContain(url.password);
  });

  it('name the setting if the address is in use', async () => {
    await open();
    await using resources = new AsyncDisposableStack();
    const taken = { host: '127.0.0.1', port: listener.port, address: '127.0.0.1', log: () => {} };
    await expect(openPodProxies(taken, resources)).rejects.toThrow(
      /cannot listen on 127\.0\.0\.1 port \d+ \(EADDRINUSE\).*tools\.sandbox\.kubernetes\.egress/,
    );
  });
});
