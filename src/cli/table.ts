import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
import { colorize, type Terminal } from './terminal.ts';

export interface Column {
  title: string;
  /** Whether the cells are right-aligned: numbers, money and times. */
  isNumber?: boolean;
  /** Whether the cells wrap at words if the terminal is too narrow. */
  canWrap?: boolean;
}

/** Characters of a longer word that a narrow terminal shows at least. */
const MIN_WORD = 12;

type Rows = readonly (readonly string[])[];

/** Draws rows as columns that fit the terminal, with two spaces between them. Other outputs have no width. */
export function drawTable(terminal: Pick<Terminal, 'env' | 'stdout'>, columns: readonly Column[], rows: Rows): string {
  const { isTTY, columns: width = Number.POSITIVE_INFINITY } = terminal.stdout;
  const natural = drawLines(terminal, columns, rows);
  const excess = isTTY ? longest(natural.map(stripVTControlCharacters)) - width : 0;
  const lines = excess > 0 ? drawLines(terminal, columns, rows, narrow(columns, rows, excess)) : natural;
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

function drawLines(
  terminal: Pick<Terminal, 'env' | 'stdout'>,
  columns: readonly Column[],
  rows: Rows,
  widths?: (number | null)[],
): string[] {
  const table = new Table({
    head: columns.map(({ title }) => colorize(terminal, 'dim', title)),
    colAligns: columns.map(({ isNumber }) => (isNumber ? 'right' : 'left')),
    ...(widths && { colWidths: widths, wordWrap: true }),
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
    chars: { ...noBorders, middle: '  ' },
  });
  for (const row of rows) table.push([...row]);
  return table.toString().split('\n');
}

const noBorders = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid']
    .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .map((name) => [name, '']),
);

/**
 * Takes the excess from the columns that can wrap, the widest first: at words, and then within words, which end with `…`.
 *
 * @returns a width for each of these columns, null for the others
 */
function narrow(columns: readonly Column[], rows: Rows, excess: number): (number | null)[] {
  const cellsOf = (at: number) => [columns[at]!.title, ...rows.map((row) => row[at] ?? '')];
  const widths = columns.map(({ canWrap }, at) => (canWrap ? longest(cellsOf(at)) : null));
  const minima = columns.map((_, at) => longest(cellsOf(at).flatMap((cell) => cell.split(/\s+/))));
  const words = minima.map((length) => Math.min(length, MIN_WORD));
  let left = excess;
  for (const smallest of [minima, words]) {
    for (; left > 0; left--) {
      let widest = -1;
      for (const [at, width] of widths.entries()) {
        if (width !== null && width > smallest[at]! && width > (widths[widest] ?? 0)) widest = at;
      }
      if (widest === -1) break;
      widths[widest]!--;
    }
  }
  return widths;
}

const longest = (texts: readonly string[]): number => Math.max(...texts.map((text) => [...text].length));
