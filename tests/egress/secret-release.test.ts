import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createCertificateAuthority } from '../../src/platform/egress/certificate-authority.ts';
import type { EgressSecrets } from '../../src/platform/egress/egress-secrets.ts';
import { TextMask } from '../../src/platform/egress/mask-texts.ts';
import { listTrustVariables, writeTrustBundle } from '../../src/platform/egress/trust-bundle.ts';
import { type EgressLab, type LabProxy, startEgressLab } from './egress-lab.ts';

const value = 'tok/en-ÄÖ value+1';
const placeholder = `hgsecret_github_token__${'a'.repeat(32)}`;
const lines = `hgsecret_two_lines__${'b'.repeat(32)}`;
const quoted = `hgsecret_quoted__${'d'.repeat(32)}`;
const long = `hgsecret_long__${'e'.repeat(32)}`;
const unknown = `hgsecret_github_token__${'c'.repeat(32)}`;

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

/** Two secrets for api.example.org. */
function createSecrets(fields: Partial<EgressSecrets> = {}): EgressSecrets {
  failures = [];
  values = [];
  const bound = new Map([
    [placeholder, { name: 'github_token', text: value }],
    [lines, { name: 'two_lines', text: 'one\ntwo lines' }],
    [quoted, { name: 'quoted', text: `"${value}"` }], // has another secret in it
    [long, { name: 'long', text: 'x'.repeat(8193) }],
  ]);
  return {
    authority,
    hostAuthorities: lab.certificate,
    onFailure: (error) => void failures.push(error),
    release: {
      isBound: async (host) => host === 'api.example.org',
      async release(host, placeholders) {
        if (host !== 'api.example.org') return [];
        return placeholders.flatMap((wanted) => {
          const found = bound.get(wanted);
          if (!found) return [];
          const bytes = Buffer.from(found.text);
          values.push(bytes);
          return [{ name: found.name, placeholder: wanted, value: bytes }];
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
      request(`${authorize}X-Both: ${placeholder} ${unknown}\r\nAccept-Encoding: gzip\r\n`, {
        path: `/bot${placeholder}/send?key=${placeholder}&other=${unknown}`,
      }),
    );
    expect(answer).toContain('200 OK');
    expect(certificate).toContain('Headgate egress proxy');
    expect(received('authorization')).toBe(`Bearer ${value}`);
    expect(received('x-both')).toBe(`${value} ${unknown}`);
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

  it('is masked in JSON and within a longer one, and a compressed response is refused', async () => {
    await using proxy = await open();
    lab.answer = (incoming, response) => {
      const sent = Buffer.from(String(incoming.headers['x-key']), 'latin1').toString('utf8');
      if (incoming.url === '/gzip') response.setHeader('content-encoding', 'gzip');
      response.end(JSON.stringify({ sent }));
    };
    const headers = `${authorize}X-Key: ${quoted}\r\n`;
    const { answer } = await askTls(proxy, request(headers));
    expect(answer).toContain(`{"sent":"${'*'.repeat(Buffer.byteLength(JSON.stringify(`"${value}"`)) - 2)}"}`);
    expect((await askTls(proxy, request(headers, { path: '/gzip' }))).answer).toMatch(
      /^HTTP\/1\.1 502[\s\S]*compressed/,
    );
  });

  it('is not sent if the vault cannot be read', async () => {
    const fail = async (): Promise<never> => {
      throw new Error('the store is down');
    };
    const isBound = async () => true;
    await using closed = await open({ release: { isBound: fail, release: fail } });
    const refused = await closed.connect('CONNECT api.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n').end();
    expect(refused).toMatch(/^HTTP\/1\.1 503 Service Unavailable[\s\S]*The vault is unavailable/);
    await using half = await open({ release: { isBound, release: fail } });
    expect((await askTls(half, request(authorize))).answer).toMatch(/^HTTP\/1\.1 503/);
    expect(failures).toEqual([new Error('the store is down')]);
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

it('texts are masked however the stream is cut', async () => {
  const whole = 'aab aaab aabaab secret-secret-one secre aa';
  const texts = ['aab', 'secret-one'].map((text) => Buffer.from(text));
  for (let size = 1; size <= whole.length; size++) {
    const mask = new TextMask(texts);
    const masked = readAll(mask);
    for (let at = 0; at < whole.length; at += size) mask.write(whole.slice(at, at + size));
    mask.end();
    expect(await masked).toBe('*** a*** ****** secret-********** secre aa');
  }
});
