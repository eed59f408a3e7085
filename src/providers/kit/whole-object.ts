const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Whether the pieces of a JSON object are all there. It keeps no text. */
export class WholeObject {
  private depth = 0;
  private isInText = false;
  private isEscaped = false;
  private isClosed = false;

  /** Whether the outermost object has been closed. */
  get isWhole(): boolean {
    return this.isClosed && this.depth === 0;
  }

  add(piece: string): void {
    for (let index = 0; index < piece.length; index++) this.addUnit(piece.charCodeAt(index));
  }

  private addUnit(unit: number): void {
    if (this.isInText) {
      if (this.isEscaped) this.isEscaped = false;
      else if (unit === BACKSLASH) this.isEscaped = true;
      else if (unit === QUOTE) this.isInText = false;
    } else if (unit === QUOTE) this.isInText = true;
    else if (unit === OPEN_OBJECT || unit === OPEN_LIST) this.depth++;
    else if (unit === CLOSE_OBJECT || unit === CLOSE_LIST) {
      this.depth--;
      this.isClosed = true;
    }
  }
}
