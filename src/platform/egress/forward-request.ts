import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { EgressRefusal } from './egress-refusal.ts';
import { removeHopHeaders } from './hop-headers.ts';
import { checkCharset, listCodings, maskBody } from './mask-response.ts';
import type { ReadBody } from './request-body.ts';
import type { EgressMask } from './egress-mask.ts';

export interface ForwardOptions {
  /** Connected to the host, for this request alone. */
  upstream: Socket;
  /** The `Host` header. */
  host: string;
  path: string;
  /** Those of the request that are not for one connection. */
  headers: Map<string, string[]>;
  /** The beginning of the body. Undefined: none of it was read. */
  body: ReadBody | undefined;
  /** Finds the values that the response must not have. Undefined: the host has no secrets. */
  mask: (() => EgressMask) | undefined;
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
  { upstream, host, path, headers, body, mask, idleMs, headerBytes }: ForwardOptions,
): Promise<void> {
  headers.set('host', [host]);
  headers.delete('expect'); // the server of the proxy has sent 100
  const hasBody = hasRequestBody(request);
  if (body?.isWhole) headers.set('content-length', [String(body.bytes.length)]);
  else if (hasBody && !headers.has('content-length')) headers.set('transfer-encoding', ['chunked']);
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
  if (body) outgoing.write(body.bytes);
  if (hasBody && !body?.isWhole) request.pipe(outgoing);
  else outgoing.end();
  const incoming = await received;
  const { statusCode = 0, statusMessage = '', headersDistinct } = incoming;
  if (mask) checkCharset(incoming, host);
  const hasNoBody = request.method === 'HEAD' || statusCode === 204 || statusCode === 304;
  const steps = !mask || hasNoBody ? [] : maskBody(incoming, host, mask);
  const shown = removeHopHeaders(headersDistinct);
  if (mask && listCodings(incoming).length > 0) for (const name of codedHeaders) shown.delete(name);
  const maskText = (text: string): string => (mask ? mask().maskText(text) : text);
  response.sendDate = false;
  response.writeHead(
    statusCode,
    maskText(statusMessage),
    [...shown].flatMap(([name, values]) => values.flatMap((value) => [maskText(name), maskText(value)])),
  );
  await pipeline([incoming, ...steps, response]);
  if (!request.complete) request.socket.destroySoon(); // the host has not waited for the rest of the body
}

/** Those of a compressed body, which the client receives without compression. */
const codedHeaders = ['content-encoding', 'content-length'];

/** Whether a request has a body, which can be empty. */
export const hasRequestBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
