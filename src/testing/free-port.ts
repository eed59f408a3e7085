import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/*
 * The system gives ports from 32768 on to servers that ask for any port. A server of a test that stops for a while may not
 * get such a port back. Therefore each worker of the tests has ports below, which only its own servers use.
 */
const FIRST_PORT = 10_000;
const WORKERS = 8;
const PORTS_PER_WORKER = 1400;

const worker = process.env['VITEST_POOL_ID'];
/** `npm test` and `npm run test:full` may run at the same time. */
const block = (Number(worker) % WORKERS) + (process.env['HEADGATE_TEST_FULL'] === undefined ? 0 : WORKERS);
let used = 0;

/**
 * Starts a server on a port of the loopback that no other test takes, also while the server is stopped. Outside of vitest
 * it is any free port.
 *
 * @returns the port
 */
export async function listenOnOwnPort(server: Server): Promise<number> {
  for (let tries = 0; tries < PORTS_PER_WORKER; tries++) {
    const port = worker === undefined ? 0 : FIRST_PORT + block * PORTS_PER_WORKER + (used++ % PORTS_PER_WORKER);
    try {
      await listenOn(server, port);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw error;
    }
    const address = server.address();
    if (address !== null && typeof address !== 'string') return address.port;
  }
  throw new Error('no port of the loopback is free');
}

/** @throws if the port is in use */
export async function listenOn(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

/** Finds a free port of the loopback, for a server of another process. Outside of vitest another process may take it first. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  const port = await listenOnOwnPort(server);
  server.close();
  await once(server, 'close');
  return port;
}
