import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

const PROTOCOL = 196_608;
const READY = 'Z';
const IDLE = 'I';
/** The parameters that PgBouncer accepts without `ignore_startup_parameters`. */
const accepted = ['user', 'database', 'client_encoding', 'datestyle', 'timezone', 'application_name'];

export interface TransactionPooler {
  /** The URL of the database through the pooler. */
  url: string;
  stop(): Promise<void>;
}

/**
 * Starts a pooler that behaves like PgBouncer with `pool_mode = transaction` and `max_prepared_statements = 0`: it rejects most
 * parameters of a connection, and gives each transaction of a client another connection, which does not know the prepared
 * statements of the last one.
 *
 * @param url a server that needs no password
 * @see https://www.pgbouncer.org/features.html
 */
export async function startTransactionPooler(url: string): Promise<TransactionPooler> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const open = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => void serve(open(client), () => open(connect(Number(port), hostname))));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const pooled = new URL(url);
  pooled.port = String((server.address() as AddressInfo).port);
  return {
    url: pooled.href,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function serve(client: Socket, openBackend: () => Socket): Promise<void> {
  const [start] = (await once(client, 'data')) as [Buffer];
  if (start.readInt32BE(4) !== PROTOCOL) return void client.destroy();
  const refused = readParameterNames(start).find((name) => !accepted.includes(name.toLowerCase()));
  if (refused !== undefined) return void client.end(writeError(`unsupported startup parameter: ${refused}`));

  const backends = [openBackend(), openBackend()];
  let active = 0;
  for (const [at, backend] of backends.entries()) {
    let hasStarted = at === 0; // the client sees the start of the first one only
    backend.write(start);
    backend.on('close', () => client.destroy());
    backend.on(
      'data',
      splitMessages((message) => {
        const type = String.fromCharCode(message[0]!);
        if (hasStarted) client.write(message);
        if (type !== READY) return;
        if (hasStarted && String.fromCharCode(message[5]!) === IDLE) active = (active + 1) % backends.length;
        hasStarted = true;
      }),
    );
  }
  client.on('data', (data) => backends[active]!.write(data));
  client.on('close', () => {
    for (const backend of backends) backend.destroy();
  });
}

function readParameterNames(start: Buffer): string[] {
  const words = start.toString('utf8', 8).split('\0');
  return words.filter((word, at) => at % 2 === 0 && word !== '');
}

function writeError(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/** Returns a listener that calls back with each whole message of a server. */
function splitMessages(use: (message: Buffer) => void): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (data) => {
    rest = Buffer.concat([rest, data]);
    while (rest.length > 4 && rest.length > rest.readInt32BE(1)) {
      const end = rest.readInt32BE(1) + 1;
      use(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
  };
}
