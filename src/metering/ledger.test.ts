import { appendFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { createTestEntry } from '../platform/storage/contract/samples.ts';
import { MAX_COST_NANO_USD } from './cost.ts';
import { type Ledger, type LedgerOptions, openLedger } from './ledger.ts';

let folder: string;
const ledgers: Ledger[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-ledger-'));
});
afterEach(async () => {
  for (const ledger of ledgers.splice(0)) await ledger.close().catch(() => {});
  rmSync(folder, { recursive: true, force: true });
});

/** A store in memory that can fail or wait. */
function createStore() {
  const entries = new Map<string, LedgerEntry>();
  const store = {
    entries,
    isGone: false,
    /** An entry that it always rejects. */
    refused: undefined as string | undefined,
    appends: 0,
    gate: Promise.resolve(),
    async append(batch: readonly LedgerEntry[]) {
      store.appends++;
      await store.gate;
      if (store.isGone) throw new Error('gone');
      if (batch.some(({ id }) => id === store.refused)) throw new RangeError('too much');
      for (const entry of batch) if (!entries.has(entry.id)) entries.set(entry.id, entry);
    },
    async find(workspaceId: string, id: string) {
      if (store.isGone) throw new Error('gone');
      const entry = entries.get(id);
      return entry?.workspaceId === workspaceId ? entry : undefined;
    },
  } satisfies LedgerOptions['store'] & Record<string, unknown>;
  return store;
}
const lines: Record<string, unknown>[] = [];
const messages = (): unknown[] => lines.map(({ message }) => message);
beforeEach(() => void lines.splice(0));
async function open(store: LedgerOptions['store']): Promise<Ledger> {
  const ledger = await openLedger({
    folder,
    store,
    quarantineFolder: folder,
    log: (message, fields) => void lines.push({ message, ...fields }),
  });
  ledgers.push(ledger);
  return ledger;
}

describe('the ledger', () => {
  it('stores entries in batches, in order', async () => {
    const store = createStore();
    const ledger = await open(store);
    const booked = Array.from({ length: 250 }, () => createTestEntry());
    for (const entry of booked) ledger.record(entry);
    await expect.poll(() => store.entries.size).toBe(250);
    expect([...store.entries.values()]).toEqual(booked);
    expect(store.appends).toBeLessThan(10);
    expect(lines).toEqual([]);
  });

  it('finds an entry that is not stored yet, only for its workspace', async () => {
    const store = createStore();
    const ledger = await open(store);
    const { promise, resolve } = Promise.withResolvers<void>();
    store.gate = promise;
    const entry = createTestEntry();
    ledger.record(entry);
    expect(await ledger.find(entry.workspaceId, entry.id)).toEqual(entry);
    const flushed = ledger.flush();
    expect(await ledger.find(entry.workspaceId, entry.id)).toEqual(entry);
    expect(await ledger.find('another', entry.id)).toBeUndefined();
    resolve();
    await flushed;
    expect(await ledger.find(entry.workspaceId, entry.id)).toEqual(entry);
    expect(await ledger.find('another', entry.id)).toBeUndefined();
  });

  it('keeps entries while the store is unavailable, logs it once, and stores each once afterwards', async () => {
    const store = createStore();
    const ledger = await open(store);
    store.isGone = true;
    const booked = Array.from({ length: 5 }, () => createTestEntry());
    for (const entry of booked) {
      ledger.record(entry);
      await expect(ledger.flush()).rejects.toThrow('gone');
    }
    expect(ledger.accepting).toBe(true);
    expect(lines).toEqual([{ message: 'ledger write failed', err: new Error('gone'), queued: 1 }]);
    await expect(ledger.find('w', 'gen-unknown')).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 5 });
    expect(await ledger.find(booked[0]!.workspaceId, booked[0]!.id)).toEqual(booked[0]);
    expect(lines).toHaveLength(1);

    store.isGone = false;
    await ledger.flush();
    ledger.record(createTestEntry());
    await ledger.flush();
    expect(messages()).toEqual(['ledger write failed', 'ledger write recovered']);
    booked.push([...store.entries.values()].at(-1)!);
    expect([...store.entries.values()]).toEqual(booked);
    store.isGone = true;
    ledger.record(createTestEntry());
    await expect(ledger.flush()).rejects.toThrow('gone');
    expect(messages().slice(2)).toEqual(['ledger write failed']); // a new series of failures
  });

  it('leaves rejected entries to the next start, which stores each once', async () => {
    const store = createStore();
    const ledger = await open(store);
    store.isGone = true;
    const entry = createTestEntry();
    ledger.record(entry);
    await expect(ledger.close()).rejects.toThrow('gone');
    await expect(open(store)).rejects.toThrow('gone'); // the next start may fail as well
    expect(readdirSync(folder)).toHaveLength(1);
    store.isGone = false;
    await open(store);
    expect([...store.entries.values()]).toEqual([entry]);
    await open(store);
    expect(store.entries.size).toBe(1);
  });

  it('stores entries recorded during a flush in the next one', async () => {
    const store = createStore();
    const ledger = await open(store);
    const { promise, resolve } = Promise.withResolvers<void>();
    store.gate = promise;
    ledger.record(createTestEntry());
    const first = ledger.flush();
    const late = createTestEntry();
    ledger.record(late);
    const second = ledger.flush();
    resolve();
    await Promise.all([first, second]);
    expect(store.entries.has(late.id)).toBe(true);
    await ledger.close();
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('an entry whose content the store rejects', () => {
  const file = () => join(folder, 'set-aside.jsonl');

  it('delays no other, and is quarantined in a file for a later build', async () => {
    const store = createStore();
    const ledger = await open(store);
    const booked = Array.from({ length: 900 }, () => createTestEntry());
    store.refused = booked[500]!.id;
    for (const entry of booked) ledger.record(entry);
    await ledger.flush();
    expect([...store.entries.values()]).toEqual(booked.toSpliced(500, 1));
    const line = {
      message: 'ledger entry quarantined',
      cause: 'RangeError',
      generation_id: store.refused,
      file: file(),
    };
    expect(lines).toEqual([line]);
    await ledger.close();
    expect(readdirSync(folder)).toEqual(['set-aside.jsonl']);

    await (await open(store)).close();
    expect(lines).toHaveLength(1); // no start reads it
    store.refused = undefined;
    renameSync(file(), join(folder, 'ledger-set-aside.jsonl'));
    await open(store);
    expect(store.entries.get(booked[500]!.id)).toEqual(booked[500]);
  });

  it('is a separate line, even after one that a full disk truncated', async () => {
    const store = createStore();
    const ledger = await open(store);
    writeFileSync(file(), '{"id":"gen-cut');
    const entries = [createTestEntry(), createTestEntry()];
    for (const entry of entries) {
      store.refused = entry.id;
      ledger.record(entry);
      await ledger.flush();
    }
    const [cut, ...lines] = readFileSync(file(), 'utf8').split('\n').slice(0, -1);
    expect(cut).toBe('{"id":"gen-cut');
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(entries.map(({ id }) => id));
  });

  it('does not prevent a start, and neither does an unreadable line', async () => {
    const store = createStore();
    const ledger = await open(store);
    const [refused, other] = [createTestEntry(), createTestEntry()];
    store.isGone = true;
    for (const entry of [refused, other]) ledger.record(entry);
    await expect(ledger.close()).rejects.toThrow('gone');
    appendFileSync(join(folder, readdirSync(folder)[0]!), '{"id":"gen-other"}\n');

    store.isGone = false;
    store.refused = refused.id;
    await open(store);
    expect([...store.entries.keys()]).toEqual([other.id]);
    expect(lines.slice(-2)).toMatchObject([
      { message: 'ledger entry quarantined', generation_id: refused.id },
      { message: 'journal lines quarantined', lines: 1, file: file() },
    ]);
    const [line, ...rest] = readFileSync(file(), 'utf8').split('\n');
    expect(JSON.parse(line!)).toMatchObject({ id: refused.id });
    expect(rest).toEqual(['{"id":"gen-other"}', '']);
  });
});

it('logs an entry whose cost was capped', async () => {
  const ledger = await open(createStore());
  ledger.record(createTestEntry({ id: 'gen-odd', costNanoUsd: MAX_COST_NANO_USD, priced: false }));
  const place = { generation_id: 'gen-odd', model: 'acme/small', provider: 'Acme' };
  expect(lines).toEqual([{ message: 'cost capped', ...place, cost_usd: '9000000' }]);
});

describe('a store that fails slowly', () => {
  it('is called no more often if many calls wait', async () => {
    const store = createStore();
    const ledger = await open(store);
    const { promise, resolve } = Promise.withResolvers<void>();
    store.gate = promise;
    store.isGone = true;
    ledger.record(createTestEntry());
    const flushed = Array.from({ length: 10 }, () => ledger.flush());
    ledger.record(createTestEntry());
    resolve();
    for (const each of flushed) await expect(each).rejects.toThrow('gone');
    expect(store.appends).toBe(2); // the current one, and one for all calls in the meantime
    store.isGone = false;
    await ledger.flush();
    expect(store.entries.size).toBe(2);
  });
});

describe('a request in flight', () => {
  it('is recorded by the next process as an estimate, once', async () => {
    const store = createStore();
    const [cut, answered] = [createTestEntry(), createTestEntry()];
    const ledger = await open(store);
    ledger.begin(cut);
    ledger.record(answered, ledger.begin(answered));
    await ledger.flush();
    const interrupted: number[] = [];
    for (let start = 0; start < 2; start++) {
      const next = await openLedger({
        folder,
        store,
        quarantineFolder: folder,
        log: () => {},
        onOrphaned: ({ interrupted: count }) => interrupted.push(count),
      });
      ledgers.push(next);
      expect(store.entries.get(answered.id)).toEqual(answered);
      expect(await next.find(cut.workspaceId, cut.id)).toMatchObject({
        outcome: 'failed',
        status: 503,
        errorType: 'gateway_stopped',
        estimated: true,
        costNanoUsd: cut.costNanoUsd,
        inputTokens: cut.inputTokens,
        model: cut.model,
        sessionId: cut.sessionId,
      });
    }
    expect(store.entries.size).toBe(2);
    expect(interrupted).toEqual([1]);
  });

  it('stays in the journal until it is recorded, and leaves nothing then', async () => {
    const store = createStore();
    const ledger = await open(store);
    const slow = createTestEntry();
    const begun = ledger.begin(slow);
    for (let turn = 0; turn < 3; turn++) {
      const quick = createTestEntry();
      ledger.record(quick, ledger.begin(quick));
      await ledger.flush();
    }
    ledger.record(slow, begun);
    await ledger.close();
    expect(readdirSync(folder)).toEqual([]);
    expect(store.entries.get(slow.id)).toEqual(slow);
  });
});

describe('a ledger whose journal cannot be written', () => {
  /** The test closes its journal. */
  async function openBroken(store: LedgerOptions['store']) {
    const ledger = await open(store);
    await ledger.close();
    ledgers.length = 0;
    return ledger;
  }

  it('accepts no requests until the store has all entries', async () => {
    const store = createStore();
    const ledger = await openBroken(store);
    expect(ledger.accepting).toBe(true);
    const entry = createTestEntry();
    ledger.record(entry);
    expect(ledger.accepting).toBe(false);
    expect(messages()[0]).toBe('journal write failed');
    await ledger.flush();
    expect(ledger.accepting).toBe(true);
    expect([...store.entries.values()]).toEqual([entry]);
  });

  it('rejects requests before they are sent', async () => {
    const ledger = await openBroken(createStore());
    expect(() => ledger.begin(createTestEntry())).toThrow(
      expect.objectContaining({ kind: 'unavailable', retryAfterSeconds: 5 }),
    );
    expect(messages()[0]).toBe('journal write failed');
    const since = ledger.findBlockedSinceMs();
    expect(since).toEqual(expect.any(Number));
    expect(ledger.findBlockedSinceMs()).toBe(since); // there is still no space
  });

  it('counts entries recorded during a write to the store', async () => {
    const store = createStore();
    const ledger = await openBroken(store);
    const { promise, resolve } = Promise.withResolvers<void>();
    store.gate = promise;
    ledger.record(createTestEntry());
    const flushed = ledger.flush();
    ledger.record(createTestEntry());
    resolve();
    await flushed;
    expect(ledger.accepting).toBe(false);
    await ledger.flush();
    expect(ledger.accepting).toBe(true);
  });

  it('logs the entries that the store rejects as well at shutdown', async () => {
    const store = createStore();
    const ledger = await openBroken(store);
    store.isGone = true;
    const entry = createTestEntry();
    ledger.record(entry);
    await expect(ledger.close()).rejects.toThrow();
    const entries = [expect.stringContaining(`{"id":"${entry.id}"`)];
    expect(lines.at(-1)).toMatchObject({ message: 'ledger entries lost', entries });
  });
});
