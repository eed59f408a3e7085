import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Pool } from 'undici';

/** The handling of bytes by a proxy. */
export interface Translation {
  request(body: Buffer): Buffer;
  /** Creates the translation of one response. */
  createResponse(contentType: string): {
    write(piece: Buffer): Buffer | string | undefined;
    end(): Buffer | string | undefined;
  };
}

/**
 * Serves a proxy on `node:http` with an undici pool behind it, on the ports of the command line. It has no
 * authentication, validation or ledger.
 *
 * @param name of the script, for its usage line
 */
export function serveProxy(name: string, translation: Translation): void {
  const [port, upstreamPort] = process.argv.slice(2).map(Number);
  if (!port || !upstreamPort) {
    console.error(`usage: node bench/references/${name}.ts PORT UPSTREAM_PORT`);
    process.exit(2);
  }
  const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, { connections: 2048 });
  createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => forward(pool, translation, request, Buffer.concat(pieces), response));
  }).listen(port, '127.0.0.1');
  process.on('SIGTERM', () => process.exit(0));
}

function forward(
  pool: Pool,
  translation: Translation,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): void {
  let readerContext: ReturnType<Translation['createResponse']> | undefined;
  pool.dispatch(
    {
      method: 'POST',
      path: request.url ?? '/',
      headers: { 'content-type': 'application/json', authorization: request.headers.authorization },
      body: translation.request(body),
    },
    {
      onRequestStart(controller) {
        response.on('close', () => {
          if (!response.writableFinished) controller.abort(new Error('the client disconnected'));
        });
      },
      onResponseStart(_controller, status, headers) {
        const contentType = String(headers['content-type'] ?? 'application/json');
        readerContext = translation.createResponse(contentType);
        response.statusCode = status;
        response.setHeader('content-type', contentType);
      },
      onResponseData(controller, chunk) {
        const out = readerContext?.write(chunk);
        if (out === undefined || response.write(out)) return;
        controller.pause();
        response.once('drain', () => controller.resume());
      },
      onResponseEnd() {
        response.end(readerContext?.end());
      },
      onResponseError(_controller, error) {
        if (response.headersSent) response.destroy();
        else response.writeHead(502).end(error.message);
      },
    },
  );
}
