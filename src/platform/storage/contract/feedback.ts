import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createTimedId } from '../../../domain/ids.ts';
import type { FeedbackRecord } from '../ports/feedback.ts';
import { createTestEntry, type StoragePair } from './samples.ts';

/** Tests the contract of feedback. */
export function testFeedback(pair: () => StoragePair): void {
  describe('feedback', () => {
    const makeFeedback = (generationId: string, fields: Partial<FeedbackRecord> = {}): FeedbackRecord => ({
      id: createTimedId('fb_'),
      generationId,
      category: 'incorrect',
      comment: null,
      actorKeyHash: 'f'.repeat(64),
      createdAtMs: 1_790_000_000_123,
      ...fields,
    });

    it('keeps feedback on a generation that the ledger has, and rejects other feedback', async () => {
      const { ledger, contents } = pair().storage;
      const entry = createTestEntry();
      await ledger.append([entry]);
      const first = makeFeedback(entry.id);
      const second = makeFeedback(entry.id, { id: `${first.id}z`, comment: 'Ünd\0 so' });

      expect(await contents.addFeedback(first)).toBe(true);
      expect(await contents.addFeedback(second)).toBe(true);
      expect(await contents.addFeedback(makeFeedback(`gen-${randomUUID()}`))).toBe(false);
      const { workspaceId } = entry;
      expect(await contents.listFeedback({ offset: 0, limit: 9, generationId: entry.id })).toEqual({
        rows: [
          { ...second, workspaceId, comment: 'Ünd\ufffd so' },
          { ...first, workspaceId },
        ],
        total: 2,
      });
      const page = await contents.listFeedback({ offset: 1, limit: 1, generationId: entry.id });
      expect(page.rows.map(({ id }) => id)).toEqual([first.id]);
      expect((await contents.listFeedback({ offset: 0, limit: 1 })).total).toBeGreaterThanOrEqual(2);
    });
  });
}
