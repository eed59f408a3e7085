import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import ipaddr from 'ipaddr.js';
import type { CheckedUrl } from './check-url.ts';
import { OutboundError } from './outbound-error.ts';

/** Opens a connection to a literal address. @throws if it is not established in time */
export type Dial = (address: string, port: number, timeoutMs: number, signal: AbortSignal) => Promise<Socket>;

/** Maximum number of addresses of one host to try. */
const MAX_DIALS = 3;

/**
 * Connects to the first of the checked addresses that accepts. For https, the certificate must match the name in the
 * URL.
 *
 * @throws {OutboundError}
 */
export async function connect(
  { url, hostname, port, addresses }: CheckedUrl,
  dial: Dial,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = await dialFirst(addresses.slice(0, MAX_DIALS), port, dial, timeoutMs, signal);
  if (url.protocol === 'http:') return socket;
  const secure = connectTls({
    socket,
    host: hostname, // only for the certificate, because the socket is already connected
    servername: isIP(hostname) === 0 ? hostname : '',
    ALPNProtocols: ['http/1.1'],
  });
  try {
    await standing(secure, 'secureConnect', timeoutMs, signal);
    return secure;
  } catch (error) {
    socket.destroy();
    if (error instanceof OutboundError) throw error;
    throw new OutboundError('insecure', `${hostname}: ${codeOf(error)}`);
  }
}

async function dialFirst(
  addresses: readonly string[],
  port: number,
  dial: Dial,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await dial(address, port, timeoutMs / addresses.length, signal);
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
  }
  if (failure instanceof OutboundError) throw failure;
  throw new OutboundError('unreachable', `${addresses.join(', ')} port ${port}: ${codeOf(failure)}`);
}

/** Connects to a literal address, so that nothing is resolved. Still compares the address of the connection. */
export const dialAddress: Dial = async (address, port, timeoutMs, signal) => {
  const socket = connectTcp({ host: address, port, noDelay: true });
  await standing(socket, 'connect', timeoutMs, signal);
  const reached = socket.remoteAddress;
  if (reached === undefined || !isSame(reached, address)) {
    socket.destroy();
    throw new OutboundError('blocked_address', `${address} was meant, ${reached ?? 'none'} reached`);
  }
  return socket;
};

const isSame = (one: string, other: string): boolean =>
  ipaddr.parse(one).toNormalizedString() === ipaddr.parse(other).toNormalizedString();

/** Waits until a socket is connected. Destroys it otherwise. */
function standing(socket: Socket, event: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => settle(new OutboundError('timeout', `no ${event} within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const abort = () => settle(signal.reason);
    const stand = () => settle(undefined);
    const settle = (reason: unknown) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      socket.off(event, stand);
      socket.off('error', settle);
      socket.off('close', close);
      if (reason === undefined) return resolve();
      socket.on('error', () => {}); // already reported
      socket.destroy();
      reject(reason);
    };
    const close = () => settle(new Error('closed'));
    socket.once(event, stand);
    socket.once('error', settle);
    socket.once('close', close);
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
  });
}

const codeOf = (error: unknown): string => {
  const { code, name } = error as NodeJS.ErrnoException; // the error type of Node's sockets
  return code ?? name;
};
