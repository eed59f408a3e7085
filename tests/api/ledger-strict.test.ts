import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { readRows } from './ledger-rows.ts';

const { fdatasync } = fs;
type Callback = (error: NodeJS.ErrnoException | null) => void;
/** Pending syncs. */
let waiting: Callback[] = [];
let gateway: TestGateway;

beforeEach(async () => {
  waiting = [];
  fs.fdatasync = ((_: number, done: Callback) => void waiting.push(done)) as typeof fdatasync;
  syncBuiltinESMExports();
});
afterEach(async () => {
  fs.fdatasync = fdatasync;
  syncBuiltinESMExports();
  release();
  await gateway.close();
});
const release = (error: NodeJS.ErrnoException | null = null): void =>
  waiting.splice(0).forEach((done) => void done(error));
const start = async (durability: 'standard' | 'strict') => {
  gateway = await testGateway({ ledger: { durability } });
};
const ask = (more: object = {}) => gateway.post('/responses', { model: 'simulator/echo', input: 'hi', ...more });
/** Long enough for a response that was sent to have arrived. */
const waitForOthers = async (): Promise<void> => {
  for (let time = 0; time < 5; time++) await (await gateway.get('/health')).text();
};

describe('ledger.durability: strict', () => {
  it('lets a buffered response end after its entry is synced', async () => {
    await start('strict');
    const order: string[] = [];
    const response = ask().then(async (answer) => {
      await answer.json();
      order.push('ended');
    });
    await expect.poll(() => waiting.length).toBe(1);
    await waitForOthers();
    order.push('synced');
    release();
    await response;
    expect(order).toEqual(['synced', 'ended']);
  });

  it('lets a stream flow, and its last event wait', async () => {
    await start('strict');
    const answer = await ask({ stream: true });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('response.output_text.delta')) text += (await reader.read()).value;
    const rest = (async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
    })();
    await expect.poll(() => waiting.length).toBe(1);
    await waitForOthers();
    expect(text).not.toContain('response.completed');
    release();
    await rest;
    expect(text).toContain('response.completed');
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });

  it('syncs once for all responses that end during a sync', async () => {
    await start('strict');
    const first = ask();
    await expect.poll(() => waiting.length).toBe(1);
    const held = waiting.splice(0);
    const others = Array.from({ length: 20 }, () => ask());
    await expect.poll(() => readRows(gateway.dataDir).length).toBe(21); // recorded, and stored by now
    expect(waiting).toEqual([]);
    for (const done of held) done(null);
    await expect.poll(() => waiting.length).toBe(1);
    release();
    expect(new Set((await Promise.all([first, ...others])).map(({ status }) => status))).toEqual(new Set([200]));
    expect(waiting).toEqual([]);
  });

  it('waits for the store if the disk fails, and accepts no requests until it recovers', async () => {
    await start('strict');
    const response = ask();
    await expect.poll(() => waiting.length).toBe(1);
    release(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }));
    const answer = await response;
    expect(answer.status).toBe(200);
    expect(readRows(gateway.dataDir).map(({ id }) => id)).toEqual([answer.headers.get('x-generation-id')]);
    expect((await ask()).status).toBe(503);
    expect((await gateway.get('/ready')).status).toBe(503);
    await expect.poll(() => waiting.length).toBe(1);
    release();
    await expect.poll(async () => (await gateway.get('/ready')).status).toBe(200);
  });

  it('is not the default: nothing is synced', async () => {
    await start('standard');
    expect((await ask()).status).toBe(200);
    expect(waiting).toEqual([]);
  });

  it('is applied by a reload', async () => {
    await start('standard');
    await gateway.reload({ ledger: { durability: 'strict' } });
    const response = ask();
    await expect.poll(() => waiting.length).toBe(1);
    release();
    expect((await response).status).toBe(200);
  });
});
