import { FileFault } from './file-fault.ts';

/** Collects the text of a file, up to a maximum. */
export class Markdown {
  private readonly pieces: string[] = [];
  private readonly maxCharacters: number;
  private length = 0;
  private endsWithItem = false;

  constructor(maxCharacters: number) {
    this.maxCharacters = maxCharacters;
  }

  /** @throws {FileFault} above the maximum */
  write(text: string): void {
    this.check(text.length);
    this.length += text.length;
    this.pieces.push(text);
  }

  /** Checks the room for text that is written later. @throws {FileFault} if there is too little */
  check(characters: number): void {
    if (this.length + characters <= this.maxCharacters) return;
    throw new FileFault(
      `It has more than ${this.maxCharacters} characters of text (plugins.file_parser.max_characters). Send a part of it.`,
    );
  }

  /** Writes a block, separated from the one before it by an empty line. Blank text writes nothing. */
  block(text: string): void {
    const block = text.trim();
    if (block === '') return;
    this.separate('\n\n');
    this.write(block);
    this.endsWithItem = false;
  }

  /** Writes an item of a list. @param marker with its indentation: `  - ` */
  item(marker: string, text: string): void {
    const item = text.trim();
    if (item === '') return;
    this.separate(this.endsWithItem ? '\n' : '\n\n');
    this.write(marker + item);
    this.endsWithItem = true;
  }

  /** Writes the rows of a table. The first row is its head. */
  table(rows: readonly (readonly string[])[]): void {
    const width = rows.reduce((max, row) => Math.max(max, row.length), 0);
    if (width === 0) return;
    this.separate('\n\n');
    this.endsWithItem = false;
    for (const [index, row] of rows.entries()) {
      // one cell at a time, so that the maximum holds for wide tables, too
      if (index > 0) this.write('\n');
      this.write('|');
      for (let column = 0; column < width; column++) this.write(` ${escapeCell(row[column] ?? '')} |`);
      if (index === 0) this.write(`\n|${' --- |'.repeat(width)}`);
    }
  }

  private separate(separator: string): void {
    if (this.length > 0) this.write(separator);
  }

  get text(): string {
    return this.pieces.join('');
  }
}

/** A cell has one line, and no bar of its own. */
const escapeCell = (text: string): string =>
  text
    .trim()
    .replaceAll('|', '\\|')
    .replace(/\s*\n\s*/g, ' ');
