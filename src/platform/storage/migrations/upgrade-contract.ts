import { type Kysely, sql } from 'kysely';
import { expect } from 'vitest';
import { timedPrefix } from '../../../domain/ids.ts';
import { createTestEntry, readByokSpent, readSpent } from '../contract/samples.ts';
import { createSqlStorage } from '../sql-storage.ts';
import type { Storage } from '../storage.ts';
import type { Tables } from '../tables/database.ts';
import { migrate } from './migrate.ts';

/**
 * Tests the upgrade of the data of earlier builds.
 *
 * @param db an empty database; closed in the end
 */
export async function expectUpgrade(db: Kysely<Tables>): Promise<void> {
  await migrate(db, '0002-routers');
  for (const [id, name, at] of [
    ['w1', 'Größe', 5],
    ['w2', 'große!', 6],
    ['w3', '東京', 7],
  ] as const) {
    await sql`insert into workspaces (id, name, created_at_ms) values (${id}, ${name}, ${at})`.execute(db);
  }
  await sql`insert into members (id, created_at_ms) values ('ada', 8)`.execute(db);
  await sql`insert into memberships (member_id, workspace_id) values ('ada', 'w1')`.execute(db);
  for (const [hash, kind, member] of [
    ['k1', 'member', 'ada'],
    ['k2', 'management', null],
  ] as const) {
    await sql`
      insert into keys (hash, name, label, kind, workspace_id, member_id, disabled, created_at_ms)
      values (${hash}, 'key', 'sk', ${kind}, 'w1', ${member}, 0, 9)`.execute(db);
  }
  const day = 86_400_000;
  for (const [id, key, member, at, cost] of [
    ['a', 'k1', 'ada', 3 * day, 2n ** 60n],
    ['b', 'k1', 'ada', 4 * day - 1, 5n],
    ['c', 'k1', null, 4 * day, 7n],
    ['d', 'gone', null, 4 * day, 11n],
    ['e', 'k1', 'ada', 4 * day, 0n],
  ] as const) {
    await sql`
      insert into ledger (id, created_at_ms, workspace_id, key_hash, member_id, requested_model, outcome, status, streamed,
        input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_nano_usd, priced, estimated,
        duration_ms)
      values (${id}, ${at}, 'w1', ${key}, ${member}, 'm', 'completed', 200, 0, 0, 0, 0, 0, 0, ${cost}, 1, 0, 1)`.execute(
      db,
    );
  }

  await migrate(db, '0025-secret-locations');
  await sql`update keys set concurrent_streams = 3 where hash = 'k1'`.execute(db);
  const limits = JSON.stringify({
    rateLimits: { requests_per_minute: 0, tokens_per_minute: 0, concurrent_streams: 4 },
  });
  await sql`update workspaces set settings = ${limits} where id = 'w1'`.execute(db);

  const storage = await createSqlStorage(db);
  await storage.migrate();
  const { rows } = await storage.management.listWorkspaces({ offset: 0, limit: 9 });
  expect(rows.map(({ id, slug, createdAtMs, updatedAtMs }) => [id, slug, createdAtMs, updatedAtMs])).toEqual([
    ['w1', 'grosse', 5, null],
    ['w2', 'grosse-2', 6, null],
    ['w3', 'workspace', 7, null],
  ]);
  expect(rows[0]?.settings).toMatchObject({ description: null, ioLogging: false, ioLoggingSamplingRate: 1 });
  expect(rows[0]?.settings.rateLimits).toMatchObject({ concurrent_requests: 4 });
  expect((await storage.access.listKeys())[0]?.rateLimits).toMatchObject({ concurrent_requests: 3 });
  const settings = { updatedAtMs: null, limitNanoUsd: null, limitReset: null, includeByokInLimit: false };
  expect(await storage.access.listKeys()).toMatchObject([
    { hash: 'k1', creatorUserId: 'ada', externalUser: null, ...settings },
    { hash: 'k2', creatorUserId: null, externalUser: null, ...settings },
  ]);
  expect(await storage.management.listWorkspaceMembers('w1', { offset: 0, limit: 9 })).toEqual({
    rows: [{ workspaceId: 'w1', memberId: 'ada', role: 'member', createdAtMs: 8 }],
    total: 1,
  });
  expect(await readSpent(storage.ledger, { keyHash: 'k1' }, 0, 3 * day, 4 * day)).toEqual([
    2n ** 60n + 12n,
    2n ** 60n + 12n,
    7n,
  ]);
  expect(await readSpent(storage.ledger, { workspaceId: 'w1' }, 4 * day)).toEqual([18n]);
  const { list, correct } = storage.ledger;
  const [first, ...others] = await list({ limit: 9 });
  const unknown = { providerId: null, endpointId: null, tier: null, isByok: false, upstreamCostNanoUsd: null };
  expect(first).toMatchObject({ id: 'a', costNanoUsd: 2n ** 60n, ...unknown });
  expect(first).not.toHaveProperty('special');
  expect(first).not.toHaveProperty('pictures');
  expect(others.map(({ id }) => id)).toEqual(['b', 'c', 'd', 'e']);
  await correct([{ entry: first!, costNanoUsd: 1n - 2n ** 60n, inputCostNanoUsd: 0n }], 5 * day);
  expect(await readSpent(storage.ledger, { keyHash: 'k1' }, 0, 5 * day)).toEqual([13n, 0n]);
  expect(await readByokSpent(storage.ledger, 'everything', 0)).toEqual([0n]);
  await expectUsage(db, storage.ledger);
  await storage.close();
}

/** Tests that the sums of an old ledger are filled in, and that wrong sums are found and repaired. */
async function expectUsage(db: Kysely<Tables>, ledger: Storage['ledger']): Promise<void> {
  const day = 86_400_000;
  const read = async (...boundsMs: number[]) =>
    (await ledger.readUsage({ boundsMs, groupBy: ['model', 'key'], only: {} }))
      .map(({ interval, of, requests, costNanoUsd }) => [interval, of.model, of.key, requests, costNanoUsd])
      .sort();
  expect(await read(0, 4 * day, 5 * day)).toEqual([
    [0, null, 'k1', 2, 6n],
    [1, null, 'gone', 1, 11n],
    [1, null, 'k1', 2, 7n],
  ]);
  expect(await ledger.readUsageDays()).toEqual({ firstMs: 3 * day, lastMs: 4 * day });

  const [at, bounds] = [100 * day, [100 * day, 101 * day] as const];
  const fields = { createdAtMs: at, keyHash: 'k1', model: 'm', costNanoUsd: 3n, firstOutputMs: null };
  await ledger.append([1, 2].map((id) => createTestEntry({ id: `${timedPrefix('gen-', at)}${id}`, ...fields })));
  expect(await ledger.verifyUsage(at, false)).toBe(0);
  const right = [[0, 'm', 'k1', 2, 6n]];
  expect(await read(...bounds)).toEqual(right);
  const spoil = [
    sql`update rollups set requests = requests + 1 where slot = ${100 * 96}`,
    sql`update rollups set first_output_3 = 1 where slot = ${100 * 96} and level = 3`,
    sql`delete from rollups where level > 0 and slot = ${100 * 96}`,
  ];
  for (const statement of spoil) {
    await statement.execute(db);
    expect(await ledger.verifyUsage(at, false)).toBeGreaterThan(0);
    expect(await ledger.verifyUsage(at, true)).toBeGreaterThan(0);
    expect(await ledger.verifyUsage(at, true)).toBe(0);
    expect(await read(...bounds)).toEqual(right);
  }
}
