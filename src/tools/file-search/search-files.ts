import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../../domain/caller.ts';
import type {
  FileFilter,
  FoundPassage,
  PassageQuery,
  SearchPlaces,
  SearchWord,
  WordCounts,
} from '../../domain/file-search.ts';
import { splitWords } from '../../domain/split-words.ts';
import { ToolError } from '../server-tool.ts';
import { type QueryWord, type RankedPassage, rankPassages, weighWord } from './rank-passages.ts';

/** The texts of the stored files of a caller. All methods throw a GatewayError with a message for the model. */
export interface FileTexts {
  /** Returns how many files are not searchable yet, and how many of them probably are within moments. */
  countWaiting(caller: Caller): Promise<{ waiting: number; fresh: number }>;
  countWords(caller: Caller, words: readonly Pick<SearchWord, 'text' | 'isPrefix'>[], max: number): Promise<WordCounts>;
  findPassages(caller: Caller, query: Omit<PassageQuery, 'workspaceId'>): Promise<FoundPassage[]>;
}

export interface FileQuery {
  queries: readonly string[];
  places: SearchPlaces;
  filter: FileFilter | undefined;
  maxResults: number;
  minScore: number;
}

export interface FileSearchOutcome {
  results: RankedPassage[];
  /** Files that were not searchable yet. */
  waiting: number;
}

/** Words of one query, and of all together. The others are left out. */
const MAX_QUERY_WORDS = 24;
const MAX_WORDS = 48;
/** Passages that are compared. */
const MAX_CANDIDATES = 200;
/** Where counting the passages with a word ends, and passages that all looked up words have together. */
const MAX_COUNT = 3000;
/** How long a search waits for new files. */
const WAIT_MS = 5000;
const WAIT_STEP_MS = 100;

/** Searches files. @throws {ToolError} if no query has a word */
export async function searchFiles(
  texts: FileTexts,
  caller: Caller,
  query: FileQuery,
  signal: AbortSignal,
): Promise<FileSearchOutcome> {
  const split = query.queries.map((text) => [...new Set(splitWords(text, MAX_QUERY_WORDS))]);
  const words = [...new Set(split.flat())].slice(0, MAX_WORDS);
  if (words.length === 0) throw new ToolError('The queries contain no words. Search for words of the text.');
  const waiting = await waitForFiles(texts, caller, signal);
  const stems = words.map((text) => {
    const stem = findStem(text);
    return { text: stem ?? text, isPrefix: stem !== undefined };
  });
  const { passages, counts } = await texts.countWords(caller, stems, MAX_COUNT);
  const weights = new Map(
    words.map((word, index) => [word, weighWord(passages, estimateCount(passages, counts[index]!))]),
  );
  const known = stems.flatMap((stem, index): (SearchWord & { count: number })[] => {
    const count = counts[index]!;
    return count === 0 ? [] : [{ ...stem, weight: weights.get(words[index]!)!, count }];
  });
  if (known.length === 0) return { results: [], waiting };
  const candidates = await texts.findPassages(caller, {
    words: chooseWords(known),
    ...(query.places.fileIds.length > 0 && { fileIds: query.places.fileIds }),
    ...(query.places.folders.length > 0 && { folders: query.places.folders }),
    filter: query.filter,
    limit: MAX_CANDIDATES,
  });
  const asked = split.map((own) =>
    own.flatMap((text): QueryWord[] => {
      const weight = weights.get(text);
      return weight === undefined ? [] : [{ text, stem: findStem(text), weight }];
    }),
  );
  const ranked = rankPassages(candidates, asked).filter(({ score }) => score > 0 && score >= query.minScore);
  return { results: ranked.slice(0, query.maxResults), waiting };
}

/**
 * Chooses the words to look up: the rarest ones. A word of most passages finds nothing in particular, and takes long in
 * a large workspace. The ranking counts all words.
 */
function chooseWords(known: readonly (SearchWord & { count: number })[]): SearchWord[] {
  let passages = 0;
  return known
    .toSorted((a, b) => a.count - b.count)
    .filter(({ count }, index) => {
      passages += count;
      return index === 0 || passages <= MAX_COUNT;
    });
}

/** A file that was just uploaded is searchable within moments. @returns how many are not, in the end */
async function waitForFiles(texts: FileTexts, caller: Caller, signal: AbortSignal): Promise<number> {
  for (let waited = 0; ; waited += WAIT_STEP_MS) {
    const { waiting, fresh } = await texts.countWaiting(caller);
    if (fresh === 0 || waited >= WAIT_MS) return waiting;
    await delay(WAIT_STEP_MS, undefined, { signal });
  }
}

/** A count that ends at the limit belongs to a very common word. */
const estimateCount = (passages: number, count: number): number =>
  count >= MAX_COUNT ? Math.max(count, passages / 2) : count;

/**
 * Returns the beginning of related words, without an ending that many languages have: `refun` for `refunds`. Numbers and
 * short words have none.
 */
function findStem(word: string): string | undefined {
  const letters = [...word];
  if (letters.length < MIN_STEM || /\p{N}/u.test(word)) return undefined;
  return letters.slice(0, Math.max(letters.length - ENDING, Math.min(letters.length, MIN_CUT))).join('');
}

/** Letters of the shortest word that has related words. */
const MIN_STEM = 4;
/** Letters of an ending, and of the shortest beginning without one. */
const ENDING = 2;
const MIN_CUT = 5;
