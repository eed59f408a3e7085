import { expect, it, vi } from 'vitest';
import type { ContentRecord } from '../domain/content-record.ts';
import { createTimedId } from '../domain/ids.ts';
import { type ContentLogOptions, type EndedRun, openContentLog } from './content-log.ts';

const caller = {
  keyHash: 'h',
  keyName: 'k',
  kind: 'member' as const,
  workspaceId: 'w',
  memberId: 'ada',
  contentSampling: 1,
};
const inputOf = (readGiven: () => object[], bytes?: number): EndedRun['input'] => ({ readGiven, bytes, park() {} });
const createRun = (text = 'hi', fields: Partial<EndedRun> = {}): EndedRun => ({
  request: {},
  input: inputOf(() => [{ type: 'message', role: 'user', content: text }]),
  caller,
  origin: {},
  generationId: createTimedId('gen-'),
  startedAtMs: 1_790_000_000_000,
  builder: { output: [{ type: 'message', role: 'assistant', content: 'yes' }] },
  error: undefined,
  ...fields,
});

function open(settings: Partial<ReturnType<ContentLogOptions['settings']>> = {}) {
  const stored = new Map<string, ContentRecord>();
  const troubles: string[] = [];
  const store = {
    isGone: false,
    batches: 0,
    async append(contents: readonly ContentRecord[]) {
      if (store.isGone) throw new Error('gone');
      store.batches++;
      for (const content of contents) stored.set(content.id, content);
    },
    async find(id: string) {
      if (store.isGone) throw new Error('gone');
      return stored.get(id);
    },
  };
  const log = openContentLog({
    store,
    settings: () => ({ max_bytes: 4096, max_pending_bytes: 100_000, keep: ['messages'], ...settings }),
    mask: { hide: (text) => text, longest: 0 },
    log: (message) => void troubles.push(message),
  });
  return { log, store, stored, troubles };
}

it('stores contents in batches, each under its generation', async () => {
  const { log, store, stored } = open({ max_pending_bytes: 10_000_000 });
  const runs = Array.from({ length: 120 }, () => createRun());
  for (const run of runs) log.record(run);
  await log.flush();
  expect([...stored.keys()]).toEqual(runs.map(({ generationId }) => generationId));
  expect(store.batches).toBe(3);
  expect(log).toMatchObject({ dropped: 0, pendingBytes: 0 });
  await log.close();
});

it('keeps nothing for a caller whose workspace did not opt in, and nothing of internal requests', async () => {
  const { log, stored } = open();
  log.record(createRun('hi', { caller: { ...caller, contentSampling: undefined } }));
  log.record(createRun('hi', { origin: undefined }));
  expect(log.pendingBytes).toBe(0);
  await log.close();
  expect(stored.size).toBe(0);
});

it('samples its share of sessions, each completely or not at all', async () => {
  const { log, stored } = open({ max_pending_bytes: 100_000_000 });
  const some = { ...caller, contentSampling: 0.3 };
  const sessions = Array.from({ length: 300 }, (_, index) => `session-${index}`);
  const runs = sessions.flatMap((session_id) =>
    [1, 2].map(() => createRun('hi', { caller: some, request: { session_id }, input: inputOf(() => []) })),
  );
  for (const run of runs) log.record(run);
  await log.flush();
  expect(stored.size / runs.length).toBeGreaterThan(0.2);
  expect(stored.size / runs.length).toBeLessThan(0.4);
  for (let at = 0; at < runs.length; at += 2) {
    expect(stored.has(runs[at]!.generationId)).toBe(stored.has(runs[at + 1]!.generationId));
  }
  await log.close();
});

it('drops and counts contents beyond its bound while the store is unavailable, logs it once, and stores the rest later', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { log, store, stored, troubles } = open();
    store.isGone = true;
    let max = 0;
    for (let count = 0; count < 500; count++) {
      log.record(createRun('x '.repeat(1000)));
      max = Math.max(max, log.pendingBytes);
      if (count % 100 === 0) await vi.advanceTimersByTimeAsync(1000);
    }
    expect(max).toBeLessThanOrEqual(100_000);
    expect(log.dropped).toBeGreaterThan(400);
    expect(troubles.filter((message) => message === 'content queue full')).toHaveLength(1);
    expect(troubles.filter((message) => message === 'content write failed')).toHaveLength(1);

    store.isGone = false;
    await vi.advanceTimersByTimeAsync(1000);
    await log.flush();
    expect(stored.size).toBe(500 - log.dropped);
    expect(log.pendingBytes).toBe(0);

    store.isGone = true; // a second streak is logged again
    for (let count = 0; count < 500; count++) log.record(createRun('x '.repeat(1000)));
    expect(troubles.filter((message) => message === 'content queue full')).toHaveLength(2);
    await expect(log.close()).rejects.toThrow('gone');
  } finally {
    vi.useRealTimers();
  }
});

it('finds a content that is not stored yet; without the store it reports that it cannot search further', async () => {
  const { log, store } = open();
  store.isGone = true;
  const run = createRun('on its way');
  log.record(run);
  expect((await log.find(run.generationId))?.input).toContain('on its way');
  await expect(log.find('gen-other')).rejects.toMatchObject({ kind: 'unavailable' });
  store.isGone = false;
  await log.close();
  expect(await log.find('gen-other')).toBeUndefined();
});

it('reads the input from the bytes of the request; until then only these use memory', async () => {
  const { log, stored } = open();
  const run = createRun('parked', {
    input: inputOf(() => [{ type: 'message', role: 'user', content: 'from the bytes' }], 50_000),
    builder: undefined,
  });
  log.record(run);
  expect(log.pendingBytes).toBeGreaterThan(50_000);
  expect(log.pendingBytes).toBeLessThan(55_000);
  await log.flush();
  expect(stored.get(run.generationId)).toMatchObject({
    input: '{"items":[{"type":"message","role":"user","content":"from the bytes"}]}',
    output: '[]',
    error: null,
  });
  await log.close();
});

it('counts a content that cannot be read again, and continues', async () => {
  const { log, stored, troubles } = open();
  const read = () => {
    throw new Error('broken');
  };
  log.record(createRun('x', { input: inputOf(read, 5) }));
  log.record(createRun('y'));
  await log.flush();
  expect([log.dropped, stored.size, log.pendingBytes]).toEqual([1, 1, 0]);
  expect(troubles).toEqual(['content unreadable']);
  await log.close();
});
