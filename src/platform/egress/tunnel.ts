import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import { readClientHello } from './client-hello.ts';

export interface TunnelOptions {
  /** Bytes that arrived with the request. */
  head: Buffer;
  /** The host that the client named. */
  host: string;
  idleMs: number;
  /** Time for the first message of the client. */
  beginMs: number;
}

/** A fatal alert of TLS: `unrecognized_name`. */
const WRONG_NAME = Buffer.from([0x15, 3, 3, 0, 2, 2, 112]);

/**
 * Joins a client with a host, if the client begins with TLS for that host. Nothing reaches the host before.
 *
 * @returns why not; undefined: it does, or it has disconnected. Resolves before the tunnel ends.
 */
export async function joinTunnel(
  client: Socket,
  upstream: Socket,
  options: TunnelOptions,
): Promise<string | undefined> {
  const { idleMs } = options;
  const begun = await beginTunnel(client, options);
  if (!('first' in begun)) {
    upstream.destroy();
    return begun.problem;
  }
  upstream.write(begun.first);
  client.pipe(upstream);
  upstream.pipe(client);
  upstream.setTimeout(idleMs, () => upstream.destroy());
  upstream.once('close', () => client.destroy());
  client.once('close', () => upstream.destroy());
  return undefined;
}

/**
 * Waits until a client begins with TLS for the host. Ends the connection otherwise.
 *
 * @returns the first bytes; or why there are none, without a problem if the client has disconnected
 */
export async function beginTunnel(
  client: Socket,
  { head, host, beginMs }: Omit<TunnelOptions, 'idleMs'>,
): Promise<{ first: Buffer } | { problem: string | undefined }> {
  const first = client.destroyed ? undefined : await readFirstBytes(client, head, beginMs);
  if (first === undefined) {
    client.destroy();
    return { problem: undefined };
  }
  const hello = readClientHello(first);
  if (typeof hello === 'string') {
    client.destroy();
    return { problem: 'The tunnel is not TLS.' };
  }
  // choice 543. An address has no name: RFC 6066 section 3.
  const { serverName } = hello;
  const isNamed = isIP(host) === 0 ? serverName?.toLowerCase() === host : serverName === undefined;
  if (isNamed) return { first };
  client.end(WRONG_NAME);
  return { problem: 'The server name of TLS is not that of CONNECT.' };
}

/** @returns the first bytes that decide; undefined: the client disconnected, or sent nothing in time */
function readFirstBytes(client: Socket, head: Buffer, beginMs: number): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    let bytes = head;
    const settle = (found: Buffer | undefined): void => {
      clearTimeout(timer);
      client.off('data', add);
      client.off('end', leave);
      client.off('close', leave);
      client.pause();
      resolve(found);
    };
    const leave = (): void => settle(undefined);
    const add = (piece: Buffer): void => {
      bytes = Buffer.concat([bytes, piece]);
      if (readClientHello(bytes) !== 'partial') settle(bytes);
    };
    const timer = setTimeout(leave, beginMs);
    client.on('data', add);
    client.once('end', leave);
    client.once('close', leave);
    add(Buffer.alloc(0));
    client.resume();
  });
}
