import type { FastifyReply, FastifyRequest } from 'fastify';
import { proveOwnHost, type HostIdentity, HOST_PROOF, HOST_CHALLENGE } from '../interns/host-proof.ts';
import { type Readiness, writeReadiness } from './readiness.ts';

/** `GET /health`: the process is running. Needs no key and calls nothing. Other hosts learn that it is a host of theirs. */
export function createHealthHandler(version: string, host: HostIdentity) {
  return async ({ headers }: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const challenge = headers[HOST_CHALLENGE];
    const proof = challenge === undefined ? undefined : proveOwnHost(host, challenge);
    if (proof !== undefined) reply.header(HOST_PROOF, proof);
    return { status: 'ok', name: 'headgate', version };
  };
}

/**
 * `GET /ready`: whether this host accepts requests. 503 if one of its processes would reject every request: while
 * draining, if no entry can be recorded, if keys and limits are older than `storage.grace_ms`, or if all requests need
 * counters that do not respond. Otherwise 200, and the body names problems. Hosts share their store: if a load balancer
 * removed all of them, a minor failure would become an outage.
 *
 * @param collect asks all processes that serve requests; undefined: one does not respond
 */
export function createReadyHandler(collect: () => Promise<readonly (Readiness | undefined)[]>) {
  return async (): Promise<unknown> => writeReadiness(await collect());
}
