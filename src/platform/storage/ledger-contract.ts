import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createId } from '../../domain/ids.ts';
import { type RecordedEntry, type LedgerEntry, type LedgerLine, summedCost } from '../../domain/ledger-entry.ts';
import { isRefusedData } from './refused-data.ts';
import type { LedgerStore, SpendingScope, Storage } from './storage.ts';

/** An entry that no other test has; `fields` replace. */
export const createTestEntry = (fields: Partial<LedgerEntry> = {}): LedgerEntry => ({
  id: createId('gen-'),
  createdAtMs: 1_790_000_000_123,
  workspaceId: randomUUID(),
  keyHash: 'a'.repeat(64),
  memberId: 'ada',
  requestedModel: 'fast',
  router: null,
  task: null,
  model: 'acme/small',
  provider: 'Acme',
  providerId: 'acme',
  endpointId: 'acme/small@acme',
  tier: null,
  isByok: false,
  outcome: 'completed',
  status: 200,
  errorType: null,
  streamed: true,
  inputTokens: 12,
  cachedTokens: 3,
  cacheWriteTokens: 2,
  outputTokens: 9,
  reasoningTokens: 4,
  costNanoUsd: 12_345n,
  inputCostNanoUsd: 2_345n,
  priced: true,
  upstreamCostNanoUsd: null,
  estimated: false,
  firstOutputMs: 80,
  durationMs: 240,
  sessionId: 'session-1',
  endUser: 'b'.repeat(64),
  ...fields,
});

/** A part of an entry. */
export const createTestLine = (fields: Partial<LedgerLine> = {}): LedgerLine => ({
  kind: 'attempt',
  model: 'acme/small',
  provider: 'Acme',
  providerId: 'acme',
  endpointId: 'acme/small@acme',
  tier: 'flex',
  isByok: false,
  status: 502,
  inputTokens: 5,
  cachedTokens: 1,
  cacheWriteTokens: 2,
  outputTokens: 4,
  reasoningTokens: 3,
  costNanoUsd: 67n,
  inputCostNanoUsd: 45n,
  priced: true,
  upstreamCostNanoUsd: 66,
  estimated: true,
  ...fields,
});

/** What one scope has spent since each of the times, without own provider keys. */
export async function readSpent(
  { readSpending }: LedgerStore,
  scope: SpendingScope,
  ...sinceMs: number[]
): Promise<bigint[]> {
  return (await readSpending([scope], sinceMs))[0]!.costNanoUsd;
}

/** The same of what own provider keys have cost. */
export async function readSpentByOwnKeys(
  { readSpending }: LedgerStore,
  scope: SpendingScope,
  ...sinceMs: number[]
): Promise<bigint[]> {
  return (await readSpending([scope], sinceMs))[0]!.byokNanoUsd;
}

/** The half of `contract.ts` about the ledger. */
export function testLedgerStore(pair: () => { storage: Storage; other: Storage }): void {
  it('keeps an entry with all its fields', async () => {
    const { ledger } = pair().storage;
    const full = createTestEntry({
      router: 'router/auto',
      task: 'code:review',
      outcome: 'failed',
      status: 502,
      errorType: 'provider_unavailable',
      estimated: true,
      tier: 'flex',
      isByok: true,
      upstreamCostNanoUsd: Number.MAX_SAFE_INTEGER,
      special: {
        ...{ cacheWrite1hTokens: 1, inputAudioTokens: 2, cachedAudioTokens: 3, inputImageTokens: 4 },
        ...{ outputAudioTokens: 5, outputImageTokens: 6, inputImages: 7, webSearches: 8 },
      },
      pictures: { made: 1, madePixels: 4_000_000, references: 2, referencePixels: 3_000_000, variant: '2k' },
    });
    const unmeasured = createTestEntry({ pictures: { made: 0, references: 3 } });
    const inner = createTestEntry({ parentId: full.id });
    const sparse = createTestEntry({
      memberId: null,
      model: null,
      provider: null,
      providerId: null,
      endpointId: null,
      streamed: false,
      priced: false,
      firstOutputMs: null,
      sessionId: null,
      endUser: null,
    });
    await ledger.append([full, sparse, unmeasured, inner]);

    expect(await ledger.find(inner.workspaceId, inner.id)).toEqual(inner);

    expect(await ledger.find(unmeasured.workspaceId, unmeasured.id)).toEqual(unmeasured);
    expect(await ledger.find(full.workspaceId, full.id)).toEqual(full);
    expect(await ledger.find(sparse.workspaceId, sparse.id)).toEqual(sparse);
  });

  it('keeps the lines of an entry with it, in order and once', async () => {
    const { storage, other } = pair();
    const line = createTestLine();
    const tool = createTestLine({
      ...{ kind: 'tool', model: null, provider: null, providerId: null, endpointId: null, tier: null },
      ...{ special: { webSearches: 2 }, upstreamCostNanoUsd: null, priced: false, estimated: false },
    });
    const lines = [line, createTestLine({ kind: 'turn', isByok: true, costNanoUsd: 5n }), tool];
    lines[1]!.pictures = { made: 2, references: 0, referencePixels: 0, variant: '1k' };
    const entry = createTestEntry({ costNanoUsd: 139n, lines });
    const plain = createTestEntry({ workspaceId: entry.workspaceId });
    const again = { ...plain, lines: [line, line] };
    await storage.ledger.append([entry, plain, again]);
    await other.ledger.append([again, { ...entry, lines: [line, line, line, line] }]);

    expect(await storage.ledger.find(entry.workspaceId, entry.id)).toEqual(entry);
    expect(await other.ledger.find(plain.workspaceId, plain.id)).toEqual(plain);
    expect(await readSpent(storage.ledger, { workspaceId: entry.workspaceId }, 0)).toEqual([12_345n + 134n]);
    expect(await readSpentByOwnKeys(storage.ledger, { workspaceId: entry.workspaceId }, 0)).toEqual([5n]);
  });

  it('appends the lines of many entries', async () => {
    const { ledger } = pair().storage;
    const entries = Array.from({ length: 900 }, () => createTestEntry({ lines: [createTestLine(), createTestLine()] }));
    await ledger.append(entries);
    for (const { id, workspaceId } of entries.filter((_, index) => index % 100 === 99)) {
      expect((await ledger.find(workspaceId, id))?.lines).toHaveLength(2);
    }
  });

  it('does not find an entry of another workspace, nor one that is not there', async () => {
    const { ledger } = pair().storage;
    const entry = createTestEntry();
    await ledger.append([entry]);

    expect(await ledger.find(randomUUID(), entry.id)).toBeUndefined();
    expect(await ledger.find(entry.workspaceId, createId('gen-'))).toBeUndefined();
    expect(await ledger.find(entry.workspaceId, 'gen-\0')).toBeUndefined();
  });

  it('keeps text that a caller made up, with what no database can hold replaced, and whole milliseconds', async () => {
    const { ledger } = pair().storage;
    const entry = createTestEntry({
      requestedModel: 'a\0b',
      task: 'a\0b',
      sessionId: 'half \ud83d',
      endUser: '東京 🗼',
      durationMs: 1.6,
    });
    await ledger.append([entry]);

    expect(await ledger.find(entry.workspaceId, entry.id)).toEqual({
      ...entry,
      requestedModel: 'a\ufffdb',
      task: 'a\ufffdb',
      sessionId: 'half \ufffd',
      durationMs: 2,
    });
  });

  it('keeps money and tokens above 2^53, and sums them exactly', async () => {
    const { ledger } = pair().storage;
    const workspaceId = randomUUID();
    const large = 2n ** 61n + 1n;
    const inputTokens = Number.MAX_SAFE_INTEGER;
    const entries = [1, 2, 3].map(() =>
      createTestEntry({ workspaceId, costNanoUsd: large, inputTokens, outputTokens: 1 }),
    );
    await ledger.append(entries);

    expect((await ledger.find(workspaceId, entries[0]!.id))?.costNanoUsd).toBe(large);
    expect(await ledger.readTotals(workspaceId)).toEqual({
      entries: 3,
      inputTokens: 3n * BigInt(inputTokens),
      outputTokens: 3n,
      costNanoUsd: 3n * large,
    });
    await ledger.append([createTestEntry({ workspaceId, costNanoUsd: -3n * large })]); // so that the sum over all stays small
  });

  it('sums over one workspace, or over all', async () => {
    const { ledger } = pair().storage;
    const before = await ledger.readTotals();
    const [a, b] = [randomUUID(), randomUUID()];
    await ledger.append([
      createTestEntry({ workspaceId: a }),
      createTestEntry({ workspaceId: a }),
      createTestEntry({ workspaceId: b }),
    ]);

    const one = { inputTokens: 12n, outputTokens: 9n, costNanoUsd: 12_345n };
    expect(await ledger.readTotals(b)).toEqual({ entries: 1, ...one });
    expect(await ledger.readTotals(randomUUID())).toMatchObject({ entries: 0, costNanoUsd: 0n });
    expect(await ledger.readTotals()).toEqual({
      entries: before.entries + 3,
      inputTokens: before.inputTokens + 3n * one.inputTokens,
      outputTokens: before.outputTokens + 3n * one.outputTokens,
      costNanoUsd: before.costNanoUsd + 3n * one.costNanoUsd,
    });
  });

  it('sums answers by task and model from a time on', async () => {
    const { ledger } = pair().storage;
    const sinceMs = 2_000_000_000_000;
    const [small, large, unknown] = ['small', 'large', 'unknown'].map((name) => `${randomUUID()}/${name}`);
    const make = (model: string, task: string | null, fields: Partial<LedgerEntry> = {}) =>
      createTestEntry({ createdAtMs: sinceMs, model, task, ...fields });
    await ledger.append([
      make(small!, 'code'),
      make(small!, 'code', { outcome: 'incomplete', costNanoUsd: 5n, inputCostNanoUsd: 2n, inputTokens: 8 }),
      make(small!, null, { createdAtMs: sinceMs + 1e9, workspaceId: 'another' }),
      make(large!, 'code', { costNanoUsd: 2n ** 61n, inputTokens: Number.MAX_SAFE_INTEGER }),
      // None of these is an answer of the time that has a price.
      make(small!, 'code', { createdAtMs: sinceMs - 1 }),
      make(small!, 'code', { outcome: 'failed' }),
      make(small!, 'code', { outcome: 'cancelled' }),
      make(unknown!, 'code', { priced: false, costNanoUsd: 0n, inputCostNanoUsd: 0n }),
      createTestEntry({ createdAtMs: sinceMs, model: null, task: small! }),
    ]);

    const rows = await ledger.readTraffic(sinceMs);
    expect(rows.filter(({ task }) => task === small)).toEqual([]);
    const ours = rows.filter(({ model }) => [small, large, unknown].includes(model));
    const base = { task: 'code', model: small, answers: 1, costNanoUsd: 12_345n, inputCostNanoUsd: 2_345n };
    expect(ours).toHaveLength(3);
    expect(ours).toEqual(
      expect.arrayContaining([
        { ...base, answers: 2, costNanoUsd: 12_350n, inputCostNanoUsd: 2_347n, inputTokens: 20n },
        { ...base, task: null, inputTokens: 12n },
        { ...base, model: large, costNanoUsd: 2n ** 61n, inputTokens: BigInt(Number.MAX_SAFE_INTEGER) },
      ]),
    );
    expect(await ledger.readTraffic(9e15)).toEqual([]);
  });

  it('sums each answer once, however many there are and however many came in one millisecond', async () => {
    const { ledger } = pair().storage;
    const sinceMs = 2_100_000_000_000;
    const model = `${randomUUID()}/busy`;
    const times = [0, 1, 1, 2, 5, 5, 5, 900].map((ms) => sinceMs + ms); // in thousands: slices end within and between
    const idOf = (at: number) => `gen-zz${String(at).padStart(8, '0')}${model.slice(0, 8)}`; // ids sort by time
    const entries = times.flatMap((createdAtMs, slot) =>
      Array.from({ length: 1000 }, (_, at) =>
        createTestEntry({ id: idOf(slot * 1000 + at), createdAtMs, model, task: 'code' }),
      ),
    );
    await ledger.append(entries);

    const count = BigInt(entries.length);
    expect((await ledger.readTraffic(sinceMs)).filter((row) => row.model === model)).toEqual([
      {
        task: 'code',
        model,
        answers: entries.length,
        costNanoUsd: count * 12_345n,
        inputCostNanoUsd: count * 2_345n,
        inputTokens: count * 12n,
      },
    ]);
    expect(await ledger.readTraffic(sinceMs + 900)).toMatchObject([{ model, answers: 1000 }]);
  });

  it('sums what a member has spent, with whatever key and wherever', async () => {
    const { storage } = pair();
    const memberId = randomUUID();
    const make = (day: number, costNanoUsd: bigint, fields: Partial<LedgerEntry> = {}) =>
      createTestEntry({
        keyHash: randomUUID(),
        workspaceId: randomUUID(),
        memberId,
        createdAtMs: day * 86_400_000,
        costNanoUsd,
        ...fields,
      });
    await storage.ledger.append([make(20_000, 5n), make(20_001, 7n), make(20_001, 11n, { memberId: null })]);
    expect(await readSpent(storage.ledger, { memberId }, 0, 20_001 * 86_400_000)).toEqual([12n, 7n]);
  });

  it('sums what a key, a workspace and all have spent, from several days on', async () => {
    const { storage, other } = pair();
    const [workspaceId, keyHash, otherKey] = [randomUUID(), randomUUID(), randomUUID()];
    const [a, b, c] = [20_000, 20_001, 20_005].map((day) => day * 86_400_000) as [number, number, number];
    const make = (createdAtMs: number, costNanoUsd: bigint, fields: Partial<LedgerEntry> = {}) =>
      createTestEntry({ workspaceId, keyHash, createdAtMs, costNanoUsd, ...fields });
    const [before] = await readSpent(storage.ledger, 'everything', 0);
    await storage.ledger.append([
      make(b - 1, 2n ** 60n),
      make(b, 30n, { outcome: 'failed' }),
      make(c, -5n, { memberId: null }),
      make(c, 7n, { keyHash: otherKey }),
    ]);
    await other.ledger.append([make(c + 0.6, 100n, { workspaceId: randomUUID() }), make(c, 0n)]);

    expect(await readSpent(storage.ledger, { keyHash }, 0, a, b, c, c + 86_400_000)).toEqual([
      ...[2n ** 60n + 125n, 2n ** 60n + 125n, 125n, 95n, 0n],
    ]);
    expect(await readSpent(storage.ledger, { keyHash }, c, b)).toEqual([95n, 125n]);
    expect(await readSpent(storage.ledger, { workspaceId }, 0, c)).toEqual([2n ** 60n + 32n, 2n]);
    expect(await readSpent(storage.ledger, { keyHash: 'nobody\0' }, 0, 1)).toEqual([0n, 0n]);
    expect(await readSpent(storage.ledger, 'everything', 0)).toEqual([before! + 2n ** 60n + 132n]);
    await storage.ledger.append([make(a, -(2n ** 60n))]); // so that the sum over all stays small
    expect(await readSpent(storage.ledger, { keyHash }, a, b)).toEqual([125n, 125n]);
  });

  it('sums what many have spent at once, in the order in which they were asked for', async () => {
    const { ledger } = pair().storage;
    const workspaceId = randomUUID();
    const keys = Array.from({ length: 1203 }, () => randomUUID());
    const members = [randomUUID(), randomUUID()];
    const day = 20_000 * 86_400_000;
    await ledger.append(
      keys.map((keyHash, at) =>
        createTestEntry({
          workspaceId,
          keyHash,
          memberId: members[at % 2]!,
          createdAtMs: day,
          costNanoUsd: BigInt(at),
        }),
      ),
    );
    await ledger.append([
      createTestEntry({ workspaceId, keyHash: keys[7]!, createdAtMs: day + 86_400_000, costNanoUsd: 9n, isByok: true }),
    ]);
    const scopes: SpendingScope[] = [
      ...keys.toReversed().map((keyHash) => ({ keyHash })),
      ...[{ workspaceId }, { keyHash: 'nobody' }, { keyHash: keys[7]! }, { memberId: members[1]! }],
    ];
    const spent = await ledger.readSpending(scopes, [0, day + 1 + 86_400_000]);
    expect(spent.slice(0, 1203).map(({ costNanoUsd }) => costNanoUsd)).toEqual(
      keys.map((_, at) => [BigInt(1202 - at), 0n]),
    );
    expect(spent.slice(1203)).toEqual([
      { costNanoUsd: [723_003n, 0n], byokNanoUsd: [9n, 9n] },
      { costNanoUsd: [0n, 0n], byokNanoUsd: [0n, 0n] },
      { costNanoUsd: [7n, 0n], byokNanoUsd: [9n, 9n] },
      { costNanoUsd: [361_201n, 0n], byokNanoUsd: [0n, 0n] },
    ]);
    expect(await ledger.readSpending([], [0])).toEqual([]);
  });

  it('puts days together without changing a sum, also while others book and correct, and do the same', async () => {
    const { storage, other } = pair();
    const [workspaceId, memberId] = [randomUUID(), randomUUID()];
    const keys = Array.from({ length: 150 }, () => randomUUID());
    const day = (number: number) => (30_000 + number) * 86_400_000;
    const starts = [0, day(3), day(7), day(10)];
    const [scopes, sinceMs] = [
      [{ workspaceId }, { memberId }, { keyHash: keys[0]! }],
      [...starts, day(11)],
    ];
    const makeBatch = (isByok: boolean) =>
      keys.flatMap((keyHash) =>
        Array.from({ length: 12 }, (_, at) =>
          createTestEntry({
            workspaceId,
            memberId,
            keyHash,
            isByok,
            createdAtMs: day(at) + 5,
            costNanoUsd: 10n ** BigInt(at),
          }),
        ),
      );
    const sums = (times: bigint) => {
      const each = [111_111_111_111n, 111_111_111_000n, 111_110_000_000n, 110_000_000_000n, 100_000_000_000n];
      const of = (count: bigint) => each.map((sum) => sum * times * count);
      return [150n, 150n, 1n].map((count) => ({ costNanoUsd: of(count), byokNanoUsd: of(count) }));
    };
    const fold = (each: Storage) => each.ledger.foldSpending(starts).catch(() => 0); // others may hold the table for too long

    const first = [makeBatch(false), makeBatch(true)];
    for (const batch of first) await storage.ledger.append(batch);
    expect(await storage.ledger.foldSpending(starts)).toBeGreaterThanOrEqual(150 * 7); // of ten days three are starts
    expect(await other.ledger.readSpending(scopes, sinceMs)).toEqual(sums(1n));
    await Promise.all([
      ...[storage, other, storage, other].map(fold),
      other.ledger.append(makeBatch(false)),
      storage.ledger.append(makeBatch(true)),
      other.ledger.correct(
        first.flat().map((entry) => ({ entry, costNanoUsd: -entry.costNanoUsd, inputCostNanoUsd: 0n })),
        1,
      ),
      ...[storage, other].map(fold),
    ]);
    expect(await storage.ledger.readSpending(scopes, sinceMs)).toEqual(sums(1n));
    await storage.ledger.foldSpending(starts);
    expect(await other.ledger.foldSpending(starts)).toBe(0);
    expect(await other.ledger.readSpending(scopes, sinceMs)).toEqual(sums(1n));
  });

  it('leaves days apart until something was booked on two days after them: the clock may be wrong', async () => {
    const { ledger } = pair().storage;
    const workspaceId = randomUUID();
    const day = (number: number) => (60_000 + number) * 86_400_000;
    const book = (number: number) => createTestEntry({ workspaceId, createdAtMs: day(number), costNanoUsd: 7n });
    await ledger.append([0, 1, 2].map(book));
    expect(await ledger.foldSpending([0, day(2)])).toBe(0);
    expect(await readSpent(ledger, { workspaceId }, day(1))).toEqual([14n]);
    await ledger.append([book(3)]);
    expect(await ledger.foldSpending([0, day(2)])).toBeGreaterThanOrEqual(2);
    expect(await readSpent(ledger, { workspaceId }, 0, day(2), day(3))).toEqual([28n, 14n, 7n]);
  });

  it('sums requests by day, model and provider, of a workspace, a key, a member or all', async () => {
    const { ledger } = pair().storage;
    const dayMs = 86_400_000;
    const day = 30_000; // 2052
    const [workspaceId, keyHash, memberId, model] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    let count = 0;
    const make = (createdAtMs: number, fields: Partial<LedgerEntry> = {}) =>
      // Ids sort by time: these are of the latest.
      createTestEntry({ id: `gen-zzz${model.slice(0, 8)}${count++}`, workspaceId, model, createdAtMs, ...fields });
    await ledger.append([
      make(day * dayMs),
      make((day + 1) * dayMs - 1, { keyHash, costNanoUsd: 5n, outcome: 'cancelled' }),
      make(day * dayMs + 5, { provider: 'Bolt', memberId }),
      make(day * dayMs + 5, { workspaceId: 'another' }),
      make(day * dayMs - 1),
      make((day + 1) * dayMs),
      make(day * dayMs, { model: null, requestedModel: model, provider: null }),
    ]);
    const ask = async (more: object) =>
      (await ledger.readActivity({ fromMs: day * dayMs, toMs: (day + 1) * dayMs, ...more }))
        .filter((row) => row.model === model)
        .sort((a, b) => (a.provider + a.workspaceId < b.provider + b.workspaceId ? -1 : 1));

    const money = { costNanoUsd: 12_345n, byokNanoUsd: 0n };
    const one = { day, workspaceId: null, model, provider: 'Acme', requests: 1, ...money };
    const tokens = (requests: bigint) => ({
      ...{ inputTokens: requests * 12n, outputTokens: requests * 9n, reasoningTokens: requests * 4n },
    });
    const bolt = { ...one, provider: 'Bolt', ...tokens(1n) };
    expect(await ask({})).toEqual([{ ...one, requests: 3, costNanoUsd: 24_695n, ...tokens(3n) }, bolt]);
    expect(await ask({ workspaceId })).toEqual([{ ...one, requests: 2, costNanoUsd: 12_350n, ...tokens(2n) }, bolt]);
    expect(await ask({ keyHash })).toEqual([{ ...one, costNanoUsd: 5n, ...tokens(1n) }]);
    expect(await ask({ memberId })).toEqual([bolt]);
    expect(await ask({ byWorkspace: true })).toEqual([
      ...[
        { ...one, workspaceId, requests: 2, costNanoUsd: 12_350n, ...tokens(2n) },
        { ...one, workspaceId: 'another', ...tokens(1n) },
        { ...bolt, workspaceId },
      ].sort((a, b) => (a.provider + a.workspaceId < b.provider + b.workspaceId ? -1 : 1)),
    ]);
    expect((await ask({ fromMs: 0, toMs: 9e15 })).map((row) => row.day).sort()).toEqual([
      ...[day - 1, day, day, day + 1],
    ]);
  });

  it('sums what own provider keys have cost apart', async () => {
    const { ledger } = pair().storage;
    const [workspaceId, keyHash, model] = [randomUUID(), randomUUID(), randomUUID()];
    const make = (costNanoUsd: bigint, isByok: boolean, id: number) =>
      createTestEntry({ id: `gen-zzzz${model.slice(0, 8)}${id}`, workspaceId, keyHash, model, costNanoUsd, isByok });
    await ledger.append([make(3n, false, 1), make(50n, true, 2), make(700n, true, 3)]);

    const today = Math.floor(1_790_000_000_123 / 86_400_000) * 86_400_000;
    expect(await readSpent(ledger, { keyHash }, 0, today + 86_400_000)).toEqual([3n, 0n]);
    expect(await readSpentByOwnKeys(ledger, { keyHash }, 0, today + 86_400_000)).toEqual([750n, 0n]);
    expect(await readSpentByOwnKeys(ledger, { workspaceId }, today)).toEqual([750n]);
    expect(await ledger.readActivity({ fromMs: 0, toMs: 9e15, keyHash })).toMatchObject([
      { requests: 3, costNanoUsd: 3n, byokNanoUsd: 750n },
    ]);
  });

  it('says the same in all its sums, whatever is booked, corrected and put together', async () => {
    const { ledger } = pair().storage;
    const dayMs = 86_400_000;
    const first = 40_000; // 2079
    const cost = () => fc.bigInt(0n, 10n ** 15n);
    const part = fc.record({ isByok: fc.boolean(), costNanoUsd: cost() });
    const booked = fc.record({
      day: fc.nat(20),
      isByok: fc.boolean(),
      costNanoUsd: cost(),
      lines: fc.option(fc.array(part, { minLength: 2, maxLength: 3 }), { nil: undefined }),
      corrections: fc.array(fc.record({ all: fc.bigInt(-(10n ** 15n), 10n ** 15n), other: cost() }), { maxLength: 2 }),
      isFolded: fc.boolean(),
    });
    const check = async (many: (typeof booked extends fc.Arbitrary<infer Value> ? Value : never)[]) => {
      const workspaceId = randomUUID();
      const expected = { shared: 0n, byok: 0n, ofLastDays: 0n };
      const lastDay = first + 10;
      const add = (day: number, isByok: boolean, nanoUsd: bigint) => {
        expected[isByok ? 'byok' : 'shared'] += nanoUsd;
        if (!isByok && first + day >= lastDay) expected.ofLastDays += nanoUsd;
      };
      for (const { day, isByok, costNanoUsd, lines: parts, corrections, isFolded } of many) {
        const lines = parts?.map((each) => createTestLine(each));
        const sum = lines?.reduce((total, line) => total + line.costNanoUsd, 0n) ?? costNanoUsd;
        const id = `gen-zzzzz${workspaceId.slice(0, 8)}${createId('')}`;
        const createdAtMs = (first + day) * dayMs + 5;
        await ledger.append([
          createTestEntry({ id, workspaceId, createdAtMs, isByok, costNanoUsd: sum, ...(lines && { lines }) }),
        ]);
        for (const line of lines ?? [{ isByok, costNanoUsd }]) add(day, line.isByok, line.costNanoUsd);
        for (const { all, other } of corrections) {
          const entry = (await ledger.find(workspaceId, id))!;
          const correction = { entry, costNanoUsd: all, inputCostNanoUsd: 0n };
          expect(await ledger.correct([lines ? { ...correction, otherKeysNanoUsd: other } : correction], 1)).toBe(1);
          add(day, isByok, lines ? all - other : all);
          if (lines) add(day, !isByok, other);
        }
        if (isFolded) await ledger.foldSpending([0, (first + 3) * dayMs, lastDay * dayMs]);
      }
      const [spent] = await ledger.readSpending([{ workspaceId }], [0, lastDay * dayMs]);
      expect(spent).toMatchObject({ costNanoUsd: [expected.shared, expected.ofLastDays] });
      expect(spent!.byokNanoUsd[0]).toBe(expected.byok);
      const total = expected.shared + expected.byok;
      expect(await ledger.readTotals(workspaceId)).toMatchObject({ entries: many.length, costNanoUsd: total });
      const activity = await ledger.readActivity({ fromMs: 0, toMs: 9e15, workspaceId });
      expect(activity.reduce((sum, row) => sum + row.costNanoUsd, 0n)).toBe(expected.shared);
      expect(activity.reduce((sum, row) => sum + row.byokNanoUsd, 0n)).toBe(expected.byok);
      const listed = await ledger.list({ fromMs: first * dayMs, limit: 10_000 });
      const entries = listed.filter((entry) => entry.workspaceId === workspaceId);
      expect(entries.reduce((sum, entry) => sum + summedCost(entry), 0n)).toBe(total);
    };
    await fc.assert(fc.asyncProperty(fc.array(booked, { minLength: 1, maxLength: 8 }), check), { numRuns: 25 });
  });

  it('books what a correction says of lines of other keys on their side of the sums, with the rest or not at all', async () => {
    const { ledger } = pair().storage;
    const workspaceId = randomUUID();
    const lines = [createTestLine({ isByok: true, costNanoUsd: 40n }), createTestLine({ costNanoUsd: 60n })];
    const entry = createTestEntry({ workspaceId, costNanoUsd: 100n, lines });
    await ledger.append([entry]);
    const spent = async () => [
      ...(await readSpent(ledger, { workspaceId }, 0)),
      ...(await readSpentByOwnKeys(ledger, { workspaceId }, 0)),
    ];
    const correction = { entry, costNanoUsd: 7n, inputCostNanoUsd: 1n, otherKeysNanoUsd: 10n };
    expect(await ledger.correct([correction], 1)).toBe(1);
    expect(await spent()).toEqual([57n, 50n]);
    expect(await ledger.readActivity({ fromMs: 0, toMs: 9e15, workspaceId })).toMatchObject([
      { requests: 1, costNanoUsd: 57n, byokNanoUsd: 50n, inputTokens: BigInt(entry.inputTokens) },
    ]);
    const { otherKeysNanoUsd, ...plain } = correction;
    expect(await ledger.correct([plain], 2)).toBe(0);
    expect(await ledger.correct([{ ...plain, otherKeysNanoUsd }], 2)).toBe(0);
    const corrected = (await ledger.find(workspaceId, entry.id))!;
    expect(corrected.correction).toEqual({ costNanoUsd: 7n, inputCostNanoUsd: 1n, otherKeysNanoUsd, count: 2 });
    expect(
      await ledger.correct([{ ...correction, entry: corrected, costNanoUsd: 0n, otherKeysNanoUsd: -10n }], 3),
    ).toBe(1);
    expect(await spent()).toEqual([67n, 40n]);
    expect(await ledger.readTotals(workspaceId)).toMatchObject({ entries: 1, costNanoUsd: 107n });
  });

  it('books corrections on the day of their entry, and counts no answer twice', async () => {
    const { ledger } = pair().storage;
    const [workspaceId, keyHash, model] = [randomUUID(), randomUUID(), randomUUID()];
    const sinceMs = 2_200_000_000_000;
    const make = (fields: Partial<LedgerEntry>, id: number) =>
      createTestEntry({
        id: `gen-zzzzz${model.slice(0, 8)}${id}`,
        createdAtMs: sinceMs,
        ...{ workspaceId, keyHash, model, task: 'code', special: { webSearches: 2 }, ...fields },
      });
    const plain = make({}, 1);
    const own = make({ isByok: true, costNanoUsd: 5n }, 2);
    const unpriced = make({ priced: false, costNanoUsd: 0n, inputCostNanoUsd: 0n }, 3);
    await ledger.append([plain, own, unpriced]);
    const all = { limit: 10, fromMs: sinceMs, toMs: sinceMs + 1 };
    const read = () => ledger.list({ ...all, model });
    expect(await read()).toEqual([plain, own, unpriced]);

    const correct = (entry: RecordedEntry, costNanoUsd: bigint, inputCostNanoUsd = 0n) => ({
      ...{ entry, costNanoUsd, inputCostNanoUsd },
    });
    expect(await ledger.correct([correct(plain, -345n, 7n), correct(own, 10n), correct(unpriced, 1n)], 99)).toBe(3);
    const corrected = await read();
    expect(corrected).toEqual([
      { ...plain, correction: { costNanoUsd: -345n, inputCostNanoUsd: 7n, count: 1 } },
      { ...own, correction: { costNanoUsd: 10n, inputCostNanoUsd: 0n, count: 1 } },
      { ...unpriced, correction: { costNanoUsd: 1n, inputCostNanoUsd: 0n, count: 1 } },
    ]);
    expect(await ledger.correct([correct(corrected[0]!, 5n)], 100)).toBe(1);

    const found = { ...plain, correction: { costNanoUsd: -340n, inputCostNanoUsd: 7n, count: 2 } };
    expect(await ledger.find(workspaceId, plain.id)).toEqual(found);
    expect(await ledger.find(undefined, plain.id)).toEqual(found);
    expect(await ledger.find(workspaceId, `${plain.id}.1`)).toBeUndefined();
    expect(await ledger.readTotals(workspaceId)).toEqual({
      ...{ entries: 3, inputTokens: 36n, outputTokens: 27n, costNanoUsd: 12_345n - 340n + 15n + 1n },
    });
    expect(await readSpent(ledger, { keyHash }, 0)).toEqual([12_345n - 340n + 1n]);
    expect(await readSpentByOwnKeys(ledger, { keyHash }, 0)).toEqual([15n]);
    expect(await ledger.readActivity({ fromMs: sinceMs, toMs: sinceMs + 1, keyHash })).toMatchObject([
      { requests: 3, inputTokens: 36n, costNanoUsd: 12_345n - 340n + 1n, byokNanoUsd: 15n },
    ]);
    // Of one that had no price the sum of answers knows nothing, before and after.
    expect((await ledger.readTraffic(sinceMs)).filter((row) => row.model === model)).toMatchObject([
      { answers: 2, inputTokens: 24n, costNanoUsd: 12_345n - 340n + 15n, inputCostNanoUsd: 2n * 2_345n + 7n },
    ]);
  });

  it('books one of two corrections that were made from the same state, whichever process makes them', async () => {
    const { storage, other } = pair();
    const entries = Array.from({ length: 20 }, () => createTestEntry({ workspaceId: randomUUID(), costNanoUsd: 100n }));
    await storage.ledger.append(entries);
    const corrections = entries.map((entry) => ({ entry, costNanoUsd: 1n, inputCostNanoUsd: 0n }));
    const booked = await Promise.all([
      storage.ledger.correct(corrections, 1),
      other.ledger.correct(corrections.toReversed(), 2),
      storage.ledger.correct(corrections.slice(5, 9), 3),
    ]);
    expect(booked.reduce((sum, count) => sum + count)).toBe(20);
    for (const { workspaceId, id } of entries) {
      expect(await other.ledger.find(workspaceId, id)).toMatchObject({ correction: { costNanoUsd: 1n, count: 1 } });
      expect(await readSpent(other.ledger, { workspaceId }, 0)).toEqual([101n]);
    }
  });

  it('tells how often corrections took something away', async () => {
    const { storage, other } = pair();
    const before = await other.ledger.readReductions();
    const entries = [createTestEntry(), createTestEntry()];
    await storage.ledger.append(entries);
    const correct = (...sums: bigint[]) =>
      storage.ledger.correct(
        sums.map((costNanoUsd, at) => ({ entry: entries[at]!, costNanoUsd, inputCostNanoUsd: 0n })),
        1,
      );
    await correct(1n, 0n);
    expect(await other.ledger.readReductions()).toBe(before);
    entries[1]!.id = createTestEntry().id;
    await storage.ledger.append([entries[1]!]);
    await correct(-1n, -1n);
    expect(await other.ledger.readReductions()).toBe(before + 1);
  });

  it('lists entries page by page, the oldest first, by time, model and provider', async () => {
    const { ledger } = pair().storage;
    const model = randomUUID();
    const entries = Array.from({ length: 25 }, (_, at) =>
      createTestEntry({ id: `gen-y${model.slice(0, 8)}${at + 100}`, model, createdAtMs: 1_000 + at }),
    );
    entries[3]!.providerId = null; // of a build that did not know it
    entries[4]!.providerId = 'bolt';
    await ledger.append(entries.toReversed());
    await ledger.correct([{ entry: entries[9]!, costNanoUsd: 1n, inputCostNanoUsd: 0n }], 1);

    const seen: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await ledger.list({ model, limit: 10, after });
      if (page.length === 0) break;
      seen.push(...page.map(({ id }) => id));
      after = page.at(-1)!.id;
    }
    expect(seen).toEqual(entries.map(({ id }) => id));
    const count = async (query: object) => (await ledger.list({ model, limit: 100, ...query })).length;
    expect(await count({ fromMs: 1_003, toMs: 1_005 })).toBe(2);
    expect(await count({ provider: { id: 'acme', name: 'Acme' } })).toBe(24);
    expect(await count({ provider: { id: 'bolt', name: 'Bolt' } })).toBe(1);
    expect(await count({ model: `${model}\0` })).toBe(0);
  });

  it('lists entries page by page, the newest first', async () => {
    const { ledger } = pair().storage;
    const model = randomUUID();
    const entries = Array.from({ length: 25 }, (_, at) =>
      createTestEntry({ id: `gen-y${model.slice(0, 8)}${at + 100}`, model, createdAtMs: 1_000 + at }),
    );
    await ledger.append(entries.toReversed());
    await ledger.correct([{ entry: entries[9]!, costNanoUsd: 1n, inputCostNanoUsd: 0n }], 1);

    const seen: RecordedEntry[] = [];
    let pages = 0;
    for (let before: string | undefined; ; ) {
      const page = await ledger.listRecent({ model, limit: 10, before });
      seen.push(...page.entries);
      before = page.next;
      pages++;
      if (before === undefined) break;
    }
    expect(seen.map(({ id }) => id)).toEqual(entries.map(({ id }) => id).toReversed());
    expect(seen.at(-10)?.correction).toEqual({ costNanoUsd: 1n, inputCostNanoUsd: 0n, count: 1 });
    expect(pages).toBeGreaterThanOrEqual(3);
    expect(await ledger.listRecent({ model, limit: 25 })).toMatchObject({ entries: { length: 25 } });
  });

  it('lists only the recent entries that match', async () => {
    const { ledger } = pair().storage;
    const workspaceId = randomUUID();
    const [first, second, third] = [1_003, 1_004, 1_005].map((createdAtMs) =>
      createTestEntry({ workspaceId, createdAtMs }),
    );
    Object.assign(first!, {
      keyHash: 'b'.repeat(64),
      memberId: 'ben',
      sessionId: 's-1',
      provider: 'Bolt',
      providerId: null,
    });
    Object.assign(second!, { requestedModel: 'router/auto', outcome: 'failed', providerId: 'bolt' });
    Object.assign(third!, { model: 'acme/other', outcome: 'cancelled' });
    await ledger.append([first!, second!, third!]);

    const find = async (query: object) => {
      const { entries } = await ledger.listRecent({ workspaceId, limit: 10, ...query });
      return entries.map(({ createdAtMs }) => createdAtMs);
    };
    expect((await find({})).toSorted()).toEqual([1_003, 1_004, 1_005]);
    expect(await find({ fromMs: 1_004, toMs: 1_005 })).toEqual([1_004]);
    expect(await find({ keyHash: 'b'.repeat(64) })).toEqual([1_003]);
    expect(await find({ memberId: 'ben' })).toEqual([1_003]);
    expect(await find({ sessionId: 's-1' })).toEqual([1_003]);
    expect(await find({ model: 'router/auto' })).toEqual([1_004]);
    expect(await find({ model: 'acme/other' })).toEqual([1_005]);
    expect(await find({ provider: 'Bolt' })).toEqual([1_003]);
    expect(await find({ provider: 'bolt' })).toEqual([1_004]);
    expect((await find({ outcomes: ['failed', 'cancelled'] })).toSorted()).toEqual([1_004, 1_005]);
    expect(await find({ memberId: 'nobody\0' })).toEqual([]);
  });

  it('finds an old entry behind many others, on a later page if need be', async () => {
    const { ledger } = pair().storage;
    const mark = randomUUID();
    const model = `m-${mark}`;
    const createMany = (count: number) => Array.from({ length: count }, () => createTestEntry());
    const old = createTestEntry({ id: `gen-0${mark}`, model });
    await ledger.append([old, ...createMany(4_500)]);
    const found: string[] = [];
    for (let before: string | undefined; ; ) {
      const page = await ledger.listRecent({ model, limit: 10, before });
      found.push(...page.entries.map(({ id }) => id));
      before = page.next;
      if (before === undefined) break;
    }
    expect(found).toEqual([old.id]);
  });

  it('books an entry once: a second one with its id changes nothing', async () => {
    const { ledger } = pair().storage;
    const entry = createTestEntry();
    const again = { ...entry, costNanoUsd: 1n, outcome: 'failed' as const };
    await ledger.append([entry, again]);
    await ledger.append([again, createTestEntry({ workspaceId: entry.workspaceId })]);

    expect(await ledger.find(entry.workspaceId, entry.id)).toEqual(entry);
    expect(await ledger.readTotals(entry.workspaceId)).toMatchObject({ entries: 2, costNanoUsd: 24_690n });
    expect(await readSpent(ledger, { workspaceId: entry.workspaceId }, 0)).toEqual([24_690n]);
  });

  it('books each entry once when two processes append overlapping ones at once, in any order', async () => {
    const { storage, other } = pair();
    const workspaceId = randomUUID();
    const entries = Array.from({ length: 300 }, () => createTestEntry({ workspaceId }));
    const appends = Array.from({ length: 8 }, (_, index) => {
      const some = entries.slice(index * 20, index * 20 + 160);
      return (index % 2 === 0 ? storage : other).ledger.append(index % 3 === 0 ? some.reverse() : some);
    });
    await Promise.all(appends);

    expect(await storage.ledger.readTotals(workspaceId)).toMatchObject({ entries: 300, costNanoUsd: 300n * 12_345n });
    expect(await readSpent(other.ledger, { workspaceId }, 0)).toEqual([300n * 12_345n]);
  });

  it.each([0, 1, 999, 1000, 1001, 5000])('appends %i entries', async (count) => {
    const { ledger } = pair().storage;
    const workspaceId = randomUUID();
    await ledger.append(Array.from({ length: count }, () => createTestEntry({ workspaceId })));

    expect(await ledger.readTotals(workspaceId)).toMatchObject({ entries: count });
    expect(await readSpent(ledger, { workspaceId }, 0)).toEqual([BigInt(count) * 12_345n]);
  });

  it('appends none when one cannot be booked, however many there are', async () => {
    const { ledger } = pair().storage;
    const workspaceId = randomUUID();
    const entries = Array.from({ length: 2500 }, () => createTestEntry({ workspaceId }));
    const wrong = createTestEntry({ id: 'gen-~', workspaceId, costNanoUsd: 2n ** 63n }); // sorts last, and is too much

    await expect(ledger.append([...entries, wrong])).rejects.toSatisfy(isRefusedData);
    await expect(ledger.append([createTestEntry({ workspaceId, keyHash: null! })])).rejects.toSatisfy(isRefusedData);
    await expect(ledger.append([createTestEntry({ workspaceId, requestedModel: undefined! })])).rejects.toSatisfy(
      isRefusedData,
    );
    expect(await ledger.readTotals(workspaceId)).toMatchObject({ entries: 0 });
    expect(await readSpent(ledger, { workspaceId }, 0)).toEqual([0n]);
    await ledger.append(entries);
    expect(await ledger.readTotals(workspaceId)).toMatchObject({ entries: 2500 });
  });
}
