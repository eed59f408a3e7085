import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { listenOn, listenOnOwnPort } from '../../src/testing/free-port.ts';

/** A relay between a gateway and its store, so that a test can make the store unreachable and reachable. */
export interface Relay {
  /** The URL of the store through the relay. The same after `down` and `up`. */
  readonly url: string;
  /** Closes all connections and refuses new ones, like a stopped server. */
  down(): Promise<void>;
  up(): Promise<void>;
  /** Forwards nothing, like a network that drops all packets. */
  freeze(): void;
  thaw(): void;
  /** Forwards nothing over the open connections, and closes none. New connections work. */
  strand(): void;
}

export async function openRelay(target: string): Promise<Relay> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isFrozen = false;

  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  };
  const create = (): Server =>
    createServer((near) => {
      const far = keep(connect(Number(port), hostname));
      keep(near).pipe(far).pipe(near);
      near.once('close', () => far.destroy());
      far.once('close', () => near.destroy());
      if (isFrozen) for (const socket of [near, far]) socket.pause();
    });
  let server = create();
  const url = new URL(target);
  url.port = String(await listenOnOwnPort(server));

  return {
    url: url.href,
    async down() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    up() {
      server = create();
      return listenOn(server, Number(url.port));
    },
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
    strand() {
      for (const socket of sockets) socket.pause();
    },
  };
}
