import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/*
 * The system gives ports from 32768 on to servers that ask for any port. A server of a test that stops for a while may not
 * get such a port back. Therefore each worker of the tests has a block of ports below, which only its own servers use. A
 * worker holds the first port of its block as long as it runs, so workers of other processes take other blocks.
 */
const FIRST_PORT = 10_000;
const BLOCKS = 44;
export const PORTS_PER_BLOCK = 500;

const worker = process.env['VITEST_POOL_ID'];
/** The first port of the block of this process; undefined outside of vitest. */
let ownBlock: Promise<number> | undefined;
let used = 0;

/**
 * Starts a server on a port of the loopback that no other test takes, also while the server is stopped. Outside of vitest
 * it is any free port.
 *
 * @returns the port
 */
export async function listenOnOwnPort(server: Server): Promise<number> {
  if (worker !== undefined) ownBlock ??= takeBlock(Number(worker));
  const block = await ownBlock;
  for (let tries = 1; tries < PORTS_PER_BLOCK; tries++) {
    const port = block === undefined ? 0 : block + 1 + (used++ % (PORTS_PER_BLOCK - 1));
    if (!(await tryToListen(server, port))) continue;
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

/** @param start number of the block to try first */
async function takeBlock(start: number): Promise<number> {
  for (let block = start; block < start + BLOCKS; block++) {
    const port = FIRST_PORT + (block % BLOCKS) * PORTS_PER_BLOCK;
    const holder = createServer();
    if (!(await tryToListen(holder, port))) continue;
    holder.unref();
    return port;
  }
  throw new Error('other workers have all blocks of ports');
}

/** @returns false if the port is in use */
async function tryToListen(server: Server, port: number): Promise<boolean> {
  try {
    await listenOn(server, port);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}
