import type { ContentRecord } from '../../../domain/content-record.ts';
import type { FeedbackStore } from './feedback.ts';

/** Inputs and outputs of workspaces that opt in, and feedback on generations. */
export interface ContentStore extends FeedbackStore {
  /** Stores contents. Idempotent: does not change an existing id. All or none of them are durable on return. */
  append(contents: readonly ContentRecord[]): Promise<void>;
  /** @returns undefined also if its workspace was deleted */
  find(id: string): Promise<ContentRecord | undefined>;
  /** Finds the generations of which there are contents. @param ids at most 1,000 */
  listKept(ids: readonly string[]): Promise<string[]>;
  /**
   * Deletes the oldest contents that were created before a time.
   *
   * @param max bounds a call, so that it keeps no lock for long
   * @returns the number of deleted contents
   */
  deleteBefore(beforeMs: number, max: number): Promise<number>;
}
