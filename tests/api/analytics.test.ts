import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createId, timedPrefix } from '../../src/domain/ids.ts';
import type { LedgerEntry } from '../../src/domain/ledger-entry.ts';
import { createTestEntry } from '../../src/platform/storage/contract/samples.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { expectIssues, type Json, main, manage, other } from './manage.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
const keyHash = 'c'.repeat(64);

/** An entry at a time, whose cost is a number of nano-dollars. */
function at(time: string, costNanoUsd: bigint, fields: Partial<LedgerEntry> = {}): LedgerEntry {
  const createdAtMs = Date.parse(time);
  const id = createId(timedPrefix('gen-', createdAtMs));
  return createTestEntry({ id, createdAtMs, costNanoUsd, workspaceId: main, ...fields });
}

beforeAll(async () => {
  gateway = await testGateway();
  const { ledger } = gateway.gateway.storage;
  await ledger.append([
    at('2026-10-24T22:30:00Z', 1n), // the 25th in Berlin and Kathmandu
    at('2026-10-25T10:00:00Z', 10n, { keyHash, memberId: 'ben', tags: { team: 'search' } }),
    at('2026-10-25T22:59:59.999Z', 100n, { workspaceId: other, model: 'acme/large', tags: { team: 'ads' } }),
    at('2026-10-25T23:00:00Z', 1000n, { provider: 'Bolt', isByok: true, durationMs: 700, firstOutputMs: null }),
    at('2026-10-25T23:10:00Z', 0n, { model: null, provider: null, outcome: 'failed', status: 529, priced: false }),
  ]);
});
afterAll(() => gateway.close());

const october = 'since=2026-10-24&until=2026-10-27';
const list = async (query: string, inZone = 'time_zone=Europe/Berlin'): Promise<Json[]> => {
  const { status, body } = await ask('GET', `/analytics?${october}&${inZone}&${query}`);
  expect(body.error).toBeUndefined();
  expect(status).toBe(200);
  return body.data;
};
const brief = (rows: Json[], ...fields: string[]) =>
  rows.map((row) => ['start', ...fields, 'usage_nano_usd'].map((name) => row[name]));

describe('GET /analytics', () => {
  it('sums local days, which have 25 hours when the clocks change', async () => {
    expect(brief(await list(''), 'requests', 'byok_usage_nano_usd')).toEqual([
      ['2026-10-25T00:00:00+02:00', 3, '0', '111'],
      ['2026-10-26T00:00:00+01:00', 2, '1000', '0'],
    ]);
    expect(brief(await list('', 'time_zone=Asia/Kathmandu'))).toEqual([
      ['2026-10-25T00:00:00+05:45', '11'],
      ['2026-10-26T00:00:00+05:45', '100'],
    ]);
    expect(brief(await list('', ''))).toEqual([
      ['2026-10-24T00:00:00+00:00', '1'],
      ['2026-10-25T00:00:00+00:00', '110'],
    ]);
  });

  it('groups by dimensions and by a tag, and filters', async () => {
    expect(brief(await list('group_by=model,provider&interval=total'), 'model', 'provider_name')).toEqual([
      ['2026-10-24T00:00:00+02:00', 'acme/small', 'Bolt', '0'],
      ['2026-10-24T00:00:00+02:00', 'acme/large', 'Acme', '100'],
      ['2026-10-24T00:00:00+02:00', 'acme/small', 'Acme', '11'],
      ['2026-10-24T00:00:00+02:00', 'fast', null, '0'],
    ]);
    expect(brief(await list('group_by=tag:team&interval=month'), 'tag', 'requests')).toEqual([
      ['2026-10-24T00:00:00+02:00', null, 3, '1'],
      ['2026-10-24T00:00:00+02:00', 'ads', 1, '100'],
      ['2026-10-24T00:00:00+02:00', 'search', 1, '10'],
    ]);
    expect(brief(await list('group_by=api_key,user&tag=team:search'), 'api_key_hash', 'user_id')).toEqual([
      ['2026-10-25T00:00:00+02:00', keyHash, 'ben', '10'],
    ]);
    expect(await list(`workspace_id=${other}&api_key_hash=${keyHash}`)).toEqual([]);
    expect(brief(await list('model=acme/large&provider=Acme'))).toEqual([['2026-10-25T00:00:00+02:00', '100']]);
  });

  it('counts tokens, outcomes and durations', async () => {
    const [row] = await list('interval=total&percentiles=true');
    expect(row).toEqual({
      start: '2026-10-24T00:00:00+02:00',
      requests: 5,
      errors: 1,
      rejected: 0,
      cancelled: 0,
      incomplete: 0,
      unpriced: 1,
      prompt_tokens: 60,
      cached_tokens: 15,
      cache_write_tokens: 10,
      completion_tokens: 45,
      reasoning_tokens: 20,
      usage: 1.11e-7,
      byok_usage_inference: 0.000001,
      usage_nano_usd: '111',
      byok_usage_nano_usd: '1000',
      generation_time: { average: 332, p50: 325, p95: 700, p99: 780 },
      latency: { p50: 75, p95: 98, p99: 100 },
    });
    expect(await list('interval=hour&model=none')).toEqual([]);
  });

  it('shows an inference key the sums of its workspace alone', async () => {
    const read = async (query: string) => ask('GET', `/analytics?${october}&${query}`, undefined, gateway.key);
    const mine = await read('interval=total&group_by=workspace');
    expect(brief(mine.body.data, 'workspace_id', 'requests')).toEqual([['2026-10-24T00:00:00+00:00', main, 4, '11']]);
    for (const query of [
      'group_by=api_key',
      'group_by=user',
      `api_key_hash=${keyHash}`,
      'user_id=ben',
      `workspace_id=${other}`,
    ]) {
      const { status, body } = await read(query);
      expect([query, status, body.error?.message]).toEqual([
        query,
        403,
        expect.stringMatching(/An inference key can read/),
      ]);
    }
  });

  it.each([
    ['time_zone=Mars/Base', { time_zone: '"Mars/Base" is not a time zone of the IANA database' }],
    ['interval=minute', { interval: 'is not one of hour, day, week, month, total' }],
    ['group_by=model,colour', { group_by: 'is not a list of model, provider, workspace, api_key, user' }],
    ['group_by=tag:team,tag:feature', { group_by: 'at most one tag' }],
    ['group_by=tag:team&tag=team:x', { tag: 'possible with `group_by` of a tag' }],
    ['tag=team', { tag: 'is not a tag with its value' }],
    ['since=2026-10-24T00:07:00Z', { since: 'is not a date like 2026-10-31, or a quarter of an hour' }],
    ['since=2026-02-30', { since: 'is not a date' }],
    ['until=2026-10-31T00:00:00', { until: 'is not a date' }],
    ['since=2026-10-25&until=2026-10-25', { until: '`until` must be after `since`' }],
    ['since=2020-01-01&interval=hour', { interval: 'The range has more than 1500 intervals' }],
    ['api_key_hash=abc', { api_key_hash: 'is not the hash of a key' }],
    ['percentiles=yes', { percentiles: 'is not one of true, false' }],
    ['colour=red', { colour: 'is not a parameter of this route' }],
  ])('rejects %s', async (query, issues) => {
    expectIssues(await ask('GET', `/analytics?${query}`), issues);
  });
});
