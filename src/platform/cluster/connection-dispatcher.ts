import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { WorkerLink } from './hub.ts';

/** What a worker tells of the connections it was given. */
export interface ConnectionService {
  taken(connection: number): void;
  /** One of those that it took. */
  closed(): void;
}

/** The port that several workers share. */
export interface ConnectionDispatcher {
  /** From now on connections are taken, and wait until there is a worker. @returns the port @throws as `net.Server` does */
  listen(host: string, port: number): Promise<number>;
  /** Gives connections to a worker, until it is gone. */
  open(worker: Pick<WorkerLink, 'gone'>, send: (connection: number, socket: Socket) => void): ConnectionService;
  close(): Promise<void>;
}

interface DispatchTarget {
  /** On their way to it: not yet seen by it, for all we know. */
  readonly sent: Map<number, Socket>;
  /** Those that it serves. */
  open: number;
  send: (connection: number, socket: Socket) => void;
}

/** Connections that wait for a worker at most; the system holds some more. */
const MAX_WAITING = 1000;

/**
 * Takes connections and gives each to the worker that has the fewest: they live long, and what is handed out in turn
 * does not stay even. A worker that is busy with one thing gets no further ones while another is free.
 *
 * What node:cluster hands to a worker that has just died it never hears of again, and the client waits for ever. So an
 * end of each connection stays here until its worker has said that it is there; else it goes to another one.
 */
export function createConnectionDispatcher(): ConnectionDispatcher {
  const targets = new Set<DispatchTarget>();
  const waiting: Socket[] = [];
  let connections = 0;

  const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {}); // whoever has it by now sees it, too
    Reflect.set(socket, 'server', null); // else Node asks all workers for what is left of it when this server closes
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
    targets.add(target); // the last in the row, where several have as few
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
          target.sent.get(connection)?.destroy(); // our end alone
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

/** In a worker: serves the connections that the primary gives. */
export function takeConnections(
  dispatcher: { taken(connection: number): void; closed(): void },
  serve: (socket: Socket) => void,
) {
  process.on('message', (message, socket) => {
    if (typeof message !== 'object' || message === null || !('connection' in message)) return;
    dispatcher.taken(message.connection as number);
    const connection = socket as Socket | undefined;
    if (!connection) return dispatcher.closed(); // the client was faster
    connection.once('close', () => dispatcher.closed());
    connection.allowHalfOpen = true; // a client may close its half and wait for the answer
    serve(connection);
  });
}
