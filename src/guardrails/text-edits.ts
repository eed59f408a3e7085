/** A redaction. Positions are those of the text before all redactions. */
interface TextEdit {
  readonly start: number;
  end: number;
  /** Length of the placeholder. */
  readonly length: number;
  /** By how much the redactions before it move what follows them. */
  readonly shift: number;
}

/** Redactions of a text that are kept. */
export const MAX_EDITS = 100_000;

/** The redactions of a text, for what refers to positions in it. */
export class TextEdits {
  private edits: TextEdit[] = [];
  private isLost = false;

  /** Whether the positions in the text are known. If there are too many redactions, they are not. */
  get isKnown(): boolean {
    return !this.isLost;
  }

  get hasAny(): boolean {
    return this.isLost || this.edits.length > 0;
  }

  /** Adds a redaction after the others. @param length of the placeholder */
  add(start: number, end: number, length: number): void {
    if (this.isLost) return;
    if (this.edits.length === MAX_EDITS) {
      this.isLost = true;
      this.edits = [];
      return;
    }
    const last = this.edits.at(-1);
    this.edits.push({ start, end, length, shift: last ? shiftAfter(last) : 0 });
  }

  /** Extends the last redaction. */
  extend(end: number): void {
    if (!this.isLost) this.edits.at(-1)!.end = end;
  }

  /** Whether some of the text between two positions was replaced. */
  overlap(start: number, end: number): boolean {
    const edit = this.edits[this.countBefore(end) - 1];
    return edit !== undefined && edit.end > start;
  }

  /**
   * Returns where a position is in the text with placeholders.
   *
   * @param isEnd whether a position within replaced text becomes the end of the placeholder
   */
  move(position: number, isEnd: boolean): number {
    const edit = this.edits[this.countBefore(position) - 1];
    if (!edit) return position;
    if (position >= edit.end) return position + shiftAfter(edit);
    return edit.start + edit.shift + (isEnd ? edit.length : 0);
  }

  /** The number of redactions that begin before a position. */
  private countBefore(position: number): number {
    let low = 0;
    let high = this.edits.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.edits[middle]!.start < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** By how much a redaction and those before it move what follows. */
const shiftAfter = ({ start, end, length, shift }: TextEdit): number => shift + length - (end - start);
