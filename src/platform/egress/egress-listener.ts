import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { writeRefusal } from './egress-refusal.ts';
import {
  createProxyCredentials,
  hashPassword,
  isPassword,
  type ProxyCredentials,
  readProxyAuthorization,
} from './proxy-credentials.ts';
import { createProxyServer, type EgressLimits, egressLimits } from './proxy-server.ts';
import { SandboxEgress, type SandboxEgressOptions } from './sandbox-egress.ts';

export interface EgressListenerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Called for clients with invalid credentials, at most once a minute. */
  report?: (rejected: { address: string; count: number }) => void;
  limits?: Partial<ListenerLimits>;
}

export interface ListenerLimits extends EgressLimits {
  /** Connections without credentials at the same time. One more closes the oldest of them. */
  strangers: number;
}

/** The network access of one sandbox through the listener. */
export interface ListenedEgress {
  credentials: ProxyCredentials;
  /** Revokes the credentials and closes all connections of the sandbox. */
  close(): void;
}

const MAX_STRANGERS = 256;
const REPORT_MS = 60_000;
const DENIED = 'This proxy needs the credentials of a sandbox.';
const BUSY = 'The sandbox has too many connections.';
const CHALLENGE = 'Basic realm="headgate"';

/**
 * Serves the sandboxes that cannot open a Unix socket of the gateway, on one TCP address. Each has credentials of its own,
 * and every request outside of a tunnel needs them. A connection belongs to the sandbox of its first request. choice 770
 */
export class EgressListener {
  private readonly limits: ListenerLimits;
  private readonly server: Server;
  private readonly report: EgressListenerOptions['report'];
  /** By username. */
  private readonly sandboxes = new Map<string, { egress: SandboxEgress; hash: Buffer }>();
  /** Connections that have not sent valid credentials, oldest first. */
  private readonly strangers = new Set<Socket>();
  private readonly owners = new WeakMap<Duplex, SandboxEgress>();
  /** Tunnels whose requests are read here. They need no credentials, because their `CONNECT` had them. */
  private readonly tunnels = new WeakSet<Duplex>();
  private rejected = 0;
  private reportedAtMs = -Infinity;

  private constructor({ report, limits }: EgressListenerOptions) {
    this.limits = { strangers: MAX_STRANGERS, ...egressLimits, ...limits };
    this.report = report;
    this.server = createProxyServer(this.limits);
    this.server.on('connection', (socket: Socket) => this.receive(socket));
    this.server.on('request', (request: IncomingMessage, response: ServerResponse) => this.forward(request, response));
    this.server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.tunnel(request, socket, head);
    });
  }

  /** @throws the error of the system, such as `EADDRINUSE` */
  static async open(options: EgressListenerOptions): Promise<EgressListener> {
    const listener = new EgressListener(options);
    const { host, port } = options;
    listener.server.listen({ host, port, exclusive: true });
    await once(listener.server, 'listening');
    return listener;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port; // listens on TCP
  }

  /** Opens the network access of a sandbox. */
  add(options: Omit<SandboxEgressOptions, 'limits'>): ListenedEgress {
    const credentials = createProxyCredentials();
    const egress = new SandboxEgress({ ...options, limits: this.limits }, (connection) => {
      this.tunnels.add(connection);
      this.owners.set(connection, egress);
      this.server.emit('connection', connection);
    });
    this.sandboxes.set(credentials.username, { egress, hash: hashPassword(credentials.password) });
    return {
      credentials,
      close: () => {
        this.sandboxes.delete(credentials.username);
        egress.close();
      },
    };
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const { egress } of this.sandboxes.values()) egress.close();
    this.sandboxes.clear();
    for (const socket of this.strangers) socket.destroy();
    await closed;
  }

  /** Bounds the connections of clients that have not sent credentials. */
  private receive(socket: Socket): void {
    if (this.owners.has(socket)) return; // a tunnel arrives a second time
    const { strangers, limits } = this;
    strangers.add(socket);
    const [oldest] = strangers;
    if (strangers.size > limits.strangers && oldest) {
      strangers.delete(oldest);
      oldest.destroy();
    }
    const timer = setTimeout(() => strangers.has(socket) && socket.destroy(), limits.beginMs);
    socket.on('error', () => {}); // a broken connection ends by itself
    socket.once('close', () => {
      clearTimeout(timer);
      strangers.delete(socket);
    });
  }

  private forward(request: IncomingMessage, response: ServerResponse): void {
    const admitted = this.admit(request);
    if (admitted instanceof SandboxEgress) return void admitted.forward(request, response);
    const { status, message } = admitted;
    const challenge = status === 407 && { 'proxy-authenticate': CHALLENGE };
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close', ...challenge });
    response.end(`${message}\n`);
  }

  private tunnel(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const admitted = this.admit(request);
    if (admitted instanceof SandboxEgress) return void admitted.tunnel(request, socket, head);
    const { status, message } = admitted;
    socket.end(writeRefusal(status, message, status === 407 ? [`Proxy-Authenticate: ${CHALLENGE}`] : []));
  }

  /** @returns the sandbox of a request; or why it is refused */
  private admit({ socket, headersDistinct }: IncomingMessage): SandboxEgress | { status: number; message: string } {
    const owner = this.owners.get(socket);
    if (owner && this.tunnels.has(socket)) return owner;
    const egress = this.authenticate(headersDistinct['proxy-authorization'], socket);
    if (!egress || (owner && owner !== egress)) return { status: 407, message: DENIED };
    if (!egress.admit(socket)) return { status: 503, message: BUSY };
    this.strangers.delete(socket);
    this.owners.set(socket, egress);
    return egress;
  }

  private authenticate(values: string[] | undefined, { remoteAddress }: Socket): SandboxEgress | undefined {
    if (!values) return undefined; // many clients send them only after a 407
    const given = readProxyAuthorization(values);
    const found = this.sandboxes.get(given?.username ?? '');
    const isValid = isPassword(given?.password ?? '', found?.hash);
    if (found && isValid) return found.egress;
    this.rejected++;
    const now = performance.now();
    if (now - this.reportedAtMs < REPORT_MS) return undefined;
    this.report?.({ address: remoteAddress ?? '', count: this.rejected });
    this.rejected = 0;
    this.reportedAtMs = now;
    return undefined;
  }
}
