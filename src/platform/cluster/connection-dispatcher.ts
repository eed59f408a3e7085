import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { WorkerLink } from './hub.ts';

/** The reports of a worker about its connections. */
export interface ConnectionService {
  taken(connection: number): void;
  /** A connection that the worker confirmed has closed. */
  closed(): void;
}

/** The port that several workers share. */
export interface ConnectionDispatcher {
  /**
   * Accepts connections from now on. They wait until there is a worker.
   *
   * @returns the port
   * @throws as `net.Server` does
   */
  listen(host: string, port: number): Promise<number>;
  /** Sends connections to a worker until it ends. */
  open(worker: Pick<WorkerLink, 'gone'>, send: (connection: number, socket: Socket) => void): ConnectionService;
  close(): Promise<void>;
}

interface DispatchTarget {
  /** Connections sent to the worker that it has not confirmed yet. */
  readonly sent: Map<number, Socket>;
  /** Number of connections that the worker serves. */
  open: number;
  send: (connection: number, socket: Socket) => void;
}

/** Maximum connections that wait for a worker. The system queues more. */
const MAX_WAITING = 1000;

/**
 * Accepts connections and sends each to the worker that has the fewest. Connections are long-lived, so round robin
 * would not stay balanced. A busy worker gets no further connections while another one is free.
 *
 * A connection that node:cluster sends to a worker that has just died is lost, and the client waits forever. Therefore
 * this process keeps its end of each connection until the worker confirms it. If the worker dies first, the connection
 * goes to another worker.
 */
export function createConnectionDispatcher(): ConnectionDispatcher {
  const targets = new Set<DispatchTarget>();
  const waiting: Socket[] = [];
  let connections = 0;

  const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {}); // its current owner also gets the error
    // Otherwise Node queries all workers about its remaining data when this server closes.
    Reflect.set(socket, 'server', null);
    give(socket);
  });

  function give(socket: Socket): void {
    const target = findTarget();
    if (!target) {
      if (waiting.length < MAX_WAITING) waiting.push(socket);
      else socket.destroy();
      return;
    }
    targets.delete(target);
    targets.add(target); // to the end of the queue, for workers with equal numbers
    const connection = ++connections;
    target.sent.set(connection, socket);
    target.send(connection, socket);
  }

  function findTarget(): DispatchTarget | undefined {
    let best: DispatchTarget | undefined;
    for (const target of targets) {
      const isBetter =
        !best || target.sent.size < best.sent.size || (target.sent.size === best.sent.size && target.open < best.open);
      if (isBetter) best = target;
    }
    return best;
  }

  return {
    async listen(host, port) {
      server.listen({ host, port });
      await once(server, 'listening'); // rejects with the server's error
      return (server.address() as AddressInfo).port;
    },
    open({ gone }, send) {
      const target: DispatchTarget = { sent: new Map(), open: 0, send };
      targets.add(target);
      for (const socket of waiting.splice(0)) give(socket);
      gone.addEventListener('abort', () => {
        targets.delete(target);
        const unseen = [...target.sent.values()];
        target.sent.clear();
        for (const socket of unseen) give(socket);
      });
      return {
        taken(connection) {
          target.sent.get(connection)?.destroy(); // closes only the end of this process
          target.sent.delete(connection);
          target.open++;
        },
        closed: () => void target.open--,
      };
    },
    async close() {
      const closed = server.listening ? once(server, 'close') : undefined;
      server.close();
      for (const socket of waiting.splice(0)) socket.destroy();
      for (const { sent } of targets) for (const socket of sent.values()) socket.destroy();
      await closed;
    },
  };
}

/** In a worker: serves the connections from the primary. */
export function takeConnections(
  dispatcher: { taken(connection: number): void; closed(): void },
  serve: (socket: Socket) => void,
) {
  process.on('message', (message, socket) => {
    if (typeof message !== 'object' || message === null || !('connection' in message)) return;
    dispatcher.taken(message.connection as number);
    const connection = socket as Socket | undefined;
    if (!connection) return dispatcher.closed(); // the client has disconnected already
    connection.once('close', () => dispatcher.closed());
    connection.allowHalfOpen = true; // a client may close its half and wait for the response
    serve(connection);
  });
}
