import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createTestEntry, createTestLine } from '../../src/platform/storage/contract/samples.ts';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { main } from '../api/manage.ts';
import { type FakeClickHouse, type Fault, startFakeClickHouse } from './fake-clickhouse.ts';

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const settings = (fake: FakeClickHouse, more: object = {}) => ({
  ledger: { clickhouse: { url: fake.url, user: 'writer', password: 'a "pass" word?', timeout_ms: 500, ...more } },
});

async function start(fake: FakeClickHouse, dataDir?: string, more: object = {}): Promise<TestGateway> {
  const gateway = await testGateway(settings(fake, more), dataDir, { exportMs: 10, gatherMs: 1 });
  open.push(gateway);
  return gateway;
}

async function startFake(options?: { knowsTokens: boolean }): Promise<FakeClickHouse> {
  const fake = await startFakeClickHouse(options);
  open.push(fake);
  return fake;
}

const sum = (rows: FakeClickHouse['rows']): bigint =>
  rows.reduce((total, { cost_nano_usd }) => total + BigInt(cost_nano_usd as string), 0n);
const ids = (rows: FakeClickHouse['rows']): string[] => rows.map(({ id }) => id as string).toSorted();

/** Records entries, and a correction of the first one. @returns the ids of the rows */
async function record({ gateway }: TestGateway, count: number): Promise<string[]> {
  const entries = Array.from({ length: count }, () => createTestEntry({ workspaceId: main, costNanoUsd: 5n }));
  await gateway.storage.ledger.append(entries);
  await gateway.storage.ledger.correct([{ entry: entries[0]!, costNanoUsd: -2n, inputCostNanoUsd: 0n }], 7);
  return [...entries.map(({ id }) => id), `${entries[0]!.id}.1`];
}

describe.each([
  ['with insert tokens', true],
  ['without insert tokens', false],
])('a ClickHouse %s', (_, knowsTokens) => {
  it.each<{ faults: Fault[] }>([
    { faults: [] },
    { faults: ['die', 'refuse', 'die'] },
    { faults: ['commit-and-die', 'commit-and-die'] },
    { faults: ['commit-late', 'commit-late'] },
    { faults: ['die', 'commit-late', 'commit-and-die', 'refuse'] },
  ])('has each row once: $faults', async ({ faults }) => {
    const fake = await startFake({ knowsTokens });
    fake.faults.push(...faults);
    const gateway = await start(fake);
    const first = await record(gateway, 2100);
    await expect.poll(() => fake.rows.length).toBeGreaterThanOrEqual(first.length);
    const second = await record(gateway, 3);
    await expect.poll(() => fake.rows.length).toBeGreaterThanOrEqual(first.length + second.length);
    expect(fake.faults).toEqual([]);
    await expect.poll(() => readMetric(gateway, 'waiting_rows')).toBe(0);
    expect(ids(fake.rows)).toEqual([...first, ...second].toSorted());
    expect(sum(fake.rows)).toBe(BigInt(2103 * 5 - 2 * 2));
  });

  it('continues after a restart, from the batch that may have been written', async () => {
    const fake = await startFake({ knowsTokens });
    const gateway = await start(fake);
    const first = await record(gateway, 3);
    await expect.poll(() => fake.rows.length).toBe(first.length);
    fake.faults.push(...Array<Fault>(50).fill('refuse'));
    fake.faults.unshift('commit-and-die');
    const second = await record(gateway, 3);
    await expect.poll(() => fake.rows.length).toBeGreaterThan(first.length);
    await gateway.close({ keepData: true });
    fake.faults.length = 0;
    open.splice(open.indexOf(gateway), 1);

    const again = await start(fake, gateway.dataDir);
    const third = await record(again, 1);
    await expect.poll(() => fake.rows.length).toBe(first.length + second.length + third.length);
    expect(ids(fake.rows)).toEqual([...first, ...second, ...third].toSorted());
  });
});

const postgres = await startPostgres();
const skipped = 'skipped' in postgres ? ` (skipped: ${postgres.skipped})` : '';
afterAll(() => ('stop' in postgres ? postgres.stop() : undefined));

it.skipIf(skipped !== '')(`two hosts on one PostgreSQL send each row once, one after the other${skipped}`, async () => {
  const fake = await startFake({ knowsTokens: false });
  const storage = { url: (postgres as TestPostgres).url };
  const config = { ...settings(fake), storage };
  const hosts = [];
  for (let host = 0; host < 2; host++) {
    const gateway = await testGateway(config, undefined, { exportMs: 10, gatherMs: 1 });
    open.push(gateway);
    hosts.push(gateway);
  }
  const [one, two] = hosts as [TestGateway, TestGateway];
  const first = (await Promise.all([record(one, 1500), record(two, 1500)])).flat();
  await expect.poll(() => fake.rows.length).toBeGreaterThanOrEqual(first.length);
  fake.faults.push('commit-and-die', ...Array<Fault>(50).fill('refuse'));
  const second = await record(two, 10);
  await expect.poll(() => fake.rows.length).toBeGreaterThanOrEqual(first.length + 10);
  const rows = (gateway: TestGateway) => readMetric(gateway, 'rows_total');
  const [sender, other] = ((await rows(one)) ?? 0) > 0 ? [one, two] : [two, one];
  expect(await rows(other)).toBe(0);
  open.splice(open.indexOf(sender), 1);
  await sender.close();
  fake.faults.length = 0;
  const third = await record(other, 10);
  await expect.poll(() => fake.rows.length).toBeGreaterThanOrEqual(first.length + second.length + third.length);
  await expect.poll(() => readMetric(other, 'waiting_rows')).toBe(0);
  expect(ids(fake.rows)).toEqual([...first, ...second, ...third].toSorted());
});

async function readMetric(gateway: TestGateway, name: string): Promise<number | undefined> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const value = new RegExp(`^headgate_export_${name}{sink="clickhouse"} (\\S+)$`, 'm').exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

it('rows have the facts of their entries', async () => {
  const fake = await startFake();
  const gateway = await start(fake);
  const entry = createTestEntry({
    workspaceId: main,
    tags: { team: 'search' },
    costNanoUsd: 2n ** 60n,
    lines: [createTestLine({ status: 503 }), createTestLine({ status: 200 })],
  });
  await gateway.gateway.storage.ledger.append([entry]);
  await expect.poll(() => fake.rows.length).toBe(1);
  const [row] = fake.rows;
  expect(row).toMatchObject({
    id: entry.id,
    corrects: '',
    created_at: Math.floor(entry.createdAtMs / 1000),
    created_at_ms: String(entry.createdAtMs),
    cost_nano_usd: String(2n ** 60n),
    tag_keys: ['team'],
    tag_values: ['search'],
    api_type: 'response',
  });
  expect(JSON.parse(row!['attempts'] as string)).toMatchObject([{ status: 503 }, { status: 200 }]);
});

it('a ClickHouse that is down slows no request and loses no row, and the backlog is visible', async () => {
  const fake = await startFake();
  fake.isDown = true;
  const gateway = await start(fake);
  const response = await gateway.post('/responses', { model: 'simulator/echo', input: 'Hello!' });
  expect(response.status).toBe(200);
  await gateway.gateway.storage.ledger.append([createTestEntry({ workspaceId: main, createdAtMs: 1_790_000_000_000 })]);
  await expect.poll(() => readMetric(gateway, 'waiting_rows')).toBe(2);
  await expect.poll(() => readMetric(gateway, 'failures_total')).toBeGreaterThan(0);
  await expect.poll(() => readMetric(gateway, 'lag_seconds')).toBeGreaterThan(0);

  fake.isDown = false;
  await expect.poll(() => fake.rows.length).toBe(2);
  await expect.poll(() => readMetric(gateway, 'waiting_rows')).toBe(0);
  await expect.poll(async () => (await gateway.get('/ready')).json()).toEqual({ status: 'ready' });
});

it('/ready names a sink that is late', async () => {
  const fake = await startFake();
  fake.isDown = true;
  const gateway = await start(fake);
  await gateway.gateway.storage.ledger.append([
    createTestEntry({ workspaceId: main, createdAtMs: Date.UTC(2026, 0, 1) }),
  ]);
  await expect
    .poll(async () => (await gateway.get('/ready')).json())
    .toEqual({ status: 'ready', exports: 'clickhouse waits since 2026-01-01T00:00:00.000Z' });
});

it('an error names the remedy and no data', async () => {
  const fake = await startFake();
  const { createClickHouseTarget } = await import('../../src/exports/clickhouse/clickhouse-target.ts');
  const place = { url: fake.url, database: 'default', user: 'writer', password: 'a "pass" word?', timeoutMs: 500 };
  const entry = createTestEntry({ sessionId: 'a secret session' });
  const batch = {
    token: 't',
    lastId: entry.id,
    plannedAtMs: 0,
    isRetry: false,
    async *read() {
      yield [{ entry, position: '1:x' }];
    },
  };
  const { signal } = new AbortController();
  for (const [more, message] of [
    [{ table: 'missing' }, 'ClickHouse responded with status 500 and code 60: Code: 60, '],
    [{ table: 'headgate_ledger', password: 'wrong' }, 'code 516'],
    [{ table: 'headgate_ledger', url: 'http://127.0.0.1:9' }, 'ClickHouse cannot be reached (ECONNREFUSED).'],
  ] as const) {
    const target = createClickHouseTarget({ ...place, ...more });
    await expect(target.write(batch, signal)).rejects.toThrow(message);
    await target.close();
  }
});
