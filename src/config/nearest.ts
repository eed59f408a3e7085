/** How many letters must be added, taken, changed or swapped with their neighbour to make one word the other. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const change = a[row - 1] === b[column - 1] ? 0 : 1;
      let best = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + change);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) best = Math.min(best, beforeLast[column - 2]! + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length]!;
}

/** The candidate that was most likely meant: at most every third letter differs. */
export function findLikelyName(word: string, candidates: Iterable<string>): string | undefined {
  const nearest = findNearest(word, candidates);
  const most = Math.max(1, Math.floor(word.length / 3));
  return nearest !== undefined && editDistance(word.toLowerCase(), nearest.toLowerCase()) <= most ? nearest : undefined;
}

/** The candidate with the least edit distance, the first of equals; undefined when there are no candidates. */
export function findNearest(word: string, candidates: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < least) [nearest, least] = [candidate, distance];
  }
  return nearest;
}
