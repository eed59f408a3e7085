import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOutbound } from './outbound.ts';
import type { OutboundError } from './outbound-error.ts';
import { patient } from '../../testing/patience.ts';

/** A server with a certificate for files.example.org, which this process trusts. */
let server: Server;
let port: number;
let pem: string;
let names: (string | false)[] = [];
const trusted = getCACertificates();

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=files.example.org',
    '-addext',
    'subjectAltName=DNS:files.example.org',
    '-keyout',
    key,
    '-out',
    cert,
  ]);
  pem = readFileSync(cert, 'utf8');
  server = createServer({ key: readFileSync(key), cert: pem }, (request, response) => {
    names.push((request.socket as { servername?: string | false }).servername ?? false);
    if (request.url === '/down') response.writeHead(302, { location: 'http://files.example.org/' }).end();
    else response.end(request.headers.host);
  });
  rmSync(folder, { recursive: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  setDefaultCACertificates(trusted);
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  setDefaultCACertificates([...trusted, pem]);
  names = [];
});

const open = (at = port) => {
  const settings = {
    allow: [`127.0.0.1:${at}`],
    deny: [],
    ports: [80, 443],
    maxBytes: 1024,
    timeoutMs: patient(20_000),
    idleMs: 10_000,
    parallel: 8,
  };
  return createOutbound({ settings: () => settings, resolve: async () => ['127.0.0.1'] });
};
const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'fetched',
    (error: OutboundError) => error.reason,
  );

describe('over https', () => {
  it('the certificate must be that of the name, though the connection goes to the address', async () => {
    const { bytes } = await open().fetchUrl(`https://files.example.org:${port}/`);

    expect(bytes.toString()).toBe(`files.example.org:${port}`);
    expect(names).toEqual(['files.example.org']);
  });

  it.each([
    'https://other.example.org',
    'https://127.0.0.1',
  ])('a certificate of another name is rejected: %s', async (url) => {
    expect(await reasonOf(open().fetchUrl(`${url}:${port}/`))).toBe('insecure');
    expect(names).toEqual([]);
  });

  it('a self-signed certificate is rejected', async () => {
    setDefaultCACertificates(trusted);

    expect(await reasonOf(open().fetchUrl(`https://files.example.org:${port}/`))).toBe('insecure');
  });

  it('a redirect from https to http is rejected', async () => {
    expect(await reasonOf(open().fetchUrl(`https://files.example.org:${port}/down`))).toBe('insecure_redirect');
  });

  it.each([
    'resetAndDestroy',
    'destroy',
  ] as const)('a server that disconnects during the handshake is reported (%s)', async (how) => {
    const rude = createTcpServer((socket) => void socket.on('error', () => {}).once('data', () => socket[how]()));
    rude.listen(0, '127.0.0.1');
    await once(rude, 'listening');
    const at = (rude.address() as AddressInfo).port;

    expect(await reasonOf(open(at).fetchUrl(`https://files.example.org:${at}/`))).toBe('insecure');
    rude.close();
  });
});
