import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks'; // the global is a getter
import { WebSocket, WebSocketServer } from 'ws';
import { GatewayError } from '../../../domain/errors.ts';
import { endUpgrade, takeUpgrade } from '../../../http/upgrades.ts';
import type { Route } from '../../../http/routes.ts';
import { ChainStore } from './chain.ts';
import { closeCodes, Connection, type ConnectionParts, shuttingDown } from './connection.ts';
import { writeSocketError } from './errors.ts';

/** Milliseconds. 0: never. */
export interface SocketTimes {
  /** Interval of pings. A client that does not react within two of them has disconnected. */
  pingMs: number;
  /** Time without a response after which a WebSocket is closed. */
  idleMs: number;
  /** Age after which a WebSocket is closed. */
  lifetimeMs: number;
}

export interface SocketParts extends Pick<ConnectionParts, 'isDraining' | 'bodies' | 'bodyLimit'> {
  times: () => SocketTimes;
}

/** The WebSockets for responses of this process. */
export interface ResponseSockets {
  /** `GET /responses`. */
  open: Route['handler'];
  /** Sets the function that routes requests. */
  onRouting: (route: ConnectionParts['route']) => void;
  /** Closes each WebSocket after its current responses. */
  drain(): void;
  /** Resolves when all WebSockets are closed. Those that are still open after `limitMs` are terminated. */
  close(limitMs: number): Promise<void>;
}

/** Maximum and minimum milliseconds between two looks at the WebSockets. */
const MAX_TICK_MS = 15_000;
const MIN_TICK_MS = 10;

export function createResponseSockets({ times, ...parts }: SocketParts): ResponseSockets {
  const chains = new ChainStore(() => parts.bodies.limit);
  const connections = new Set<Connection>();
  let route: ConnectionParts['route'];
  let timer: NodeJS.Timeout | undefined;
  let pingedAt = 0;
  /** Called when the last WebSocket is closed. */
  let emptied: (() => void) | undefined;
  const server = createUpgrader(parts.bodyLimit);
  const requestIds = new WeakMap<IncomingMessage, string>();
  server.on('headers', (headers, request) => {
    const id = requestIds.get(request);
    if (id !== undefined) headers.push(`X-Request-Id: ${id}`);
  });

  function look(): void {
    const now = performance.now();
    const { pingMs, idleMs, lifetimeMs } = times();
    const isPing = pingMs > 0 && now - pingedAt >= pingMs;
    if (isPing) pingedAt = now;
    for (const connection of connections) {
      if (lifetimeMs > 0 && now - connection.openedAt >= lifetimeMs) {
        connection.end(tooOld(lifetimeMs), closeCodes.normal);
      } else if (idleMs > 0 && connection.isIdle && now - connection.idleSince >= idleMs) {
        connection.end(tooIdle(idleMs), closeCodes.normal);
      } else if (isPing) connection.check(now - 2 * pingMs);
    }
    schedule();
  }

  function schedule(): void {
    clearTimeout(timer);
    timer = undefined;
    if (connections.size === 0) return;
    const { pingMs, idleMs, lifetimeMs } = times();
    const shortest = Math.min(...[pingMs, idleMs, lifetimeMs].filter((ms) => ms > 0), 2 * MAX_TICK_MS);
    timer = setTimeout(look, Math.max(shortest / 2, MIN_TICK_MS)).unref();
  }

  function add(connection: Connection, webSocket: WebSocket): void {
    connections.add(connection);
    if (!timer) schedule();
    webSocket.on('close', () => {
      connections.delete(connection);
      if (connections.size === 0) emptied?.();
    });
  }

  return {
    onRouting(routed) {
      route = routed;
    },
    async open(request, reply) {
      const { raw, originalUrl: url } = request; // clients of Azure name the model in it
      const upgrade = takeUpgrade(raw);
      if (!upgrade) {
        reply.header('upgrade', 'websocket');
        throw new GatewayError(
          'upgrade_required',
          '/api/v1/responses has a WebSocket with GET. Open one, or use POST, with `stream: true` for events.',
        );
      }
      const version = raw.headers['sec-websocket-version'];
      if (version !== '13' && version !== '8') {
        reply.header('upgrade', 'websocket').header('sec-websocket-version', '13, 8');
        throw new GatewayError('upgrade_required', 'Sec-WebSocket-Version is not supported; use 13.');
      }
      reply.hijack();
      requestIds.set(raw, request.id);
      const { socket, head } = upgrade;
      const { headers } = raw;
      server.handleUpgrade(raw, socket, head, (webSocket) => {
        const opened = { webSocket, socket, url, headers: headersOfRequests(headers) };
        add(new Connection({ ...parts, chains, route }, opened), webSocket);
      });
      endUpgrade(reply.raw, upgrade);
    },
    drain() {
      for (const connection of connections) connection.end(shuttingDown(), closeCodes.goingAway);
    },
    async close(limitMs) {
      this.drain();
      if (connections.size > 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        emptied = resolve;
        const limit = setTimeout(resolve, limitMs);
        await promise;
        clearTimeout(limit);
      }
      for (const connection of connections) connection.terminate();
      clearTimeout(timer);
    },
  };
}

/** Upgrades connections. No compression: it would take more memory for each WebSocket than everything else. */
function createUpgrader({ bytes, source }: ConnectionParts['bodyLimit']): WebSocketServer {
  const says = `The message is larger than ${bytes} bytes (${source}).`;
  const tooLarge = JSON.stringify(writeSocketError(new GatewayError('payload_too_large', says)).body);
  class ClientSocket extends WebSocket {
    override close(code?: number, reason?: string | Buffer): void {
      if (code === closeCodes.tooBig && this.readyState === this.OPEN) this.send(tooLarge);
      super.close(code, reason);
    }
  }
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: bytes,
    handleProtocols: () => false,
    WebSocket: ClientSocket,
  });
}

/** Headers of the upgrade that its requests do not have. */
const upgradeHeaders: ReadonlySet<string> = new Set([
  'connection',
  'upgrade',
  'expect',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'x-request-id',
]);

/** Returns the headers of the requests of a WebSocket. Each gets its own id. */
const headersOfRequests = (headers: IncomingHttpHeaders): IncomingHttpHeaders => ({
  ...Object.fromEntries(
    Object.entries(headers).filter(([name]) => !upgradeHeaders.has(name) && !name.startsWith('sec-websocket-')),
  ),
  'content-type': 'application/json',
});

const tooOld = (lifetimeMs: number): GatewayError =>
  new GatewayError(
    'connection_limit_reached',
    `Responses websocket connection limit reached (${Math.round(lifetimeMs / 60_000)} minutes, server.socket_lifetime_ms). Create a new websocket connection to continue.`,
  );

const tooIdle = (idleMs: number): GatewayError =>
  new GatewayError(
    'connection_limit_reached',
    `The WebSocket had no response for ${idleMs} ms (server.socket_idle_ms). Open a new one to continue.`,
  );
