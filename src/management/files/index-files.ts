import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cancellation } from '../../domain/cancellation.ts';
import { splitWords } from '../../domain/split-words.ts';
import type { FileRecord } from '../../platform/storage/ports/files.ts';
import type { IndexClaim, IndexState, Passage, PassageStore } from '../../platform/storage/ports/passages.ts';
import type { FileParts } from './parts.ts';
import { findPassageKind, splitPassages } from './split-passages.ts';

export interface IndexParts extends Pick<FileParts, 'files' | 'now'> {
  passages: PassageStore;
  /**
   * Reads the text of a file.
   *
   * @param maxCharacters a longer text may be cut
   * @returns undefined if it has none
   * @throws if it cannot be read now
   */
  readText(file: FileRecord, maxCharacters: number, stop: Stop): Promise<string | undefined>;
  limits: () => IndexLimits;
}

/** Ends the work early. */
type Stop = Pick<Cancellation, 'reason' | 'add' | 'remove'>;

export interface IndexLimits {
  /** Characters of one file that can be found. */
  fileCharacters: number;
  /** Passages of all files of a workspace. */
  workspacePassages: number;
}

/** Time after which another process, or this one after a restart, takes over a file. */
const CLAIM_MS = 60_000;
/** Interval of prolonging a claim while a file is read. */
const PROLONG_MS = 20_000;
/** Passages per transaction. The embedded store runs on the main thread. */
const BATCH = 20;
/** Attempts to read a file before it counts as failed. */
const MAX_TRIES = 8;
const FIRST_PAUSE_MS = 2000;
/** A workspace whose file took longer waits for the others: its next files can be as slow. */
const SLOW_MS = 1000;
const MAX_PAUSE_MS = 600_000;

/**
 * Reads the files of the queue one after the other, and stores their passages. Workspaces with slow files take turns with
 * the others. If the process ends meanwhile, another
 * one starts the file over.
 *
 * @returns the number of files that are up to date now
 * @throws the store's error
 */
export async function indexFiles(parts: IndexParts, stop: Stop): Promise<number> {
  let slowWorkspaceId: string | undefined;
  for (let indexed = 0; ; indexed++) {
    if (stop.reason) return indexed;
    const nowMs = parts.now();
    const claim = await parts.passages.claimFile(nowMs, nowMs + CLAIM_MS, slowWorkspaceId);
    if (!claim) return indexed;
    await indexFile(parts, claim, stop);
    slowWorkspaceId = parts.now() - nowMs > SLOW_MS ? claim.workspaceId : undefined;
    await nextTurn();
  }
}

async function indexFile(parts: IndexParts, claim: IndexClaim, stop: Stop): Promise<void> {
  const { passages, files, now } = parts;
  while ((await passages.clearPassages(claim, BATCH)) === BATCH) await nextTurn();
  const file = await files.findFile(claim.workspaceId, claim.fileId);
  if (!file) return passages.finishFile(claim, null);
  let text: string | undefined;
  try {
    text = await keepClaim(parts, claim, parts.readText(file, parts.limits().fileCharacters, stop));
  } catch {
    // Another host may have the content, or the disk may come back.
    if (claim.tries >= MAX_TRIES) return passages.finishFile(claim, 'failed');
    const pauseMs = stop.reason ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** claim.tries, MAX_PAUSE_MS);
    return passages.releaseFile(claim, now() + pauseMs);
  }
  const state = text === undefined ? 'unreadable' : await addText(parts, claim, file, text, stop);
  if (state) await passages.finishFile(claim, state);
  else await passages.releaseFile(claim, now());
}

/** Prolongs the claim until work ends. */
async function keepClaim<Result>(
  { passages, now }: IndexParts,
  claim: IndexClaim,
  work: Promise<Result>,
): Promise<Result> {
  const timer = setInterval(() => {
    passages.addPassages(claim, [], now() + CLAIM_MS).catch(() => {}); // the next write reports the failure
  }, PROLONG_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** @returns undefined if it was interrupted, or if another process has the file */
async function addText(
  { passages, limits, now }: IndexParts,
  claim: IndexClaim,
  { mimeType, filename }: FileRecord,
  text: string,
  stop: Stop,
): Promise<IndexState | undefined> {
  const { fileCharacters, workspacePassages } = limits();
  let left = workspacePassages - (await passages.countWords(claim.workspaceId, [], 0)).passages;
  const name = splitWords(filename, 40);
  let batch: Passage[] = [];
  let position = 0;
  const flush = async (): Promise<boolean> => {
    if (batch.length === 0) return true;
    const added = await passages.addPassages(claim, batch, now() + CLAIM_MS);
    batch = [];
    await nextTurn();
    return added;
  };
  let isCut = text.length > fileCharacters;
  for (const passage of splitPassages(text.slice(0, fileCharacters), findPassageKind(mimeType))) {
    if (left-- <= 0) {
      isCut = true;
      break;
    }
    batch.push({ position: position++, text: passage, words: [...splitWords(passage), ...name] });
    if (batch.length === BATCH && !(await flush())) return undefined;
    if (stop.reason) return undefined;
  }
  return (await flush()) ? (isCut ? 'cut' : 'complete') : undefined;
}
