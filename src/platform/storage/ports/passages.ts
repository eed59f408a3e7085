import type { FoundPassage, PassageQuery, SearchWord, WordCounts } from '../../../domain/file-search.ts';

/** A part of the text of a file, as it is stored for the search. */
export interface Passage {
  /** Position in the file, from 0. */
  position: number;
  text: string;
  /** The words of the text in their order, as `splitWords` returns them. */
  words: readonly string[];
}

/** The right to replace the passages of one file. Only one process has it. */
export interface IndexClaim {
  fileId: string;
  workspaceId: string;
  /** Number of claims of this file so far, this one included. An earlier claim is void. */
  tries: number;
}

/**
 * The outcome of indexing a file. `cut`: only its first part can be found. `unreadable`: it has no text.
 * `failed`: it was tried too often.
 */
export type IndexState = 'complete' | 'cut' | 'unreadable' | 'failed';

/**
 * The texts of files for the search, and the queue of files whose texts are not up to date. Adding and deleting files
 * puts them into the queue, in the same transaction. A deleted file is never found.
 */
export interface PassageStore {
  /**
   * Claims a file of the queue, which no other process then gets before `untilMs`.
   *
   * @param lastWorkspaceId files of this workspace come after those of all others
   * @returns undefined if no file waits
   */
  claimFile(nowMs: number, untilMs: number, lastWorkspaceId?: string): Promise<IndexClaim | undefined>;
  /** Deletes at most `max` passages of a claimed file. @returns their number; 0 if the claim is void */
  clearPassages(claim: IndexClaim, max: number): Promise<number>;
  /** Adds passages to a claimed file, and prolongs the claim. @returns false if the claim is void: nothing is added */
  addPassages(claim: IndexClaim, passages: readonly Passage[], untilMs: number): Promise<boolean>;
  /** Takes the file out of the queue, unless the claim is void. @param state null: the file does not exist */
  finishFile(claim: IndexClaim, state: IndexState | null): Promise<void>;
  /** Puts a claimed file back, unless the claim is void. */
  releaseFile(claim: IndexClaim, nextAtMs: number): Promise<void>;
  /** Returns how many files of a workspace are in the queue, how many of them no attempt has failed, and the states. */
  readIndexState(
    workspaceId: string,
  ): Promise<{ waiting: number; fresh: number; states: Partial<Record<IndexState, number>> }>;
  /** Counts the passages with each word. @param max where the count of a word ends */
  countWords(
    workspaceId: string,
    words: readonly Pick<SearchWord, 'text' | 'isPrefix'>[],
    max: number,
  ): Promise<WordCounts>;
  /** Finds passages, the best first as far as the dialect can tell. */
  findPassages(query: PassageQuery): Promise<FoundPassage[]>;
}
