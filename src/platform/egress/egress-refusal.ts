import type { OutboundError, OutboundReason } from '../outbound/outbound-error.ts';
import type { EgressTarget } from './read-target.ts';

/** Why the proxy does not serve a request. The message is for the processes in the sandbox. */
export class EgressRefusal extends Error {
  readonly status: number;
  readonly target: EgressTarget | undefined;

  constructor(status: number, message: string, target?: EgressTarget) {
    super(message);
    this.name = 'EgressRefusal';
    this.status = status;
    this.target = target;
  }
}

/** Reasons that depend on the address. An unknown name has the same one, so that errors do not map the network: choice 542. */
const refused: ReadonlySet<OutboundReason> = new Set([
  'blocked_address',
  'blocked_port',
  'unresolvable',
  'invalid_url',
]);

/** Converts a failed connection. The detail stays with the operator, because it has addresses. */
export function explainOutboundError({ reason }: OutboundError, { host }: EgressTarget): EgressRefusal {
  if (refused.has(reason)) return new EgressRefusal(403, `${host} was not found, or its address is not public.`);
  if (reason === 'timeout') return new EgressRefusal(504, `${host} did not accept a connection in time.`);
  return new EgressRefusal(502, `${host} did not accept a connection.`);
}

const phrases: Record<number, string> = {
  400: 'Bad Request',
  403: 'Forbidden',
  407: 'Proxy Authentication Required',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** Writes a response to CONNECT. */
export function writeRefusal(status: number, message: string, headers: readonly string[] = []): string {
  const body = `${message}\n`;
  return [
    `HTTP/1.1 ${status} ${phrases[status] ?? 'Error'}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...headers,
    '',
    body,
  ].join('\r\n');
}
