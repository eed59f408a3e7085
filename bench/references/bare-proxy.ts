/**
 * Forwards bytes without reading them: the least that a proxy on Node costs.
 *
 *     node bench/references/bare-proxy.ts PORT UPSTREAM_PORT
 */
import { serveProxy } from './proxy.ts';

serveProxy('bare-proxy', {
  request: (body) => body,
  createResponse: () => ({ write: (piece) => piece, end: () => undefined }),
});
