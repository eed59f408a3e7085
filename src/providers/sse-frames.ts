import { GatewayError } from '../domain/errors.ts';
import type { Frame } from './wire.ts';

const LF = 0x0a;
const CR = 0x0d;
/** Memory for each further line of a frame's data, in addition to its text. */
const LINE_BYTES = 32;
/** An error of older versions of llama.cpp, which is no field of an event stream: ggml-org/llama.cpp#16109. */
const ERROR_FIELD = 'error: {';

/**
 * Splits the bytes of a server-sent event stream into frames, regardless of how the network splits them. Decodes
 * complete lines only, so that a character in two pieces stays intact. Ignores comments and all fields except `event`
 * and `data`.
 *
 * JSON without a field name is a frame, too. Some servers send lines of JSON (hackclub/ai#17), and Gemini aborts a stream
 * with a JSON error on several lines (maximhq/bifrost#5262).
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export class FrameCutter {
  private readonly limitBytes: number;
  private rest: Buffer[] = [];
  private restBytes = 0;
  private isFirst = true;
  private event = '';
  private data = '';
  private hasData = false;
  /** Whether the data so far is JSON without a field name, of which more lines follow. */
  private isBare = false;
  private lines = 0; // lines of the data after the first one

  /** @param limitBytes maximum size of a frame; a larger one throws `upstream_failed` */
  constructor(limitBytes: number = 32 * 1024 * 1024) {
    this.limitBytes = limitBytes;
  }

  /** Bytes of the unfinished frame. */
  get heldBytes(): number {
    return this.restBytes + this.data.length;
  }

  /** @returns the frames that this piece completes, in order */
  push(piece: Buffer): Frame[] {
    const end = lastLineEnd(piece);
    if (end === -1) {
      this.rest.push(piece);
      this.restBytes += piece.length;
      if (this.restBytes > this.limitBytes) throw tooLarge(this.limitBytes);
      return [];
    }
    let whole = end === piece.length ? piece : piece.subarray(0, end);
    if (this.rest.length > 0) {
      this.rest.push(whole);
      whole = Buffer.concat(this.rest);
      this.rest = [];
    }
    const frames: Frame[] = [];
    this.readLines(whole.toString('utf8'), frames);
    this.restBytes = piece.length - end;
    if (this.restBytes > 0) this.rest.push(piece.subarray(end));
    return frames;
  }

  /** Called at the end of the body. @returns the frame that lacked only its last line break, if any */
  end(): Frame[] {
    const frames: Frame[] = [];
    this.readLines(Buffer.concat(this.rest).toString('utf8'), frames);
    this.rest = [];
    this.readLine('', frames);
    return frames;
  }

  private readLines(whole: string, frames: Frame[]): void {
    let text = whole;
    if (this.isFirst) {
      this.isFirst = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n');
    let from = 0;
    for (let to = text.indexOf('\n'); to !== -1; to = text.indexOf('\n', from)) {
      this.readLine(text.slice(from, to), frames);
      from = to + 1;
    }
    if (from < text.length) this.readLine(text.slice(from), frames);
  }

  private readLine(line: string, frames: Frame[]): void {
    if (line === '') {
      if (this.hasData && !this.isBare) this.pushFrames(frames);
      this.event = '';
      this.forgetData();
    } else if (line.startsWith('data:')) {
      if (this.isBare) this.forgetData();
      this.addData(line.charCodeAt(5) === 32 ? line.slice(6) : line.slice(5));
    } else if (line.startsWith('event:')) {
      this.event = line.charCodeAt(6) === 32 ? line.slice(7) : line.slice(6);
    } else if (line === 'data') this.addData('');
    else if (line.startsWith(ERROR_FIELD)) frames.push({ event: 'error', data: line.slice(ERROR_FIELD.length - 1) });
    else if (this.isBare || (!this.hasData && jsonStart.test(line))) this.addBare(line, frames);
  }

  private addBare(line: string, frames: Frame[]): void {
    this.isBare = true;
    this.addData(line);
    const isEnd = this.lines === 0 ? isWhole(line) : line === (this.data.startsWith('[') ? ']' : '}');
    if (!isEnd) return;
    frames.push({ event: this.event, data: this.data });
    this.forgetData();
  }

  private forgetData(): void {
    this.data = '';
    this.hasData = this.isBare = false;
    this.lines = 0;
  }

  /** Some servers separate events by one line break instead of two. Each line is then a whole object. */
  private pushFrames(frames: Frame[]): void {
    const lines = this.lines > 0 && this.data.startsWith('{') ? this.data.split('\n') : [];
    const parts = lines.length > 1 && lines.every(isWhole) ? lines : [this.data];
    for (const data of parts) frames.push({ event: this.event, data });
  }

  private addData(value: string): void {
    if (this.hasData) {
      this.data = `${this.data}\n${value}`;
      this.lines++;
    } else this.data = value;
    this.hasData = true;
    if (this.data.length + this.lines * LINE_BYTES > this.limitBytes) throw tooLarge(this.limitBytes);
  }
}

/** Returns the index after the last complete line break, or -1. A final CR waits, because it may be half of a CRLF. */
function lastLineEnd(piece: Buffer): number {
  const lf = piece.lastIndexOf(LF);
  if (lf !== -1) return lf + 1;
  const cr = piece.length < 2 ? -1 : piece.lastIndexOf(CR, piece.length - 2); // a negative index counts from the end
  return cr === -1 ? -1 : cr + 1;
}

const jsonStart = /^[[{]/;
const isWhole = (line: string): boolean => (line.startsWith('{') && line.endsWith('}')) || line.trim() === '[DONE]';

const tooLarge = (limitBytes: number) =>
  new GatewayError('upstream_failed', `The provider sent a stream event larger than ${limitBytes} bytes.`, {
    retryable: true,
  });
