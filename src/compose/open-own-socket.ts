import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FOLDER = 'headgate-own-';
/** Longest path of a folder for sockets. Paths of Unix sockets have at most 107 bytes. */
const MAX_FOLDER_BYTES = 60;

/** Connections of a gateway to itself. */
export interface OwnSocket {
  /** Opens a connection on which every request has this key, whatever it sends. */
  connect(apiKey: string): Promise<Socket>;
  /** @returns the key of a connection; undefined: requests on it have their own */
  findKey(connection: object): string | undefined;
  /** Opens a socket for the other processes of this host. Requests on it have keys of their own. @returns its path */
  open(): Promise<string>;
  /** Sets the receiver of connections, once there is a server. */
  serve(receive: (connection: Socket) => void): void;
}

/** A listener in a folder that only the gateway can enter. It is opened when it is needed first. */
export function createOwnSocket(resources: AsyncDisposableStack): OwnSocket {
  const keys = new WeakMap<object, string>();
  const sockets = new Set<Socket>();
  let receive: ((connection: Socket) => void) | undefined;
  let accepting: ((connection: Socket) => void) | undefined;
  let listening: Promise<string> | undefined;
  let shared: Promise<string> | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  async function listen(name: string, accept: (connection: Socket) => void): Promise<string> {
    const folder = mkdtempSync(join(Buffer.byteLength(tmpdir()) > MAX_FOLDER_BYTES ? '/tmp' : tmpdir(), FOLDER));
    chmodSync(folder, 0o700);
    const path = join(folder, name);
    const server = createServer((connection) => {
      sockets.add(connection.once('close', () => sockets.delete(connection)));
      connection.on('error', () => {}); // both ends notice it
      accept(connection);
    });
    server.listen(path);
    await once(server, 'listening');
    resources.defer(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
      rmSync(folder, { recursive: true, force: true });
    });
    return path;
  }

  /** One at a time, so that each end is known to belong to the other. */
  async function open(apiKey: string): Promise<Socket> {
    listening ??= listen('api.sock', (connection) => (accepting && receive ? accepting : drop)(connection));
    const path = await listening;
    const accepted = new Promise<Socket>((resolve) => {
      accepting = resolve;
    });
    const client = connect(path);
    await once(client, 'connect');
    const connection = await accepted;
    keys.set(connection, apiKey);
    receive!(connection);
    return client;
  }

  return {
    connect(apiKey) {
      const opened = turn.then(() => open(apiKey));
      turn = opened.catch(() => {}); // its caller has the error
      return opened;
    },
    open() {
      shared ??= listen('shared.sock', (connection) => (receive ?? drop)(connection));
      return shared;
    },
    findKey: (connection) => keys.get(connection),
    serve(receiver) {
      receive = receiver;
    },
  };
}

const drop = (connection: Socket): void => void connection.destroy();
