/** Characters that are gathered before they become one flat part. */
const PART_LENGTH = 128;

/** Characters that are gathered before they become one flat block, which is counted. */
const BLOCK_LENGTH = 32_768;

export interface TextCounter {
  /** @throws if there is too much text */
  countBlock(block: string): void;
}

/**
 * A text that grows by many small pieces. A string that grows by `+` is a tree of its pieces, which takes up to fifty
 * times their memory until it is read. Here only the last part is such a tree. The last block is a tree of flat parts.
 * Memory stays proportional to the text, and the work linear.
 */
export class GrowingText {
  private part = '';
  private block = '';
  private blocks: string[] | undefined;
  private readonly counter: TextCounter | undefined;

  /** @param counter is called with the text as it grows, block by block */
  constructor(counter?: TextCounter) {
    this.counter = counter;
  }

  add(piece: string): void {
    this.part += piece;
    if (this.part.length < PART_LENGTH) return;
    if (this.part.length > piece.length) flatten(this.part);
    this.endPart();
    if (this.block.length < BLOCK_LENGTH) return;
    this.endBlock();
    this.counter?.countBlock(this.blocks!.at(-1)!); // the block that has just ended
  }

  /** The text so far. */
  get text(): string {
    this.endPart();
    if (!this.blocks) return this.block;
    this.endBlock();
    const whole = this.blocks.join('');
    this.blocks = [whole];
    return whole;
  }

  private endPart(): void {
    this.block += this.part;
    this.part = '';
  }

  private endBlock(): void {
    this.blocks ??= [];
    if (this.block === '') return;
    flatten(this.block);
    this.blocks.push(this.block);
    this.block = '';
  }
}

/** Makes the engine turn a tree into one flat string, which is a side effect of the measurement. */
function flatten(text: string): void {
  Buffer.byteLength(text);
}

/**
 * A text that grows by whole characters. Some servers cut a stream within an emoji, and clients show each half as a
 * character of its own: https://github.com/elie222/rakazo/issues/416.
 */
export class WholeText extends GrowingText {
  private half = '';

  /** Adds a piece. @returns its whole characters, after the half that was waiting */
  addWhole(piece: string): string {
    const text = this.half + piece;
    const last = text.charCodeAt(text.length - 1);
    const isCut = last >= 0xd800 && last < 0xdc00;
    const whole = isCut ? text.slice(0, -1) : text;
    this.half = isCut ? text.slice(-1) : '';
    this.add(whole);
    return whole;
  }

  /** Removes the half of a character at the end. @returns whether there was one */
  dropHalf(): boolean {
    const wasCut = this.half !== '';
    this.half = '';
    return wasCut;
  }
}
