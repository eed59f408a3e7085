/** Words for streets, by which the line of an address is found. */
const streetWords: ReadonlySet<string> = new Set(
  `street st road rd avenue ave av lane ln drive dr boulevard blvd way court ct place pl square sq terrace highway hwy
  parkway pkwy close crescent
  straße strasse str weg platz allee gasse
  rue chemin quai impasse cours
  via viale piazza corso vicolo
  calle avenida plaza paseo carrera
  rua travessa
  straat laan plein kade gracht
  ulica ul aleja
  улица ул проспект пр переулок`.split(/\s+/),
);
const streetEnd = /(?:straße|strasse|str|weg|platz|allee|gasse|straat|laan|plein|gracht|kade|vägen|gatan|gade|vej)$/u;
/** Words within names of streets. */
const connectors: ReadonlySet<string> = new Set(
  `de du des la le les del della di da do dos der die den dem am an im van von zum zur of the и y
  no nr n apt suite unit floor`.split(/\s+/),
);

/** Characters on each side of a place, and words, in which its street line is looked for. */
const REACH = 120;
const MAX_WORDS = 9;

interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Extends a recognized place over the street line next to it: `221B Baker Street, [London]`, `[Berlin], Lange Straße 12`.
 * Without a word for a street and a number it stays as it is.
 */
export function extendOverStreet(text: string, start: number, end: number): { start: number; end: number } {
  const windowStart = Math.max(0, start - REACH);
  const before = splitWords(text.slice(windowStart, start), windowStart).reverse();
  const after = splitWords(text.slice(end, end + REACH), end);
  return {
    start: findStreet(text, before, start)?.start ?? start,
    end: findStreet(text, after, end)?.end ?? end,
  };
}

const splitWords = (text: string, offset: number): Word[] =>
  [...text.matchAll(/[\p{L}\d][\p{L}\d.'’/-]*/gu)].map((match) => ({
    text: match[0],
    start: offset + match.index,
    end: offset + match.index + match[0].length,
  }));

/** @param words from the place outward @returns the outermost word of the street line */
function findStreet(text: string, words: readonly Word[], edge: number): Word | undefined {
  let hasStreet = false;
  let hasNumber = false;
  let found: Word | undefined;
  let from = edge;
  for (const word of words.slice(0, MAX_WORDS)) {
    const between = from < word.start ? text.slice(from, word.start) : text.slice(word.end, from);
    if (!/^[ \t,.;]*\n?[ \t]*$/.test(between)) return found;
    from = from < word.start ? word.end : word.start;
    const plain = word.text.toLowerCase().replace(/\.+$/, '');
    const isNumber = /^\d/.test(word.text);
    const isStreet = streetWords.has(plain) || streetEnd.test(plain);
    const isName = /^\p{Lu}/u.test(word.text);
    if (found) {
      if (!isNumber && !(isName && !isStreet)) return found; // the number before the name, or the name before the street
      found = word;
      if (isNumber) return found;
      continue;
    }
    if (!isNumber && !isStreet && !isName && !connectors.has(plain)) return undefined;
    hasStreet ||= isStreet;
    hasNumber ||= isNumber;
    if (!hasStreet || !hasNumber) continue;
    if (isNumber) return word;
    found = word;
  }
  return found;
}
