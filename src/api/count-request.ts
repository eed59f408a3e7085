import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Demand, Ticket } from '../access/rate-limits.ts';
import type { Caller } from '../domain/caller.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import { writeRateHeaders } from '../http/rate-headers.ts';

/** Admits a request to the rate limits of its key, its member and its workspace. @throws {GatewayError} `rate_limited` */
export type AdmitRequest = (caller: Caller, demand: Demand, id: string) => MaybePromise<Ticket | undefined>;

/** A request that generates nothing. */
export const noGeneration: Demand = { isConcurrent: false, estimateTokens: () => 0 };

/**
 * Serves a request without a model that counts for the rate limits of its key, not as a concurrent one. One that is
 * rejected does not count.
 *
 * @throws {GatewayError} `rate_limited`, and what `serve` throws
 */
export async function countRequest<Served>(
  admit: AdmitRequest,
  { caller, generationId }: FastifyRequest,
  reply: FastifyReply,
  serve: () => Promise<Served>,
): Promise<Served> {
  const ticket = await admit(caller!, noGeneration, generationId); // the routes need a key
  if (ticket) reply.headers(writeRateHeaders(ticket.rests));
  let isTakenBack = true;
  try {
    const served = await serve();
    isTakenBack = false;
    return served;
  } finally {
    ticket?.end(0, isTakenBack);
  }
}
