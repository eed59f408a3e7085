import type { TerminalInput } from './terminal.ts';

/** Longest line. The rest is the next line. */
const MAX_LINE = 32_000;

/** Reads lines of text. */
export class LineReader {
  private readonly pieces: AsyncIterator<Uint8Array | string>;
  private readonly decoder = new TextDecoder();
  private text = '';
  private isOver = false;

  constructor(input: TerminalInput) {
    this.pieces = input[Symbol.asyncIterator]();
  }

  /** @returns undefined at the end */
  async read(): Promise<string | undefined> {
    for (;;) {
      const end = this.text.indexOf('\n');
      if (end >= 0 || this.text.length > MAX_LINE) return this.take(end >= 0 ? Math.min(end, MAX_LINE) : MAX_LINE);
      if (this.isOver) return this.text === '' ? undefined : this.take(this.text.length);
      const { done, value } = await this.pieces.next();
      if (done) this.isOver = true;
      else this.text += typeof value === 'string' ? value : this.decoder.decode(value, { stream: true });
    }
  }

  /** Ends the input, so that it does not keep the process alive. */
  async close(): Promise<void> {
    await this.pieces.return?.();
  }

  private take(length: number): string {
    const line = this.text.slice(0, length);
    this.text = this.text.slice(this.text[length] === '\n' ? length + 1 : length);
    return line.replace(/\r$/, '');
  }
}
