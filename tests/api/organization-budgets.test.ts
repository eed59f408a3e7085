import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTimedId } from '../../src/domain/ids.ts';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { wholeBody } from './lab.ts';
import { auditOf, main, manage, other } from './manage.ts';

let gateway: TestGateway;
let upstream: ScriptedUpstream;
beforeEach(async () => {
  upstream = await startUpstream();
  upstream.always(
    json({
      ...wholeBody('openai-chat', 'Hello there.'),
      usage: { prompt_tokens: 5, completion_tokens: 10, total_tokens: 15 }, // a cent
    }),
  );
});
afterEach(() => Promise.all([gateway.close(), upstream.close()]));

const parts = (more: object = {}) => ({
  catalog: { builtin: false },
  providers: [
    {
      id: 'acme',
      wire: 'openai-chat',
      base_url: upstream.url,
      models: [
        { model: 'acme/m', pricing: { prompt: 0, completion: 0.001 } },
        { model: 'acme/free', pricing: { prompt: 0, completion: 0 } },
      ],
    },
  ],
  ...more,
});
const start = async (more: object = {}) => {
  gateway = await testGateway(parts(more));
};
const ask = async (key: string = testKeys.key, model = 'acme/m') => {
  const body = { model, input: 'Hello', max_output_tokens: 10 };
  const answer = await gateway.post('/responses', body, { key });
  const { error } = (await answer.json()) as { error?: { message: string; metadata: Record<string, unknown> } };
  return { status: answer.status, message: error?.message, metadata: error?.metadata };
};
const admin = manage(() => gateway);
const makeKey = async (workspaceId: string, memberId?: string) => {
  const creator = memberId === undefined ? {} : { creator_user_id: memberId };
  const made = await admin('POST', '/keys', { name: 'made', workspace_id: workspaceId, ...creator });
  expect(made.status).toBe(201);
  return made.body.key as string;
};

describe('the budget of the organization', () => {
  it('holds for all keys of all workspaces, with 402 and the time of its reset', async () => {
    await start({ budgets: { organization: { daily: 0.02 } } });
    const elsewhere = await makeKey(other);
    expect((await ask()).status).toBe(200);
    expect((await ask(elsewhere)).status).toBe(200);
    for (const key of [testKeys.key, testKeys.organizationKey, elsewhere]) {
      const refused = await ask(key);
      expect(refused.status).toBe(402);
      expect(refused.message).toMatch(
        /^The organization has spent its daily budget\. It resets on \d{4}-\d\d-\d\dT00:00:00\.000Z\.$/,
      );
      expect(refused.metadata).toMatchObject({ limit_source: 'router_credits', interval: 'daily' });
    }
  });

  it('names the broadest limit that is reached', async () => {
    await start({ budgets: { organization: { daily: 0.005, monthly: 0.01 } } });
    expect((await ask()).message).toContain(
      'too little left of its daily budget; this request may cost up to 0.01 USD (about 2 tokens of input and 10 of output).',
    );
    await gateway.reload(parts({ budgets: { organization: { daily: 0.01, monthly: 0.011 } } }));
    expect((await ask()).status).toBe(200);
    expect((await ask()).message).toContain('its monthly budget');
  });

  it('ends when a reload removes it', async () => {
    await start({ budgets: { organization: { lifetime: 0.01 } } });
    await ask();
    expect((await ask()).status).toBe(402);
    await gateway.reload(parts());
    expect((await ask()).status).toBe(200);
  });
});

describe('the budget of a member', () => {
  it('applies to all keys of the member in all workspaces, with 403, and to each member separately', async () => {
    await start({ budgets: { member: { weekly: 0.02 } } });
    expect((await admin('POST', `/workspaces/${other}/members/add`, { user_ids: ['ada', 'bob'] })).status).toBe(200);
    const [adas, bobs] = [await makeKey(other, 'ada'), await makeKey(other, 'bob')];
    expect((await ask()).status).toBe(200);
    expect((await ask(adas)).status).toBe(200);
    for (const key of [testKeys.key, adas]) {
      const refused = await ask(key);
      expect(refused.status).toBe(403);
      expect(refused.message).toMatch(/^The member "ada" may spend 0\.02 USD per week and has spent 0\.02 USD/);
      expect(refused.metadata).toMatchObject({ limit_source: 'member_budget', interval: 'weekly' });
    }
    expect((await ask(bobs)).status).toBe(200);
    expect((await ask(testKeys.organizationKey)).status).toBe(200); // a key without a member
  });
});

it('requests that a budget rejects do not count for the rates, and count in the metrics', async () => {
  const limits = { workspace: { requests_per_minute: 3 } };
  await start({ limits, budgets: { member: { daily: 0.005 } } });
  for (let at = 0; at < 5; at++) expect((await ask()).status).toBe(403);
  for (let at = 0; at < 3; at++) expect((await ask(testKeys.organizationKey)).status).toBe(200);
  expect((await ask(testKeys.organizationKey)).status).toBe(429);
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  expect(metrics).toContain('headgate_limit_hits_total{limit="daily",scope="member"} 5');
});

describe('credits', () => {
  /** As `headgate credits add` does. */
  const add = async (nanoUsd: bigint) => {
    const { storage } = gateway.gateway;
    await storage.management.change({ atMs: Date.now(), actorKeyHash: null }, async (transaction) => {
      const id = createTimedId('credit_');
      await transaction.addCredit({ id, atMs: Date.now(), nanoUsd, note: 'paid' });
      const [action, objectKind] = ['credits.add', 'credits'];
      await transaction.record({ action, objectKind, objectId: id, workspaceId: null, changes: {} });
    });
  };
  const cent = 10_000_000n;

  it('are off until some are added', async () => {
    await start();
    expect((await ask()).status).toBe(200);
    expect((await admin('GET', '/credits')).body).toMatchObject({ data: { total_credits: 0 } });
  });

  it('must cover the maximum cost of a request, and be at least 0 for a free one', async () => {
    await start();
    await add(2n * cent);
    await gateway.reload(parts()); // which reads limits at once
    const all = await Promise.all([ask(), ask()]);
    expect(all.map(({ status }) => status)).toEqual([200, 200]);
    const refused = await ask();
    expect(refused.message).toMatch(/^The organization has spent its credits\.$/);
    expect(refused.metadata).toMatchObject({ limit_source: 'router_credits', interval: 'lifetime' });
    expect((await ask(testKeys.key, 'acme/free')).status).toBe(200);

    await add(-cent);
    await gateway.reload(parts());
    expect((await ask(testKeys.key, 'acme/free')).status).toBe(402);
    await add(3n * cent);
    await expect.poll(async () => (await ask()).status).toBe(200);
    expect((await admin('GET', '/credits')).body.data.total_credits).toBe(0.04);
    expect(await auditOf(admin, 1)).toMatchObject([{ action: 'credits.add', object_kind: 'credits' }]);
  });
});

it('a key that several limits reject gets the narrowest of them', async () => {
  await start({ budgets: { organization: { daily: 0.005 }, member: { daily: 0.005 } } });
  expect((await admin('PUT', `/workspaces/${main}/budgets/daily`, { limit_usd: 0.005 })).status).toBe(200);
  expect((await ask()).message).toMatch(/^The member "ada"/);
  expect((await ask(testKeys.organizationKey)).message).toMatch(/^The workspace "main"/);
});

describe('the budget of a tag', () => {
  const budgets = { tags: [{ tag: 'team:search', daily: 0.02 }] };
  const body = { model: 'acme/m', max_output_tokens: 10 };
  const messages = [{ role: 'user', content: 'Hello' }];
  /** Requests in each form, with the tag in the body or the header. */
  const send = [
    (headers = {}) =>
      gateway.post('/responses', { ...body, input: 'Hello', metadata: { team: 'search' } }, { headers }),
    () => gateway.post('/responses', { ...body, input: 'Hello', stream: true, metadata: { team: 'search' } }),
    () =>
      gateway.post('/chat/completions', { model: 'acme/m', messages, max_tokens: 10, metadata: { team: 'search' } }),
    () =>
      gateway.post(
        '/messages',
        { model: 'acme/m', messages, max_tokens: 10 },
        { headers: { 'x-headgate-tags': 'team=search' } },
      ),
  ];

  it('limits the requests with the tag of all keys, and no others', async () => {
    await start({ tags: ['team'], budgets });
    for (let count = 0; count < 2; count++) expect((await send[0]!()).status).toBe(200);
    for (const one of send) {
      const refused = await one();
      const text = await refused.text();
      expect([refused.status, text]).toEqual([403, expect.stringContaining('The tag \\"team:search\\" may spend')]);
    }
    const { error } = (await (await send[0]!()).json()) as { error: { metadata: object } };
    expect(error.metadata).toMatchObject({ limit_source: 'tag_budget', interval: 'daily' });
    expect((await ask()).status).toBe(200);
    const other = { ...body, input: 'Hello', metadata: { team: 'ads' } };
    expect((await gateway.post('/responses', other)).status).toBe(200);
  });

  it('counts what was spent before a restart, also after a correction', async () => {
    await start({ tags: ['team'], budgets });
    for (let count = 0; count < 2; count++) expect((await send[0]!()).status).toBe(200);
    await gateway.close({ keepData: true });
    gateway = await testGateway(parts({ tags: ['team'], budgets }), gateway.dataDir);
    expect((await send[0]!()).status).toBe(403);
    const [entry] = await gateway.gateway.storage.ledger.list({ limit: 1 });
    await gateway.gateway.storage.ledger.correct(
      [{ entry: entry!, costNanoUsd: -10_000_000n, inputCostNanoUsd: 0n }],
      1,
    );
    await gateway.close({ keepData: true });
    gateway = await testGateway(parts({ tags: ['team'], budgets }), gateway.dataDir);
    expect((await send[0]!()).status).toBe(200);
    expect((await send[0]!()).status).toBe(403);
  });

  it.each([
    [{ tags: ['team'], budgets: { tags: [{ tag: 'squad:search', daily: 1 }] } }, 'which `tags` does not list'],
    [{ tags: ['team'], budgets: { tags: [{ tag: 'team', daily: 1 }] } }, 'a key of `tags` and a value'],
    [{ tags: ['team'], budgets: { tags: [{ tag: 'team:a', daily: 2, monthly: 1 }] } }, 'must be below monthly'],
    [{ tags: ['team'], budgets: { tags: [1, 2].map((daily) => ({ tag: 'team:a', daily })) } }, 'budgets.tags[1].tag'],
  ])('with %j is refused by the configuration', async (more, says) => {
    await start();
    await expect(testGateway(parts(more))).rejects.toThrow(says);
  });
});
