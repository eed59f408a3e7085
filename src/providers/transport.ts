import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import type { CancelListener, Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';
import type { Sink } from '../domain/sink.ts';
import { skipContinue } from './skip-continue.ts';
import { buildTunnel, PROXY_REFUSED } from './tunnel.ts';
import { type UpstreamBody, createUpstreamBody, type FlowControl } from './upstream-body.ts';

/** Time limits of one attempt, in milliseconds. */
export interface UpstreamTimeouts {
  connectMs: number;
  /** From the sent request to the headers of the response. */
  firstByteMs: number;
  /** Maximum between two pieces of the body. */
  idleMs: number;
  /** For the complete exchange, even if data keeps arriving. */
  totalMs: number;
}

export interface UpstreamOptions {
  /** For messages: the display name of the provider. */
  name: string;
  baseUrl: string;
  timeouts: UpstreamTimeouts;
  /** The URL of an HTTP proxy, through which a tunnel is opened. */
  proxy?: string | undefined;
}

/** The network of one provider: a pool of keep-alive connections to its origin. Never follows a redirect. */
export interface Upstream {
  /**
   * Sends a request and waits for the headers of its response.
   *
   * @param headers flat list of names and values
   * @param body a stream is sent as it arrives, and never twice
   * @throws {GatewayError} `upstream_failed` or `upstream_timeout`, or the reason of the cancellation
   */
  send(
    path: string,
    headers: readonly string[],
    body: Buffer | Readable,
    cancellation: Cancellation,
    how?: SendOptions,
  ): Promise<UpstreamResponse>;
  /** Waits for the requests in flight. `now` cancels them instead. */
  close(now: boolean): Promise<void>;
}

export interface SendOptions {
  /** Absent: POST. Others are sent without a body. */
  method?: 'GET' | 'POST' | 'DELETE';
  /** Replaces the provider's limit, for responses that take longer. */
  firstByteMs?: number;
  /** Called when a connection begins to write the request. */
  onSent?: () => void;
}

export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /**
   * Writes the body to a sink, in batches of all that has arrived since the last one. Call it once.
   *
   * @returns a promise that resolves at the regular end, or if the response is released before it
   * @throws {GatewayError} if the body is interrupted, stalls or is cancelled; and the errors of the sink
   */
  each(sink: Sink<Buffer>): Promise<void>;
  /** Ends the reading. Discards a short remainder, so that the connection can be reused, or closes the connection. */
  release(): void;
}

/** Maximum number of bytes that `release` discards to keep a connection. For more, a new connection is cheaper. */
const RELEASE_BYTES = 64 * 1024;
const RELEASE_MS = 2000;

/**
 * A server that had closed a connection resets it within a round trip. After a longer time, it may have done the work.
 */
const STALE_MS = 1000;

const noOptions: SendOptions = {};

export function createUpstream(options: UpstreamOptions): Upstream {
  const { timeouts, name } = options;
  const url = new URL(options.baseUrl);
  const prefix = url.pathname.replace(/\/+$/, '');
  const query = url.search;
  const stale = createStaleCheck(
    options.proxy === undefined
      ? buildConnector({ allowH2: false, timeout: timeouts.connectMs })
      : buildTunnel(new URL(options.proxy), timeouts.connectMs),
  );
  const pool = new Pool(url.origin, {
    allowH2: false,
    pipelining: 1,
    connect: stale.connect,
    // undici's own limits are up to a second late. `Exchange` enforces ours.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
  });

  return {
    send(path, headers, body, cancellation, how = noOptions) {
      const { method = 'POST', firstByteMs, onSent } = how;
      const request = {
        path: prefix + path + query,
        method,
        headers: headers as string[],
        body: method === 'POST' ? body : null,
      };
      const limits = firstByteMs === undefined ? timeouts : { ...timeouts, firstByteMs };
      const first = new Exchange(name, limits, cancellation, onSent);
      return first.dispatch(pool, request).catch((error: unknown) => {
        // The provider had just closed a keep-alive connection. Send the request once more, on a new one.
        if (
          !Buffer.isBuffer(body) ||
          !first.networkError ||
          first.waitedMs > STALE_MS ||
          !stale.wasStale(first.networkError)
        )
          throw error;
        return new Exchange(name, limits, cancellation, onSent).dispatch(pool, request);
      });
    },
    close: (now) => (now ? pool.destroy() : pool.close()),
  };
}

/**
 * One request and its response: undici's handler, the response for the pipeline, and the timer for both. A class,
 * because each request has one and an instance costs far less than a set of closures.
 */
class Exchange implements Dispatcher.DispatchHandler, UpstreamResponse, FlowControl, CancelListener {
  status = 0;
  headers: UpstreamResponse['headers'] = {};
  /** The network failure before the first byte of a response; undefined if the gateway stopped the request. */
  networkError: Error | undefined;
  /** Milliseconds from the sent request to that failure. */
  waitedMs = 0;
  private sentAt = 0;
  private readonly name: string;
  private readonly timeouts: UpstreamTimeouts;
  private readonly cancellation: Cancellation;
  private readonly onSent: SendOptions['onSent'];
  private totalAt: number;
  private pausedAt: number | undefined;
  private waitsUntil: number;
  private firesAt: number;
  private timer: NodeJS.Timeout;
  private body: UpstreamBody | undefined;
  private controller: Dispatcher.DispatchController | undefined;
  private stopped: Error | undefined;
  private hasResponse = false;
  private isOver = false;
  private releasedBytes: number | undefined;
  private resolve: ((response: UpstreamResponse) => void) | undefined;
  private reject: ((reason: unknown) => void) | undefined;

  constructor(name: string, timeouts: UpstreamTimeouts, cancellation: Cancellation, onSent: SendOptions['onSent']) {
    this.name = name;
    this.onSent = onSent;
    this.timeouts = timeouts;
    this.cancellation = cancellation;
    const now = performance.now();
    this.totalAt = now + timeouts.totalMs;
    this.waitsUntil = Number.POSITIVE_INFINITY; // the connector limits the wait for a connection
    // One timer for all limits, set to the earliest one. When it fires, it is reset unless a limit has passed.
    const nearestMs = Math.min(timeouts.totalMs, timeouts.firstByteMs, timeouts.idleMs);
    this.firesAt = now + nearestMs;
    this.timer = setTimeout(checkLimits, nearestMs, this);
    cancellation.add(this);
  }

  /** @throws {GatewayError} */
  dispatch(pool: Pool, request: Dispatcher.DispatchOptions): Promise<UpstreamResponse> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      if (this.cancellation.reason) this.stop(this.cancellation.reason);
      else {
        try {
          pool.dispatch(request, this);
        } catch (error) {
          this.settle();
          reject(error);
        }
      }
    });
  }

  cancelled(reason: GatewayError): void {
    this.stop(reason);
    this.body?.cut(reason); // not after the sink: the client may never read again
  }

  // --- called by undici ---

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    this.sentAt = performance.now();
    if (this.stopped) controller.abort(this.stopped);
    else {
      this.onSent?.();
      this.waitFor(this.timeouts.firstByteMs);
    }
  }

  onResponseStarted(): void {
    this.hasResponse = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: UpstreamResponse['headers'],
  ): void {
    controller.rawHeaders = null; // undici would keep them until the end of the response
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    this.body = createUpstreamBody(headers['content-encoding'], this.name, this);
    this.waitFor(this.timeouts.idleMs);
    this.resolve?.(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.releasedBytes === undefined) {
      // one time for all pieces of a network read: a provider may send each event in its own chunk
      if (!controller.paused && !this.body?.isDue) this.waitsUntil = performance.now() + this.timeouts.idleMs;
      this.body?.push(piece);
      return;
    }
    this.releasedBytes += piece.length;
    if (this.releasedBytes > RELEASE_BYTES) controller.abort(new Error('released'));
  }

  onResponseEnd(): void {
    this.settle();
    this.body?.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.settle();
    if (!this.stopped && !this.hasResponse) {
      this.networkError = error;
      this.waitedMs = performance.now() - this.sentAt;
    }
    const reason = this.stopped ?? readNetworkError(error, this.name, this.timeouts);
    this.body?.fail(reason);
    this.reject?.(reason);
  }

  // --- called by the pipeline ---

  each(sink: Sink<Buffer>): Promise<void> {
    return this.body!.each(sink); // a response has a body
  }

  release(): void {
    this.body?.discard();
    if (this.isOver || this.releasedBytes !== undefined) return;
    this.releasedBytes = 0;
    this.controller?.resume();
    this.waitFor(RELEASE_MS);
  }

  /** Pauses the connection because too much is unread. No limit applies while the client is slow. */
  pause(): void {
    this.waitsUntil = Number.POSITIVE_INFINITY;
    this.pausedAt ??= performance.now();
    this.controller?.pause();
  }

  resume(): void {
    if (this.pausedAt !== undefined) {
      this.totalAt += performance.now() - this.pausedAt; // a slow client does not count against the provider
      this.pausedAt = undefined;
    }
    if (this.isOver || this.releasedBytes !== undefined) return;
    this.waitFor(this.timeouts.idleMs);
    this.controller?.resume();
  }

  // --- time limits ---

  private waitFor(ms: number): void {
    this.waitsUntil = performance.now() + ms;
    if (this.waitsUntil < this.firesAt) this.setTimer();
  }

  /** Stops the exchange if a limit has passed; otherwise sets the timer again. */
  checkLimits(): void {
    const now = performance.now() + 1; // timers may fire a fraction early
    const { firstByteMs, idleMs, totalMs } = this.timeouts;
    if (this.pausedAt !== undefined && this.releasedBytes === undefined)
      this.firesAt = Number.POSITIVE_INFINITY; // until it resumes
    else if (now >= this.totalAt) this.stop(slow(`${this.name} took longer than ${totalMs} ms in all.`));
    else if (now < this.waitsUntil) this.setTimer();
    else if (this.releasedBytes !== undefined) this.controller?.abort(new Error('released'));
    else if (this.body) this.stop(slow(`${this.name} sent nothing for ${idleMs} ms in the middle of its response.`));
    else this.stop(slow(`${this.name} sent no response within ${firstByteMs} ms.`));
  }

  private setTimer(): void {
    clearTimeout(this.timer);
    this.firesAt = Math.min(this.totalAt, this.waitsUntil);
    this.timer = setTimeout(checkLimits, this.firesAt - performance.now(), this);
  }

  private stop(reason: Error): void {
    this.stopped ??= reason;
    this.body?.fail(reason);
    if (this.controller) this.controller.abort(reason);
    else this.settle();
    this.reject?.(reason);
  }

  private settle(): void {
    this.isOver = true;
    clearTimeout(this.timer);
    this.cancellation.remove(this);
  }
}

const checkLimits = (exchange: Exchange): void => exchange.checkLimits();

const slow = (text: string, cause?: Error) =>
  new GatewayError('upstream_timeout', text, { retryable: true, isTransient: true, cause });

/**
 * Distinguishes the failure of a keep-alive connection that the server had closed from other failures. The system's
 * errors do not contain the traffic of their connection, so each connection is watched for it.
 */
function createStaleCheck(connect: buildConnector.connector) {
  const carried = new WeakMap<object, number>(); // error → bytes that its connection had read
  function note(this: Socket, error: Error): void {
    carried.set(error, this.bytesRead);
  }

  return {
    connect(options: buildConnector.Options, callback: buildConnector.Callback): void {
      connect(options, (...result) => {
        const socket = result[1];
        if (socket) {
          socket.prependListener('error', note);
          skipContinue(socket);
        }
        callback(...result);
      });
    },
    /** Whether the connection was reset or closed after it had carried a response. */
    wasStale(error: Error): boolean {
      if (!staleCodes.has((error as NodeJS.ErrnoException).code)) return false;
      const { socket } = error as { socket?: { bytesRead?: number } }; // undici's own errors have it
      return (carried.get(error) ?? socket?.bytesRead ?? 0) > 0;
    },
  };
}

const staleCodes = new Set<unknown>(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Codes of TLS about the certificate of a server. */
const certificateCodes = /^(?:CERT_|ERR_TLS_CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_)/;

/** Translates codes of undici and of the system. */
function readNetworkError(error: Error, name: string, timeouts: UpstreamTimeouts): Error {
  if (error instanceof GatewayError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const failed = (text: string) =>
    new GatewayError('upstream_failed', text, { retryable: true, isTransient: true, cause: error });
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return slow(`${name} did not accept a connection within ${timeouts.connectMs} ms.`, error);
    case 'ECONNREFUSED':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return failed(`${name} cannot be reached (${code}).`);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return failed(`${name} cannot be reached: its host name does not resolve (${code}).`);
    case PROXY_REFUSED:
      return failed(`${name} cannot be reached. ${error.message}`);
    case 'UND_ERR_SOCKET':
    case 'ECONNRESET':
    case 'EPIPE':
      return failed(`${name} closed the connection before its response was complete.`);
    default:
      if (certificateCodes.test(code)) {
        return failed(
          `${name} cannot be reached: its certificate is not trusted (${code}). NODE_EXTRA_CA_CERTS names a file with the certificate of its authority.`,
        );
      }
      return failed(`${name} sent a response that is not valid HTTP${code === '' ? '' : ` (${code})`}.`);
  }
}
