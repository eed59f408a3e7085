import type { Detector } from '../detector.ts';
import { finishSteps } from '../regex/finish-steps.ts';
import { type Node, parseInSlices } from '../regex/parse-pattern.ts';
import { findMatches, PatternSet } from '../regex/search.ts';
import { families, writeCollapsedSource } from './families.ts';

// Checks for text that is disguised. The phrases on the allowlist do not apply to them.

const scrambledWords = ['ignore', 'bypass', 'override', 'reveal', 'delete', 'system', 'prompt', 'instructions'];
const encodedWords = /ignore|bypass|override|reveal|system|prompt/i;
/** Maximum characters of a run of base64 or hex that are inspected. */
const MAX_ENCODED_LENGTH = 16_384;

const sortLetters = (word: string): string => [...word.toLowerCase()].sort().join('');
const sortedWords = new Set(scrambledWords.map(sortLetters));

/**
 * Words with the first and last letter of one of ours and its letters in between, but not the word itself: they are like the
 * word up to some letter, and another letter follows. `check` counts the letters.
 */
function writeScrambled(word: string): string {
  const inner = word.slice(1, -1);
  const letters = [...new Set(inner)];
  const branches = [...inner].map((letter, index) => {
    const others = letters.filter((other) => other !== letter).join('');
    return `${inner.slice(0, index)}[${others}][${letters.join('')}]{${inner.length - index - 1}}`;
  });
  return `${word.at(0)}(?:${branches.join('|')})${word.at(-1)}`;
}

const scrambled: Detector = {
  id: 'scrambled_word_injection',
  source: String.raw`\b(?:${scrambledWords.map(writeScrambled).join('|')})\b`,
  ignoreCase: true,
  maxLength: 32,
  check: (text) => sortedWords.has(sortLetters(text)),
};

const base64: Detector = {
  id: 'base64_encoded_injection',
  source: String.raw`[A-Za-z0-9+\/_\-]{16,}`,
  maxLength: MAX_ENCODED_LENGTH,
  check(text) {
    // The run may begin with characters that are not part of it, so each of the four alignments is tried.
    for (let offset = 0; offset < 4; offset++) {
      if (encodedWords.test(Buffer.from(text.slice(offset), 'base64').toString('latin1'))) return true;
    }
    return false;
  },
};

const hex: Detector = {
  id: 'hex_encoded_injection',
  source: String.raw`(?:(?:0x|\\x)?[\da-fA-F]{2}[ ,:]?){6,}`,
  maxLength: MAX_ENCODED_LENGTH,
  check(text) {
    const digits = text.replace(/0x|\\x|[ ,:]/g, '');
    for (const aligned of [digits, digits.slice(1)]) {
      if (encodedWords.test(Buffer.from(aligned.slice(0, aligned.length & ~1), 'hex').toString('latin1'))) return true;
    }
    return false;
  },
};

let collapsed: PatternSet | undefined;

/** Compiles what the checks need, once. Yields where other work may run. */
export function* prepareEvasionChecks(): Generator<void, PatternSet> {
  if (collapsed) return collapsed;
  const patterns: { node: Node }[] = [];
  for (const { id, source, isCaseSensitive } of families) {
    if (id.endsWith('_spoofing') || id.endsWith('_injection')) continue; // made of signs, not of words
    const options = { ignoreCase: !isCaseSensitive, allowLooks: true };
    patterns.push({ node: yield* parseInSlices(writeCollapsedSource(source), options) });
    yield;
  }
  collapsed = yield* PatternSet.createInSlices(patterns);
  return collapsed;
}

/** At least eight single letters with single spaces in between, in words that more spaces separate. */
const spaced: Detector = {
  id: 'spaced_letters_injection',
  source: String.raw`(?<!\w)\S(?: {1,3}\S){7,}(?!\w)`,
  checkWork: 500, // another search, whose table of transitions may be empty
  check(text) {
    const letters = text.replace(/(\S) (?=\S)/g, '$1').replace(/ +/g, ' ');
    return findMatches(collapsed ?? finishSteps(prepareEvasionChecks()), letters).length > 0;
  },
};

export const evasionChecks: readonly Detector[] = [scrambled, base64, hex, spaced];
