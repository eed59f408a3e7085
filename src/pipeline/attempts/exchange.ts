import { performance } from 'node:perf_hooks'; // the global is a getter
import { GatewayError } from '../../domain/errors.ts';
import type { Sink } from '../../domain/sink.ts';
import type { Wire } from '../../providers/wire.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Upstream, UpstreamResponse } from '../../providers/transport.ts';
import type { Attempt } from '../run/attempt.ts';
import { explainRejectedKey } from './explain-rejected-key.ts';
import { hideKeys } from './hide-keys.ts';
import { type ReadResponseOptions, readErrorBody, readResponse } from './read-response.ts';

/**
 * Runs the exchange of an attempt with its provider, and records when it began and ended.
 *
 * @throws the failure, without the keys of the provider, and with its name if it rejects one of them
 */
export function dispatch(attempt: Attempt, exchange: () => Promise<void>): Promise<void> {
  attempt.dispatchedAt = performance.now();
  return exchange().then(
    () => {
      attempt.endedAt = performance.now();
    },
    (error: unknown) => {
      attempt.endedAt = performance.now();
      throw explainRejectedKey(hideKeys(error, attempt.endpoint.provider), attempt.endpoint.provider);
    },
  );
}

/** Returns the connections to the provider. @throws {GatewayError} `internal` if it has no address */
export function upstreamOf({ id, upstream }: Provider): Upstream {
  if (!upstream) throw new GatewayError('internal', `The provider ${id} has no address.`);
  return upstream;
}

/** Takes the next key of the provider for the attempt. */
export function takeKey(attempt: Attempt): number {
  const key = attempt.endpoint.provider.keys.take();
  attempt.key = key;
  return key;
}

/**
 * Reads a response of any status, and releases it.
 *
 * @throws {GatewayError} the provider's error if the status is not 2xx, and those of `readResponse`
 */
export function receive<C extends { type: string }>(
  response: UpstreamResponse,
  how: ReadResponseOptions<C>,
  readError: Wire['readError'],
  out: Sink<C>,
): Promise<void> {
  if (response.status >= 200 && response.status <= 299) return readResponse(response, how, out);
  return throwFailure(response, readError);
}

async function throwFailure(response: UpstreamResponse, readError: Wire['readError']): Promise<never> {
  try {
    throw await readFailure(response, readError);
  } finally {
    response.release();
  }
}

/** Reads the error of a response whose status is not 2xx. */
export async function readFailure(response: UpstreamResponse, readError: Wire['readError']): Promise<GatewayError> {
  const { status, headers } = response;
  return readError({ status, headers, body: await readErrorBody(response) });
}
