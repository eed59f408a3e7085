import { type ClientRequest, type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { removeHopHeaders } from '../../platform/egress/hop-headers.ts';

/** Bytes of a client that are read before the server has accepted the other protocol. */
const MAX_EARLY_BYTES = 65_536;

/** How a client sends a request that is passed on, and where to. */
export interface OnwardRequest {
  /** Sends requests over TLS, if it is that of `node:https`. */
  send?: (options: RequestOptions) => ClientRequest;
  options: RequestOptions;
  headers: Record<string, string | string[]>;
  /** Already read. Absent: that of the client follows. */
  body?: Buffer | undefined;
  /** Called with the request before anything is sent. */
  watch?: (outgoing: ClientRequest) => void;
  /** Longest wait for the response. Absent: no limit. */
  silenceMs?: number;
  /** Converts a failure before the response. */
  explain: (cause: Error) => Error;
}

/** Returns the headers of a request without those of its connection. */
export function listOnwardHeaders(request: IncomingMessage): Record<string, string | string[]> {
  const headers = removeHopHeaders(request.headersDistinct);
  headers.delete('expect'); // the gateway has answered it
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  // A body without a length would be read as the next request. `Connection` can name the header of the length.
  if (encoding !== undefined || (length !== undefined && !headers.has('content-length'))) {
    headers.set('transfer-encoding', ['chunked']);
  }
  const [host] = headers.get('host') ?? [];
  return { ...Object.fromEntries(headers), ...(host !== undefined && { host }) }; // Node rejects a list of one
}

/** Returns names and values of the headers of a response without those of its connection. */
export const listReturnedHeaders = (incoming: IncomingMessage): string[] =>
  [...removeHopHeaders(incoming.headersDistinct)].flatMap(([name, values]) => values.flatMap((value) => [name, value]));

/** Sends a request of a client to another server. @throws what `explain` returns if it does not respond */
export function passRequest(request: IncomingMessage, onward: OnwardRequest): Promise<IncomingMessage> {
  const { body, explain, silenceMs } = onward;
  const received = Promise.withResolvers<IncomingMessage>();
  const outgoing = open(request, onward, onward.headers);
  outgoing.on('response', (incoming) => {
    if (isFinal(incoming)) received.resolve(incoming);
    else outgoing.destroy(createProtocolError(incoming));
  });
  outgoing.on('error', (cause) => received.reject(explain(cause)));
  outgoing.on('upgrade', (incoming, socket) => {
    socket.destroy(); // without an error of the request
    received.reject(explain(createProtocolError(incoming)));
  });
  const stop = (): void => void outgoing.destroy(new Error(`There was no response within ${silenceMs} ms.`));
  const timer = silenceMs === undefined ? undefined : setTimeout(stop, silenceMs);
  outgoing.once('close', () => clearTimeout(timer)).once('response', () => clearTimeout(timer));
  request.on('aborted', () => void outgoing.destroy());
  if (body === undefined) request.pipe(outgoing);
  else outgoing.end(body);
  return received.promise;
}

/** A request of a client for another protocol. */
export interface UpgradeRequest {
  request: IncomingMessage;
  socket: Duplex;
  /** The first bytes after the request. */
  head: Buffer;
}

/**
 * Passes a request for another protocol on, and then the bytes of both sides. Nothing but the request reaches a server that
 * rejects it.
 *
 * @param listHeaders returns names and values of the headers for the client
 * @throws what `explain` returns if the server does not respond; then the client has received nothing
 */
export async function passUpgrade(
  { request, socket, head }: UpgradeRequest,
  onward: OnwardRequest,
  listHeaders: (incoming: IncomingMessage) => string[],
): Promise<void> {
  const opened = Promise.withResolvers<{ incoming: IncomingMessage; upstream?: Duplex; first?: Buffer }>();
  const upgrade = request.headers.upgrade ?? 'websocket';
  const outgoing = open(request, onward, { ...onward.headers, connection: 'Upgrade', upgrade });
  outgoing.on('upgrade', (incoming, upstream, first) => opened.resolve({ incoming, upstream, first }));
  outgoing.on('response', (incoming) => {
    if (isFinal(incoming)) opened.resolve({ incoming });
    else outgoing.destroy(createProtocolError(incoming));
  });
  outgoing.on('error', (cause) => opened.reject(onward.explain(cause)));
  const stop = (): void => void outgoing.destroy();
  socket.once('close', stop);
  if (socket.destroyed || socket.readableEnded) stop();
  const early = holdBytes(socket, head, stop);
  outgoing.end();
  const { incoming, upstream, first } = await opened.promise;
  try {
    if (!upstream) {
      await pipeline(Readable.from(writeRejection(incoming, listHeaders(incoming))), socket);
      return;
    }
    const held = early.release();
    socket.off('close', stop); // from here on both ends close each other
    const upgraded = ['connection', 'Upgrade', 'upgrade', incoming.headers.upgrade ?? 'websocket'];
    socket.write(writeHead(101, 'Switching Protocols', [...listHeaders(incoming), ...upgraded]));
    if (first && first.length > 0) socket.write(first);
    if (held.length > 0) upstream.write(held);
    await Promise.all([pipeline(socket, upstream), pipeline(upstream, socket)]);
  } catch {
    socket.destroy(); // one side has disconnected
  } finally {
    outgoing.destroy();
    upstream?.destroy();
  }
}

/**
 * Reads what a client sends before it may, because only a socket that is read shows that the client has disconnected.
 *
 * @param leave called if it has
 */
function holdBytes(socket: Duplex, head: Buffer, leave: () => void): { release(): Buffer } {
  const held = [head];
  let bytes = head.length;
  const hold = (piece: Buffer): void => {
    held.push(piece);
    bytes += piece.length;
    if (bytes > MAX_EARLY_BYTES) socket.pause();
  };
  socket.on('data', hold).once('end', leave);
  return {
    release() {
      socket.pause().off('data', hold).off('end', leave);
      return Buffer.concat(held);
    },
  };
}

function open(
  { method }: IncomingMessage,
  { send = httpRequest, options, watch }: OnwardRequest,
  headers: Record<string, string | string[]>,
): ClientRequest {
  const outgoing = send({ method, setHost: false, ...options, headers });
  watch?.(outgoing);
  return outgoing;
}

/** Whether a response is not an interim one: 101 without a request for it, or a number that is no status. */
const isFinal = ({ statusCode }: IncomingMessage): boolean => statusCode! >= 200;

const createProtocolError = ({ statusCode }: IncomingMessage): Error =>
  new Error(`The response has the status ${statusCode}.`);

/** Writes a response whose end is that of the connection. */
async function* writeRejection(response: IncomingMessage, headers: readonly string[]): AsyncGenerator<Buffer> {
  yield writeHead(response.statusCode!, response.statusMessage ?? '', [...headers, 'connection', 'close']);
  yield* response as AsyncIterable<Buffer>;
}

/** @param headers names and values */
function writeHead(status: number, reason: string, headers: readonly string[]): Buffer {
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
  return Buffer.from(`${[`HTTP/1.1 ${status} ${reason}`, ...lines].join('\r\n')}\r\n\r\n`, 'latin1');
}
