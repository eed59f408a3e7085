import { X509Certificate } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createCertificateAuthority } from '../../src/platform/egress/certificate-authority.ts';
import type { EgressSecrets } from '../../src/platform/egress/bound-hosts.ts';
import type { SecretLocation } from '../../src/domain/secret-location.ts';
import { listTrustVariables, writeTrustBundle } from '../../src/platform/egress/trust-bundle.ts';
import { type EgressLab, type LabProxy, startEgressLab } from './egress-lab.ts';

const value = 'tok/en-ÄÖ value+1';
const placeholder = `hgsecret_github_token__${'a'.repeat(32)}`;
const lines = `hgsecret_two_lines__${'b'.repeat(32)}`;
const quoted = `hgsecret_quoted__${'d'.repeat(32)}`;
const long = `hgsecret_long__${'e'.repeat(32)}`;
const unknown = `hgsecret_github_token__${'c'.repeat(32)}`;
const shy = `hgsecret_shy__${'f'.repeat(32)}`;

let lab: EgressLab;
let usual: EgressLab['answer'];
let failures: unknown[];
let values: Buffer[];
const authority = createCertificateAuthority();
beforeAll(async () => {
  lab = await startEgressLab();
  usual = lab.answer;
});
afterAll(async () => await lab[Symbol.asyncDispose]());
afterEach(() => {
  lab.answer = usual;
  for (const list of [lab.requests, lab.dialed, lab.reports]) list.length = 0;
});

interface LabSecret {
  name: string;
  text: string;
  version?: string;
  locations?: SecretLocation[];
}

const everywhere: SecretLocation[] = ['header', 'path', 'query', 'body'];
/** By their placeholders. */
let bound: Map<string, LabSecret>;

/** Secrets for api.example.org. */
function createSecrets(fields: Partial<EgressSecrets> = {}): EgressSecrets {
  failures = [];
  values = [];
  bound = new Map([
    [placeholder, { name: 'github_token', text: value, locations: everywhere }],
    [lines, { name: 'two_lines', text: 'one\ntwo lines', locations: everywhere }],
    [quoted, { name: 'quoted', text: `"${value}"` }], // has another secret in it
    [long, { name: 'long', text: 'x'.repeat(8193) }],
    [shy, { name: 'shy', text: 'only-in-headers-4711' }],
  ]);
  const isBound = (host: string): boolean => host === 'api.example.org' && bound.size > 0;
  return {
    authority,
    hostAuthorities: lab.certificate,
    onFailure: (error) => void failures.push(error),
    release: {
      isBound: async (host) => isBound(host),
      async list(host) {
        return isBound(host)
          ? [...bound].map(([key, { version = '1' }]) => ({ placeholder: key, version: key + version }))
          : [];
      },
      async release(host, placeholders) {
        if (!isBound(host)) return [];
        return placeholders.flatMap((wanted) => {
          const found = bound.get(wanted);
          if (!found) return [];
          const { name, text, version = '1', locations = ['header'] } = found;
          const bytes = Buffer.from(text);
          values.push(bytes);
          return [{ name, placeholder: wanted, version: wanted + version, locations, value: bytes }];
        });
      },
    },
    ...fields,
  };
}

const open = (fields: Partial<EgressSecrets> = {}): Promise<LabProxy> => lab.open(['*'], {}, createSecrets(fields));

interface TlsOptions extends ConnectionOptions {
  /** Of the tunnel. */
  target?: string;
}

/** Sends text through TLS in a tunnel, and returns the response. */
async function askTls(
  proxy: LabProxy,
  text: string,
  options: TlsOptions = {},
): Promise<{ answer: string; certificate: string }> {
  const { target = 'api.example.org', ...more } = options;
  const tunnel = proxy.connect(`CONNECT ${target}:443 HTTP/1.1\r\nHost: ${target}:443\r\n\r\n`);
  await tunnel.expect(/^HTTP\/1\.1 200 Connection established\r\n\r\n/);
  tunnel.socket.removeAllListeners('data');
  const secure = connectTls({
    socket: tunnel.socket,
    servername: target,
    ca: authority.certificate,
    ALPNProtocols: ['h2', 'http/1.1'],
    ...more,
  });
  return await new Promise((resolve, reject) => {
    secure.once('error', reject);
    secure.once('secureConnect', () => {
      const certificate = new X509Certificate(secure.getPeerCertificate().raw).issuer;
      secure.write(text);
      readAll(secure as Socket).then((answer) => resolve({ answer, certificate }), reject);
    });
  });
}

const request = (headers: string, { path = '/', host = 'api.example.org', close = true } = {}): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers}${close ? 'Connection: close\r\n' : ''}\r\n`;
const authorize = `Authorization: Bearer ${placeholder}\r\n`;
/** The header of the last request that reached a server, as UTF-8. */
const received = (name: string): string | undefined => {
  const found = lab.requests.at(-1)?.headers[name] as string | undefined;
  return found && Buffer.from(found, 'latin1').toString('utf8');
};

describe('a secret', () => {
  it('reaches its host with TLS, in headers, Basic credentials, the path and the query', async () => {
    await using proxy = await open();
    const basic = Buffer.from(`user:${placeholder}`).toString('base64');
    const { answer, certificate } = await askTls(
      proxy,
      request(`${authorize}X-Both-Keys: ${placeholder} ${unknown}\r\nAccept-Encoding: gzip\r\n`, {
        path: `/bot${placeholder}/send?key=${placeholder}&other=${unknown}`,
      }),
    );
    expect(answer).toContain('200 OK');
    expect(certificate).toContain('Headgate egress proxy');
    expect(received('authorization')).toBe(`Bearer ${value}`);
    expect(received('x-both-keys')).toBe(`${value} ${unknown}`);
    expect(received('host')).toBe('api.example.org');
    expect(received('accept-encoding')).toBe('identity');
    const encoded = encodeURIComponent(value);
    expect(lab.requests.at(-1)!.url).toBe(`/bot${encoded}/send?key=${encoded}&other=${unknown}`);
    await askTls(proxy, request(`Authorization: basic ${basic}\r\n`));
    expect(Buffer.from(received('authorization')!.slice(6), 'base64').toString()).toBe(`user:${value}`);
    expect(lab.dialed).toEqual(Array(2).fill('93.184.216.34:443'));
    expect(values.length).toBeGreaterThan(1);
    for (const bytes of values) expect(bytes.every((byte) => byte === 0)).toBe(true);
    expect(lab.reports).toEqual([]);
  });

  it('reaches its host without TLS, also in a tunnel', async () => {
    await using proxy = await open();
    const plain = `GET http://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n${authorize}Connection: close\r\n\r\n`;
    expect(await proxy.connect(plain).end()).toContain('200 OK');
    expect(received('authorization')).toBe(`Bearer ${value}`);
    const tunnel = proxy.connect('CONNECT api.example.org:80 HTTP/1.1\r\nHost: x\r\n\r\n');
    await tunnel.expect(/established\r\n\r\n$/);
    tunnel.socket.write(request(authorize));
    expect(await tunnel.end()).toContain('200 OK');
    expect(received('authorization')).toBe(`Bearer ${value}`);
  });

  it('never reaches another host: that one gets the placeholder, in an opaque tunnel', async () => {
    await using proxy = await open();
    for (const target of ['example.org', 'www.example.org', 'a.api.example.org'.replace('a.api', 'xapi')]) {
      const { certificate } = await askTls(proxy, request(authorize, { host: target }), {
        target,
        ca: lab.certificate,
      });
      expect(certificate).toBe('CN=example.org');
      expect(received('authorization')).toBe(`Bearer ${placeholder}`);
      const plain = `GET http://${target}/?${placeholder} HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n\r\n`;
      await proxy.connect(plain).end();
      expect(lab.requests.at(-1)!.url).toBe(`/?${placeholder}`);
    }
    expect(values).toEqual([]);
  });

  it('opens the way to its host, and to no other one', async () => {
    await using proxy = await lab.open([], {}, createSecrets());
    expect((await askTls(proxy, request(authorize))).answer).toContain('200 OK');
    const refused = await proxy.connect('CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n').end();
    expect(refused).toMatch(/^HTTP\/1\.1 403 Forbidden/);
  });

  it('is not put into a request whose names differ', async () => {
    await using proxy = await open();
    const reach = () => lab.requests.length;
    await expect(
      askTls(proxy, request(authorize), { servername: 'example.org', ca: authority.certificate }),
    ).rejects.toThrow(/unrecognized name/i);
    for (const host of ['example.org', 'api.example.org:80', 'api.example.org.evil.example']) {
      const { answer } = await askTls(proxy, request(authorize, { host }));
      expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden/);
    }
    expect(reach()).toBe(0);
    // Of two requests at once, the second one names another host.
    const both = request(authorize, { close: false }) + request(authorize, { host: 'example.org' });
    const { answer } = await askTls(proxy, both);
    expect(answer).toMatch(/200 OK[\s\S]*403 Forbidden/);
    expect(reach()).toBe(1);
    const plain = `GET http://api.example.org/ HTTP/1.1\r\nHost: example.org\r\n${authorize}Connection: close\r\n\r\n`;
    expect(await proxy.connect(plain).end()).toContain('200 OK');
    expect(received('authorization')).toBe(`Bearer ${placeholder}`);
    expect(received('host')).toBe('api.example.org');
  });

  it('is only put where its locations permit it', async () => {
    await using proxy = await open();
    const refused = async (path: string, location: string) => {
      const { answer } = await askTls(proxy, request('', { path }));
      expect(answer).toMatch(
        new RegExp(`^HTTP/1.1 403 Forbidden[\\s\\S]*The secret shy must not be in the ${location} of`),
      );
    };
    await refused(`/x${shy}?a`, 'path');
    await refused(`/x?a=${shy}&b=?`, 'query');
    expect(lab.requests).toEqual([]);
    bound.set(shy, { name: 'shy', text: 'only-in-queries-4711', version: '2', locations: ['query'] });
    expect((await askTls(proxy, request('', { path: `/?k=${shy}` }))).answer).toContain('200 OK');
    expect(lab.requests.at(-1)!.url).toBe('/?k=only-in-queries-4711');
    await refused(`/${shy}`, 'path');
    const { answer } = await askTls(proxy, request(`X-Key: ${shy}\r\n`));
    expect(answer).toContain('must not be in the header x-key of');
  });

  it('is only put into headers that carry credentials, and those that it names', async () => {
    await using proxy = await open();
    const others =
      'X-Original-URL X-Rewrite-URL Destination Cookie Slug x-amz-meta-token Referer X-Forwarded-Auth Link X-Id';
    for (const name of others.split(' ')) {
      const { answer } = await askTls(proxy, request(`${name}: ${shy}\r\n`));
      expect(answer, name).toMatch(/^HTTP\/1\.1 403/);
      const text = `The secret shy must not be in the header ${name.toLowerCase()} of a request. The field \`locations\``;
      expect(answer).toContain(text);
    }
    expect(lab.requests).toEqual([]);
    for (const name of ['Authorization', 'X-Api-Key', 'PRIVATE-TOKEN', 'X-Client-Secret', 'X-Auth', 'X-Signature']) {
      await askTls(proxy, request(`${name}: ${shy}\r\n`));
      expect(received(name.toLowerCase())).toBe('only-in-headers-4711');
    }
    bound.set(shy, { name: 'shy', text: 'only-in-cookies-4711', version: '2', locations: ['header:cookie'] });
    await askTls(proxy, request(`Cookie: a=${shy}\r\n`));
    expect(received('cookie')).toBe('a=only-in-cookies-4711');
    expect((await askTls(proxy, request(`X-Key: ${shy}\r\n`))).answer).toContain('must not be in the header x-key of');
  });

  it('reaches a body if its locations permit it, with the encoding of the content', async () => {
    await using proxy = await open();
    const bodies: string[] = [];
    lab.answer = (incoming, response) => {
      void readAll(incoming).then((text) => {
        bodies.push(text);
        response.end('ok');
      });
    };
    const post = async (headers: string, body: string) => {
      const head = `POST /x HTTP/1.1\r\nHost: api.example.org\r\n${headers}Connection: close\r\n\r\n`;
      expect((await askTls(proxy, head + body)).answer).toContain('200 OK');
      return bodies.at(-1);
    };
    const send = (type: string, body: string) =>
      post(`Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`, body);
    bound.set(quoted, { name: 'quoted', text: `"${value}"`, version: '2', locations: ['body'] });
    expect(await send('application/json; charset=utf-8', `{"a":"${quoted}","b":"ä ${shy}"}`)).toBe(
      JSON.stringify({ a: `"${value}"`, b: `ä ${shy}` }),
    );
    expect(lab.requests.at(-1)!.headers['content-length']).toBe(String(Buffer.byteLength(bodies.at(-1)!)));
    expect(await send('application/x-www-form-urlencoded', `a=${quoted}&b=${unknown}`)).toBe(
      `a=${encodeURIComponent(`"${value}"`)}&b=${unknown}`,
    );
    expect(await send('text/plain', `${lines} ${quoted}`)).toBe(`one\ntwo lines "${value}"`);
    const chunked = `${(quoted.length + 1).toString(16)}\r\n-${quoted}\r\n0\r\n\r\n`;
    expect(await post('Transfer-Encoding: chunked\r\n', chunked)).toBe(`-"${value}"`);
    expect(await send('text/plain', '')).toBe('');
    // A long or a compressed body passes unchanged.
    const filler = 'x'.repeat(300_000);
    expect(await send('text/plain', filler + quoted)).toBe(filler + quoted);
    const piece = `${filler.length.toString(16)}\r\n${filler}\r\n`;
    expect(await post('Transfer-Encoding: chunked\r\n', piece + chunked)).toBe(`${filler}-${quoted}`);
    expect(await post(`Content-Encoding: gzip\r\nContent-Length: ${quoted.length}\r\n`, quoted)).toBe(quoted);
    // Without permission, no body is read.
    for (const [key, secret] of bound) bound.set(key, { ...secret, version: '3', locations: ['header'] });
    expect(await send('text/plain', quoted)).toBe(quoted);
  });

  it('is not sent to a host whose certificate is not valid', async () => {
    await using proxy = await open({ hostAuthorities: authority.certificate });
    const { answer } = await askTls(proxy, request(authorize));
    expect(answer).toMatch(/^HTTP\/1\.1 502 Bad Gateway[\s\S]*certificate that is not valid/);
    expect(lab.requests).toEqual([]);
  });

  it('that cannot be in a header, or is one of too many, is a 400 without the value', async () => {
    await using proxy = await open();
    const { answer } = await askTls(proxy, request(`X-Key: ${lines}\r\n`));
    expect(answer).toMatch(/400 Bad Request[\s\S]*The secret two_lines has control characters/);
    const many = Array.from({ length: 21 }, (_, at) => `hgsecret_a${at}__${'a'.repeat(32)}`).join();
    expect((await askTls(proxy, request(`X-Key: ${many}\r\n`))).answer).toContain('at most 20');
    expect((await askTls(proxy, request(`X-Key: ${long}\r\n`))).answer).toContain('more than 8192 bytes');
    expect(lab.requests).toEqual([]);
    await askTls(proxy, request('', { path: `/?key=${lines}` }));
    expect(lab.requests.at(-1)!.url).toBe('/?key=one%0Atwo%20lines');
  });

  it('is masked in the response, wherever the host repeats it', async () => {
    await using proxy = await open();
    lab.answer = (incoming, response) => {
      const sent = Buffer.from(incoming.headers.authorization!, 'latin1').subarray(7);
      response.setHeader('x-echo', sent.toString('latin1'));
      response.write(Buffer.concat([Buffer.from('<'), sent.subarray(0, 5)]));
      setImmediate(() => response.end(Buffer.concat([sent.subarray(5), Buffer.from(`> ${incoming.url} tok/en`)])));
    };
    const { answer } = await askTls(proxy, request(authorize, { path: `/?${placeholder}` }));
    const stars = '*'.repeat(Buffer.byteLength(value));
    expect(answer).toContain(`x-echo: ${stars}`);
    expect(answer).not.toContain('en-');
    const [, body = ''] = answer.split('\r\n\r\n');
    const text = body.replaceAll(/[\da-f]+\r\n|\r\n/g, '');
    expect(text).toContain(`<${stars}> /?${'*'.repeat(encodeURIComponent(value).length)} tok/en`);
  });

  it('is masked in JSON and within a longer one', async () => {
    await using proxy = await open();
    lab.answer = (incoming, response) => {
      response.end(JSON.stringify({ sent: Buffer.from(String(incoming.headers['x-key']), 'latin1').toString('utf8') }));
    };
    const { answer } = await askTls(proxy, request(`${authorize}X-Key: ${quoted}\r\n`));
    expect(answer).toContain(`{"sent":"${'*'.repeat(Buffer.byteLength(JSON.stringify(`"${value}"`)) - 2)}"}`);
  });

  it('is masked in a response to a request without it, in the status, in names, trailers and all pieces', async () => {
    await using proxy = await open();
    const stored = 'only-in-headers-4711';
    const stars = '*'.repeat(stored.length);
    lab.answer = (incoming, response) => {
      response.writeEarlyHints({ link: `<${stored}>; rel=preload` });
      response.writeHead(200, stored, [`x-${stored}`, '1', 'x-a', stored, 'x-a', `b${stored}`, 'trailer', 'x-end']);
      for (const letter of `${incoming.url} ${stored} ${Buffer.from(`u:${stored}`).toString('base64')}.`) {
        response.write(letter);
      }
      response.addTrailers({ 'x-end': stored });
      response.end();
    };
    for (const ask of [
      async () => (await askTls(proxy, request(''))).answer,
      async () =>
        proxy.connect(`GET http://api.example.org/ HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n`).end(),
    ]) {
      const answer = await ask();
      expect(answer).toContain(`HTTP/1.1 200 ${stars}\r\n`);
      expect(answer).toContain(`x-${stars}: 1\r\nx-a: ${stars}\r\nx-a: b${stars}\r\n`);
      const [, body = ''] = answer.split('\r\n\r\n');
      expect(body.replaceAll(/[\da-f]+\r\n|\r\n/g, '')).toMatch(/^\/ \*{20} d[\w*]{2,4}\*{26}[\w*]{0,2}=*\./);
      expect(answer).not.toContain('4711');
    }
  });

  it('does not come back in a WebSocket', async () => {
    await using proxy = await open();
    lab.answer = (_, response) => {
      const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
      response.socket!.end(`${head}only-in-headers-4711`);
    };
    const headers = 'Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    const { answer } = await askTls(proxy, request(headers).replace('close', 'Upgrade, close'));
    expect(answer).toMatch(/^HTTP\/1\.1 502/);
    expect(received('upgrade')).toBeUndefined();
    expect(answer).not.toContain('4711');
  });

  it('is masked if the host shortens it, and ranges are not requested', async () => {
    await using proxy = await open();
    lab.answer = (_, response) => response.end(`{"note":"${'only-in-headers-4711'.slice(0, 19)}","n":1}`);
    const { answer } = await askTls(proxy, request('Range: bytes=0-3\r\nIf-Range: "a"\r\n'));
    expect(answer).toContain(`{"note":"${'*'.repeat(19)}","n":1}`);
    expect(received('range')).toBeUndefined();
    expect(received('if-range')).toBeUndefined();
  });

  it('is not shown in an encoding that the agent or the host chooses', async () => {
    await using proxy = await open();
    const text = 'a only-in-headers-4711 b';
    const accept = 'text/plain;charset=UTF-16LE;q=0.9, text/html; Charset="utf-7", */*;q=0.1';
    lab.answer = (_, response) => response.end(Buffer.from(`\ufeff${text}`, 'utf16le'));
    const { answer } = await askTls(proxy, request(`Accept: ${accept}\r\n`));
    expect(received('accept')).toBe('text/plain;q=0.9, text/html, */*;q=0.1');
    expect(answer.replaceAll('\0', '')).toMatch(/a \*{39} b/);
    for (const charset of ['UTF-16LE', 'utf16', '"utf-32"', 'UTF_7', 'ebcdic-us', 'IBM037', 'ucs-2', 'cp500']) {
      lab.answer = (_, response) => response.writeHead(200, { 'content-type': `a/b; Charset=${charset}` }).end(text);
      expect((await askTls(proxy, request(''))).answer).toMatch(
        /^HTTP\/1\.1 502[\s\S]*api\.example\.org responded in the encoding [\w-]+, in which secrets cannot be masked\./,
      );
    }
    for (const charset of ['utf-8', 'iso-8859-1', 'windows-1252', 'Shift_JIS', 'cp1252', 'us-ascii']) {
      lab.answer = (_, response) => response.writeHead(200, { 'content-type': `a/b; charset=${charset}` }).end(text);
      expect((await askTls(proxy, request(''))).answer).toContain(`a ${'*'.repeat(20)} b`);
    }
  });

  it('is masked in a compressed response, which reaches the client without compression', async () => {
    await using proxy = await open();
    const text = `a ${'only-in-headers-4711 '.repeat(500)}`;
    const codings: Record<string, Buffer> = {
      gzip: gzipSync(text),
      'x-gzip': gzipSync(text),
      deflate: deflateSync(text),
      br: brotliCompressSync(text),
      zstd: zstdCompressSync(text),
      'gzip, br': brotliCompressSync(gzipSync(text)),
    };
    let reply = (_: ServerResponse): void => {};
    lab.answer = (_, response) => reply(response);
    for (const [coding, bytes] of Object.entries(codings)) {
      reply = (response) =>
        response.writeHead(200, { 'content-encoding': coding, 'content-length': bytes.length }).end(bytes);
      const { answer } = await askTls(proxy, request('Accept-Encoding: gzip\r\n'));
      expect(answer).not.toMatch(/content-(encoding|length)/);
      expect(answer, coding).toContain(`a ${`${'*'.repeat(20)} `.repeat(50)}`);
      expect(answer.replaceAll(/[\da-f]+\r\n|\r\n/g, '').match(/\*{20}/g)).toHaveLength(500);
      expect(answer).not.toContain('4711');
      const head = await askTls(proxy, request('').replace('GET', 'HEAD'));
      expect(head.answer).toContain('200 OK');
    }
    for (const headers of [
      { 'content-encoding': 'compress' },
      { 'content-encoding': 'gzip, gzip, gzip' },
      { 'transfer-encoding': 'gzip, chunked' },
    ]) {
      reply = (response) => response.writeHead(200, headers).end(gzipSync(text));
      expect((await askTls(proxy, request(''))).answer).toMatch(/^HTTP\/1\.1 502[\s\S]*compressed/);
    }
    // A body that is damaged, or grows without end, is interrupted.
    for (const bytes of [Buffer.from('not gzip'), gzipSync(Buffer.alloc(20_000_000))]) {
      reply = (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bytes);
      const { answer } = await askTls(proxy, request(''));
      expect(answer).not.toMatch(/\r\n0\r\n\r\n$/);
      expect(answer.length).toBeLessThan(5_000_000);
    }
  });

  it('is masked in a stream that began before it was stored', async () => {
    await using proxy = await open();
    let stream: ServerResponse | undefined;
    lab.answer = (incoming, response) => {
      if (incoming.url === '/stream') {
        stream = response;
        response.write('begin;');
      } else response.end('ok');
    };
    const tunnel = proxy.connect('CONNECT api.example.org:80 HTTP/1.1\r\nHost: x\r\n\r\n');
    await tunnel.expect(/established\r\n\r\n$/);
    tunnel.socket.write(request('', { path: '/stream' }));
    await tunnel.expect(/begin/);
    bound.set(shy, { name: 'shy', text: 'a-newer-value-0815', version: '2' });
    await askTls(proxy, request(`X-Key: ${shy}\r\n`));
    expect(received('x-key')).toBe('a-newer-value-0815');
    stream!.end('a-newer-value-0815.');
    expect(await tunnel.end()).toContain(`${'*'.repeat(18)}.`);
  });

  it('closes connections that were opened to its host when none was bound to it', async () => {
    await using proxy = await open();
    const secrets = bound;
    bound = new Map();
    lab.answer = (incoming, response) => {
      if (incoming.url === '/stream') response.write('begin;');
      else response.end('ok');
    };
    const opaque = proxy.connect('CONNECT api.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    await opaque.expect(/established\r\n\r\n$/);
    const plain = proxy.connect('GET http://api.example.org/stream HTTP/1.1\r\nHost: api.example.org\r\n\r\n');
    await plain.expect(/begin/);
    bound = secrets;
    expect((await askTls(proxy, request(authorize))).answer).toContain('200 OK');
    await Promise.all([opaque.end(), plain.end()]);
  });

  it('that is replaced while it is released is masked with its new value', async () => {
    const secrets = createSecrets();
    const { release } = secrets.release;
    let releases = 0;
    secrets.release.release = async (host, placeholders) => {
      // The first call opens all values for the mask.
      if (++releases === 2) bound.set(shy, { name: 'shy', text: 'a-newer-value-0815', version: '2' });
      return release(host, placeholders);
    };
    await using proxy = await lab.open(['*'], {}, secrets);
    lab.answer = (incoming, response) => response.end(`[${incoming.headers['x-key']}]`);
    const { answer } = await askTls(proxy, request(`X-Key: ${shy}\r\n`));
    expect(received('x-key')).toBe('a-newer-value-0815');
    expect(answer).toContain(`[${'*'.repeat(18)}]`);
    expect(releases).toBe(4);
  });

  it('is in memory only while a connection uses its host', async () => {
    await using proxy = await open();
    const tunnel = proxy.connect('CONNECT api.example.org:80 HTTP/1.1\r\nHost: x\r\n\r\n');
    await tunnel.expect(/established\r\n\r\n$/);
    tunnel.socket.write(request('', { close: false }));
    await tunnel.expect(/200 OK/);
    expect(values).toHaveLength(bound.size);
    tunnel.socket.write(request('', { path: '/second' }));
    expect(await tunnel.end()).toContain('/second');
    expect(values).toHaveLength(bound.size); // one connection reads them once
    await askTls(proxy, request(''));
    expect(values).toHaveLength(2 * bound.size);
    for (const bytes of values) expect(bytes.every((byte) => byte === 0)).toBe(true);
  });

  it('has a limit with the others of its host', async () => {
    await using proxy = await open();
    for (let at = 0; at < 17; at++) {
      bound.set(`hgsecret_a${at}__${'a'.repeat(32)}`, { name: `a${at}`, text: String(at).repeat(8192).slice(0, 8192) });
    }
    expect((await askTls(proxy, request(''))).answer).toMatch(/^HTTP\/1\.1 403[\s\S]*more than 131072 bytes/);
    expect(lab.requests).toEqual([]);
  });

  it('is never put into requests to the gateway', async () => {
    await using proxy = await open({ ownHost: 'api.example.org' });
    const plain = `GET http://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n${authorize}Connection: close\r\n\r\n`;
    expect(await proxy.connect(plain).end()).toContain('200 OK');
    expect(received('authorization')).toBe(`Bearer ${placeholder}`);
    expect(values).toEqual([]);
  });

  it('is not sent if the vault cannot be read', async () => {
    const fail = async (): Promise<never> => {
      throw new Error('the store is down');
    };
    const isBound = async () => true;
    await using closed = await open({ release: { isBound: fail, list: fail, release: fail } });
    const refused = await closed.connect('CONNECT api.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n').end();
    expect(refused).toMatch(/^HTTP\/1\.1 503 Service Unavailable[\s\S]*The vault is unavailable/);
    await using half = await open({ release: { isBound, list: fail, release: fail } });
    for (const headers of [authorize, '']) {
      expect((await askTls(half, request(headers))).answer).toMatch(/^HTTP\/1\.1 503/);
    }
    expect(failures).toEqual(Array(2).fill(new Error('the store is down')));
    expect(lab.requests).toEqual([]);
  });
});

it('a TLS handshake that fails is reported', async () => {
  await using proxy = await open();
  const options = { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA256' } as const; // not for the kind of its key
  await expect(askTls(proxy, request(authorize), options)).rejects.toThrow();
  await expect.poll(() => lab.reports).toHaveLength(1);
  expect(lab.reports[0]!.reason).toMatch(/^The TLS handshake failed \(ERR_SSL_\w+\)\. Programs must trust/);
});

it('certificates name one host each, and are renewed', () => {
  let now = Date.UTC(2049, 11, 20);
  const own = createCertificateAuthority(() => now);
  const root = new X509Certificate(own.certificate);
  expect(root.ca).toBe(true);
  expect(root.verify(root.publicKey)).toBe(true);
  expect(root.validToDate.getUTCFullYear()).toBe(2059);
  const context = own.certify('a.example');
  expect(own.certify('a.example')).toBe(context);
  now += 16 * 86_400_000;
  expect(own.certify('a.example')).not.toBe(context);
});

it('programs in a sandbox trust the public authorities and the proxy', () => {
  const bundle = writeTrustBundle(authority);
  expect(bundle.match(/BEGIN CERTIFICATE/g)!.length).toBeGreaterThan(50);
  expect(bundle).toContain(authority.certificate.trim());
  expect(listTrustVariables('/x/ca.pem')).toMatchObject({
    SSL_CERT_FILE: '/x/ca.pem',
    NODE_EXTRA_CA_CERTS: '/x/ca.pem',
  });
});
