import type { FastifyRequest } from 'fastify';
import type { Ticket } from '../access/rate-limits.ts';
import type { Caller } from '../domain/caller.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';

/** Admits a request to the rate limits of its key, its member and its workspace. @throws {GatewayError} `rate_limited` */
export type AdmitRequest = (
  caller: Caller,
  settings: { stream: false },
  id: string,
) => MaybePromise<Ticket | undefined>;

/**
 * Serves a request without a model that counts for the rate limits of its key, not as a stream. One that is rejected does
 * not count.
 *
 * @throws {GatewayError} `rate_limited`, and what `serve` throws
 */
export async function countRequest<Served>(
  admit: AdmitRequest,
  { caller, generationId }: FastifyRequest,
  serve: () => Promise<Served>,
): Promise<Served> {
  const ticket = await admit(caller!, { stream: false }, generationId); // the routes need a key
  let isTakenBack = true;
  try {
    const served = await serve();
    isTakenBack = false;
    return served;
  } finally {
    ticket?.end(0, isTakenBack);
  }
}
