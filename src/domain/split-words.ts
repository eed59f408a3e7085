/** Maximum characters of a word. The rest of a longer one is left out. */
const MAX_WORD = 64;

const runs = /[\p{L}\p{N}\p{M}]+/gu;
const accents = /[\u0300-\u036f]/g;

/** Scripts that put no spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const unspacedRuns =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{M}]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

/**
 * Splits a text into words for the search: runs of letters and digits, in lower case and without Latin accents. Scripts
 * without spaces become pairs of characters. The same in every language and version of Node, because words are stored.
 *
 * @param max words
 */
export function splitWords(text: string, max = Number.POSITIVE_INFINITY): string[] {
  const words: string[] = [];
  const plain = text.normalize('NFKD').replace(accents, '').normalize('NFC').toLowerCase();
  for (const [run] of plain.matchAll(runs)) {
    if (unspaced.test(run)) splitUnspaced(run, words);
    else words.push(cut(run));
    if (words.length >= max) return words.slice(0, max);
  }
  return words;
}

function splitUnspaced(run: string, words: string[]): void {
  for (const [part] of run.matchAll(unspacedRuns)) {
    if (!unspaced.test(part)) {
      words.push(cut(part));
      continue;
    }
    const characters = [...part];
    if (characters.length === 1) words.push(part);
    for (let at = 0; at + 1 < characters.length; at++) words.push(characters[at]! + characters[at + 1]!);
  }
}

/** Does not cut a surrogate pair. */
const cut = (word: string): string => (word.length <= MAX_WORD ? word : [...word].slice(0, MAX_WORD).join(''));
