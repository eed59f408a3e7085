import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/caller.ts';
import { GatewayError } from '../../domain/errors.ts';
import { contentType, type MetricFamily, writeExposition } from '../../platform/telemetry/exposition.ts';
import { isLoopback } from '../../platform/telemetry/is-loopback.ts';

export interface MetricsParts {
  collect: () => readonly MetricFamily[] | Promise<readonly MetricFamily[]>;
  /** `server.metrics`. */
  access: () => 'loopback' | 'management' | 'public' | 'off';
  /** Does the server listen on loopback alone? */
  isLocal: boolean;
  /** @throws {GatewayError} `authentication` */
  authenticate: (authorization: string | undefined) => Caller;
}

/** Headers by which a proxy shows that a request is not of this machine, though the proxy is. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const;

/**
 * Was it asked by an address of this machine, and not through a proxy? A page in a browser whose name was led here (DNS
 * rebinding) still sends that name.
 */
const isAskedHere = ({ headers }: FastifyRequest): boolean =>
  proxyHeaders.every((name) => headers[name] === undefined) && isLoopback(readHost(headers.host ?? ''));

/** `[::1]:8787` → `::1` */
const readHost = (host: string): string => host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');

/** `GET /metrics`: Prometheus text. Who may read it is a setting that a reload changes, so the handler asks for the key. */
export function createMetricsHandler({ collect, access, isLocal, authenticate }: MetricsParts) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<string> => {
    const allowed = access();
    if (allowed === 'off')
      throw new GatewayError('not_found', 'There is no GET /metrics here (server.metrics is off).');
    const isOpen = allowed === 'public' || (allowed === 'loopback' && isLocal && isAskedHere(request));
    if (!isOpen && authenticate(request.headers.authorization).kind !== 'management') {
      throw new GatewayError('permission_denied', 'Only management keys can perform this operation.');
    }
    reply.type(contentType);
    return writeExposition(await collect());
  };
}
