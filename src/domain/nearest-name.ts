/** Maximum edits. More edits make a different word. */
const MAX_EDITS = 3;
/** Maximum share of wrong letters in a name. */
const MAX_SHARE = 0.4;

/**
 * Returns the name that was probably meant, in any case: at most 3 edits away, and at most 40 percent of its length.
 * Returns the first of several equally near names, and `undefined` if no name is that near.
 */
export function findNearestName(typed: string, names: Iterable<string>): string | undefined {
  const word = typed.toLowerCase();
  let nearest: string | undefined;
  let fewestEdits = MAX_EDITS + 1;
  for (const name of names) {
    if (Math.abs(name.length - word.length) >= fewestEdits) continue;
    const edits = countEdits(word, name.toLowerCase());
    if (edits < fewestEdits && edits <= name.length * MAX_SHARE) {
      nearest = name;
      fewestEdits = edits;
    }
  }
  return nearest;
}

/**
 * Counts the letters to add, remove, change or swap with their neighbor. Swapped letters are the most frequent typing
 * error; the plain Levenshtein distance counts two edits for them, which is too far for `prot`.
 */
function countEdits(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const change = from[row - 1] === to[column - 1] ? 0 : 1;
      let best = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + change);
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (isSwapped) best = Math.min(best, beforeLast[column - 2]! + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length]!;
}
