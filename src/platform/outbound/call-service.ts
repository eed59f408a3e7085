import type { Agent, Dispatcher } from 'undici';
import { type CallService, ServiceError, type ServiceLimits, type ServiceRequest } from '../../domain/service.ts';
import { JsonExcessError, parseJson } from '../../domain/parse-json.ts';

const CONNECT_MS = 5000;
/** Longest wait that a service may request, in seconds. */
const MAX_RETRY_AFTER = 3600;

/**
 * Creates the client for services of the operator. Their addresses come from the configuration, so the rules for URLs
 * of callers do not apply.
 */
export function createCallService(): CallService {
  let agent: Agent | undefined; // most gateways have no such service
  return async (call, limits) => {
    const { Agent } = await import('undici'); // most commands do not need it
    agent ??= new Agent({ connect: { timeout: CONNECT_MS }, keepAliveTimeout: 10_000, allowH2: false });
    return await callService(agent, call, limits);
  };
}

async function callService(agent: Agent, call: ServiceRequest, limits: ServiceLimits): Promise<unknown> {
  const { name } = call;
  const { timeoutMs, signal } = limits;
  if (signal?.aborted) throw signal.reason;
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal!.reason); // only a listener of the signal
  signal?.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => {
    controller.abort(new ServiceError(`${name} did not respond within ${timeoutMs} ms.`, 'timeout'));
  }, timeoutMs);
  try {
    return await exchange(agent, call, limits, controller.signal);
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

async function exchange(
  dispatcher: Agent,
  { name, url, headers, body: sent }: ServiceRequest,
  { maxBytes }: ServiceLimits,
  signal: AbortSignal,
): Promise<unknown> {
  const { request } = await import('undici');
  const response = await request(url, {
    dispatcher,
    signal,
    method: sent === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'headgate',
      ...(sent !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: sent === undefined ? null : JSON.stringify(sent),
  }).catch((error: unknown) => {
    throw new ServiceError(`${name} cannot be reached (${readCode(error)}).`, 'unreachable');
  });
  const { statusCode: status, body } = response;
  if (status < 200 || status > 299) {
    body.on('error', () => {}).destroy();
    const retryAfterSeconds = readRetryAfter(response.headers['retry-after']);
    const rejectsKey = (status === 401 || status === 403) && Object.keys(headers).length > 0;
    const says = rejectsKey ? `rejects the key of the gateway (status ${status})` : `responded with status ${status}`;
    throw new ServiceError(`${name} ${says}.`, 'status', { status, retryAfterSeconds, rejectsKey });
  }
  const text = await readText(name, body, maxBytes);
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonExcessError) throw new ServiceError(`${name} sent JSON that ${error.says}.`, 'too_large');
    throw new ServiceError(`${name} did not respond with JSON.`, 'malformed', { status });
  }
}

async function readText(name: string, body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > maxBytes) throw new ServiceError(`${name} sent more than ${maxBytes} bytes.`, 'too_large');
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError(`${name} interrupted its response (${readCode(error)}).`, 'interrupted');
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** @param given seconds, or a date */
function readRetryAfter(given: string | string[] | undefined): number | undefined {
  if (typeof given !== 'string') return undefined;
  const seconds = /^\d{1,9}$/.test(given) ? Number(given) : Math.ceil((Date.parse(given) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER);
}

const readCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no connection';
