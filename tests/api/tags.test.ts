import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { expectIssues, type Json, main, manage } from './manage.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
beforeAll(async () => {
  gateway = await testGateway({ tags: ['team', 'feature'], embeddings: {} });
});
afterAll(() => gateway.close());

const model = 'simulator/echo';
const messages = [{ role: 'user', content: 'hi' }];

/** Returns the generation of a response. */
const find = async (response: Response): Promise<Json> => {
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return (await ask('GET', `/generation?id=${response.headers.get('x-generation-id')}`)).body.data;
};

describe('tags', () => {
  // Tags that one API loses make its costs invisible: https://github.com/BerriAI/litellm/issues/31584
  it.each([
    ['/responses', { model, input: 'hi', metadata: { team: 'search', run: '7' } }],
    ['/responses', { model, input: 'hi', metadata: { team: 'search' }, stream: true }],
    ['/chat/completions', { model, messages, metadata: { team: 'search' } }],
    ['/chat/completions', { model, messages, metadata: { team: 'search', tags: ['a'], attempt: 2 } }],
    ['/messages', { model, messages, max_tokens: 9, metadata: { user_id: 'u', team: 'search' } }],
    [
      `/api/v1beta/models/${model}:generateContent`,
      { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], labels: { team: 'search' } },
    ],
  ])('are read from the metadata of %s', async (path, body) => {
    expect((await find(await gateway.post(path, body))).tags).toEqual({ team: 'search' });
  });

  it.each([
    ['/responses', { model, input: 'hi', metadata: { team: 'ads' } }],
    ['/completions', { model, prompt: 'hi' }],
    ['/embeddings', { model: 'simulator/embedding', input: 'hi' }],
    ['/rerank', { model: 'simulator/rerank', query: 'hi', documents: ['a', 'b'] }],
    ['/images', { model: 'simulator/image', prompt: 'hi' }],
  ])('are read from the header on %s', async (path, body) => {
    const headers = { 'x-headgate-tags': 'team=search, feature=summary' };
    expect((await find(await gateway.post(path, body, { headers }))).tags).toEqual({
      feature: 'summary',
      team: 'search',
    });
  });

  it('are in the list, and a request without tags has none', async () => {
    const { data } = (await ask('GET', '/generations')).body;
    expect(data[0].tags).toEqual({ feature: 'summary', team: 'search' });
    expect((await find(await gateway.post('/responses', { model, input: 'hi' }))).tags).toEqual({});
  });

  it('leave the metadata of a response as it is', async () => {
    const metadata = { team: 'search', run: '7' };
    const response = await gateway.post('/responses', { model, input: 'hi', metadata });
    expect(((await response.json()) as Json).metadata).toEqual(metadata);
  });

  it('are rejected with the field if they are malformed or unknown', async () => {
    const send = async (headers: Record<string, string>, metadata?: object) => {
      const response = await gateway.post('/responses', { model, input: 'hi', metadata }, { headers });
      return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
    };
    expectIssues(await send({ 'x-headgate-tags': 'region=eu' }), {
      'x-headgate-tags': 'The tags are `team`, `feature`',
    });
    expectIssues(await send({ 'x-headgate-tags': 'team' }), { 'x-headgate-tags': 'Write tags like' });
    expectIssues(await send({}, { team: 'a'.repeat(65) }), { 'metadata.team': 'at most 64' });
    const message = await gateway.post('/messages', { model, messages, max_tokens: 9, metadata: { team: '{}' } });
    expect(message.status).toBe(400);
    expect(((await message.json()) as Json).error.message).toContain('metadata.team: The value of the tag `team`');
  });

  it('are in the entry of a request above a rate limit', async () => {
    const body = { name: 'limited', workspace_id: main, creator_user_id: 'ada', requests_per_minute: 1 };
    const { key, data } = (await ask('POST', '/keys', body)).body;
    for (const expected of [200, 429]) {
      const response = await gateway.post('/responses', { model, input: 'hi', metadata: { team: 'search' } }, { key });
      expect(response.status).toBe(expected);
      await response.text();
    }
    const listed = (await ask('GET', `/generations?api_key_hash=${data.hash}&tag=team:search&status=429`)).body.data;
    expect(listed).toMatchObject([{ tags: { team: 'search' } }]);
  });

  it('have counters', async () => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(text).toMatch(/^headgate_tag_responses_total\{tag="team",value="search"\} \d+$/m);
    expect(text).toContain('headgate_tag_cost_usd_total{tag="feature",value="summary"}');
  });

  it('follow a reload of the configuration', async () => {
    await gateway.reload({ tags: ['region'] });
    const response = await gateway.post(
      '/responses',
      { model, input: 'hi' },
      { headers: { 'x-headgate-tags': 'region=eu' } },
    );
    expect((await find(response)).tags).toEqual({ region: 'eu' });
  });
});
