import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../testing/postgres.ts';
import type { Bus } from '../bus.ts';
import { testBus } from '../contract.ts';
import { openPostgresBus } from './postgres-bus.ts';

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

  /** Processes on a database of their own. */
  async function open(count: number, heartbeatMs?: number) {
    const name = `bus_${++databases}`;
    await admin.query(`create database ${name}`);
    const database = new URL(`/${name}`, url).href;
    const troubles: unknown[] = [];
    let recoveries = 0;
    const buses = Array.from({ length: count }, () =>
      openPostgresBus(database, {
        onTrouble: (error) => troubles.push(error),
        onRecovery: () => void recoveries++,
        heartbeatMs,
      }),
    );
    await Promise.all(buses.map(({ connected }) => connected));
    const close = async () => {
      for (const bus of buses) await bus.close();
    };
    return { name, database, buses, troubles, recoveries: () => recoveries, close };
  }

  testBus('postgres', async () => {
    const { buses, close } = await open(3);
    return { buses: buses as Bus[] as [Bus, Bus, Bus], close };
  });

  it('connects again when its connections are ended, and tells both once', async () => {
    const { name, buses, troubles, recoveries, close } = await open(2);
    expect(recoveries()).toBe(0);
    const heard: unknown[] = [];
    buses[1]!.subscribe((_, message) => heard.push(message));
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    await expect.poll(() => troubles.length).toBe(2);
    let count = 0;
    const publish = () => {
      buses[0]!.publish('number', ++count);
      return heard.length;
    };
    await expect.poll(publish, { timeout: 10_000 }).toBeGreaterThan(0);
    await expect.poll(recoveries).toBe(2);
    expect(troubles).toHaveLength(2);
    await close();
  });

  it('hears nothing in what somebody else notifies', async () => {
    const { database, buses, close } = await open(2);
    const heard: unknown[] = [];
    buses[0]!.subscribe((topic, message) => heard.push([topic, message]));
    const stranger = new pg.Client({ connectionString: database });
    await stranger.connect();
    for (const payload of ['', 'hello', '{}', '[1,2,[3],["a"]]']) {
      await stranger.query('select pg_notify($1, $2)', ['headgate', payload]);
    }
    await stranger.end();
    buses[1]!.publish('own', 1);
    await expect.poll(() => heard).toContainEqual(['own', 1]);
    expect(heard).toEqual([
      ['a', undefined],
      ['own', 1],
    ]);
    await close();
  });

  it('loses a message that is too long, and no other', async () => {
    const { buses, troubles, close } = await open(2);
    const heard: unknown[] = [];
    buses[1]!.subscribe((topic) => heard.push(topic));
    buses[0]!.publish('before', 1);
    buses[0]!.publish('long', 'ü'.repeat(4000));
    buses[0]!.publish('after', 1);
    await expect.poll(() => heard).toEqual(['before', 'after']);
    expect(troubles).toEqual([]);
    await close();
  });
});
