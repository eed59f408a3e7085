import type { ServerResponse } from 'node:http';

/** Maximum characters of a chunk that becomes one string with its frame. Above that, the copy costs more than writes. */
const JOINED_LENGTH = 8192;

/**
 * Maximum characters to write as text. A longer text is converted to bytes first, which are outside the heap. The last
 * events of a response repeat all of its text several times, so together they could exceed the maximum length of a
 * string.
 */
export const LARGE_TEXT = 1024 * 1024;

const LAST_CHUNK = '0\r\n\r\n';

/**
 * Writes the body of a response in the chunks of HTTP/1.1, one write for each chunk. Node's own framing takes four
 * writes, which is a tenth of the cost of a paced event.
 */
export class ChunkedBody {
  private readonly raw: ServerResponse;
  /** Whether this object writes the frames. An HTTP/1.0 client gets none. */
  private isFramed = false;
  private isEnded = false;

  constructor(raw: ServerResponse) {
    this.raw = raw;
  }

  begin(status: number, headers: Record<string, string | number | string[]>): void {
    this.raw.writeHead(status, headers); // decides about the encoding
    this.isFramed = this.raw.chunkedEncoding;
    this.raw.chunkedEncoding = false; // Node writes no frames of its own from here on
  }

  /**
   * @param isLast whether nothing follows
   * @returns false if the client must read first
   */
  write(text: string, encoding: 'utf8' | 'latin1', isLast = false): boolean {
    if (this.isEnded) return true;
    if (!this.isFramed) return this.writePart(text, encoding);
    if (isLast) this.isEnded = true;
    const { socket } = this.raw;
    socket?.cork(); // otherwise Node does, and writes in the next tick
    const isDrained = this.writeChunk(text, encoding, isLast ? `\r\n${LAST_CHUNK}` : '\r\n');
    socket?.uncork();
    return isDrained;
  }

  end(): void {
    if (!this.isFramed || this.isEnded) this.raw.end();
    else this.raw.end(LAST_CHUNK, 'latin1');
    this.isEnded = true;
  }

  private writeChunk(text: string, encoding: 'utf8' | 'latin1', tail: string): boolean {
    const bytes = Buffer.byteLength(text, encoding);
    const head = `${bytes.toString(16)}\r\n`;
    // Latin-1 is the faster of two equal encodings of ASCII.
    const cheapest = bytes === text.length ? 'latin1' : encoding;
    if (text.length <= JOINED_LENGTH) return this.raw.write(head + text + tail, cheapest);
    this.raw.write(head, 'latin1');
    this.writePart(text, cheapest);
    return this.raw.write(tail, 'latin1');
  }

  private writePart(text: string, encoding: 'utf8' | 'latin1'): boolean {
    return text.length < LARGE_TEXT ? this.raw.write(text, encoding) : this.raw.write(Buffer.from(text, encoding));
  }
}
