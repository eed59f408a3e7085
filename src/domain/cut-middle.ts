/**
 * Cuts the middle out of a text, so that equal parts of its start and its end remain. Cuts no character apart.
 *
 * @param units of the text that remain at most, in UTF-16, without the mark
 * @param writeMark returns what replaces the given number of units
 * @returns the text itself if that would not make it shorter
 */
export function cutMiddle(text: string, units: number, writeMark: (removed: number) => string): string {
  const half = Math.max(0, Math.floor(units / 2));
  const head = isInsidePair(text, half) ? half - 1 : half;
  const end = text.length - half;
  const tail = isInsidePair(text, end) ? end + 1 : end;
  const mark = writeMark(tail - head);
  return tail - head <= mark.length ? text : text.slice(0, head) + mark + text.slice(tail);
}

/** Whether a position is between the two halves of one character. */
function isInsidePair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
}
