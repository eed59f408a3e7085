import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { long, quick } from '../../src/testing/full.ts';
import { testKeys } from '../../src/testing/index.ts';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { type Answer, ask, type Client, connect, hangUp, idsOf, readNumbers, statusesOf } from './client.ts';
import { cleanUp, type GatewayProcess, startGateway } from './gateway-process.ts';
import { expectOneMemory, memoryProviders } from './one-memory.ts';

const server = await startPostgres();
const skipped = 'skipped' in server ? ` (skipped: ${server.skipped})` : '';

describe.skipIf(skipped !== '')(`two hosts on one PostgreSQL, one of them with two workers${skipped}`, () => {
  const { url, stop } = server as TestPostgres;
  const admin = new pg.Client({ connectionString: url });
  let databases = 0;
  let database: string;
  const config = { secrets: { master_key: 'the same on all hosts, 32 letters' }, providers: memoryProviders };
  let hosts: [GatewayProcess, GatewayProcess];
  /** One for the single-process host, and one for each worker of the other host. */
  let clients: [Client, Client, Client];

  beforeAll(() => admin.connect());
  beforeEach(async () => {
    const name = `hosts_${++databases}`;
    await admin.query(`create database ${name}`);
    database = new URL(`/${name}`, url).href;
    const start = (...args: string[]) => startGateway({ config, args, env: { DATABASE_URL: database } });
    hosts = await Promise.all([start(), start('--workers', '2')]);
    clients = [connect(hosts[0]), connect(hosts[1]), connect(hosts[1])];
    await clients[1]('GET', '/health'); // the next connection to this host goes to the other worker
  });
  afterEach(async () => {
    hangUp();
    await cleanUp();
  });
  afterAll(async () => {
    await admin.end();
    await stop();
  });

  quick('record each response once, and find the responses of each other', async () => {
    const answers: Answer[] = [];
    for (let count = 0; count < 5; count++) answers.push(...(await Promise.all(clients.map((client) => ask(client)))));
    expect(statusesOf(answers)).toEqual([200]);
    const last = answers.at(-1)!.id;
    for (const client of clients) {
      const status = async () => (await client('GET', `/api/v1/generation?id=${last}`)).status;
      await expect.poll(status).toBe(200);
    }
    const numbers = await readNumbers(clients[1]);
    expect([0, 1].map((worker) => numbers.get(`headgate_worker_requests_total{worker="${worker}"}`)! > 0)).toEqual([
      true,
      true,
    ]);
    expect(await Promise.all(hosts.map((host) => host.end()))).toEqual([0, 0]);
    expect(await readLedger(database)).toEqual(idsOf(answers));
  });

  long('reject a key soon after one of them disabled it under load', async () => {
    const manage = { key: testKeys.managementKey };
    const body = { name: 'short-lived', workspace_id: '00000000-0000-4000-8000-0000000000a1' };
    const made = await clients[1]('POST', '/api/v1/keys', { ...manage, body });
    const { key, data } = JSON.parse(made.body) as { key: string; data: { hash: string } };
    const status = async () => statusesOf(await Promise.all(clients.map((client) => ask(client, key))));
    await expect.poll(status, { interval: 10 }).toEqual([200]);

    const refusedAt = clients.map(async (client) => {
      while ((await ask(client, key)).status === 200);
      return performance.now();
    });
    const disabled = await connect(hosts[0])('PATCH', `/api/v1/keys/${data.hash}`, {
      ...manage,
      body: { disabled: true },
    });
    const disabledAt = performance.now();
    expect(disabled.status).toBe(200);
    // Within a second on an idle machine.
    for (const at of await Promise.all(refusedAt)) expect(at - disabledAt).toBeLessThan(20_000);
  });

  long('share outages and sessions', async () => {
    await expectOneMemory(clients[0], clients.slice(1));
  });

  quick('continue while the other one is killed, whose responses are recorded at its next start', async () => {
    const first = await Promise.all(clients.map((client) => ask(client)));
    await hosts[1].end('SIGKILL');
    const second = [await ask(clients[0]), await ask(clients[0])];
    expect(statusesOf([...first, ...second])).toEqual([200]);
    const again = await startGateway({ folder: hosts[1].folder, config, env: { DATABASE_URL: database } });
    await expect.poll(() => readLedger(database)).toEqual(idsOf([...first, ...second]));
    expect((await ask(connect(again))).status).toBe(200);
  });
});

async function readLedger(database: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const { rows } = await client.query<{ id: string }>('select id from ledger');
  await client.end();
  return rows.map(({ id }) => id).sort();
}
