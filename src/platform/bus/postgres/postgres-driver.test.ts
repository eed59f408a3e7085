import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../testing/postgres.ts';
import { type BusDriver, createBus, type Topic } from '../bus.ts';
import { testBus } from '../contract.ts';
import { openPostgresDriver } from './postgres-driver.ts';

const anyOf = (name: string): Topic<unknown> => ({ name, read: (message) => message });

const server = await startPostgres();
const skipped = 'skipped' in server ? ` (skipped: ${server.skipped})` : '';

describe.skipIf(skipped !== '')(`PostgreSQL${skipped}`, () => {
  const { url, stop } = server as TestPostgres;
  const admin = new pg.Client({ connectionString: url });
  let databases = 0;
  beforeAll(() => admin.connect());
  afterAll(async () => {
    await admin.end();
    await stop();
  });

  /** Opens processes on a new database. */
  async function open(count: number, heartbeatMs?: number) {
    const name = `bus_${++databases}`;
    await admin.query(`create database ${name}`);
    const database = new URL(`/${name}`, url).href;
    const troubles: unknown[] = [];
    let recoveries = 0;
    const drivers = await Promise.all(
      Array.from({ length: count }, () =>
        openPostgresDriver(database, {
          onTrouble: (error) => troubles.push(error),
          onRecovery: () => void recoveries++,
          heartbeatMs,
        }),
      ),
    );
    await Promise.all(drivers.map(({ connected }) => connected));
    const close = async () => {
      for (const driver of drivers) await driver.close();
    };
    return { name, database, drivers, troubles, recoveries: () => recoveries, close };
  }

  testBus('postgres', async () => {
    const { drivers, close } = await open(3);
    return { drivers: drivers as BusDriver[] as [BusDriver, BusDriver, BusDriver], close };
  });

  it('delivers nothing to gateways in another schema of the database', async () => {
    const { database, drivers, close } = await open(1);
    const client = new pg.Client({ connectionString: database });
    await client.connect();
    await client.query('create schema staging');
    await client.end();
    const staging = `${database}?options=-c%20search_path%3Dstaging`;
    const others = await Promise.all([1, 2].map(() => openPostgresDriver(staging, { onTrouble: () => {} })));
    await Promise.all(others.map(({ connected }) => connected));
    const [first, second, third] = [drivers[0]!, ...others].map(createBus);
    const word = anyOf('word');
    const received: Record<string, unknown[]> = { first: [], third: [] };
    first!.subscribe(word, (message) => received['first']!.push(message));
    third!.subscribe(word, (message) => received['third']!.push(message));
    second!.publish(word, 'from staging');
    await expect.poll(() => received['third']).toEqual(['from staging']);
    expect(received['first']).toEqual([]);
    for (const driver of others) await driver.close();
    await close();
  });

  it('connects again after the server ends its connections, and reports the loss and the recovery once', async () => {
    const { name, drivers, troubles, recoveries, close } = await open(2);
    const buses = drivers.map(createBus);
    const number = anyOf('number');
    expect(recoveries()).toBe(0);
    const received: unknown[] = [];
    buses[1]!.subscribe(number, (message) => received.push(message));
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    await expect.poll(() => troubles.length).toBe(2);
    let count = 0;
    const publish = () => {
      buses[0]!.publish(number, ++count);
      return received.length;
    };
    await expect.poll(publish).toBeGreaterThan(0);
    await expect.poll(recoveries).toBe(2);
    expect(troubles).toHaveLength(2);
    await close();
  });

  it('ignores notifications of other applications', async () => {
    const { database, drivers, close } = await open(2);
    const received: unknown[] = [];
    drivers[0]!.receive((topic, message) => received.push([topic, message]));
    const stranger = new pg.Client({ connectionString: database });
    await stranger.connect();
    for (const payload of ['', 'hello', '{}', '[1,2,[3],["a"]]']) {
      await stranger.query('select pg_notify($1, $2)', ['headgate', payload]);
    }
    await stranger.end();
    drivers[1]!.send('own', 1);
    await expect.poll(() => received).toContainEqual(['own', 1]);
    expect(received).toEqual([
      ['a', undefined],
      ['own', 1],
    ]);
    await close();
  });

  it('drops only a message that is too long', async () => {
    const { drivers, troubles, close } = await open(2);
    const received: unknown[] = [];
    drivers[1]!.receive((topic) => received.push(topic));
    drivers[0]!.send('before', 1);
    drivers[0]!.send('long', 'ü'.repeat(4000));
    drivers[0]!.send('after', 1);
    await expect.poll(() => received).toEqual(['before', 'after']);
    expect(troubles).toEqual([]);
    await close();
  });
});
