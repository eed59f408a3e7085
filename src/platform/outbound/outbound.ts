import { isIP, type Socket } from 'node:net';
import { Client } from 'undici';
import type { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { type CheckedUrl, checkUrl } from './check-url.ts';
import { connect, type Dial, dialAddress } from './connect.ts';
import { type OutboundExchange, type ExchangeRequest, exchangeWith } from './exchange.ts';
import { OutboundError } from './outbound-error.ts';
import { isOwnAddress } from './own-addresses.ts';
import { Semaphore } from './semaphore.ts';
import { createResolve, type Resolve } from './resolve.ts';
import { type Address, type RuleSettings, AddressRules } from './rules.ts';

export interface OutboundSettings extends RuleSettings {
  /** Maximum bytes of one URL. */
  maxBytes: number;
  /** Time limit of the whole fetch, including redirects and waiting for a slot. */
  timeoutMs: number;
  /** Maximum idle time: before the connection, before the response, and within the response. */
  idleMs: number;
  /** Maximum parallel fetches of this process. */
  parallel: number;
}

export interface OutboundOptions {
  /** Read for each fetch. A new object means new rules. */
  settings: () => OutboundSettings;
  /**
   * Called for every failed fetch, for the operator's log. Receives only the origin, because paths and queries may
   * contain secrets.
   */
  report?: (failure: { reason: string; origin: string; detail?: string }) => void;
  resolve?: Resolve;
  dial?: Dial;
  /** Whether it is an address of this machine. */
  isOwn?: (address: Address) => boolean;
}

export interface FetchOptions {
  /** Limited to the setting, which is also the default. */
  maxBytes?: number;
  timeoutMs?: number;
  /** Bytes that this and other fetches may still read together. Reduced while data arrives. */
  budget?: { left: number };
  /** Sent as `User-Agent`. Default: `headgate`. */
  userAgent?: string;
  /** Media types to request. The response may have another type, so callers must check the bytes. */
  accept?: string;
  cancellation?: CancellationOfFetch;
  /** Called for each URL before it is requested, also after a redirect. @throws to end the fetch */
  check?: ((url: URL) => void) | undefined;
}

type CancellationOfFetch = Pick<Cancellation, 'reason' | 'add' | 'remove'>;

export interface Fetched {
  /** At least one. */
  bytes: Buffer;
  /** Declared by the server, without parameters, in lower case. Empty: not declared. */
  contentType: string;
  /** Character set of the declared type, in lower case. Undefined: not declared. */
  charset: string | undefined;
  /** URL after redirects. */
  finalUrl: string;
}

/** The only way to connect to addresses that a caller can influence. */
export interface Outbound {
  /**
   * Sends a GET to an http or https URL.
   *
   * @throws {OutboundError} with a message for the caller, or the reason of the cancellation
   */
  fetchUrl(url: string, options?: FetchOptions): Promise<Fetched>;
  /**
   * Sends one request to an http or https URL, and follows no redirect. The caller bounds the body, its duration and the
   * number of parallel exchanges.
   *
   * @throws {OutboundError} with a message for the caller, or the reason of the signal
   */
  exchange(url: string, request: ExchangeRequest): Promise<OutboundExchange>;
  /**
   * Opens a connection to a host, at an address that passed the check. The caller bounds it, and reports failures.
   *
   * @throws {OutboundError}, or the reason of the signal
   */
  connectTo(host: string, port: number, signal: AbortSignal): Promise<Socket>;
}

const MAX_REDIRECTS = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

/** @see docs/guides/outbound.md, docs/decisions/0003-connect-to-the-checked-address.md */
export function createOutbound(options: OutboundOptions): Outbound {
  const { settings, report, resolve = createResolve(), dial = dialAddress, isOwn = isOwnAddress } = options;
  const places = new Semaphore(() => settings().parallel);
  const compiled = new WeakMap<OutboundSettings, AddressRules>();
  const rulesOf = (of: OutboundSettings): AddressRules => {
    const rules = compiled.get(of) ?? new AddressRules(of, isOwn);
    compiled.set(of, rules);
    return rules;
  };
  const reportFailure = (error: OutboundError, url: string): void => {
    const { reason, detail } = error;
    report?.({ reason, origin: originOf(url), ...(detail === undefined ? undefined : { detail }) });
  };
  return {
    async exchange(url, request) {
      const limits = settings();
      const { signal } = request;
      try {
        const target = await abortable(checkUrl(url, rulesOf(limits), resolve, signal), signal);
        return await exchangeWith(target, request, { dial, connectMs: limits.idleMs });
      } catch (error) {
        if (error instanceof OutboundError) reportFailure(error, url);
        throw error;
      }
    },
    async connectTo(host, port, signal) {
      const limits = settings();
      const url = `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}/`; // of http, so that no TLS is added
      const target = await abortable(checkUrl(url, rulesOf(limits), resolve, signal), signal);
      return await connect(target, dial, limits.idleMs, signal);
    },
    async fetchUrl(url, options = {}) {
      const { maxBytes = Number.POSITIVE_INFINITY, timeoutMs, budget, accept = '*/*', cancellation } = options;
      const { userAgent = 'headgate', check } = options;
      const limits = settings();
      const limitMs = Math.min(timeoutMs ?? limits.timeoutMs, limits.timeoutMs);
      using deadline = new Deadline(limitMs, cancellation);
      const { signal } = deadline;
      try {
        using _place = await places.take(signal);
        const hop: Hop = {
          accept,
          userAgent,
          maxBytes: Math.min(maxBytes, limits.maxBytes),
          idleMs: limits.idleMs,
          budget,
          dial,
          signal,
        };
        return await follow(url, hop, (next) => {
          const parsed = URL.parse(next);
          if (parsed) check?.(parsed);
          return checkUrl(next, rulesOf(limits), resolve, signal);
        });
      } catch (thrown) {
        const error: unknown = signal.aborted ? signal.reason : thrown;
        if (error instanceof OutboundError) reportFailure(error, url);
        throw error;
      }
    },
  };
}

/** The settings of every hop of one fetch. */
interface Hop {
  accept: string;
  userAgent: string;
  maxBytes: number;
  budget: { left: number } | undefined;
  idleMs: number;
  dial: Dial;
  signal: AbortSignal;
}

async function follow(first: string, hop: Hop, check: (url: string) => Promise<CheckedUrl>): Promise<Fetched> {
  let target = await abortable(check(first), hop.signal);
  for (let count = 0; ; count++) {
    const answer = await ask(target, hop);
    if (typeof answer !== 'string') return answer;
    if (count === MAX_REDIRECTS) throw new OutboundError('too_many_redirects');
    const next = URL.parse(answer, target.url);
    if (!next) throw new OutboundError('invalid_url', `redirected from ${target.url.origin}`);
    if (target.url.protocol === 'https:' && next.protocol === 'http:') throw new OutboundError('insecure_redirect');
    target = await abortable(check(next.href), hop.signal);
  }
}

/** @returns the body, or the target of a redirect */
async function ask(target: CheckedUrl, hop: Hop): Promise<Fetched | string> {
  const { url } = target;
  const { accept, userAgent, idleMs, dial, maxBytes, budget, signal } = hop;
  // One client per request. No connection is ever reused for another address or another caller.
  const client = new Client(url.origin, {
    connect(_options, callback) {
      connect(target, dial, idleMs, signal).then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      );
    },
    allowH2: false,
    pipelining: 1,
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
  });
  try {
    const answer = await client.request({
      method: 'GET',
      path: url.pathname + url.search,
      headers: { accept, 'accept-encoding': 'identity', 'user-agent': userAgent },
      signal,
    });
    const { statusCode: status, headers, body } = answer;
    body.on('error', () => {}); // the body may not be read to its end
    const location = one(headers['location']);
    if (redirects.has(status) && location !== undefined) return location;
    if (status < 200 || status > 299 || status === 206) {
      const reason = status === 404 || status === 410 ? 'not_found' : 'bad_status';
      throw new OutboundError(reason, `status ${status}`, { status });
    }
    const encoding = one(headers['content-encoding'])?.trim().toLowerCase() ?? 'identity';
    if (encoding !== 'identity' && encoding !== '') throw new OutboundError('encoded', encoding);
    const announced = Number(one(headers['content-length']) ?? 0);
    if (announced > maxBytes) throw tooLarge(maxBytes);
    if (budget && announced > budget.left) throw beyondBudget();
    const bytes = await readBounded(body, maxBytes, budget);
    const declared = one(headers['content-type']) ?? '';
    const contentType = declared.replace(/;.*$/s, '').trim().toLowerCase();
    const charset = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(declared)?.[1]?.toLowerCase();
    return { bytes, contentType, charset, finalUrl: url.href };
  } catch (error) {
    throw signal.aborted ? signal.reason : readFailure(error);
  } finally {
    client.destroy().catch(() => {}); // closes the connection, even with data in transit
  }
}

async function readBounded(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  budget: { left: number } | undefined,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    if (budget) budget.left -= piece.length;
    if (budget && budget.left < 0) throw beyondBudget();
    pieces.push(piece);
  }
  if (length === 0) throw new OutboundError('empty');
  return Buffer.concat(pieces, length);
}

const tooLarge = (maxBytes: number) =>
  new OutboundError('too_large', undefined, { message: `It is larger than ${maxBytes} bytes.` });

const beyondBudget = () =>
  new OutboundError('too_large', undefined, {
    message: 'It is too large together with the other URLs of the request.',
  });

/** Maps errors of undici and of sockets after the connection was established. */
function readFailure(error: unknown): Error {
  if (error instanceof OutboundError || error instanceof GatewayError) return error;
  const { code = '' } = error as NodeJS.ErrnoException; // errors of undici and of the system have one
  const isSlow = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT' || code === 'ETIMEDOUT';
  return new OutboundError(isSlow ? 'timeout' : 'broken_answer', code || String(error));
}

const one = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);

/** For the log. A longer host name is not valid. */
const originOf = (url: string): string => {
  const parsed = url.length > 8192 ? null : URL.parse(url);
  return parsed && parsed.host !== '' ? `${parsed.protocol}//${parsed.host}`.slice(0, 300) : '';
};

/**
 * Stops waiting for a system lookup when the signal is aborted. The lookup cannot be cancelled, so its result is
 * ignored.
 */
function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Ends a fetch after its timeout, or when its run is cancelled. */
class Deadline implements Disposable {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly cancellation: CancellationOfFetch | undefined;

  constructor(limitMs: number, cancellation: CancellationOfFetch | undefined) {
    this.timer = setTimeout(() => this.controller.abort(new OutboundError('timeout', `${limitMs} ms in all`)), limitMs);
    this.cancellation = cancellation;
    cancellation?.add(this);
    if (cancellation?.reason) this.cancelled(cancellation.reason);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  cancelled(reason: GatewayError): void {
    this.controller.abort(reason);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer);
    this.cancellation?.remove(this);
  }
}
