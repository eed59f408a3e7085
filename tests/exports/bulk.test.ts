import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { createTestEntry } from '../../src/platform/storage/contract/samples.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { expectIssues, type Json, main, manage, other } from '../api/manage.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
beforeEach(async () => {
  const rules = { content_filter_builtins: [{ slug: 'email', action: 'redact' }] };
  const guardrails = [{ name: 'no addresses', workspace: 'main', rules, keys: ['app'] }];
  gateway = await testGateway({ bootstrap: { guardrails } }, undefined, { gatherMs: 1 });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await gateway.close();
});

const readLines = (text: string): Json[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Json);

async function exportAll(query = ''): Promise<Json[]> {
  const response = await gateway.get(`/generations/export${query}`, { key: gateway.managementKey });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  return readLines(await response.text());
}

/** Records requests in the order of their ids. @returns the ids */
async function record(count: number, fields: object = {}): Promise<string[]> {
  const entries = Array.from({ length: count }, () => createTestEntry({ workspaceId: main, ...fields }));
  await gateway.gateway.storage.ledger.append(entries);
  return entries.map(({ id }) => id).toSorted();
}

/** Opens an export and reads nothing. */
async function open(): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${gateway.managementKey}` };
  const [response] = await once(get(`${gateway.baseUrl}/generations/export`, { headers }), 'response');
  return response as IncomingMessage;
}

describe('GET /generations/export', () => {
  it('has every generation with its corrections and its kept contents, the oldest first', async () => {
    await ask('PATCH', '/workspaces/main', { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1 });
    const ids = await record(250);
    const { ledger } = gateway.gateway.storage;
    const entry = (await ledger.find(undefined, ids[0]!))!;
    await ledger.correct([{ entry, costNanoUsd: 7_000_000_000n, inputCostNanoUsd: 0n }], 1);
    const response = await gateway.post('/responses', { model: 'simulator/echo', input: 'I am ada@example.com.' });
    const id = response.headers.get('x-generation-id')!;

    const lines = await exportAll();
    expect(lines.map((line) => line.id)).toEqual([...ids, id].toSorted());
    expect(lines.find((line) => line.id === ids[0]).total_cost).toBeGreaterThan(7);
    expect(lines.filter((line) => line.content !== null)).toMatchObject([
      { id, api_key_hash: expect.any(String), content: { input: { items: [{ role: 'user' }] }, truncated: false } },
    ]);
    expect(JSON.stringify(lines)).not.toContain('ada@example.com');
    const bare = await exportAll('?contents=false');
    expect(bare).toHaveLength(lines.length);
    expect(bare.filter((line) => 'content' in line)).toEqual([]);
  });

  it('has the conditions of the list', async () => {
    await record(3);
    const foreign = await record(2, { workspaceId: other });
    const failed = await record(1, { outcome: 'failed', status: 502 });
    const ids = async (query: string) => (await exportAll(query)).map(({ id }) => id);
    expect(await ids(`?workspace_id=${other}`)).toEqual(foreign);
    expect(await ids('?status=5xx')).toEqual(failed);
    expect(await ids('?until=2020-01-01')).toEqual([]);
    expectIssues(await ask('GET', '/generations/export?modle=x&contents=maybe'), {
      contents: 'is not one of true, false',
      modle: 'did you mean `model`?',
    });
    const inference = await ask('GET', '/generations/export', undefined, gateway.key);
    expect(inference.status).toBe(403);
  });

  it('reads the store only as fast as the client reads', async () => {
    const ids = await record(6000);
    const listPage = vi.spyOn(gateway.gateway.storage.ledger, 'listPage');
    const response = await open();
    await expect.poll(() => response.readableLength).toBeGreaterThan(0);
    let pages = 0;
    while (listPage.mock.calls.length > pages) {
      pages = listPage.mock.calls.length;
      for (let turn = 0; turn < 1000; turn++) await nextTurn(); // it would read on
    }
    expect(pages).toBeLessThan(50);
    const text = (await response.setEncoding('utf8').toArray()).join('');
    expect(readLines(text).map(({ id }) => id)).toEqual(ids);
  });

  it('ends with an error and without the end of the body if the store fails', async () => {
    await record(350);
    const { ledger } = gateway.gateway.storage;
    const { listPage } = ledger;
    let pages = 0;
    vi.spyOn(ledger, 'listPage').mockImplementation((query) =>
      ++pages > 2 ? Promise.reject(new Error('the disk is gone')) : listPage(query),
    );
    const { text, error } = await readCut(await open());
    expect(error).toMatchObject({ code: 'ECONNRESET' });
    const lines = readLines(text);
    expect(lines).toHaveLength(201);
    expect(lines.at(-1)).toMatchObject({
      error: { code: 503, message: 'The store does not respond; try again later.' },
    });
    expect(text).not.toContain('the disk is gone');
  });

  it('ends in the same way when its key is disabled', async () => {
    await record(350);
    const { ledger } = gateway.gateway.storage;
    const { listPage } = ledger;
    let pages = 0;
    vi.spyOn(ledger, 'listPage').mockImplementation(async (query) => {
      if (++pages === 2) await disable();
      return listPage(query);
    });
    const { text, error } = await readCut(await open());
    expect(error).toMatchObject({ code: 'ECONNRESET' });
    expect(readLines(text).at(-1)).toMatchObject({ error: { code: 401 } });
  });

  it('is a 503 if the store fails at the beginning, and a 429 beyond four at the same time', async () => {
    const { ledger } = gateway.gateway.storage;
    vi.spyOn(ledger, 'listPage').mockRejectedValueOnce(new Error('no connection'));
    expect((await ask('GET', '/generations/export')).status).toBe(503);

    await record(6000);
    const responses = await Promise.all(Array.from({ length: 4 }, open));
    expect((await ask('GET', '/generations/export')).status).toBe(429);
    for (const response of responses) response.destroy();
    await expect
      .poll(async () => (await gateway.get('/generations/export?limit=1', { key: gateway.managementKey })).status)
      .toBe(400);
    await expect.poll(async () => (await ask('GET', '/generations/export?until=2020-01-01')).status).toBe(200);
  });
});

async function disable(): Promise<void> {
  const { access } = gateway.gateway.storage;
  const key = (await access.listKeys()).find(({ name }) => name === 'admin')!;
  await access.setKeyDisabled(key.hash, true);
  await gateway.gateway.refreshAccess();
}

/** Reads until the connection is closed. */
async function readCut(response: IncomingMessage): Promise<{ text: string; error: unknown }> {
  let text = '';
  try {
    for await (const piece of response.setEncoding('utf8')) text += piece;
  } catch (error) {
    return { text, error };
  }
  return { text, error: undefined };
}

it('headgate requests export prints the same', async () => {
  await record(120);
  const lines = await exportAll();
  let printed = '';
  const stdout = { write: (text: string) => (printed += text) };
  const args = ['requests', 'export', '--data', gateway.dataDir, '--status', '200'];
  const code = await runCli(args, { stdout, stderr: stdout, env: {}, cwd: gateway.dataDir });
  expect([code, readLines(printed)]).toEqual([0, lines]);
});
