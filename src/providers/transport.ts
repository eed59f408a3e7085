import { buildConnector, type Dispatcher, Pool } from 'undici';
import { GatewayError } from '../domain/errors.ts';
import { type AnswerBody, createAnswerBody } from './answer-body.ts';

/** Time limits of one attempt, in milliseconds. */
export interface UpstreamTimeouts {
  connectMs: number;
  /** From the sent request to the headers of the answer. */
  firstByteMs: number;
  /** Between two pieces of the body. */
  idleMs: number;
  /** For the whole attempt, however busy it is. */
  totalMs: number;
}

export interface UpstreamOptions {
  /** For messages: the display name of the provider. */
  name: string;
  baseUrl: string;
  timeouts: UpstreamTimeouts;
}

/** The network of one provider: a pool of kept-alive connections to its origin. Never follows a redirect. */
export interface Upstream {
  /**
   * Sends a POST and waits for the headers of the answer.
   *
   * @param headers flat list of names and values
   * @throws {GatewayError} `upstream_failed` or `upstream_timeout`, or the reason of the signal
   */
  send(path: string, headers: readonly string[], body: string, signal: AbortSignal): Promise<UpstreamAnswer>;
  /** Lets the requests that are under way finish; `now` cuts them. */
  close(now: boolean): Promise<void>;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /**
   * Waits for more of the body.
   *
   * @returns all that has arrived since the last call, or undefined at the regular end
   * @throws {GatewayError} when the body was cut, stalled, or the signal fired
   */
  read(): Promise<Buffer[] | undefined>;
  /** Nobody reads on: lets the little that is left pass by, so that the connection can be used again, or drops it. */
  release(): void;
}

/** What `release` reads past to keep a connection; more than that and a new connection is cheaper. */
const RELEASE_BYTES = 64 * 1024;
const RELEASE_MS = 2000;

export function createUpstream(options: UpstreamOptions): Upstream {
  const { timeouts, name } = options;
  const url = new URL(options.baseUrl);
  const prefix = url.pathname.replace(/\/+$/, '');
  const query = url.search;
  const stale = createStaleCheck(timeouts.connectMs);
  const pool = new Pool(url.origin, {
    allowH2: false,
    pipelining: 1,
    connect: stale.connect,
    // Its own limits are up to a second late; `dispatch` keeps ours.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
  });

  return {
    async send(path, headers, body, signal) {
      const request = { path: prefix + path + query, method: 'POST' as const, headers: headers as string[], body };
      const once = () => dispatch(pool, request, signal, timeouts, name);
      // A kept-alive connection that the provider had just closed: nothing was answered, so once more on a new one.
      return dispatch(pool, request, signal, timeouts, name, (error) => (stale.wasStale(error) ? once() : undefined));
    },
    close: (now) => (now ? pool.destroy() : pool.close()),
  };
}

/** @param tryAgain asked when the network failed before the first byte of the answer */
function dispatch(
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
  timeouts: UpstreamTimeouts,
  name: string,
  tryAgain?: (error: Error) => Promise<UpstreamAnswer> | undefined,
): Promise<UpstreamAnswer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let body: AnswerBody | undefined;
    let controller: Dispatcher.DispatchController | undefined;
    let stopped: Error | undefined;
    let isAnswered = false;
    let isOver = false;
    let released: { bytes: number } | undefined;
    let silence: NodeJS.Timeout | undefined;

    const stop = (reason: Error): void => {
      stopped ??= reason;
      body?.fail(reason);
      if (controller) controller.abort(reason);
      reject(reason);
    };
    const slow = (text: string) => () => stop(new GatewayError('upstream_timeout', text, { retryable: true }));
    const awaitHeaders = slow(`${name} sent no answer within ${timeouts.firstByteMs} ms.`);
    const awaitMore = slow(`${name} fell silent for ${timeouts.idleMs} ms in the middle of its answer.`);
    const total = setTimeout(slow(`${name} took longer than ${timeouts.totalMs} ms in all.`), timeouts.totalMs);
    const onAbort = (): void => stop(signal.reason as Error);
    const settle = (): void => {
      isOver = true;
      clearTimeout(total);
      clearTimeout(silence);
      signal.removeEventListener('abort', onAbort);
    };
    signal.addEventListener('abort', onAbort);

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        if (stopped) return started.abort(stopped);
        silence = setTimeout(awaitHeaders, timeouts.firstByteMs);
      },
      onResponseStarted() {
        isAnswered = true;
      },
      onResponseStart(started, status, headers) {
        if (status < 200) return;
        clearTimeout(silence);
        silence = setTimeout(awaitMore, timeouts.idleMs);
        body = createAnswerBody(headers['content-encoding'], name, {
          pause() {
            clearTimeout(silence); // it is we who are slow
            started.pause();
          },
          resume() {
            if (isOver || released) return;
            silence = setTimeout(awaitMore, timeouts.idleMs);
            started.resume();
          },
        });
        const { read, discard } = body;
        resolve({
          status,
          headers,
          read,
          release() {
            discard();
            if (isOver) return;
            clearTimeout(silence);
            released = { bytes: 0 };
            started.resume();
            silence = setTimeout(() => started.abort(new Error('released')), RELEASE_MS);
          },
        });
      },
      onResponseData(started, piece) {
        if (!released) {
          if (!started.paused) silence?.refresh();
          body?.push(piece);
          return;
        }
        released.bytes += piece.length;
        if (released.bytes > RELEASE_BYTES) started.abort(new Error('released'));
      },
      onResponseEnd() {
        settle();
        body?.end();
      },
      onResponseError(_started, error) {
        settle();
        const second = stopped || isAnswered ? undefined : tryAgain?.(error);
        if (second) return resolve(second);
        const reason = stopped ?? readNetworkError(error, name, timeouts);
        body?.fail(reason);
        reject(reason);
      },
    };
    try {
      pool.dispatch(request, handler);
    } catch (error) {
      settle();
      reject(error);
    }
  });
}

/**
 * Tells failures of a kept-alive connection that had been closed meanwhile from other failures. The system's errors do
 * not say what their connection had carried, so each connection is watched for it.
 */
function createStaleCheck(connectMs: number) {
  const connect = buildConnector({ allowH2: false, timeout: connectMs });
  const carried = new WeakMap<object, number>(); // error → bytes that its connection had read

  return {
    connect(options: buildConnector.Options, callback: buildConnector.Callback): void {
      connect(options, (...result) => {
        const socket = result[1];
        socket?.prependListener('error', (error) => carried.set(error, socket.bytesRead));
        callback(...result);
      });
    },
    /** Was the connection reset or closed, and had it carried an answer before? */
    wasStale(error: Error): boolean {
      if (!staleCodes.has((error as NodeJS.ErrnoException).code)) return false;
      const { socket } = error as { socket?: { bytesRead?: number } }; // undici's own errors have it
      return (carried.get(error) ?? socket?.bytesRead ?? 0) > 0;
    },
  };
}

const staleCodes = new Set<unknown>(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Codes of undici and of the system → what they mean to the caller. */
function readNetworkError(error: Error, name: string, timeouts: UpstreamTimeouts): Error {
  if (error instanceof GatewayError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const failed = (text: string) => new GatewayError('upstream_failed', text, { retryable: true, cause: error });
  const slow = (text: string) => new GatewayError('upstream_timeout', text, { retryable: true, cause: error });
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return slow(`${name} did not accept a connection within ${timeouts.connectMs} ms.`);
    case 'ECONNREFUSED':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return failed(`${name} cannot be reached (${code}).`);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return failed(`${name} cannot be reached: its host name does not resolve (${code}).`);
    case 'UND_ERR_SOCKET':
    case 'ECONNRESET':
    case 'EPIPE':
      return failed(`${name} closed the connection before its answer was complete.`);
    default:
      return failed(`${name} gave an answer that is not proper HTTP${code === '' ? '' : ` (${code})`}.`);
  }
}
