/**
 * Forwards bytes without parsing them: the minimum cost of a proxy on Node.
 *
 *     node bench/references/bare-proxy.ts PORT UPSTREAM_PORT
 */
import { serveProxy } from './proxy.ts';

serveProxy('bare-proxy', {
  request: (body) => body,
  createResponse: () => ({ write: (piece) => piece, end: () => undefined }),
});
