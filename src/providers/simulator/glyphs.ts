/**
 * Letters of 5 × 7 points, row by row from the top. Each row is five bits. A system font could change the image from
 * one machine to another, or be missing.
 */
const rows: Readonly<Record<string, readonly number[]>> = {
  A: [14, 17, 17, 31, 17, 17, 17],
  B: [30, 17, 17, 30, 17, 17, 30],
  C: [14, 17, 16, 16, 16, 17, 14],
  D: [30, 17, 17, 17, 17, 17, 30],
  E: [31, 16, 16, 30, 16, 16, 31],
  F: [31, 16, 16, 30, 16, 16, 16],
  G: [14, 17, 16, 23, 17, 17, 15],
  H: [17, 17, 17, 31, 17, 17, 17],
  I: [14, 4, 4, 4, 4, 4, 14],
  J: [7, 2, 2, 2, 2, 18, 12],
  K: [17, 18, 20, 24, 20, 18, 17],
  L: [16, 16, 16, 16, 16, 16, 31],
  M: [17, 27, 21, 21, 17, 17, 17],
  N: [17, 17, 25, 21, 19, 17, 17],
  O: [14, 17, 17, 17, 17, 17, 14],
  P: [30, 17, 17, 30, 16, 16, 16],
  Q: [14, 17, 17, 17, 21, 18, 13],
  R: [30, 17, 17, 30, 20, 18, 17],
  S: [15, 16, 16, 14, 1, 1, 30],
  T: [31, 4, 4, 4, 4, 4, 4],
  U: [17, 17, 17, 17, 17, 17, 14],
  V: [17, 17, 17, 17, 17, 10, 4],
  W: [17, 17, 17, 21, 21, 21, 10],
  X: [17, 17, 10, 4, 10, 17, 17],
  Y: [17, 17, 17, 10, 4, 4, 4],
  Z: [31, 1, 2, 4, 8, 16, 31],
  '0': [14, 17, 19, 21, 25, 17, 14],
  '1': [4, 12, 4, 4, 4, 4, 14],
  '2': [14, 17, 1, 2, 4, 8, 31],
  '3': [31, 2, 4, 2, 1, 17, 14],
  '4': [2, 6, 10, 18, 31, 2, 2],
  '5': [31, 16, 30, 1, 1, 17, 14],
  '6': [6, 8, 16, 30, 17, 17, 14],
  '7': [31, 1, 2, 4, 8, 8, 8],
  '8': [14, 17, 17, 14, 17, 17, 14],
  '9': [14, 17, 17, 15, 1, 2, 12],
  ',': [0, 0, 0, 0, 12, 4, 8],
  '.': [0, 0, 0, 0, 0, 12, 12],
  '!': [4, 4, 4, 4, 4, 0, 4],
  '?': [14, 17, 1, 2, 4, 0, 4],
  "'": [12, 4, 8, 0, 0, 0, 0],
  '-': [0, 0, 0, 31, 0, 0, 0],
  ':': [0, 12, 12, 0, 12, 12, 0],
};

/** The glyph of an unknown letter: a frame. */
const unknown: readonly number[] = [31, 17, 17, 17, 17, 17, 31];

const COLUMNS = 5;
const ROWS = 7;
/** Width of a letter and its gap, and height of a line and its gap, in points. */
const STEP = COLUMNS + 1;
const LINE = ROWS + 3;

/** The area for text, in pixels. */
export interface TextBox {
  left: number;
  top: number;
  width: number;
  height: number;
}

/**
 * Writes words in lines as the data of an SVG path, as large as the box allows. Omits words that do not fit even in the
 * smallest letters.
 */
export function drawText(text: string, { left, top, width, height }: TextBox): string {
  const words = text.normalize('NFD').replace(/\p{M}/gu, '').toUpperCase().split(/\s+/).filter(Boolean);
  for (let point = Math.max(1, Math.floor(height / LINE)); point >= 1; point--) {
    const columns = Math.floor(width / (STEP * point));
    const max = Math.floor(height / (LINE * point));
    const lines = breakLines(words, columns);
    if (lines === undefined || (lines.length > max && point > 1)) continue;
    return lines
      .slice(0, max)
      .map((line, index) => drawLine(line, left, top + index * LINE * point, point))
      .join('');
  }
  return '';
}

/** @returns undefined if a word is longer than a line */
function breakLines(words: readonly string[], columns: number): string[] | undefined {
  const lines: string[] = [];
  for (const word of words) {
    if (word.length > columns && columns < 12) return undefined;
    const shown = word.slice(0, columns);
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + shown.length <= columns) lines[lines.length - 1] = `${last} ${shown}`;
    else lines.push(shown);
  }
  return lines;
}

function drawLine(line: string, left: number, top: number, point: number): string {
  let path = '';
  for (const [at, letter] of [...line].entries()) {
    if (letter === ' ') continue;
    for (const [row, bits] of (rows[letter] ?? unknown).entries()) {
      path += drawRow(bits, left + at * STEP * point, top + row * point, point);
    }
  }
  return path;
}

/** Draws a row of points. Adjacent points form one rectangle. */
function drawRow(bits: number, left: number, top: number, point: number): string {
  let path = '';
  for (let column = 0; column < COLUMNS; column++) {
    const isSet = (at: number): boolean => at < COLUMNS && (bits & (1 << (COLUMNS - 1 - at))) !== 0;
    if (!isSet(column)) continue;
    const from = column;
    while (isSet(column + 1)) column++;
    path += `M${left + from * point} ${top}h${(column - from + 1) * point}v${point}h-${(column - from + 1) * point}z`;
  }
  return path;
}
