import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOfDay } from '../../src/metering/windows.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { book, expectIssues, type Json, main, manage, other } from './manage.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
const keyHash = 'c'.repeat(64);
const dayMs = 86_400_000;
const today = startOfDay(Date.now());
const dateOf = (daysAgo: number) => new Date(today - daysAgo * dayMs).toISOString().slice(0, 10);
/** Returns the start of the day a number of days ago. */
const ago = (days: number) => today - days * dayMs;

beforeAll(async () => {
  gateway = await testGateway();
  await book(
    gateway,
    { createdAtMs: ago(367) + dayMs - 1 }, // too old
    { createdAtMs: ago(366), model: 'acme/oldest' },
    { createdAtMs: ago(32) + dayMs - 1, model: 'acme/older' },
    { createdAtMs: ago(31), model: 'acme/old' },
    { createdAtMs: ago(2), keyHash },
    { createdAtMs: ago(2) + 5, workspaceId: other, memberId: 'ben', costNanoUsd: 5n },
    { createdAtMs: ago(2) + 6, provider: 'Bolt', priced: false, costNanoUsd: 0n, endUser: `hg_${'b'.repeat(40)}` },
    { createdAtMs: ago(1), outcome: 'cancelled', status: 499 },
    { createdAtMs: ago(3), model: 'acme/own', isByok: true },
    { createdAtMs: ago(1) + dayMs - 1 },
    { createdAtMs: ago(1), model: null, provider: null, outcome: 'failed', status: 400 }, // without a response
    { createdAtMs: today }, // not completed yet
  );
});
afterAll(() => gateway.close());

const list = async (query = ''): Promise<Json[]> => (await ask('GET', `/activity${query}`)).body.data;
const brief = (rows: Json[]) => rows.map((row) => [row.date, row.model, row.provider_name, row.requests]);

describe('GET /activity', () => {
  it('returns the sums of the last 31 completed days by day, model and provider, newest first', async () => {
    const answer = await ask('GET', '/activity');
    expect(answer.status).toBe(200);
    expect(brief(answer.body.data)).toEqual([
      [dateOf(1), 'acme/small', 'Acme', 2],
      [dateOf(2), 'acme/small', 'Acme', 2],
      [dateOf(2), 'acme/small', 'Bolt', 1],
      [dateOf(3), 'acme/own', 'Acme', 1],
      [dateOf(31), 'acme/old', 'Acme', 1],
    ]);
    expect(answer.body.data[1]).toEqual({
      date: dateOf(2),
      model: 'acme/small',
      model_permaslug: 'acme/small',
      endpoint_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      provider_name: 'Acme',
      usage: 0.00001235,
      byok_usage_inference: 0,
      requests: 2,
      prompt_tokens: 24,
      completion_tokens: 18,
      reasoning_tokens: 8,
    });
    const ids = answer.body.data.map((row: Json) => row.endpoint_id);
    expect([ids[0] === ids[1], ids[1] === ids[2]]).toEqual([true, false]);
  });

  it('returns the cost of BYOK keys separately', async () => {
    const [row] = await list(`?date=${dateOf(3)}`);
    expect(row).toMatchObject({ model: 'acme/own', usage: 0, byok_usage_inference: 0.000012345, requests: 1 });
  });

  it('filters by day, key, member or workspace', async () => {
    expect(brief(await list(`?date=${dateOf(31)}`))).toEqual([[dateOf(31), 'acme/old', 'Acme', 1]]);
    expect(brief(await list(`?api_key_hash=${keyHash}`))).toEqual([[dateOf(2), 'acme/small', 'Acme', 1]]);
    expect(brief(await list('?user_id=ben'))).toEqual([[dateOf(2), 'acme/small', 'Acme', 1]]);
    expect(brief(await list(`?workspace_id=${other}`))).toEqual([[dateOf(2), 'acme/small', 'Acme', 1]]);
    expect(await list(`?workspace_id=${other}&date=${dateOf(1)}`)).toEqual([]);
    expect(await list('?user_id=nobody%00')).toEqual([]);
  });

  it('groups by workspace on request', async () => {
    const rows = await list(`?group_by=workspace&date=${dateOf(2)}`);
    expect(rows.map((row) => [row.workspace_id, row.provider_name, row.requests, row.usage])).toEqual([
      [main, 'Acme', 1, 0.000012345],
      [other, 'Acme', 1, 0.000000005],
      [main, 'Bolt', 1, 0],
    ]);
  });

  it('sums any days of the last 366, such as a month', async () => {
    const sum = async (query: string) => brief(await list(query)).map(([date, model]) => [date, model]);
    expect(await sum(`?since=${dateOf(366)}&until=${dateOf(31)}`)).toEqual([
      [dateOf(32), 'acme/older'],
      [dateOf(366), 'acme/oldest'],
    ]);
    expect(await sum(`?since=${dateOf(31)}&until=${dateOf(30)}`)).toEqual([[dateOf(31), 'acme/old']]);
    expect(await sum(`?until=${dateOf(3)}`)).toEqual([
      [dateOf(31), 'acme/old'],
      [dateOf(32), 'acme/older'],
    ]);
    // Days that are not over are left out.
    expect(await sum(`?since=${dateOf(1)}&until=${dateOf(-9)}`)).toEqual([[dateOf(1), 'acme/small']]);
  });

  it('groups by key, member and end user, and filters by end user', async () => {
    const groups = async (name: string, field: string) =>
      (await list(`?group_by=${name}&date=${dateOf(2)}`)).map((row) => [row[field], row.provider_name, row.requests]);
    expect(await groups('api_key', 'api_key_hash')).toContainEqual([keyHash, 'Acme', 1]);
    expect(await groups('user', 'user_id')).toContainEqual(['ben', 'Acme', 1]);
    expect(await groups('external_user', 'external_user')).toContainEqual([`hg_${'b'.repeat(40)}`, 'Bolt', 1]);
    expect(brief(await list(`?external_user=hg_${'b'.repeat(40)}`))).toEqual([[dateOf(2), 'acme/small', 'Bolt', 1]]);
  });

  it('adds the current day on request', async () => {
    const rows = await list('?include_today=true');
    expect(brief(rows)[0]).toEqual([dateOf(0), 'acme/small', 'Acme', 1]);
    expect(rows).toHaveLength(6);
    expect(brief(await list(`?include_today=true&date=${dateOf(0)}`))).toEqual([[dateOf(0), 'acme/small', 'Acme', 1]]);
    expect(await list('?include_today=false')).toHaveLength(5);
  });

  it.each([
    [
      `date=${dateOf(0)}`,
      { date: `"${dateOf(0)}" is not one of the last 366 days (UTC) that are over: ${dateOf(366)} to` },
    ],
    [`date=${dateOf(367)}`, { date: 'is not one of the last 366 days' }],
    [`since=${dateOf(367)}`, { since: 'is not one of the last 366 days' }],
    [`since=${dateOf(3)}&until=${dateOf(3)}`, { until: 'is not a date after `since`' }],
    ['until=2026-13-01', { until: 'is not a date after `since`' }],
    [`date=${dateOf(3)}&since=${dateOf(3)}`, { since: 'possible beside `date`' }],
    ['external_user=ada-7', { external_user: 'For an id, send `workspace_id` as well' }],
    [`include_today=true&date=${dateOf(-1)}`, { date: `that are over, or today: ${dateOf(366)} to ${dateOf(0)}` }],
    ['include_today=yes', { include_today: '"yes" is not one of true, false' }],
    ['date=yesterday', { date: '"yesterday" is not one of' }],
    ['date=2026-02-30', { date: '"2026-02-30" is not one of' }],
    ['api_key_hash=ABC', { api_key_hash: '"ABC" is not the hash of a key: 64 lower-case hex digits' }],
    ['group_by=model', { group_by: '"model" is not one of workspace, api_key, user, external_user' }],
    ['date=x&api_key_hash=y&group_by=z', { group_by: '"z"', date: '"x"', api_key_hash: '"y"' }],
  ])('rejects ?%s', async (query, issues) => {
    expectIssues(await ask('GET', `/activity?${query}`), issues);
  });
});

describe('GET /credits', () => {
  it('returns the total spending of all workspaces; there are no credits', async () => {
    const answer = await ask('GET', '/credits');
    // Nine entries at the usual price, one of five nano-dollars.
    expect([answer.status, answer.body]).toEqual([
      200,
      { data: { total_credits: 0, total_usage: (9 * 12_345 + 5) / 1e9 } },
    ]);
  });
});
