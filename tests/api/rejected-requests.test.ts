import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readHistory } from '../../src/domain/request-history.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { MAX_REJECTIONS } from '../../src/metering/rejections.ts';
import { readRows } from './ledger-rows.ts';
import { type Json, main, manage } from './manage.ts';

/** @see docs/guides/limits.md#rejected-requests */

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const administer = manage(() => gateway);
async function createKey(more: object, change?: object): Promise<{ key: string; hash: string }> {
  const made = await administer('POST', '/keys', { name: 'k', workspace_id: main, creator_user_id: 'ada', ...more });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const { hash } = made.body.data;
  if (change) expect((await administer('PATCH', `/keys/${hash}`, change)).status).toBe(200);
  return { key: made.body.key, hash };
}

const list = async (hash: string): Promise<Json[]> =>
  (await administer('GET', `/generations?api_key_hash=${hash}`)).body.data;

const model = 'simulator/echo';
const messages = [{ role: 'user', content: 'Hello' }];
const requests: [string, Json][] = [
  ['/responses', { model, input: 'Hello', stream: true }],
  ['/chat/completions', { model, messages }],
  ['/messages', { model, max_tokens: 9, messages }],
  ['/models/simulator/echo:generateContent', { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }],
];

describe.each(requests)('POST %s', (path, body) => {
  it('of a disabled key is in the list with the key and the reason', async () => {
    const { key, hash } = await createKey({}, { disabled: true });
    const response = await gateway.post(path, body, { key });
    expect(response.status).toBe(401);
    await response.text();
    const rejected = await list(hash);
    expect(rejected).toMatchObject([
      {
        id: response.headers.get('x-generation-id'),
        status: 401,
        error_type: 'authentication',
        error_message: 'The API key is disabled.',
        api_key_hash: hash,
        user_id: 'ada',
        total_cost: 0,
        attempts: [],
        omitted_requests: 0,
      },
    ]);
    expect(rejected[0]!['rejected_route']).toMatch(/^\/api\/v1/);
  });

  it('above a rate limit is in the list with the key and the reason', async () => {
    const { key, hash } = await createKey({ requests_per_minute: 1 });
    const served = await gateway.post(path, body, { key });
    expect(served.status).toBe(200);
    await served.text();
    const response = await gateway.post(path, body, { key });
    expect(response.status).toBe(429);
    await response.text();
    const [rejected, ...others] = await list(hash);
    expect(others).toHaveLength(1);
    expect(rejected).toMatchObject({
      id: response.headers.get('x-generation-id'),
      status: 429,
      requested_model: model,
      streamed: body['stream'] === true,
      error_message: expect.stringContaining('is limited to 1 request'),
      total_cost: 0,
    });
  });
});

it('an expired key is known, too', async () => {
  const { key, hash } = await createKey({ expires_at: new Date(Date.now() + 500).toISOString() });
  const send = async () => (await gateway.post('/responses', { model, input: 'Hello' }, { key })).status;
  await expect.poll(send, { interval: 100 }).toBe(401);
  const [newest] = await list(hash);
  expect(newest).toMatchObject({ status: 401, error_message: 'The API key has expired.' });
});

it('an unknown key is not in the list', async () => {
  await gateway.gateway.flush();
  const before = readRows(gateway.dataDir).length;
  for (let at = 0; at < 3; at++) await (await gateway.post('/responses', {}, { key: `sk-unknown-${at}` })).text();
  await gateway.gateway.flush();
  expect(readRows(gateway.dataDir)).toHaveLength(before);
});

it('a key has a bounded number of rejected requests in a minute, by budgets as well', async () => {
  const { key, hash } = await createKey({ limit: 0 });
  for (let at = 0; at < MAX_REJECTIONS + 5; at++) {
    const response = await gateway.post('/responses', { model, input: 'Hello' }, { key });
    expect(response.status).toBe(402);
    await response.text();
  }
  await gateway.gateway.flush();
  const rows = readRows(gateway.dataDir).filter((row) => row['key_hash'] === hash);
  expect(rows).toHaveLength(MAX_REJECTIONS);
  expect(rows.every(({ status, cost_nano_usd: cost }) => status === 402 && cost === 0)).toBe(true);
  expect((await list(hash))[0]).toMatchObject({ error_message: expect.stringContaining('has spent') });
});

it('the last one of a minute counts the others, at a stop at the latest', async () => {
  const one = await testGateway();
  const made = await manage(() => one)('POST', '/keys', { name: 'k', workspace_id: main });
  await manage(() => one)('PATCH', `/keys/${made.body.data.hash}`, { disabled: true });
  for (let at = 0; at < MAX_REJECTIONS + 5; at++)
    await (await one.post('/responses', {}, { key: made.body.key })).text();
  await one.close({ keepData: true });
  const rows = readRows(one.dataDir).filter((row) => row['key_hash'] === made.body.data.hash);
  expect(rows).toHaveLength(MAX_REJECTIONS + 1);
  expect(readHistory(rows.at(-1)!['history'] as string)).toMatchObject({ omittedRequests: 4 });
  rmSync(one.dataDir, { recursive: true });
});
