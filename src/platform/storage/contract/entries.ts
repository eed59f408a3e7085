import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createId } from '../../../domain/ids.ts';
import { isRefusedData } from '../refused-data.ts';
import { createTestEntry, createTestLine, readSpent, readByokSpent, type StoragePair } from './samples.ts';

/** Tests the contract of ledger entries. */
export function testEntries(pair: () => StoragePair): void {
  describe('ledger entries', () => {
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
          cacheWrite1hTokens: 1,
          inputAudioTokens: 2,
          cachedAudioTokens: 3,
          inputImageTokens: 4,
          outputAudioTokens: 5,
          outputImageTokens: 6,
          inputImages: 7,
          webSearches: 8,
        },
        pictures: { made: 1, madePixels: 4_000_000, references: 2, referencePixels: 3_000_000, variant: '2k' },
      });
      const failed = createTestEntry({
        history: JSON.stringify({ attempts: [{ status: 502, message: 'a\0b 東京 \ud83d' }] }),
      });
      const unmeasured = createTestEntry({ pictures: { made: 0, references: 3 } });
      const inner = createTestEntry({ parentId: full.id });
      const tagged = createTestEntry({ tags: { feature: 'top 10', team: 'search:eu' } });
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
      await ledger.append([full, sparse, unmeasured, inner, tagged, failed]);

      expect(await ledger.find(tagged.workspaceId, tagged.id)).toEqual(tagged);

      expect(await ledger.find(inner.workspaceId, inner.id)).toEqual(inner);

      expect(await ledger.find(failed.workspaceId, failed.id)).toEqual(failed);
      expect(await ledger.find(unmeasured.workspaceId, unmeasured.id)).toEqual(unmeasured);
      expect(await ledger.find(full.workspaceId, full.id)).toEqual(full);
      expect(await ledger.find(sparse.workspaceId, sparse.id)).toEqual(sparse);
    });

    it('keeps the lines of an entry with it, in order and once', async () => {
      const { storage, other } = pair();
      const line = createTestLine();
      const tool = createTestLine({
        kind: 'tool',
        model: null,
        provider: null,
        providerId: null,
        endpointId: null,
        tier: null,
        special: { webSearches: 2 },
        upstreamCostNanoUsd: null,
        priced: false,
        estimated: false,
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
      expect(await readByokSpent(storage.ledger, { workspaceId: entry.workspaceId }, 0)).toEqual([5n]);
    });

    it('appends the lines of many entries', async () => {
      const { ledger } = pair().storage;
      const entries = Array.from({ length: 900 }, () =>
        createTestEntry({ lines: [createTestLine(), createTestLine()] }),
      );
      await ledger.append(entries);
      for (const { id, workspaceId } of entries.filter((_, index) => index % 100 === 99)) {
        expect((await ledger.find(workspaceId, id))?.lines).toHaveLength(2);
      }
    });

    it('finds no entry of another workspace and no unknown entry', async () => {
      const { ledger } = pair().storage;
      const entry = createTestEntry();
      await ledger.append([entry]);

      expect(await ledger.find(randomUUID(), entry.id)).toBeUndefined();
      expect(await ledger.find(entry.workspaceId, createId('gen-'))).toBeUndefined();
      expect(await ledger.find(entry.workspaceId, 'gen-\0')).toBeUndefined();
    });

    it('keeps text of a caller, with characters that no database accepts replaced, and rounds milliseconds', async () => {
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

    it('records an entry once: a second one with its id changes nothing', async () => {
      const { ledger } = pair().storage;
      const entry = createTestEntry();
      const again = { ...entry, costNanoUsd: 1n, outcome: 'failed' as const };
      await ledger.append([entry, again]);
      await ledger.append([again, createTestEntry({ workspaceId: entry.workspaceId })]);

      expect(await ledger.find(entry.workspaceId, entry.id)).toEqual(entry);
      expect(await ledger.readTotals(entry.workspaceId)).toMatchObject({ entries: 2, costNanoUsd: 24_690n });
      expect(await readSpent(ledger, { workspaceId: entry.workspaceId }, 0)).toEqual([24_690n]);
    });

    it('records each entry once if two processes append overlapping ones at once, in any order', async () => {
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

    it('appends none if one is rejected, however many there are', async () => {
      const { ledger } = pair().storage;
      const workspaceId = randomUUID();
      const entries = Array.from({ length: 2500 }, () => createTestEntry({ workspaceId }));
      // Sorts last, and is out of range.
      const wrong = createTestEntry({ id: 'gen-~', workspaceId, costNanoUsd: 2n ** 63n });

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
  });
}
