import { currentTimeMs } from '../../domain/clock.ts';
import { GatewayError } from '../../domain/errors.ts';
import { createTimedId } from '../../domain/ids.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { ContentStore } from '../../platform/storage/ports/contents.ts';
import { checkFeedback } from '../../management/generations/schema.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import type { ManagementHandler } from '../management/route.ts';
import { writeTime } from '../../management/write-time.ts';

export interface FeedbackParts {
  contents: Pick<ContentStore, 'addFeedback' | 'listFeedback'>;
  /** Resolves when every generation so far is in the store. */
  flushLedger: () => Promise<void>;
}

/** Feedback on generations. @see docs/reference/management.md */
export const createFeedbackHandlers = ({
  contents,
  flushLedger,
}: FeedbackParts): Record<'sendFeedback' | 'listFeedback', ManagementHandler> => ({
  async sendFeedback(request) {
    const { generation_id: generationId, category, comment = null } = checkFeedback(request.body);
    const isKnown = await callStore(async () => {
      await flushLedger();
      return contents.addFeedback({
        id: createTimedId('fb_'),
        generationId,
        category,
        comment,
        actorKeyHash: request.caller!.keyHash,
        createdAtMs: currentTimeMs(),
      });
    });
    if (!isKnown) throw new GatewayError('not_found', `There is no generation ${generationId.slice(0, 100)}.`);
    return { data: { success: true } };
  },

  async listFeedback(request) {
    const query = readQuery(request, (reader) => ({ ...readPage(reader), generationId: reader.text('generation_id') }));
    const { rows, total } = await callStore(() => contents.listFeedback(query));
    return {
      data: rows.map((feedback) => ({
        id: feedback.id,
        generation_id: feedback.generationId,
        workspace_id: feedback.workspaceId,
        category: feedback.category,
        comment: feedback.comment,
        actor_key_hash: feedback.actorKeyHash,
        created_at: writeTime(feedback.createdAtMs),
      })),
      total_count: total,
    };
  },
});
