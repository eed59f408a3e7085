import { parseObject } from '../../domain/parse-object.ts';

const OPEN = '<|tool_calls_section_begin|>';
const CLOSE = '<|tool_calls_section_end|>';
const CALL_OPEN = '<|tool_call_begin|>';
const CALL_CLOSE = '<|tool_call_end|>';
const ARGUMENTS = '<|tool_call_argument_begin|>';

/** A call that was written in a text. */
export interface MarkedCall {
  id: string;
  name: string;
  arguments: string;
}

/** A piece of a text: words, or a call between them. */
export type MarkedPart = string | MarkedCall;

/**
 * Takes calls out of a text that has them in the markup of Kimi, as servers without a parser for the model send it. A section that
 * does not consist of whole calls of offered tools stays text.
 *
 * @see https://huggingface.co/moonshotai/Kimi-K2-Thinking/blob/main/docs/tool_call_guidance.md
 */
export class MarkedCalls {
  private readonly names: ReadonlySet<string>;
  /** The beginning of a possible section. */
  private kept = '';
  /** The pieces of a section that has not ended. They are joined once, because a section may have very many. */
  private section: string[] | undefined;
  /** The end of these pieces, which may begin the end of the section. */
  private tail = '';
  private sectionLength = 0;

  /** @param names of the functions in the request */
  constructor(names: ReadonlySet<string>) {
    this.names = names;
  }

  /** Length of the text that waits for the end of its section. */
  get keptLength(): number {
    return this.kept.length + this.sectionLength;
  }

  read(delta: string): MarkedPart[] {
    const parts: MarkedPart[] = [];
    let text = this.kept + delta;
    this.kept = '';
    while (text !== '') {
      if (this.section) {
        text = this.readSection(parts, text);
        continue;
      }
      const start = text.indexOf(OPEN);
      if (start === -1) {
        const held = longestStart(text);
        addText(parts, text.slice(0, text.length - held));
        this.kept = text.slice(text.length - held);
        break;
      }
      addText(parts, text.slice(0, start));
      this.section = [];
      text = text.slice(start);
    }
    return parts;
  }

  /** Reads a piece of the open section. @returns the text after the section */
  private readSection(parts: MarkedPart[], text: string): string {
    const near = this.tail + text;
    const found = near.indexOf(CLOSE);
    const length = found === -1 ? text.length : found + CLOSE.length - this.tail.length;
    this.section!.push(text.slice(0, length));
    this.sectionLength += length;
    this.tail = near.slice(1 - CLOSE.length);
    if (found !== -1) this.closeSection(parts);
    return text.slice(length);
  }

  private closeSection(parts: MarkedPart[]): void {
    this.addSection(parts, this.section!.join(''));
    this.section = undefined;
    this.sectionLength = 0;
    this.tail = '';
  }

  /** Returns what is left when the message ends. A section may lack its end if its last call is whole. */
  end(): MarkedPart[] {
    const parts: MarkedPart[] = [];
    if (this.section) this.closeSection(parts);
    addText(parts, this.kept);
    this.kept = '';
    return parts;
  }

  private addSection(parts: MarkedPart[], section: string): void {
    const inner = section.slice(OPEN.length).replace(CLOSE, '').trim();
    const calls = inner.split(CALL_CLOSE);
    const isEnded = calls.pop()!.trim() === '';
    const read = calls.map((call) => this.readCall(call.trim()));
    if (isEnded && read.length > 0 && read.every((call) => call !== undefined)) parts.push(...read);
    else addText(parts, section);
  }

  private readCall(call: string): MarkedCall | undefined {
    const [head = '', text = '', ...more] = call.split(ARGUMENTS);
    if (!head.startsWith(CALL_OPEN) || more.length > 0) return undefined;
    const id = head.slice(CALL_OPEN.length).trim();
    const name = id.replace(/^functions\./, '').replace(/:\d+$/, '');
    const isCall = this.names.has(name) && parseObject(text) !== undefined;
    return isCall ? { id, name, arguments: text.trim() } : undefined;
  }
}

/** Returns how many characters at the end of a text may begin a section. */
function longestStart(text: string): number {
  for (let length = Math.min(OPEN.length - 1, text.length); length > 0; length--) {
    if (OPEN.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
}

function addText(parts: MarkedPart[], text: string): void {
  if (text !== '') parts.push(text);
}
