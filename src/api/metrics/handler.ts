import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/caller.ts';
import { GatewayError } from '../../domain/errors.ts';
import { readSentKeys } from '../../http/read-sent-keys.ts';
import { contentType, type MetricFamily, writeExposition } from '../../platform/telemetry/exposition.ts';
import { isLoopback } from '../../platform/telemetry/is-loopback.ts';

export interface MetricsParts {
  collect: () => readonly MetricFamily[] | Promise<readonly MetricFamily[]>;
  /** `server.metrics`. */
  access: () => 'loopback' | 'management' | 'public' | 'off';
  /** Whether the server listens on loopback only. */
  isLocal: boolean;
  /** @throws {GatewayError} `authentication` */
  identify: (sent: readonly string[]) => Caller | Promise<Caller>;
}

/** Headers of a proxy. They show that the request comes from elsewhere, although the proxy runs on this machine. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const;

/**
 * Whether a request names an address of this machine and came without a proxy. After DNS rebinding, a page in a browser
 * still sends its own host name.
 */
const isAskedHere = ({ headers }: FastifyRequest): boolean =>
  proxyHeaders.every((name) => headers[name] === undefined) && isLoopback(readHost(headers.host ?? ''));

/** `[::1]:8787` → `::1` */
const readHost = (host: string): string => host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');

/** `GET /metrics`: Prometheus text. A reload may change the permission, so the handler checks the key itself. */
export function createMetricsHandler({ collect, access, isLocal, identify }: MetricsParts) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<string> => {
    const allowed = access();
    if (allowed === 'off')
      throw new GatewayError('not_found', 'There is no GET /metrics here (server.metrics is off).');
    const isOpen = allowed === 'public' || (allowed === 'loopback' && isLocal && isAskedHere(request));
    if (!isOpen && (await identify(readSentKeys(request))).kind !== 'management') {
      throw new GatewayError('permission_denied', 'Only management keys can perform this operation.');
    }
    reply.type(contentType);
    return writeExposition(await collect());
  };
}
