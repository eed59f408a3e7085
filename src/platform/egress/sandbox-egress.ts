import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { OutboundError } from '../outbound/outbound-error.ts';
import { type BoundHost, BoundHosts, type EgressSecrets } from './bound-hosts.ts';
import { EgressRefusal, explainOutboundError, writeRefusal } from './egress-refusal.ts';
import { forwardRequest, hasRequestBody } from './forward-request.ts';
import { removeHopHeaders } from './hop-headers.ts';
import { compileHostList } from './host-list.ts';
import { type EgressLimits, egressLimits } from './proxy-server.ts';
import { readRequestTarget } from './read-request-target.ts';
import { readTarget, type EgressTarget } from './read-target.ts';
import { readRequestBody } from './request-body.ts';
import { secureUpstream, terminateTls } from './terminate-tls.ts';
import { beginTunnel, joinTunnel } from './tunnel.ts';

/** The traffic of sandboxes, which proxies count up. */
export interface EgressCounts {
  /** Requests and tunnels. */
  served: number;
  refused: number;
  failed: number;
  /** To hosts. */
  sentBytes: number;
  /** From hosts. */
  receivedBytes: number;
}

/** The network access of a sandbox. */
export interface SandboxEgressOptions {
  /** Lower-case host names and globs. `*`: every public host. A function returns another list after a change. */
  allowedDomains: readonly string[] | (() => readonly string[]);
  /** Opens a connection to a checked address. @throws {OutboundError} */
  connect: (host: string, port: number, signal: AbortSignal) => Promise<Socket>;
  counts: EgressCounts;
  /** Called for refusals, at most once for each host and reason, and at most 20 times. */
  report?: (refusal: { host: string; port: number; reason: string }) => void;
  /** Absent: the sandbox has no secrets, and every tunnel to port 443 stays opaque. */
  secrets?: EgressSecrets | undefined;
  limits?: Partial<EgressLimits>;
}

const MAX_REPORTS = 20;
/** Time after which a connection to a host that is no longer allowed is closed. */
const RECHECK_MS = 1000;

/**
 * The network access of one sandbox, behind a server that accepts its connections: it connects to allowed hosts at the ports 80 and
 * 443. At port 443 a client must use TLS with the name of the host. At port 80 it must use HTTP with that name. TLS ends
 * here only for hosts that secrets are bound to.
 *
 * @see docs/guides/sandbox-network.md
 */
export class SandboxEgress {
  private readonly options: SandboxEgressOptions;
  private readonly limits: EgressLimits;
  private readonly enter: (connection: Duplex) => void;
  private allowed: { domains: readonly string[]; has: (host: string) => boolean };
  private readonly bound: BoundHosts | undefined;
  /** Connections of the sandbox. */
  private readonly sockets = new Set<Socket>();
  /** Tunnels to port 80, and those whose TLS ends here. Their requests come to the same server. */
  private readonly openTunnels = new WeakMap<Duplex, EgressTarget>();
  private readonly closing = new AbortController();
  private readonly reported = new Set<string>();
  /** Connections to hosts, and the names of these. */
  private readonly upstreams = new Map<Socket, string>();

  /** @param enter passes a tunnel whose requests are read here to the server, as a connection */
  constructor(options: SandboxEgressOptions, enter: (connection: Duplex) => void) {
    this.options = options;
    this.enter = enter;
    this.limits = { ...egressLimits, ...options.limits };
    this.allowed = this.compileAllowed();
    if (typeof options.allowedDomains === 'function') {
      const timer = setInterval(() => void this.closeForbidden(), RECHECK_MS).unref();
      this.closing.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
    }
    this.bound = options.secrets && new BoundHosts(options.secrets);
  }

  private compileAllowed() {
    const { allowedDomains } = this.options;
    const domains = typeof allowedDomains === 'function' ? allowedDomains() : allowedDomains;
    return this.allowed?.domains === domains ? this.allowed : { domains, has: compileHostList(domains) };
  }

  private isAllowed(host: string): boolean {
    this.allowed = this.compileAllowed();
    return this.allowed.has(host);
  }

  /** Closes connections to hosts that are no longer allowed. */
  private async closeForbidden(): Promise<void> {
    for (const [upstream, host] of this.upstreams) {
      if (this.isAllowed(host)) continue;
      if (!(await this.isBound(host).catch(() => true))) upstream.destroy(); // without its vault, a host may still be bound
    }
  }

  /** Counts a connection of the sandbox. @returns false: it has too many, so this one must be closed */
  admit(socket: Socket): boolean {
    if (this.sockets.has(socket) || this.openTunnels.has(socket)) return true; // a tunnel arrives a second time
    if (this.closing.signal.aborted || this.sockets.size >= this.limits.connections) {
      this.options.counts.refused++;
      return false;
    }
    this.sockets.add(socket);
    socket.on('error', () => {}); // a broken connection ends by itself
    socket.once('close', () => this.sockets.delete(socket));
    return true;
  }

  /** Closes all connections of the sandbox. */
  close(): void {
    this.closing.abort(new Error('the sandbox has ended'));
    for (const socket of this.sockets) socket.destroy();
  }

  /** Serves `CONNECT host:port`. */
  async tunnel(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { counts, connect } = this.options;
    let target: EgressTarget | undefined;
    try {
      if (this.openTunnels.has(socket)) throw new EgressRefusal(400, 'A tunnel must not contain another tunnel.');
      target = await this.check(readTarget(request.url ?? ''));
      if (target.port === 80) {
        this.openTunnels.set(socket, target);
        socket.write(ESTABLISHED);
        socket.unshift(head);
        this.enter(socket);
        return;
      }
      const { secrets } = this.options;
      if (secrets && (await this.isBound(target.host))) return await this.terminate(secrets, target, socket, head);
      const { idleMs, beginMs } = this.limits;
      this.bound?.addUnmasked(target.host, socket);
      const upstream = await this.dial(connect, target, socket);
      this.count(upstream, target);
      socket.write(ESTABLISHED);
      const problem = await joinTunnel(socket, upstream, { head, host: target.host, idleMs, beginMs });
      if (problem === undefined) counts.served++;
      else this.note(target, problem);
    } catch (error) {
      const { status, message } = this.explain(error, target);
      if (socket.writable) socket.end(writeRefusal(status, message));
      else socket.destroy();
    }
  }

  /** Ends the TLS of a tunnel, so that its requests can get secrets. */
  private async terminate(
    { authority }: EgressSecrets,
    target: EgressTarget,
    socket: Socket,
    head: Buffer,
  ): Promise<void> {
    const { host } = target;
    const { beginMs } = this.limits;
    socket.write(ESTABLISHED);
    const begun = await beginTunnel(socket, { head, host, beginMs });
    if (!('first' in begun)) {
      if (begun.problem !== undefined) this.note(target, begun.problem);
      return;
    }
    const secure = await terminateTls(socket, { first: begun.first, context: authority.certify(host), beginMs });
    if ('problem' in secure) {
      if (secure.problem !== undefined) this.note(target, secure.problem);
      return;
    }
    this.openTunnels.set(secure, { ...target, authority: host });
    this.enter(secure);
  }

  /** Serves `GET http://host/…` and the like, and the requests in open tunnels. */
  async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { counts, connect, secrets } = this.options;
    const tunnel = this.openTunnels.get(request.socket);
    let target: EgressTarget | undefined;
    let upstream: Socket | undefined;
    try {
      const { path, isNamed, ...named } = readRequestTarget(request, tunnel);
      target = await this.check(named);
      const { host, authority, port } = target;
      const isSecure = tunnel?.port === 443;
      const bound = isIP(host) === 0 ? await this.bound?.open(host, tunnel ? request.socket : response) : undefined;
      if (!bound) this.bound?.addUnmasked(host, request.socket, response);
      const mayHave = isNamed && (isSecure || port === 80);
      const headers = removeHopHeaders(request.headersDistinct);
      const sent = bound ? await prepareMasked(request, bound, { path, headers, mayHave }) : { path, headers };
      upstream = await this.dial(connect, target, request.socket);
      this.count(upstream, target);
      const { idleMs, headerBytes, beginMs } = this.limits;
      const authorities = secrets?.hostAuthorities;
      if (isSecure) upstream = await secureUpstream(upstream, { host, beginMs, authorities });
      const options = { body: undefined, ...sent, upstream, host: authority, idleMs, headerBytes };
      await forwardRequest(request, response, { ...options, mask: bound && (() => bound.mask) });
      counts.served++;
    } catch (error) {
      const { status, message } = this.explain(error, target);
      upstream?.destroy();
      if (response.headersSent || response.destroyed) return void request.socket.destroy();
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
      response.end(`${message}\n`);
    }
  }

  /** A host that a secret is bound to needs no entry in the allowlist. @throws {EgressRefusal} */
  private async check(target: EgressTarget): Promise<EgressTarget> {
    const { host, port } = target;
    if (port !== 80 && port !== 443) {
      throw new EgressRefusal(403, `Port ${port} is closed. Only the ports 80 and 443 are open.`);
    }
    if (this.isAllowed(host)) return target;
    if (await this.isBound(host)) return target;
    throw new EgressRefusal(403, `${host} is not among the allowed_domains of this container.`, target);
  }

  /** @throws {EgressRefusal} if the vault cannot be read */
  private async isBound(host: string): Promise<boolean> {
    return isIP(host) === 0 && ((await this.bound?.isBound(host)) ?? false);
  }

  private async dial(
    connect: SandboxEgressOptions['connect'],
    { host, port }: EgressTarget,
    client: Socket,
  ): Promise<Socket> {
    const abandoned = new AbortController();
    const abandon = (): void => abandoned.abort(new Error('the client has disconnected'));
    client.once('close', abandon);
    try {
      return await connect(host, port, AbortSignal.any([this.closing.signal, abandoned.signal]));
    } finally {
      client.off('close', abandon);
    }
  }

  private count(upstream: Socket, { host }: EgressTarget): void {
    const { counts } = this.options;
    this.upstreams.set(upstream, host);
    const destroy = (): void => void upstream.destroy();
    this.closing.signal.addEventListener('abort', destroy, { once: true });
    upstream.on('error', () => {}); // both ends of a tunnel, and requests, notice the end
    upstream.once('close', () => {
      this.upstreams.delete(upstream);
      this.closing.signal.removeEventListener('abort', destroy);
      counts.sentBytes += upstream.bytesWritten;
      counts.receivedBytes += upstream.bytesRead;
    });
  }

  private explain(error: unknown, target: EgressTarget | undefined): { status: number; message: string } {
    const { counts } = this.options;
    const refusal =
      error instanceof EgressRefusal
        ? error
        : error instanceof OutboundError && target
          ? explainOutboundError(error, target)
          : new EgressRefusal(502, 'The connection was interrupted.');
    if (refusal.status >= 500) {
      counts.failed++;
      return refusal;
    }
    this.note(refusal.target ?? target, refusal.message);
    return refusal;
  }

  private note(target: EgressTarget | undefined, reason: string): void {
    const { counts, report } = this.options;
    counts.refused++;
    const { host, port } = target ?? { host: '', port: 0 };
    const key = `${host}:${port} ${reason}`;
    if (this.reported.has(key) || this.reported.size >= MAX_REPORTS) return;
    this.reported.add(key);
    report?.({ host, port, reason });
  }
}

/** Headers with which a client could choose pieces that are too short to be masked, or another encoding of texts. */
const unmaskable = ['range', 'if-range', 'request-range', 'x-ms-range', 'accept-charset'];

const removeCharsets = (accept: string): string =>
  accept.replaceAll(/;\s*charset\*?\s*=\s*("(\\.|[^"\\])*"|[^;,]*)/gi, '');

/** Puts secrets into a request whose response is masked. */
async function prepareMasked(
  request: IncomingMessage,
  bound: BoundHost,
  { path, headers, mayHave }: { path: string; headers: Map<string, string[]>; mayHave: boolean },
) {
  const read = mayHave && bound.takesBodies && hasRequestBody(request) ? await readRequestBody(request) : undefined;
  const places = { path, headers, body: read?.isWhole ? read.bytes : undefined };
  const put = mayHave ? await bound.put(places) : { ...places, headers };
  put.headers.set('accept-encoding', ['identity']); // the proxy would decompress the response
  for (const name of unmaskable) put.headers.delete(name);
  const accepted = put.headers.get('accept');
  if (accepted) put.headers.set('accept', accepted.map(removeCharsets));
  return { ...put, body: read && { ...read, bytes: put.body ?? read.bytes } };
}

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n';
