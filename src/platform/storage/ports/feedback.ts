import type { Listed, Page } from './page.ts';

export interface FeedbackRecord {
  id: string;
  generationId: string;
  category: string;
  comment: string | null;
  /** The management key that sent it. */
  actorKeyHash: string;
  createdAtMs: number;
}

export interface FeedbackQuery extends Page {
  generationId?: string | undefined;
}

export interface FeedbackStore {
  /** @returns false, and stores nothing, if the ledger has no such generation */
  addFeedback(feedback: FeedbackRecord): Promise<boolean>;
  /** Lists the newest first. */
  listFeedback(query: FeedbackQuery): Promise<Listed<FeedbackRecord & { workspaceId: string }>>;
}
