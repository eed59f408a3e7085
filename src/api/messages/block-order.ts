import type { BlockEvent } from './wire.ts';

/**
 * Sends one block after another: the events of a block wait until all blocks before it have ended. The stream helper of
 * the Anthropic client takes the last block for the one that ends, so blocks must not overlap. It holds at most the
 * output of one response. The run holds that output anyway.
 *
 * @see docs/reference/messages.md#stream
 */
export class BlockOrder {
  private readonly send: (event: BlockEvent) => void;
  /** The index of the block whose events are sent at once. */
  private current = 0;
  private readonly waiting = new Map<number, BlockEvent[]>();

  constructor(send: (event: BlockEvent) => void) {
    this.send = send;
  }

  take(event: BlockEvent): void {
    if (event.index === this.current) {
      this.send(event);
      if (event.type === 'content_block_stop') this.advance();
      return;
    }
    const events = this.waiting.get(event.index);
    if (events) events.push(event);
    else this.waiting.set(event.index, [event]);
  }

  private advance(): void {
    for (;;) {
      const events = this.waiting.get(++this.current);
      if (!events) return;
      this.waiting.delete(this.current);
      for (const event of events) this.send(event);
      if (events.at(-1)?.type !== 'content_block_stop') return;
    }
  }
}
