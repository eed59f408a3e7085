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

/** What a text has: words, and calls in between. */
export type MarkedPart = string | MarkedCall;

/**
 * Takes calls out of a text that has them in the markup of Kimi, as servers without a parser for the model send it. A section that
 * does not consist of whole calls of offered tools stays text.
 *
 * @see https://huggingface.co/moonshotai/Kimi-K2-Thinking/blob/main/docs/tool_call_guidance.md
 */
export class MarkedCalls {
  private readonly names: ReadonlySet<string>;
  /** The beginning of what may be a section, or a section that has not ended. */
  private kept = '';

  /** @param names of the functions in the request */
  constructor(names: ReadonlySet<string>) {
    this.names = names;
  }

  /** Length of the text that waits for the end of its section. */
  get keptLength(): number {
    return this.kept.length;
  }

  read(delta: string): MarkedPart[] {
    const parts: MarkedPart[] = [];
    let text = this.kept + delta;
    this.kept = '';
    for (;;) {
      const start = text.indexOf(OPEN);
      if (start === -1) {
        const held = longestStart(text);
        addText(parts, text.slice(0, text.length - held));
        this.kept = text.slice(text.length - held);
        return parts;
      }
      addText(parts, text.slice(0, start));
      const end = text.indexOf(CLOSE, start);
      if (end === -1) {
        this.kept = text.slice(start);
        return parts;
      }
      this.addSection(parts, text.slice(start, end + CLOSE.length));
      text = text.slice(end + CLOSE.length);
    }
  }

  /** Returns what is left when the message ends. A section may lack its end if its last call is whole. */
  end(): MarkedPart[] {
    const parts: MarkedPart[] = [];
    if (this.kept.startsWith(OPEN)) this.addSection(parts, this.kept);
    else addText(parts, this.kept);
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
