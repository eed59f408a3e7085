/**
 * The name that the caller probably meant: at most 3 edits away and at most 40 percent of its length;
 * `undefined` when no name is that near.
 */
export function findNearestName(typed: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let fewestEdits = 4;
  for (const name of names) {
    if (Math.abs(name.length - typed.length) >= fewestEdits) continue;
    const edits = editDistance(typed, name);
    if (edits < fewestEdits && edits <= name.length * 0.4) {
      nearest = name;
      fewestEdits = edits;
    }
  }
  return nearest;
}

/** Levenshtein distance: how many letters to add, drop or change. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const change = from[row - 1] === to[column - 1] ? 0 : 1;
      current.push(Math.min(previous[column]! + 1, current[column - 1]! + 1, previous[column - 1]! + change));
    }
    previous = current;
  }
  return previous[to.length]!;
}
