import { type IncomingMessage, request as sendRequest } from 'node:http';
import { type Duplex, duplexPair, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Serves a web request. Rejects if the connection breaks before the status, or if the request is aborted. */
export type FetchHandler = (request: Request) => Promise<Response>;

/** Statuses of responses that have no body, not even an empty one. @see https://fetch.spec.whatwg.org/#null-body-status */
const withoutBody: ReadonlySet<number | undefined> = new Set([204, 205, 304]);

/** Headers of one connection. */
const ofConnection: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding']);

/**
 * Creates a handler that sends each request on a connection in memory. It is a real HTTP exchange, so that an abort, a slow reader
 * and a broken stream have the same effect as over a network.
 *
 * @param connect serves the other end of a connection
 */
export const createFetchHandler =
  (connect: (connection: Duplex) => void): FetchHandler =>
  (request) =>
    new Promise((resolve, reject) => {
      const { method, headers, body, signal, url } = request;
      const { pathname, search, host } = new URL(url);
      const outgoing = sendRequest({
        method,
        path: pathname + search,
        headers: { host, ...Object.fromEntries(headers) },
        signal,
        createConnection() {
          const [client, server] = duplexPair();
          server.on('error', () => {}); // both ends notice it
          connect(server);
          return client;
        },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => resolve(writeResponse(incoming, method)));
      if (body === null) {
        outgoing.end();
        return;
      }
      const source = Readable.fromWeb(body).on('error', reject);
      pipeline(source, outgoing).catch(reject); // a response that came first stays
    });

function writeResponse(incoming: IncomingMessage, method: string): Response {
  const { statusCode: status = 500, statusMessage: statusText = '', rawHeaders } = incoming;
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (!ofConnection.has(name.toLowerCase())) headers.append(name, rawHeaders[index + 1]!);
  }
  const isEmpty = withoutBody.has(status) || method === 'HEAD';
  if (isEmpty) incoming.resume();
  return new Response(isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>), {
    status,
    statusText,
    headers,
  });
}
