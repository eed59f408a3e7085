/** The line that replaces the middle of a text. */
export const writeMarker = (characters: number): string => `\n[… ${characters} characters were removed here …]\n`;

/**
 * Cuts the middle out of a text, so that equal parts of its start and its end remain.
 *
 * @param characters of the text that remain, without the line that marks the cut
 * @returns the text itself if that would not make it shorter
 */
export function cutMiddle(text: string, characters: number): string {
  const half = Math.max(0, Math.floor(characters / 2));
  const headEnd = isInsidePair(text, half) ? half - 1 : half;
  const tail = text.length - half;
  const tailStart = isInsidePair(text, tail) ? tail + 1 : tail;
  const marker = writeMarker(tailStart - headEnd);
  if (tailStart - headEnd <= marker.length) return text;
  return text.slice(0, headEnd) + marker + text.slice(tailStart);
}

/** Whether a position is between the two halves of one character. */
function isInsidePair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
}
