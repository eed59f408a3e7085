import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect, type SecureContext, TLSSocket } from 'node:tls';
import { EgressRefusal } from './egress-refusal.ts';

export interface TerminateOptions {
  /** The first bytes of the client. */
  first: Buffer;
  context: SecureContext;
  /** Time for the handshake. */
  beginMs: number;
}

/**
 * Completes the TLS handshake of a client of the sandbox instead of the host.
 *
 * @returns the connection without TLS; or why there is none, without a problem if the client has disconnected
 */
export async function terminateTls(
  client: Socket,
  { first, context, beginMs }: TerminateOptions,
): Promise<TLSSocket | { problem: string | undefined }> {
  client.unshift(first);
  const secure = new TLSSocket(client, { isServer: true, secureContext: context, ALPNProtocols: ['http/1.1'] });
  secure.once('close', () => client.destroy());
  client.once('close', () => secure.destroy());
  try {
    await once(secure, 'secure', { signal: AbortSignal.any([AbortSignal.timeout(beginMs), endOf(secure)]) });
    secure.on('error', () => {}); // a broken connection ends by itself
    return secure;
  } catch (error) {
    secure.on('error', () => {});
    secure.destroy();
    const reason = (error as NodeJS.ErrnoException).code; // of OpenSSL, such as ERR_SSL_TLSV1_ALERT_UNKNOWN_CA
    const isTls = reason?.startsWith('ERR_SSL_');
    return {
      problem: isTls ? `The TLS handshake failed (${reason}). Programs must trust the egress proxy.` : undefined,
    };
  }
}

/**
 * Begins TLS with a host, and checks its certificate.
 *
 * @param authorities PEM; undefined: those of Node
 * @throws {EgressRefusal}
 */
export async function secureUpstream(
  upstream: Socket,
  { host, beginMs, authorities }: { host: string; beginMs: number; authorities: string | undefined },
): Promise<TLSSocket> {
  const secure = connect({
    socket: upstream,
    servername: host,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(authorities === undefined ? undefined : { ca: authorities }),
  });
  secure.once('close', () => upstream.destroy());
  try {
    await once(secure, 'secureConnect', { signal: AbortSignal.any([AbortSignal.timeout(beginMs), endOf(secure)]) });
    secure.on('error', () => {}); // its response ends with it
    return secure;
  } catch (error) {
    secure.on('error', () => {});
    secure.destroy();
    const isUntrusted = /CERT|SIGNATURE|ALTNAME|ISSUER/.test(String((error as NodeJS.ErrnoException).code));
    const problem = isUntrusted ? 'has a certificate that is not valid for it' : 'did not begin TLS';
    throw new EgressRefusal(502, `${host} ${problem}.`);
  }
}

/** Aborts when the connection ends without an error. */
function endOf(socket: Socket): AbortSignal {
  const ended = new AbortController();
  socket.once('close', () => ended.abort(new Error('closed')));
  return ended.signal;
}
