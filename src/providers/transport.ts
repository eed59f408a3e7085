import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { type Dispatcher, Pool } from 'undici';
import { GatewayError } from '../domain/errors.ts';

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

/** Unread bytes of one answer at which the connection is paused. */
const HIGH_WATER_BYTES = 256 * 1024;
/** What `release` reads past to keep a connection; more than that and a new connection is cheaper. */
const RELEASE_BYTES = 64 * 1024;
const RELEASE_MS = 2000;

export function createUpstream(options: UpstreamOptions): Upstream {
  const { timeouts, name } = options;
  const url = new URL(options.baseUrl);
  const prefix = url.pathname.replace(/\/+$/, '');
  const query = url.search;
  const pool = new Pool(url.origin, {
    allowH2: false,
    pipelining: 1,
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.firstByteMs,
    bodyTimeout: timeouts.idleMs,
    keepAliveTimeout: 30_000,
  });

  return {
    async send(path, headers, body, signal) {
      const request = { path: prefix + path + query, method: 'POST' as const, headers: headers as string[], body };
      try {
        return await dispatch(pool, request, signal, timeouts, name);
      } catch (error) {
        // A kept-alive connection that the provider had just closed: nothing was answered, so once more on a new one.
        if (!signal.aborted && wasStale(error)) return dispatch(pool, request, signal, timeouts, name);
        throw error;
      }
    },
    close: (now) => (now ? pool.destroy() : pool.close()),
  };
}

function dispatch(
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
  timeouts: UpstreamTimeouts,
  name: string,
): Promise<UpstreamAnswer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const body = createBody();
    let sink: Sink = body;
    let controller: Dispatcher.DispatchController | undefined;
    let released = false;
    let passed = 0;

    const stop = (reason: Error): void => {
      body.fail(reason);
      if (controller) controller.abort(reason);
      else reject(reason);
    };
    const onAbort = (): void => stop(signal.reason as Error);
    const total = setTimeout(
      () =>
        stop(
          new GatewayError('upstream_timeout', `${name} took longer than ${timeouts.totalMs} ms in all.`, {
            retryable: true,
          }),
        ),
      timeouts.totalMs,
    );
    const settle = (): void => {
      clearTimeout(total);
      signal.removeEventListener('abort', onAbort);
    };
    signal.addEventListener('abort', onAbort);

    pool.dispatch(request, {
      onRequestStart(started) {
        controller = started;
        if (signal.aborted) started.abort(signal.reason as Error);
      },
      onResponseStart(started, status, headers) {
        if (status < 200) return;
        sink = decode(body, headers['content-encoding'], name);
        body.onFull = () => {
          started.pause();
          sink.pause?.();
        };
        body.onDrain = () => {
          sink.resume?.();
          started.resume();
        };
        resolve({
          status,
          headers,
          read: () => body.read(),
          release: () => {
            released = true;
            body.discard();
            started.resume();
            setTimeout(() => started.abort(new Error('released')), RELEASE_MS).unref();
          },
        });
      },
      onResponseData(started, piece) {
        if (!released) return sink.push(piece);
        passed += piece.length;
        if (passed > RELEASE_BYTES) started.abort(new Error('released'));
      },
      onResponseEnd() {
        settle();
        sink.end();
      },
      onResponseError(_started, error) {
        settle();
        const reason = signal.aborted ? (signal.reason as Error) : readNetworkError(error, name, timeouts);
        body.fail(reason);
        reject(reason);
      },
    });
  });
}

interface Sink {
  push(piece: Buffer): void;
  end(): void;
  pause?(): void;
  resume?(): void;
}

/** A queue between the connection, which pushes, and the pipeline, which pulls whole batches. */
function createBody() {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let ended = false;
  let discarding = false;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;

  return {
    onFull: (): void => {},
    onDrain: (): void => {},
    push(piece: Buffer): void {
      if (discarding) return;
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > HIGH_WATER_BYTES) this.onFull();
      wake?.();
    },
    end(): void {
      ended = true;
      wake?.();
    },
    fail(reason: Error): void {
      if (ended) return;
      failure ??= reason;
      wake?.();
    },
    discard(): void {
      discarding = true;
      pieces = [];
      bytes = 0;
    },
    async read(): Promise<Buffer[] | undefined> {
      while (pieces.length === 0) {
        if (failure) throw failure;
        if (ended) return undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
      const batch = pieces;
      const wasFull = bytes > HIGH_WATER_BYTES;
      pieces = [];
      bytes = 0;
      if (wasFull) this.onDrain();
      return batch;
    },
  };
}

/** We ask for no encoding; some servers compress all the same. */
function decode(body: ReturnType<typeof createBody>, encoding: string | string[] | undefined, name: string): Sink {
  const word = String(encoding ?? 'identity').toLowerCase();
  if (word === 'identity' || word === '') return body;
  const decoder =
    word === 'gzip' || word === 'x-gzip'
      ? createGunzip()
      : word === 'br'
        ? createBrotliDecompress()
        : word === 'deflate'
          ? createInflate()
          : undefined;
  const broken = (cause?: unknown) =>
    body.fail(
      new GatewayError('upstream_failed', `${name} sent a body whose content-encoding (${word}) cannot be read.`, {
        retryable: true,
        cause,
      }),
    );
  if (!decoder) {
    broken();
    return { push: () => {}, end: () => {} };
  }
  decoder.on('data', (piece: Buffer) => body.push(piece));
  decoder.on('end', () => body.end());
  decoder.on('error', broken);
  return {
    push: (piece) => decoder.write(piece),
    end: () => decoder.end(),
    pause: () => decoder.pause(),
    resume: () => decoder.resume(),
  };
}

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
    case 'UND_ERR_HEADERS_TIMEOUT':
      return slow(`${name} sent no answer within ${timeouts.firstByteMs} ms.`);
    case 'UND_ERR_BODY_TIMEOUT':
      return slow(`${name} fell silent for ${timeouts.idleMs} ms in the middle of its answer.`);
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

function wasStale(error: unknown): boolean {
  const cause =
    error instanceof GatewayError ? (error.cause as { code?: string; socket?: { bytesRead?: number } }) : undefined;
  // bytesRead counts what the connection had carried before: a fresh one that was reset is no stale one.
  return (cause?.code === 'UND_ERR_SOCKET' || cause?.code === 'ECONNRESET') && (cause.socket?.bytesRead ?? 0) > 0;
}
