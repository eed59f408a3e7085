import type { Chunk } from '../../domain/chunks.ts';

const OPEN = '<think>';
const CLOSE = '</think>';

/**
 * Takes the reasoning out of a text that begins with `<think>…</think>`, as servers without a parser for their model send
 * it. Tags later in the text are the model's own words.
 *
 * Where the chat template has opened the reasoning, the text begins within it and has only `</think>`.
 */
export class ThinkTags {
  private place: 'before' | 'inside' | 'behind' | 'over' = 'before';
  /** The beginning of what may be a tag. */
  private kept = '';
  private readonly isOpened: boolean;

  /** @param isOpened whether the text begins within the reasoning */
  constructor(isOpened = false) {
    this.isOpened = isOpened;
  }

  /** Whether all further text is text. */
  get isOver(): boolean {
    return this.place === 'over';
  }

  /** Splits a delta into chunks of reasoning and text. */
  read(delta: string, chunks: Chunk[]): void {
    let text = this.kept + delta;
    this.kept = '';
    if (this.place === 'before') {
      const start = text.trimStart();
      if (start.length < OPEN.length && OPEN.startsWith(start)) {
        this.kept = text;
        return;
      }
      if (start.startsWith(OPEN)) {
        this.place = 'inside';
        text = start.slice(OPEN.length).replace(/^\n/, '');
      } else this.place = this.isOpened ? 'inside' : 'over';
    }
    if (this.place === 'inside') {
      const end = text.indexOf(CLOSE);
      if (end === -1) {
        const held = longestEnd(text);
        this.kept = text.slice(text.length - held);
        add('reasoning', text.slice(0, text.length - held), chunks);
        return;
      }
      add('reasoning', text.slice(0, end).replace(/\n$/, ''), chunks);
      this.place = 'behind';
      text = text.slice(end + CLOSE.length);
    }
    if (this.place === 'behind') {
      text = text.trimStart();
      if (text === '') return;
      this.place = 'over';
    }
    add('text', text, chunks);
  }

  /** Notes that the reasoning comes in a field of its own, so that a text begins with text. */
  close(): void {
    if (this.place === 'before') this.place = 'over';
  }

  /** Adds what is left when the message ends: reasoning that was cut, or a text that was no tag. */
  end(chunks: Chunk[]): void {
    add(this.place === 'inside' ? 'reasoning' : 'text', this.kept, chunks);
    this.kept = '';
  }
}

/** Returns how many characters at the end of a text may begin the closing tag. */
function longestEnd(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length--) {
    if (CLOSE.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
}

function add(type: 'reasoning' | 'text', delta: string, chunks: Chunk[]): void {
  if (delta !== '') chunks.push({ type, delta });
}
