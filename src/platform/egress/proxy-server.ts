import { createServer, type Server } from 'node:http';

export interface EgressLimits {
  /** Connections of a sandbox at the same time. One more is closed. */
  connections: number;
  /** Maximum headers of a request or a response. */
  headerBytes: number;
  /** Time for the headers of a request, and for the first bytes of a tunnel. */
  beginMs: number;
  /** Maximum time without data. */
  idleMs: number;
}

export const egressLimits: EgressLimits = { connections: 64, headerBytes: 32_768, beginMs: 10_000, idleMs: 120_000 };

const KEEP_ALIVE_MS = 5000;

/** Creates the server of an egress proxy. The caller handles its requests. */
export function createProxyServer({ headerBytes, beginMs, idleMs }: EgressLimits): Server {
  const server = createServer({
    maxHeaderSize: headerBytes,
    headersTimeout: beginMs,
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  server.timeout = idleMs;
  return server;
}
