/** Characters that are gathered before they become one flat block. */
const BLOCK_LENGTH = 32_768;

export interface TextCounter {
  /** @throws if there is too much text */
  countBlock(block: string): void;
}

/**
 * A text that grows by many small pieces. A string that grows by `+` is a tree of its pieces, which takes up to fifty
 * times their memory until it is read. Here only the last block is such a tree, so that memory stays proportional to
 * the text and the work linear.
 */
export class GrowingText {
  private tail = '';
  private blocks: string[] | undefined;
  private readonly counter: TextCounter | undefined;

  /** @param counter is called with the text as it grows, block by block */
  constructor(counter?: TextCounter) {
    this.counter = counter;
  }

  add(piece: string): void {
    this.tail += piece;
    if (this.tail.length < BLOCK_LENGTH) return;
    this.endBlock();
    this.counter?.countBlock(this.blocks!.at(-1)!); // the block that has just ended
  }

  /** The text so far. */
  get text(): string {
    if (!this.blocks) return this.tail;
    this.endBlock();
    const whole = this.blocks.join('');
    this.blocks = [whole];
    return whole;
  }

  private endBlock(): void {
    Buffer.byteLength(this.tail); // for its side effect: the engine turns the tree into one flat string
    this.blocks ??= [];
    if (this.tail !== '') this.blocks.push(this.tail);
    this.tail = '';
  }
}
