/**
 * The least a gateway on Node can cost: `node:http` in front, an undici pool behind, bytes passed on unread. No
 * authentication, no validation, no translation, no ledger. What Headgate costs above it is Headgate's own.
 *
 *     node bench/references/bare-proxy.ts PORT UPSTREAM_PORT
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Pool } from 'undici';

const [port, upstreamPort] = process.argv.slice(2).map(Number);
if (!port || !upstreamPort) {
  console.error('usage: node bench/references/bare-proxy.ts PORT UPSTREAM_PORT');
  process.exit(2);
}
const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, { connections: 2048 });

createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => forward(request, Buffer.concat(pieces), response));
}).listen(port, '127.0.0.1');

process.on('SIGTERM', () => process.exit(0));

function forward(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  pool.dispatch(
    {
      method: 'POST',
      path: request.url ?? '/',
      headers: { 'content-type': 'application/json', authorization: request.headers.authorization },
      body,
    },
    {
      onRequestStart(controller) {
        response.on('close', () => {
          if (!response.writableFinished) controller.abort(new Error('the client left'));
        });
      },
      onResponseStart(_controller, status, headers) {
        response.statusCode = status;
        for (const name of ['content-type', 'content-length']) {
          const value = headers[name];
          if (value !== undefined) response.setHeader(name, value);
        }
      },
      onResponseData(controller, chunk) {
        if (response.write(chunk)) return;
        controller.pause();
        response.once('drain', () => controller.resume());
      },
      onResponseEnd() {
        response.end();
      },
      onResponseError(_controller, error) {
        if (response.headersSent) response.destroy();
        else response.writeHead(502).end(error.message);
      },
    },
  );
}
