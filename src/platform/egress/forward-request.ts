import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { EgressRefusal } from './egress-refusal.ts';
import { removeHopHeaders } from './hop-headers.ts';
import { maskTexts, TextMask } from './mask-texts.ts';

export interface ForwardOptions {
  /** Connected to the host, for this request alone. */
  upstream: Socket;
  /** The `Host` header. */
  host: string;
  path: string;
  /** Those of the request that are not for one connection. */
  headers: Map<string, string[]>;
  /** Texts that the response must not have. */
  masked: readonly Buffer[];
  idleMs: number;
  headerBytes: number;
}

/**
 * Sends a request to a host and returns its response, both without the headers that are for one connection.
 *
 * @throws {EgressRefusal} if the host does not respond with HTTP; an error of the stream after the response has begun
 */
export async function forwardRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { upstream, host, path, headers, masked, idleMs, headerBytes }: ForwardOptions,
): Promise<void> {
  headers.set('host', [host]);
  headers.delete('expect'); // the server of the proxy has sent 100
  const hasBody = request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined;
  if (hasBody && !headers.has('content-length')) headers.set('transfer-encoding', ['chunked']);
  const outgoing = httpRequest({
    createConnection: () => upstream,
    method: request.method,
    path,
    headers: { ...Object.fromEntries(headers), connection: 'close' },
    setHost: false,
    maxHeaderSize: headerBytes,
  });
  upstream.setTimeout(idleMs, () => upstream.destroy());
  response.once('close', () => outgoing.destroy());
  const received = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', () => reject(new EgressRefusal(502, `${host} did not respond with HTTP.`)));
    outgoing.once('close', () => reject(new EgressRefusal(502, `${host} did not respond.`)));
  });
  received.catch(() => {}); // awaited below, after the body was begun
  outgoing.on('error', () => {}); // a response ends by itself
  if (hasBody) request.pipe(outgoing);
  else outgoing.end();
  const incoming = await received;
  const encoding = incoming.headers['content-encoding'] ?? 'identity';
  if (masked.length > 0 && encoding.toLowerCase() !== 'identity') {
    throw new EgressRefusal(
      502,
      `${host} compressed its response to a request with a secret. A compressed response cannot be checked.`,
    );
  }
  const mask = (text: string): string => maskTexts(Buffer.from(text, 'latin1'), masked).toString('latin1');
  response.sendDate = false;
  response.writeHead(
    incoming.statusCode!,
    mask(incoming.statusMessage ?? ''),
    [...removeHopHeaders(incoming.headersDistinct)].flatMap(([name, values]) =>
      values.flatMap((value) => [name, mask(value)]),
    ),
  );
  await (masked.length === 0 ? pipeline(incoming, response) : pipeline(incoming, new TextMask(masked), response)); // choice 663
  if (!request.complete) request.socket.destroySoon(); // the host has not waited for the rest of the body
}
