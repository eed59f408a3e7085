import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createProxyServer, egressLimits } from './proxy-server.ts';
import { SandboxEgress, type SandboxEgressOptions } from './sandbox-egress.ts';

export interface EgressProxyOptions extends SandboxEgressOptions {
  /** Unix socket to listen on, for one sandbox. At most 107 bytes. */
  socketPath: string;
}

export interface EgressProxy {
  /** Closes all connections. */
  close(): Promise<void>;
}

/** Opens the only network access of a sandbox: an HTTP proxy on a Unix socket that only this sandbox can open. */
export async function openEgressProxy({ socketPath, ...options }: EgressProxyOptions): Promise<EgressProxy> {
  const server = createProxyServer({ ...egressLimits, ...options.limits });
  const egress = new SandboxEgress(options, (connection) => server.emit('connection', connection));
  server.on('connection', (socket: Socket) => void (egress.admit(socket) || socket.destroy()));
  server.on('request', (request: IncomingMessage, response: ServerResponse) => void egress.forward(request, response));
  server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    void egress.tunnel(request, socket, head);
  });
  server.listen(socketPath);
  await once(server, 'listening');
  let closed: Promise<unknown> | undefined;
  return {
    async close() {
      if (!closed) {
        closed = once(server, 'close');
        server.close();
        egress.close();
      }
      await closed;
    },
  };
}
