import { type AddressInfo, connect as connectTo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/index.ts';
import { patient } from '../../src/testing/patience.ts';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { ask, connect, hangUp } from './client.ts';
import { cleanUp, type GatewayProcess, startGateway } from './gateway-process.ts';

const server = await startPostgres();
const skipped = 'skipped' in server ? ` (skipped: ${server.skipped})` : '';

describe.skipIf(skipped !== '')(`a host whose connections to PostgreSQL stop responding${skipped}`, () => {
  const { url, stop } = server as TestPostgres;
  const config = { secrets: { master_key: 'the same on all hosts, 32 letters' } };
  let network: Network;
  let host: GatewayProcess;
  let other: GatewayProcess;
  beforeAll(async () => {
    network = await openNetwork(url);
    other = await startGateway({ config, env: { DATABASE_URL: url } });
    host = await startGateway({ config, env: { DATABASE_URL: network.url } });
  });
  afterAll(async () => {
    hangUp();
    await cleanUp();
    network.close();
    await stop();
  });

  it('knows a new key with a limit as soon as new connections respond, and rejects unknown keys', async () => {
    const client = connect(host);
    expect((await ask(client)).status).toBe(200);
    network.silence();
    // its entry is on its way to the ledger, and the sums of a new key are read after it
    expect((await ask(client)).status).toBe(200);
    const body = { name: 'new', limit: 1, workspace_id: '00000000-0000-4000-8000-0000000000a1' };
    const made = await connect(other)('POST', '/api/v1/keys', { key: testKeys.managementKey, body });
    const { key } = JSON.parse(made.body) as { key: string };
    const statuses = new Set<number>();
    const status = async (sent: string) => {
      const { status } = await ask(connect(host), sent);
      statuses.add(status);
      return status;
    };
    // A response that waits for the connections takes over two minutes, also on a fast machine.
    const timeout = Math.min(110_000, patient(60_000));
    await expect.poll(() => status(key), { timeout }).toBe(200);
    await expect.poll(() => status(`${key.slice(0, -4)}none`), { timeout }).toBe(401);
    expect([200, 401, 503]).toEqual(expect.arrayContaining([...statuses]));
  });
});

/** A way to the database whose connections can stop responding without an error. */
interface Network {
  url: string;
  /** Keeps all connections of now open, and passes on nothing more. */
  silence(): void;
  close(): void;
}

async function openNetwork(url: string): Promise<Network> {
  const sockets = new Set<Socket>();
  const proxy: Server = createServer((near) => {
    const far = connectTo(Number(new URL(url).port), new URL(url).hostname);
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return {
    url: Object.assign(new URL(url), { port: String(port) }).href,
    silence() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}
