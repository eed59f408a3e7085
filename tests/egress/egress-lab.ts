import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEgressProxy } from '../../src/platform/egress/egress-proxy.ts';
import type { EgressLimits } from '../../src/platform/egress/proxy-server.ts';
import type { EgressCounts, SandboxEgressOptions } from '../../src/platform/egress/sandbox-egress.ts';
import type { EgressSecrets } from '../../src/platform/egress/bound-hosts.ts';
import { createOutbound, type Outbound } from '../../src/platform/outbound/outbound.ts';
import { patient } from '../../src/testing/patience.ts';

/** A public address. Connections to it reach the servers of the lab. */
const PUBLIC = '93.184.216.34';

export const noTraffic: EgressCounts = { served: 0, refused: 0, failed: 0, sentBytes: 0, receivedBytes: 0 };

/** Servers on loopback in the place of public hosts, and egress proxies to them. */
export interface EgressLab extends AsyncDisposable {
  folder: string;
  /** Certificate of the TLS server, for all names of example.org. */
  certificate: string;
  certificateFile: string;
  outbound: Outbound;
  /** Addresses of names, beside `PUBLIC`. Undefined: the name does not exist. */
  addresses: Map<string, readonly string[] | undefined>;
  resolved: string[];
  /** Address and port of each connection. */
  dialed: string[];
  /** All requests that reached a server. */
  requests: IncomingMessage[];
  /** Responds to all requests. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  counts: EgressCounts;
  reports: { host: string; port: number; reason: string }[];
  open(
    allowedDomains: SandboxEgressOptions['allowedDomains'],
    limits?: Partial<EgressLimits>,
    secrets?: EgressSecrets,
  ): Promise<LabProxy>;
}

export interface LabProxy extends AsyncDisposable {
  socketPath: string;
  close(): Promise<void>;
  /** Connects to the proxy, and sends text. */
  connect(text?: string): Talk;
}

export interface Talk {
  socket: Socket;
  /** @returns all that was received, when it matches */
  expect(pattern: RegExp): Promise<string>;
  /** @returns all that was received, when the connection has ended */
  end(): Promise<string>;
}

export async function startEgressLab(): Promise<EgressLab> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-egress-'));
  const [keyFile, certificateFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-keyout', keyFile];
  const subject = ['-subj', '/CN=example.org', '-addext', 'subjectAltName=DNS:example.org,DNS:*.example.org'];
  execFileSync('openssl', ['req', '-x509', ...key, ...subject, '-out', certificateFile], { stdio: 'ignore' });
  const certificate = readFileSync(certificateFile, 'utf8');
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    lab.requests.push(request);
    lab.answer(request, response);
  };
  const plain = createServer(serve);
  const secure = createTlsServer({ key: readFileSync(keyFile), cert: certificate }, serve);
  const ports = new Map([
    [80, await listen(plain)],
    [443, await listen(secure)],
  ]);
  const lab: EgressLab = {
    folder,
    certificate,
    certificateFile,
    addresses: new Map(),
    resolved: [],
    dialed: [],
    requests: [],
    answer: (request, response) => response.end(`${request.method} ${request.headers.host} ${request.url}`),
    counts: { ...noTraffic },
    reports: [],
    outbound: createOutbound({
      settings: () => ({
        allow: [],
        deny: [],
        ports: [80, 443],
        maxBytes: 1,
        timeoutMs: 1,
        idleMs: patient(5000),
        parallel: 1,
      }),
      isOwn: () => false,
      async resolve(name) {
        lab.resolved.push(name);
        const found = lab.addresses.has(name) ? lab.addresses.get(name) : [PUBLIC];
        if (!found) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
        return found;
      },
      async dial(address, port) {
        lab.dialed.push(`${address}:${port}`);
        const socket = connect({ host: '127.0.0.1', port: ports.get(port)! });
        await once(socket, 'connect');
        return socket;
      },
    }),
    async open(allowedDomains, limits = {}, secrets) {
      const socketPath = join(folder, `${count++}.sock`);
      const proxy = await openEgressProxy({
        socketPath,
        allowedDomains,
        limits,
        secrets,
        counts: lab.counts,
        connect: lab.outbound.connectTo,
        report: (refusal) => void lab.reports.push(refusal),
      });
      return {
        socketPath,
        close: () => proxy.close(),
        connect: (text) => talk(socketPath, text),
        [Symbol.asyncDispose]: () => proxy.close(),
      };
    },
    async [Symbol.asyncDispose]() {
      for (const server of [plain, secure]) {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      }
      rmSync(folder, { recursive: true });
    },
  };
  let count = 0;
  return lab;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Connects to a proxy, and sends text. @param to path of a Unix socket, or a port of the loopback */
export function talk(to: string | number, text = ''): Talk {
  const socket = typeof to === 'number' ? connect(to, '127.0.0.1') : connect(to);
  let received = '';
  socket.on('error', () => {}); // `end` shows what was received
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(text);
  return {
    socket,
    async expect(pattern) {
      const changed = (): Promise<unknown> => new Promise((resolve) => socket.once('data', resolve));
      while (!pattern.test(received)) {
        if (socket.closed) throw new Error(`closed after ${JSON.stringify(received)}`);
        await Promise.race([changed(), closed]);
      }
      return received;
    },
    async end() {
      await closed;
      return received;
    },
  };
}
