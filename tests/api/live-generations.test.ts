import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { book, expectIssues, type Json, main, manage, other } from './manage.ts';

const poor = 'sk-rt-feed-poor-key';
const revoked = 'sk-rt-feed-revoked-key';
const foreign = 'sk-rt-feed-foreign-key';
const bootstrap = {
  keys: [
    { key: poor, name: 'poor', workspace: 'main', acts_as: 'organization', credit_usd: 0 },
    { key: revoked, name: 'revoked', workspace: 'main', acts_as: 'organization' },
    { key: foreign, name: 'foreign', workspace: 'other', acts_as: 'organization' },
  ],
};

let gateway: TestGateway;
const ask = manage(() => gateway);
beforeAll(async () => {
  gateway = await testGateway({ bootstrap, tags: ['team'], server: { keep_alive_comment_ms: 100 } }, undefined, {
    gatherMs: 5,
  });
});
afterAll(() => gateway.close());

interface Feed {
  response: Response;
  readonly text: string;
  /** Reads until this many generations have arrived, and returns them with their cursors. */
  take(count: number): Promise<{ id: string; data: Json }[]>;
  readUntil(mark: string): Promise<void>;
  readAll(): Promise<void>;
  leave(): void;
}

const opened: Feed[] = [];
afterEach(() => {
  for (const feed of opened.splice(0)) feed.leave();
});

/** Opens a feed. It has begun when this resolves. */
async function follow(
  query = '',
  {
    key = gateway.managementKey,
    headers = {},
    at = gateway,
  }: { key?: string; headers?: object; at?: TestGateway } = {},
): Promise<Feed> {
  const client = new AbortController();
  const response = await fetch(`${at.baseUrl}/generations/live${query}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
    signal: client.signal,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const readMore = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    text += value ?? '';
    return !done;
  };
  const readUntil = async (isThere: () => boolean): Promise<void> => {
    while (!isThere()) if (!(await readMore())) expect.fail(`The feed has ended: ${text}`);
  };
  const list = () =>
    [...text.matchAll(/^id: (.+)\ndata: (.+)\n\n/gm)].map(([, id, data]) => ({ id: id!, data: JSON.parse(data!) }));
  const feed: Feed = {
    response,
    get text() {
      return text;
    },
    async take(count) {
      await readUntil(() => list().length >= count);
      return list();
    },
    readUntil: (mark) => readUntil(() => text.includes(mark)),
    async readAll() {
      while (await readMore());
    },
    leave: () => client.abort(),
  };
  opened.push(feed);
  return feed;
}

/** Sends a request. @returns its generation id */
async function send(body: object = {}, key = gateway.key, at = gateway): Promise<string> {
  const response = await at.post('/responses', { model: 'simulator/echo', input: 'hi', ...body }, { key });
  await response.text();
  return response.headers.get('x-generation-id')!;
}

describe('GET /generations/live', () => {
  it('sends each generation as the list has it, as soon as it is recorded', async () => {
    const feed = await follow();
    expect(feed.response.headers.get('content-type')).toBe('text/event-stream');
    await feed.readUntil('\n\n');
    expect(feed.text).toMatch(/^retry: \d+\nid: [\w-]+\n\n/);
    const ids = [await send({ metadata: { team: 'search' } }), await send({ stream: true })];
    const generations = await feed.take(2);
    expect(generations.map(({ data }) => data.id)).toEqual(ids);
    const { data } = (await ask('GET', '/generations?limit=1')).body;
    expect(generations[1]!.data).toEqual(data[0]);
    expect(generations[0]!.data).toMatchObject({ tags: { team: 'search' }, api_key_hash: expect.any(String) });
  });

  it('has a comment and the place while nothing happens', async () => {
    const feed = await follow();
    await feed.readUntil(': waiting\nid: ');
  });

  it('continues after its last event, by the header or by a parameter', async () => {
    const feed = await follow();
    await feed.readUntil('\n\n');
    const ids = [await send(), await send(), await send()];
    const [first] = await feed.take(3);
    feed.leave();
    ids.push(await send());
    const again = await follow('', { headers: { 'last-event-id': first!.id } });
    expect((await again.take(3)).map(({ data }) => data.id)).toEqual(ids.slice(1));
    const byQuery = await follow(`?cursor=${first!.id}&last=5`);
    expect((await byQuery.take(3)).map(({ data }) => data.id)).toEqual(ids.slice(1));
    const both = await follow(`?cursor=${first!.id}`, { headers: { 'last-event-id': (await again.take(3))[1]!.id } });
    expect((await both.take(1)).map(({ data }) => data.id)).toEqual(ids.slice(3));
  });

  it('begins with the last generations, the oldest first and each once', async () => {
    const ids = [await send(), await send(), await send()];
    const feed = await follow('?last=2');
    await feed.take(2);
    ids.push(await send());
    expect((await feed.take(3)).map(({ data }) => data.id)).toEqual(ids.slice(1));
    const after = await follow('', { headers: { 'last-event-id': (await feed.take(3))[0]!.id } });
    expect((await after.take(1)).map(({ data }) => data.id)).toEqual(ids.slice(3));
  });

  it('has only generations that match', async () => {
    const feed = await follow('?tag=team:ads&streamed=true');
    await feed.readUntil('\n\n');
    await send({ metadata: { team: 'ads' } });
    await send({ metadata: { team: 'search' }, stream: true });
    const id = await send({ metadata: { team: 'ads' }, stream: true });
    expect((await feed.take(1)).map(({ data }) => data.id)).toEqual([id]);
  });

  it('shows an inference key only its own workspace, also if it is over its budget', async () => {
    const feeds = [await follow('', { key: poor }), await follow('', { key: foreign })];
    for (const feed of feeds) await feed.readUntil('\n\n');
    const refused = await gateway.post('/responses', { model: 'simulator/echo', input: 'hi' }, { key: poor });
    expect(refused.status).toBe(402);
    const inOther = await send({}, foreign);
    const inMain = await send();
    await feeds[0]!.readUntil(`"id":"${inMain}"`);
    const own = await feeds[0]!.take(1);
    expect(own.map(({ data }) => data.workspace_id)).toEqual(own.map(() => main));
    expect(own[0]!.data).not.toHaveProperty('api_key_hash');
    await send({}, foreign);
    const theirs = await feeds[1]!.take(2);
    expect(theirs[0]!.data).toMatchObject({ id: inOther, workspace_id: other });
    expect(theirs.map(({ data }) => data.workspace_id)).toEqual([other, other]);
    expect((await follow(`?workspace_id=${other}`, { key: poor })).response.status).toBe(403);
    const stolen = await follow('', { key: foreign, headers: { 'last-event-id': own[0]!.id } });
    expect(stolen.response.status).toBe(400);
  });

  it.each([
    ['since=2026-11-01', { since: 'is not a parameter' }],
    ['limit=5', { limit: 'is not a parameter' }],
    ['last=101', { last: 'an integer from 0 to 100' }],
    ['cursor=abc', { cursor: 'is not a cursor of this list' }],
    ['status=ok', { status: 'a status like 429' }],
  ])('rejects ?%s', async (query, issues) => {
    expectIssues(await ask('GET', `/generations/live?${query}`), issues);
  });

  it('rejects an invalid Last-Event-ID, and needs a key', async () => {
    const { response } = await follow('', { headers: { 'last-event-id': 'x' } });
    expect(response.status).toBe(400);
    expect((await follow('', { key: 'sk-rt-unknown-key' })).response.status).toBe(401);
    const head = await gateway.send('HEAD', '/generations/live', undefined, { key: gateway.managementKey });
    expect(head.status).toBe(200);
  });

  it('limits the feeds of a key, and counts one that has ended no more', async () => {
    const feeds = await Promise.all(Array.from({ length: 10 }, () => follow('', { key: gateway.organizationKey })));
    const more = await follow('', { key: gateway.organizationKey });
    expect(more.response.status).toBe(429);
    expect(await more.response.headers.get('retry-after')).toBe('10');
    expect((await follow()).response.status).toBe(200);
    feeds[0]!.leave();
    await expect
      .poll(async () => (await follow('', { key: gateway.organizationKey })).response.status, { timeout: 5_000 })
      .toBe(200);
  });

  it('ends when its key is disabled', async () => {
    const feed = await follow('', { key: revoked });
    await feed.readUntil('\n\n');
    const keys = (await ask('GET', '/keys')).body.data;
    const { hash } = keys.find(({ name }: Json) => name === 'revoked');
    expect((await ask('PATCH', `/keys/${hash}`, { disabled: true })).status).toBe(200);
    await feed.readAll();
  });

  it('ends when the gateway shuts down, without the time that open requests get', async () => {
    const own = await testGateway({ server: { shutdown_grace_ms: 3_600_000 } }, undefined, { gatherMs: 5 });
    const feed = await follow('', { at: own });
    await feed.readUntil('\n\n');
    await Promise.all([own.close(), feed.readAll()]);
  });

  it('has the entries that another process records', async () => {
    const feed = await follow();
    await feed.readUntil('\n\n');
    await book(gateway, { id: 'gen-of-another-process' }); // into the store, past the ledger of the gateway
    expect((await feed.take(1))[0]!.data.id).toBe('gen-of-another-process');
  });
});
