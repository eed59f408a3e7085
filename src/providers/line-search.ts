const LF = 0x0a;
const CLOSE_OBJECT = 0x7d;
const space = new Set(Buffer.from(' \t\r\n'));
/** `{` of another object, `d` of a field of an event stream, `[` of `[DONE]`. */
const starts = new Set(Buffer.from('{d['));

/**
 * Finds out from the beginning of a JSON body whether it is a stream of lines with one object each. After a `}`, a
 * single JSON value never goes on with one of `starts`.
 */
export class LineSearch {
  private isOver = false;
  /** The last byte of the first line so far that is no white space. */
  private last = 0;
  private isAfterLine = false;

  /**
   * @param batch the next pieces of the body
   * @returns true once, when another line begins
   */
  isFoundIn(batch: readonly Buffer[]): boolean {
    for (const piece of batch) {
      if (this.isOver) return false;
      const start = this.findStart(piece);
      if (start === undefined) continue;
      this.isOver = true;
      return starts.has(start);
    }
    return false;
  }

  /** Returns the first significant byte after the first line, if this piece has it. */
  private findStart(piece: Buffer): number | undefined {
    if (this.isAfterLine) return piece.find((byte) => !space.has(byte));
    const from = this.last === 0 ? piece.findIndex((byte) => !space.has(byte)) : 0;
    if (from === -1) return undefined; // the first line has not begun
    const end = piece.indexOf(LF, from);
    const line = piece.subarray(from, end === -1 ? piece.length : end);
    this.last = line.findLast((byte) => !space.has(byte)) ?? this.last;
    if (end === -1) return undefined;
    if (this.last !== CLOSE_OBJECT) {
      this.isOver = true;
      return undefined;
    }
    this.isAfterLine = true;
    return piece.subarray(end).find((byte) => !space.has(byte));
  }
}
