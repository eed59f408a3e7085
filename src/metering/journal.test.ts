import {
  appendFileSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LedgerEntry, InFlightEntry } from '../domain/ledger-entry.ts';
import { createTestEntry, createTestLine } from '../platform/storage/contract/samples.ts';
import { openJournal } from './journal.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const files = () => readdirSync(folder).map((name) => join(folder, name));
const sizes = () => files().map((file) => statSync(file).size);
/** Returns the records that the next process would find. */
const readOrphanedRecords = () => {
  const { journal, orphaned } = openJournal(folder);
  journal.close();
  return orphaned;
};
const readOrphaned = () => readOrphanedRecords().entries;

it('keeps every field of an entry as soon as append returns', () => {
  const { journal, orphaned } = openJournal(folder);
  expect(orphaned).toEqual({ entries: [], interrupted: 0, unreadable: [] });
  const entries = [
    createTestEntry({ costNanoUsd: 2n ** 63n - 1n, inputCostNanoUsd: 2n ** 62n + 1n, requestedModel: 'a\nb"\u2028\0' }),
    createTestEntry({ router: 'router/auto', task: 'code:review' }),
    createTestEntry({ parentId: 'gen-parent' }),
    createTestEntry({ tags: { team: 'search' } }),
    createTestEntry({ history: '{"attempts":[]}' }),
    createTestEntry({ special: { webSearches: 2 }, isByok: true, upstreamCostNanoUsd: 5, tier: 'flex' }),
    createTestEntry({ memberId: null, model: null, firstOutputMs: null }),
    createTestEntry({ pictures: { made: 1, madePixels: 5, references: 0, referencePixels: 0, variant: '1k' } }),
    createTestEntry({ lines: [{ ...createTestLine(), costNanoUsd: 2n ** 63n - 1n }, createTestLine()] }),
  ];
  for (const entry of entries) journal.append(entry);
  expect(readOrphaned()).toEqual(entries);
});

it('reads entries of an earlier build without routers and input costs', () => {
  const { router, task, inputCostNanoUsd, ...rest } = createTestEntry();
  const { providerId, endpointId, tier, isByok, upstreamCostNanoUsd, ...known } = rest;
  writeFileSync(
    join(folder, 'ledger-1-old.jsonl'),
    `${JSON.stringify({ ...known, costNanoUsd: String(known.costNanoUsd) })}\n`,
  );
  const unknown = { router: null, task: null, providerId: null, endpointId: null, tier: null };
  expect(readOrphaned()).toEqual([
    { ...known, ...unknown, isByok: false, upstreamCostNanoUsd: null, inputCostNanoUsd: 0n },
  ]);
});

it('skips a partial last line, and reports invalid lines', () => {
  const { journal } = openJournal(folder);
  const entry = createTestEntry();
  journal.append(entry);
  const [file] = files();
  const lines = ['null', '{}', '\0\0\0', '{"id":"gen-torn"}', '["end","gen-x"]', '["what"]'];
  appendFileSync(file!, `${lines.join('\n')}\n{"id":"gen-cut","costNanoUsd":"1`);
  expect(readOrphanedRecords()).toEqual({ entries: [entry], interrupted: 0, unreadable: lines });
});

it('ignores other files in its folder', () => {
  writeFileSync(join(folder, 'README'), 'not mine\n');
  writeFileSync(join(folder, 'ledger-1.jsonl.bak'), '{"costNanoUsd":"1"}\n');
  expect(readOrphaned()).toEqual([]);
  expect(readdirSync(folder)).toEqual(['README', 'ledger-1.jsonl.bak']);
});

it('deletes lines before the mark once there are none after it', () => {
  const { journal } = openJournal(folder);
  journal.append(createTestEntry());
  const mark = journal.mark();
  const later = createTestEntry();
  journal.append(later);
  journal.forget(mark);
  expect(readOrphaned()).toContainEqual(later);
  journal.forget(journal.mark());
  expect(sizes()).toEqual([0]);
  journal.append(later);
  expect(readOrphaned()).toEqual([later]);
});

it('starts a new file if the old one is large, and deletes the old one with its last entry', () => {
  const { journal } = openJournal(folder);
  const large = createTestEntry({ requestedModel: 'm'.repeat(3_000_000) });
  for (let at = 0; at < 2; at++) journal.append(large);
  let mark = journal.mark();
  journal.append(large);
  journal.forget(mark);
  expect(sizes()).toHaveLength(2);
  const last = createTestEntry();
  journal.append(last);
  expect(readOrphaned()).toContainEqual(last);
  mark = journal.mark();
  journal.forget(mark);
  expect(sizes()).toEqual([0]);
  journal.close();
  expect(files()).toEqual([]);
});

it('does not write after it is closed, even if another file has its descriptor', () => {
  const { journal } = openJournal(folder);
  const entry = createTestEntry();
  const begun = journal.begin(entry);
  const mark = journal.mark();
  journal.settle(begun);
  journal.close();
  const path = join(folder, 'another');
  const another = openSync(path, 'w+'); // reuses the descriptor
  writeSync(another, 'mine');
  expect(() => journal.append(entry)).toThrow();
  expect(() => journal.begin(entry)).toThrow();
  journal.forget(mark);
  expect(readFileSync(path, 'utf8')).toBe('mine');
  closeSync(another);
});

it('deletes the records of an earlier process only on request', () => {
  const before = openJournal(folder);
  const entry = createTestEntry();
  before.journal.append(entry);
  const after = openJournal(folder);
  expect(after.orphaned.entries).toEqual([entry]);
  expect(readOrphaned()).toEqual([entry]);
  after.deleteOrphaned();
  after.journal.close();
  expect(readOrphaned()).toEqual([]);
});

describe('a request in flight', () => {
  const createTestInFlight = (fields: Partial<InFlightEntry> = {}): InFlightEntry => {
    const { outcome, status, errorType, estimated, firstOutputMs, durationMs, ...known } = createTestEntry();
    const { cachedTokens, cacheWriteTokens, reasoningTokens, upstreamCostNanoUsd, special, ...inFlight } = known;
    return { ...inFlight, ...fields };
  };
  /** Its estimate if its outcome is unknown. */
  const estimateOf = (inFlight: InFlightEntry): LedgerEntry => ({
    ...inFlight,
    outcome: 'failed',
    status: 503,
    errorType: 'gateway_stopped',
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    upstreamCostNanoUsd: null,
    estimated: true,
    firstOutputMs: null,
    durationMs: 0,
  });

  it('is an estimate until it has an entry', () => {
    const { journal } = openJournal(folder);
    const full = createTestInFlight({ router: 'router/auto', task: 'code', costNanoUsd: 2n ** 63n - 1n });
    const sparse = createTestInFlight({
      memberId: null,
      sessionId: null,
      endUser: null,
      streamed: false,
      priced: false,
    });
    const begun = journal.begin(full);
    journal.begin(sparse);
    expect(readOrphanedRecords()).toEqual({
      entries: [estimateOf(full), estimateOf(sparse)],
      interrupted: 2,
      unreadable: [],
    });
    const entry = createTestEntry({ id: full.id });
    journal.append(entry, begun);
    expect(readOrphanedRecords()).toEqual({ entries: [entry, estimateOf(sparse)], interrupted: 1, unreadable: [] });
  });

  it('has the values of its entry, even if they differ from the start line', () => {
    const { journal } = openJournal(folder);
    const changes: Partial<LedgerEntry>[] = [
      {},
      { tier: 'flex' },
      { tier: null },
      { costNanoUsd: 2n ** 63n - 1n, inputCostNanoUsd: 2n ** 62n + 1n },
      { errorType: 'a\nb"\u2028', outcome: 'failed', status: 502 } as const,
      { firstOutputMs: null, durationMs: 0 },
      { upstreamCostNanoUsd: 5 },
      { estimated: true },
      { priced: false },
      { special: { webSearches: 2 } },
      { pictures: { made: 1, references: 0 } },
      { lines: [createTestLine(), createTestLine()] },
      { model: 'acme/other' },
      { model: null },
      { provider: 'Bolt' },
      { providerId: 'bolt' },
      { endpointId: 'acme/other@bolt' },
      { isByok: true },
      { router: 'router/auto' },
      { task: 'code' },
      { requestedModel: 'acme/other' },
      { createdAtMs: 7 },
      { workspaceId: 'other' },
      { keyHash: 'other' },
      { memberId: null },
      { streamed: false },
      { streamed: true },
      { sessionId: 'other' },
      { endUser: 'other' },
      { apiType: 'image' } as const,
      { parentId: 'gen-parent' },
      { tags: { team: 'search' } },
      { history: '{"message":"No."}' },
      { parentId: 'gen-parent', history: '{}' },
    ];
    const begun = changes.map(() => journal.begin(createTestInFlight()));
    const entries = changes.map((change, at) => createTestEntry({ ...begun[at]!.inFlight, ...change }));
    for (const [at, entry] of entries.entries()) journal.append(entry, begun[at]);
    expect(readOrphanedRecords()).toEqual({ entries, interrupted: 0, unreadable: [] });
  });

  it('keeps its history so far, until its entry has another one or none', () => {
    const { journal } = openJournal(folder);
    const inFlight = [1, 2, 3].map((at) => createTestInFlight({ history: `{"at":${at}}` }));
    const begun = inFlight.map((each) => journal.begin(each));
    const entries = [
      createTestEntry({ ...inFlight[0]!, history: '{"at":4}' }),
      createTestEntry({ id: inFlight[1]!.id }),
    ];
    for (const [at, entry] of entries.entries()) journal.append(entry, begun[at]);
    expect(readOrphanedRecords().entries).toEqual([...entries, estimateOf(inFlight[2]!)]);
  });

  it('keeps the lines of its failed attempts, and has their sums', () => {
    const { journal } = openJournal(folder);
    const lines = [
      createTestLine({ isByok: true, special: { webSearches: 1 } }),
      createTestLine({ costNanoUsd: 2n ** 62n }),
    ];
    const [composed, image] = [createTestInFlight({ lines }), createTestInFlight({ lines, apiType: 'image' })];
    const begun = journal.begin(composed);
    journal.begin(image);
    const sum = (field: 'inputTokens' | 'cachedTokens' | 'cacheWriteTokens' | 'outputTokens' | 'reasoningTokens') =>
      lines.reduce((total, line) => total + line[field], 0);
    const sums = {
      inputTokens: sum('inputTokens'),
      cachedTokens: sum('cachedTokens'),
      cacheWriteTokens: sum('cacheWriteTokens'),
      outputTokens: sum('outputTokens'),
      reasoningTokens: sum('reasoningTokens'),
      upstreamCostNanoUsd: lines.reduce((total, line) => total + (line.upstreamCostNanoUsd ?? 0), 0),
      special: { webSearches: 1 },
    };
    expect(sums.cachedTokens).toBeGreaterThan(0);
    expect(readOrphanedRecords()).toEqual({
      entries: [composed, image].map((each) => ({ ...estimateOf(each), ...sums })),
      interrupted: 2,
      unreadable: [],
    });
    const entry = createTestEntry({ ...composed, lines: undefined } as Partial<LedgerEntry>); // none responded, one had a cost
    journal.append(entry, begun);
    expect(readOrphanedRecords().entries[0]).toEqual(entry);
  });

  it('has the values of its last attempt', () => {
    const { journal } = openJournal(folder);
    const first = createTestInFlight();
    const second = { ...first, provider: 'Bolt', costNanoUsd: 7n };
    const begun = journal.begin(second, journal.begin(first));
    expect(readOrphaned()).toEqual([estimateOf(second)]);
    journal.append(createTestEntry({ ...second }), begun);
    journal.forget(journal.mark());
    expect(sizes()).toEqual([0]); // the first attempt is closed
  });

  it('stays when all entries are stored, until it has its own', () => {
    const { journal } = openJournal(folder);
    const inFlight = createTestInFlight();
    const begun = journal.begin(inFlight);
    journal.append(createTestEntry());
    journal.forget(journal.mark());
    expect(readOrphaned()).toContainEqual(estimateOf(inFlight));
    journal.append(createTestEntry({ id: inFlight.id }), begun);
    journal.forget(journal.mark());
    expect(sizes()).toEqual([0]);
    journal.settle(journal.begin(inFlight)); // its entry was stored without the journal
    journal.forget(journal.mark());
    journal.close();
    expect(files()).toEqual([]);
  });

  it('is copied to a new file', () => {
    const { journal } = openJournal(folder);
    const settled = createTestInFlight();
    const inFlight = createTestInFlight();
    const begun = journal.begin(inFlight);
    journal.append(createTestEntry({ id: settled.id }), journal.begin(settled));
    for (let at = 0; at < 3; at++) journal.append(createTestEntry({ requestedModel: 'm'.repeat(3_000_000) }));
    journal.forget(journal.mark());
    expect(sizes()).toHaveLength(2);
    journal.forget(journal.mark());
    expect(sizes()).toHaveLength(1);
    expect(readOrphanedRecords()).toEqual({ entries: [estimateOf(inFlight)], interrupted: 1, unreadable: [] });
    const entry = createTestEntry({ id: inFlight.id });
    journal.append(entry, begun);
    expect(readOrphanedRecords()).toEqual({ entries: [entry], interrupted: 0, unreadable: [] });
  });

  it('does not make the journal start new files repeatedly, even if there are many', () => {
    const { journal } = openJournal(folder);
    const many = Array.from({ length: 3 }, () => createTestInFlight({ requestedModel: 'm'.repeat(4_000_000) }));
    for (const inFlight of many) journal.begin(inFlight);
    for (let at = 0; at < 3; at++) journal.forget(journal.mark());
    const [file] = files();
    journal.forget(journal.mark());
    expect(files()).toEqual([file]);
    expect(readOrphanedRecords().interrupted).toBe(3);
  });

  it('is rejected if it cannot be written', () => {
    const { journal } = openJournal(folder);
    journal.close();
    expect(() => journal.begin(createTestInFlight())).toThrow('closed');
  });
});

describe('a disk that becomes full within a line', () => {
  /** Has `room` bytes left. Overwriting needs none. */
  function openFull() {
    const state = { room: Number.POSITIVE_INFINITY };
    const { journal } = openJournal(folder, {
      write(fd, bytes, offset, length, position) {
        const inside = Math.max(0, fstatSync(fd).size - position);
        if (inside === 0 && state.room <= 0)
          throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
        const written = writeSync(fd, bytes, offset, Math.min(length, inside + Math.max(0, state.room)), position);
        state.room -= Math.max(0, written - inside);
        return written;
      },
      truncate: ftruncateSync,
      sync: async () => {},
    });
    return { journal, state };
  }

  it('leaves no partial line before the next one', () => {
    const { journal, state } = openFull();
    const entries = [createTestEntry(), createTestEntry(), createTestEntry()];
    journal.append(entries[0]!);
    const lost = createTestEntry();
    for (const room of [100, 1, 500]) {
      state.room = room;
      expect(() => journal.append(createTestEntry({ ...lost, requestedModel: 'm'.repeat(2000) }))).toThrow('ENOSPC');
      expect(readOrphanedRecords()).toEqual({ entries: [entries[0]], interrupted: 0, unreadable: [] });
    }
    state.room = Number.POSITIVE_INFINITY;
    journal.append(entries[1]!); // shorter than the partial line
    expect(readOrphanedRecords()).toEqual({ entries: entries.slice(0, 2), interrupted: 0, unreadable: [] });

    state.room = 50;
    expect(() => journal.begin(createTestEntry())).toThrow('ENOSPC');
    expect(readOrphanedRecords()).toEqual({ entries: entries.slice(0, 2), interrupted: 0, unreadable: [] });
    state.room = Number.POSITIVE_INFINITY;
    journal.append(entries[2]!);
    expect(readOrphanedRecords()).toEqual({ entries, interrupted: 0, unreadable: [] });
    journal.forget(journal.mark());
    expect(sizes()).toEqual([0]);
  });

  it('reserves the space of a further request, if there is some', () => {
    const { journal, state } = openFull();
    state.room = 0;
    expect(() => journal.reserve(createTestEntry())).toThrow('ENOSPC');
    state.room = 20_000;
    journal.reserve(createTestEntry());
    state.room = 0;
    journal.reserve(createTestEntry());
    journal.begin(createTestEntry());
  });

  it('accepts the entry of every request in flight, in any order', () => {
    const { journal, state } = openFull();
    const begun = Array.from({ length: 40 }, () => journal.begin(createTestEntry()));
    state.room = 0;
    expect(() => journal.append(createTestEntry({ requestedModel: 'm'.repeat(100_000) }))).toThrow('ENOSPC');
    const entries = begun.map(({ inFlight }, at) =>
      createTestEntry({ ...inFlight, ...(at % 2 === 0 && { lines: [createTestLine(), createTestLine()] }) }),
    );
    for (let at = begun.length - 1; at >= 0; at--) journal.append(entries[at]!, begun[at]);
    expect(readOrphanedRecords()).toEqual({ entries: entries.toReversed(), interrupted: 0, unreadable: [] });
    expect(() => {
      for (let time = 0; time < 100; time++) journal.begin(createTestEntry());
    }).toThrow('ENOSPC'); // the reserved space is bounded
  });

  it('accepts an entry without its history if that has no space', () => {
    const { journal, state } = openFull();
    const begun = journal.begin(createTestEntry());
    state.room = 0;
    const entry = createTestEntry({ ...begun.inFlight });
    journal.append({ ...entry, history: 'x'.repeat(16_000) }, begun);
    expect(readOrphanedRecords()).toEqual({ entries: [entry], interrupted: 0, unreadable: [] });
  });

  it('reserves the space in the next file as well', () => {
    const { journal, state } = openFull();
    const begun = Array.from({ length: 3 }, () => journal.begin(createTestEntry()));
    for (let at = 0; at < 3; at++) journal.append(createTestEntry({ requestedModel: 'm'.repeat(3_000_000) }));
    journal.forget(journal.mark());
    expect(sizes()).toHaveLength(2);
    state.room = 0;
    const entries = begun.map(({ inFlight }) => createTestEntry({ ...inFlight }));
    for (const [at, entry] of entries.entries()) journal.append(entry, begun[at]);
    journal.forget({ ...journal.mark(), bytes: 0 }); // the first file is deleted
    expect(readOrphanedRecords()).toEqual({ entries, interrupted: 0, unreadable: [] });
  });
});

describe('a sync', () => {
  /** Each sync waits until the test releases it. */
  function openSlow() {
    const waiting: PromiseWithResolvers<void>[] = [];
    const { journal } = openJournal(folder, {
      write: writeSync,
      truncate: ftruncateSync,
      sync(fd) {
        fstatSync(fd); // it is open
        const gate = Promise.withResolvers<void>();
        waiting.push(gate);
        return gate.promise;
      },
    });
    return { journal, waiting };
  }

  it('is shared by all calls during a sync', async () => {
    const { journal, waiting } = openSlow();
    const done: number[] = [];
    const ask = (number: number) => journal.sync().then(() => done.push(number));
    journal.append(createTestEntry());
    const all = [ask(0), ask(1), ask(2)];
    waiting[0]!.resolve();
    await all[0];
    await expect.poll(() => waiting.length).toBe(2);
    expect(done).toEqual([0]);
    all.push(ask(3));
    waiting[1]!.resolve();
    await Promise.all(all.slice(0, 3));
    await expect.poll(() => waiting.length).toBe(3);
    expect(done).toEqual([0, 1, 2]);
    waiting[2]!.resolve();
    await Promise.all(all);
  });

  it('of a file completes after the journal has started another file, or is closed', async () => {
    const { journal, waiting } = openSlow();
    for (let at = 0; at < 3; at++) journal.append(createTestEntry({ requestedModel: 'm'.repeat(3_000_000) }));
    journal.begin(createTestEntry());
    const asked = [journal.sync(), journal.sync()];
    journal.forget(journal.mark());
    journal.append(createTestEntry());
    asked.push(journal.sync());
    journal.close();
    expect(() => journal.append(createTestEntry())).toThrow('closed');
    for (let at = 0; at < 3; at++) {
      await expect.poll(() => waiting.length).toBeGreaterThan(at);
      waiting[at]!.resolve();
    }
    await Promise.all(asked);
    await expect(journal.sync()).rejects.toThrow();
  });

  it('rejects if the disk fails', async () => {
    const { journal, waiting } = openSlow();
    const asked = journal.sync();
    waiting[0]!.reject(new Error('EIO: i/o error'));
    await expect(asked).rejects.toThrow('EIO');
  });
});

it('throws if it cannot be written', () => {
  const { journal } = openJournal(folder);
  journal.close();
  expect(() => journal.append(createTestEntry())).toThrow('closed');
});
