import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { timedPrefix } from '../../src/domain/ids.ts';
import { createTestLine } from '../../src/platform/storage/contract/samples.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { book, expectIssues, type Json, main, manage, other } from './manage.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
const keyHash = 'c'.repeat(64);
const now = Date.now();
/** An id of its time, which ends with a number. Number 5 is a second old. */
const idOf = (number: number): string => `${timedPrefix('gen-', now - (6 - number) * 1000)}${number}`;

beforeAll(async () => {
  gateway = await testGateway();
  await book(
    gateway,
    { id: idOf(1), createdAtMs: now - 5_000, requestedModel: 'acme/first', keyHash },
    { id: idOf(2), createdAtMs: now - 4_000, workspaceId: other, memberId: 'ben' },
    {
      id: idOf(3),
      createdAtMs: now - 3_000,
      model: 'acme/large',
      provider: 'Bolt',
      providerId: 'bolt',
      costNanoUsd: 2_500_000_000n,
      durationMs: 9_000,
      tags: { feature: 'chat', team: 'search' },
      lines: [createTestLine({ kind: 'tool', model: 'web_search', provider: 'Exa' })],
    },
    {
      id: idOf(4),
      createdAtMs: now - 2_000,
      outcome: 'failed',
      status: 502,
      errorType: 'provider_unavailable',
      streamed: false,
      cachedTokens: 0,
      model: null,
      provider: null,
    },
    {
      id: idOf(5),
      createdAtMs: now - 1_000,
      outcome: 'cancelled',
      status: 499,
      sessionId: 's-7',
    },
  );
});
afterAll(() => gateway.close());

const list = async (query = '', key?: string) => (await ask('GET', `/generations${query}`, undefined, key)).body;
/** The last digit of each id. */
const brief = ({ data }: Json) => data.map(({ id }: Json) => id.at(-1));

describe('GET /generations', () => {
  it('lists all generations to a management key, the newest first, with their keys and members', async () => {
    const answer = await ask('GET', '/generations');
    expect(answer.status).toBe(200);
    expect(brief(answer.body)).toEqual(['5', '4', '3', '2', '1']);
    expect(answer.body.next_cursor).toBeNull();
    const single = (await ask('GET', `/generation?id=${idOf(1)}`)).body.data;
    expect(answer.body.data[4]).toEqual({
      ...single,
      requested_model: 'acme/first',
      outcome: 'completed',
      api_key_hash: keyHash,
      user_id: 'ada',
    });
  });

  it('lists those of its workspace to an inference key, without keys and members', async () => {
    const body = await list('', gateway.key);
    expect(brief(body)).toEqual(['5', '4', '3', '1']);
    for (const generation of body.data) {
      expect(generation.workspace_id).toBe(main);
      expect(Object.keys(generation)).not.toEqual(expect.arrayContaining(['api_key_hash']));
      expect(generation).not.toHaveProperty('user_id');
    }
    expect(brief(await list(`?workspace_id=${main}`, gateway.key))).toEqual(['5', '4', '3', '1']);
    const foreign = await ask('GET', `/generations?workspace_id=${other}`, undefined, gateway.key);
    expect(foreign.status).toBe(403);
    expect((await ask('GET', '/generations', undefined, null)).status).toBe(401);
  });

  it('continues after the previous page', async () => {
    const seen: string[] = [];
    for (let query = '?limit=2'; ; ) {
      const { data, next_cursor: cursor } = await list(query);
      expect(data.length).toBeLessThanOrEqual(2);
      seen.push(...brief({ data }));
      if (cursor === null) break;
      query = `?limit=2&cursor=${cursor}`;
    }
    expect(seen).toEqual(['5', '4', '3', '2', '1']);
  });

  it.each([
    ['model=acme/large', ['3']],
    ['model=acme/first', ['1']],
    ['provider=Bolt', ['3']],
    ['provider=bolt', ['3']],
    ['outcome=failed', ['4']],
    [`api_key_hash=${keyHash}`, ['1']],
    ['user_id=ben', ['2']],
    [`workspace_id=${other}`, ['2']],
    ['session_id=s-7', ['5']],
    [`since=${new Date(now - 3_000).toISOString()}&until=${new Date(now - 1_000).toISOString()}`, ['4', '3']],
    ['outcome=completed&provider=Bolt&user_id=ben', []],
    ['finish_reason=stop', ['3', '2', '1']],
    ['finish_reason=failed&outcome=completed', []],
    ['status=502', ['4']],
    ['status=4xx', ['5']],
    ['error_type=provider_unavailable', ['4']],
    ['tool=web_search', ['3']],
    ['tag=team:search', ['3']],
    ['tag=team:search,%20feature:chat', ['3']],
    ['tag=team:ads', []],
    ['min_cost=2.5', ['3']],
    ['max_cost=0.5&model=acme/large', []],
    ['min_duration=9000&max_duration=9000', ['3']],
    ['streamed=false', ['4']],
    ['cached=false', ['4']],
    [`since=${new Date(now - 10_000).toISOString()}&sort=cost&limit=1`, ['3']],
    [`since=${new Date(now - 10_000).toISOString()}&sort=duration&limit=1`, ['3']],
    ['order=asc', ['1', '2', '3', '4', '5']],
    ['model=nobody%00', []],
  ])('filters by %s', async (query, ids) => {
    expect(brief(await list(`?${query}`))).toEqual(ids);
  });

  it('has a request as soon as its response is complete', async () => {
    for (const stream of [false, true]) {
      const response = await gateway.post('/responses', { model: 'simulator/echo', input: 'hi', stream });
      await response.text();
      const { data } = await list('?limit=1', gateway.key);
      expect(data[0]).toMatchObject({
        id: response.headers.get('x-generation-id'),
        requested_model: 'simulator/echo',
        streamed: stream,
        status: 200,
        outcome: 'completed',
        provider_name: 'Simulator',
        total_cost: 0,
      });
    }
  });

  it.each([
    ['limit=0', { limit: 'an integer from 1 to 100' }],
    ['limit=101', { limit: 'an integer from 1 to 100' }],
    ['outcome=good', { outcome: 'one of completed, incomplete, failed, cancelled' }],
    ['since=yesterday', { since: 'a date like 2026-10-31' }],
    ['until=2026-02-30', { until: 'a date like 2026-10-31' }],
    ['api_key_hash=abc', { api_key_hash: 'is not the hash of a key' }],
    ['finish_reason=good', { finish_reason: 'one of stop, incomplete, failed, cancelled' }],
    ['status=600', { status: 'a status like 429, or a class like 5xx' }],
    ['tag=team', { tag: 'a tag like team:search' }],
    ['tag=team:a,team:b', { tag: 'each key occurs once' }],
    ['min_cost=-1', { min_cost: 'an amount of USD' }],
    ['max_cost=1e3', { max_cost: 'an amount of USD' }],
    ['min_cost=2&max_cost=1.5', { max_cost: 'at least `min_cost`' }],
    ['min_duration=5&max_duration=4', { max_duration: 'at least `min_duration`' }],
    ['min_duration=1.5', { min_duration: 'a number of milliseconds' }],
    ['streamed=yes', { streamed: 'one of true, false' }],
    ['since=2026-11-02&until=2026-11-02', { until: 'after `since`' }],
    ['sort=price', { sort: 'one of time, cost, duration' }],
    ['sort=cost', { since: 'it needs the beginning' }],
    ['order=up', { order: 'one of asc, desc' }],
    ['count=1', { count: 'one of true, false' }],
    ['statuss=200', { statuss: 'did you mean `status`?' }],
    ['cursor=abc', { cursor: 'a cursor of this list and these parameters' }],
    [`cursor=${idOf(3)}`, { cursor: 'a cursor of this list' }],
  ])('rejects ?%s', async (query, issues) => {
    expectIssues(await ask('GET', `/generations?${query}`), issues);
  });
});

describe('a cursor of GET /generations', () => {
  const first = async (query: string) => (await list(`?limit=1${query}`)).next_cursor as string;

  it('continues only the query that it belongs to', async () => {
    const cursor = await first('&streamed=true');
    expect(brief(await list(`?limit=2&streamed=true&count=true&cursor=${cursor}`))).toHaveLength(2);
    for (const query of ['', '&streamed=false', '&streamed=true&order=asc', '&streamed=true&model=acme/large']) {
      expectIssues(await ask('GET', `/generations?limit=1${query}&cursor=${cursor}`), { cursor: 'is not a cursor' });
    }
    expectIssues(await ask('GET', `/generations?streamed=true&cursor=${cursor}`, undefined, gateway.key), {
      cursor: 'is not a cursor',
    });
    expectIssues(await ask('GET', `/generations/live?streamed=true&cursor=${cursor}`), { cursor: 'is not a cursor' });
  });

  it.each(['time', 'cost', 'duration'])('continues a list by %s', async (sort) => {
    const query = `&since=${new Date(now - 10_000).toISOString()}&until=${new Date(now).toISOString()}&sort=${sort}`;
    for (const order of ['asc', 'desc']) {
      const whole = brief(await list(`?limit=100${query}&order=${order}`));
      const seen: string[] = [];
      for (let cursor = ''; ; ) {
        const page = await list(`?limit=2${query}&order=${order}${cursor}`);
        seen.push(...brief(page));
        if (page.next_cursor === null) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
      expect(seen).toEqual(whole);
      expect(seen).toHaveLength(5);
    }
  });
});

describe('GET /generations with count=true', () => {
  it('counts all that match, and not only those of the page', async () => {
    const query = `&until=${new Date(now).toISOString()}`;
    expect(await list(`?limit=1&count=true${query}`)).toMatchObject({ total_count: 5, total_count_is_exact: true });
    expect(await list(`?count=true&status=502${query}`)).toMatchObject({ total_count: 1 });
    expect(await list(`?limit=1${query}`)).not.toHaveProperty('total_count');
  });

  it('counts only the generations of the workspace for an inference key', async () => {
    const body = await list(`?limit=1&count=true&until=${new Date(now).toISOString()}`, gateway.key);
    expect(body.total_count).toBe(4);
  });
});

describe('the end user of a request', () => {
  const cases: [string, object][] = [
    ['/responses', { model: 'simulator/echo', input: 'hi', user: 'ada-7' }],
    ['/responses', { model: 'simulator/echo', input: 'hi', safety_identifier: 'ada-7', stream: true }],
    ['/chat/completions', { model: 'simulator/echo', messages: [{ role: 'user', content: 'hi' }], user: 'ada-7' }],
    [
      '/chat/completions',
      {
        model: 'simulator/echo',
        messages: [{ role: 'user', content: 'hi' }],
        safety_identifier: 'ada-7',
        stream: true,
      },
    ],
    ['/completions', { model: 'simulator/echo', prompt: 'hi', user: 'ada-7' }],
    [
      '/messages',
      {
        model: 'simulator/echo',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'hi' }],
        metadata: { user_id: 'ada-7' },
      },
    ],
    ['/embeddings', { model: 'simulator/embedding', input: 'hi', user: 'ada-7' }],
    ['/rerank', { model: 'simulator/rerank', query: 'hi', documents: ['a'], user: 'ada-7' }],
    ['/images', { model: 'simulator/image', prompt: 'hi', user: 'ada-7' }],
  ];

  it.each(cases)('of %s %j filters the list and the activity, by its id and by its hash', async (path, body) => {
    const response = await gateway.post(path, body);
    expect(response.status).toBe(200);
    await response.text();
    const id = response.headers.get('x-generation-id');
    const { data } = await list('?external_user=ada-7', gateway.key);
    expect(data[0]).toMatchObject({ id, external_user: expect.stringMatching(/^hg_[0-9a-f]{40}$/) });
    const hash = data[0].external_user as string;
    expect((await list(`?external_user=${hash}&limit=1`)).data[0].id).toBe(id);
    expect((await list(`?external_user=ada-7&workspace_id=${main}&limit=1`)).data[0].id).toBe(id);
    expect((await list('?external_user=ada-8', gateway.key)).data).toEqual([]);
    expect((await list(`?external_user=ada-7&workspace_id=${other}`)).data).toEqual([]);

    const report = `/activity?include_today=true&workspace_id=${main}&group_by=external_user`;
    const { body: all } = await ask('GET', report);
    const { body: one } = await ask('GET', `${report}&external_user=ada-7`);
    expect(one.data.length).toBeGreaterThan(0);
    expect(one.data).toEqual(all.data.filter((row: Json) => row.external_user === hash));
  });

  it('needs a workspace for an id, if the key sees all of them', async () => {
    expectIssues(await ask('GET', '/generations?external_user=ada-7'), {
      external_user: 'send `workspace_id` as well',
    });
  });
});
