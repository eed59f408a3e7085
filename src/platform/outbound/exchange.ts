import type { Readable } from 'node:stream';
import { Agent, Client, type Dispatcher } from 'undici';
import type { CheckedUrl } from './check-url.ts';
import { connect, type Dial } from './connect.ts';
import { OutboundError } from './outbound-error.ts';

/** One HTTP request to a service that speaks its own protocol, such as MCP. */
export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Maximum idle time before the response, and within it. */
  readonly idleMs: number;
  /** Ends the exchange at any time. Its reason is then thrown, also by the body. */
  readonly signal: AbortSignal;
}

/** A response whose body is still to be read. */
export interface OutboundExchange {
  readonly status: number;
  /** In lower case. Repeated headers are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** Destroy it to end the exchange. */
  readonly body: Readable;
}

/**
 * Sends one request and follows no redirect.
 *
 * @throws {OutboundError} with a message for the caller, or the reason of the signal
 */
export type SendExchange = (url: string, request: ExchangeRequest) => Promise<OutboundExchange>;

/** Sends a request to a checked address, on its own connection. */
export async function exchangeWith(
  target: CheckedUrl,
  request: ExchangeRequest,
  { dial, connectMs }: { dial: Dial; connectMs: number },
): Promise<OutboundExchange> {
  const { url } = target;
  const client = new Client(url.origin, {
    connect(_options, callback) {
      connect(target, dial, connectMs, request.signal).then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      );
    },
    allowH2: false,
    pipelining: 1,
  });
  const close = (): void => void client.destroy().catch(() => {});
  try {
    const exchange = await send(client, url, request);
    exchange.body.once('close', close);
    return exchange;
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * Creates the sender for services of the operator. Their addresses come from the configuration, so the rules for URLs
 * of callers do not apply.
 */
export function createServiceExchange(connectMs: number): SendExchange {
  let agent: Agent | undefined; // most gateways have no such service
  return async (url, request) => {
    agent ??= new Agent({ connect: { timeout: connectMs }, keepAliveTimeout: 10_000, allowH2: false });
    return await send(agent, new URL(url), request);
  };
}

async function send(
  dispatcher: Dispatcher,
  url: URL,
  { method, headers, body: sent, idleMs, signal }: ExchangeRequest,
): Promise<OutboundExchange> {
  try {
    const response = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      signal,
      headers: { 'accept-encoding': 'identity', 'user-agent': 'headgate', ...headers },
      body: sent ?? null,
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
    });
    const { statusCode: status, body } = response;
    body.on('error', () => {}); // the body may not be read to its end
    return { status, headers: joinHeaders(response.headers), body };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof OutboundError) throw error;
    throw explain(error as NodeJS.ErrnoException); // errors of undici and of sockets have a code
  }
}

const joinHeaders = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );

/** Codes of connections that were never established. */
const unreachable = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

function explain({ code = '', name }: NodeJS.ErrnoException): OutboundError {
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return new OutboundError('timeout', code);
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT' || unreachable.has(code)) {
    return new OutboundError('unreachable', code);
  }
  return new OutboundError('broken_answer', code || name);
}
