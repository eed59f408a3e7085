import { splitWords } from '../../domain/split-words.ts';
import type { FoundPassage } from '../../domain/file-search.ts';

/** A word of a query. */
export interface QueryWord {
  /** As the query has it. */
  readonly text: string;
  /** The beginning of similar words. Undefined: only the word itself counts. */
  readonly stem: string | undefined;
  /** Its importance: rare words have more. */
  readonly weight: number;
}

export interface RankedPassage extends FoundPassage {
  /** The part of the query that the passage contains, from 0 to 1. */
  readonly score: number;
}

/** How often a word must occur to count half. */
const HALF = 0.4;
/** Weights of a word with the same beginning, and of a word of the file name. */
const SIMILAR = 0.6;
const IN_NAME = 0.5;

/** Returns the importance of a word by the number of passages that contain it. */
export const weighWord = (passages: number, count: number): number =>
  Math.log(1 + (Math.max(passages, 1) + 0.5) / (count + 0.5));

/**
 * Ranks passages, the best first. The score is the weight of the words that a passage has, relative to that of all words
 * of the query. With several queries, a passage has its best score. The result does not depend on the store that found them.
 */
export function rankPassages(
  passages: readonly FoundPassage[],
  queries: readonly (readonly QueryWord[])[],
): RankedPassage[] {
  return passages
    .map((passage) => {
      const text = countWords(passage.text);
      const name = countWords(passage.filename);
      const scores = queries.map((words) => scoreQuery(words, text, name));
      return { ...passage, score: Math.max(0, ...scores) };
    })
    .toSorted((a, b) => b.score - a.score); // stable: equal ones stay in the order of the store
}

function scoreQuery(
  words: readonly QueryWord[],
  text: ReadonlyMap<string, number>,
  name: ReadonlyMap<string, number>,
): number {
  let found = 0;
  let total = 0;
  for (const word of words) {
    total += word.weight;
    const times = countWord(word, text) + IN_NAME * countWord(word, name);
    found += (word.weight * times) / (times + HALF);
  }
  return total === 0 ? 0 : round(Math.min(1, (found / total) * (1 + HALF / 4)));
}

function countWord({ text, stem }: QueryWord, words: ReadonlyMap<string, number>): number {
  const exact = words.get(text) ?? 0;
  if (exact > 0 || stem === undefined) return exact;
  let similar = 0;
  for (const [word, times] of words) if (word.startsWith(stem)) similar += times;
  return similar * SIMILAR;
}

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of splitWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

const round = (score: number): number => Math.round(score * 10_000) / 10_000;
