import type { Readable } from 'node:stream';

/** Bytes of output of an agent that are kept. */
export const MAX_LOG_BYTES = 262_144;
/** A longer line is split. */
const MAX_LINE = 8192;

/** The latest lines that an agent and its runtime wrote. */
export class LogRing {
  private readonly lines: string[] = [];
  private bytes = 0;
  private rest = '';
  private readonly now: () => number;
  private readonly listeners = new Set<(line: string) => void>();

  constructor(now: () => number) {
    this.now = now;
  }

  /** Puts the lines of an earlier run before the others. */
  restore(earlier: string): void {
    const later = this.lines.splice(0);
    this.bytes = 0;
    for (const line of [...earlier.split('\n'), ...later]) if (line !== '') this.keep(line);
  }

  /** Adds output of the agent. @returns the number of lines */
  write(bytes: Buffer): number {
    this.rest += bytes.toString();
    const lines = this.rest.split('\n');
    this.rest = lines.pop()!;
    if (this.rest.length > MAX_LINE) {
      lines.push(this.rest);
      this.rest = '';
    }
    for (const line of lines) this.note(line);
    return lines.length;
  }

  /** Adds a line with the time. */
  note(text: string): void {
    const line = `${new Date(this.now()).toISOString()} ${text.slice(0, MAX_LINE)}`;
    this.keep(line);
    for (const listen of this.listeners) listen(line);
  }

  /** All lines, each with its end. */
  get text(): string {
    return this.lines.map((line) => `${line}\n`).join('');
  }

  /** Calls the listener with each new line. @returns a function that ends it */
  follow(listener: (line: string) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private keep(line: string): void {
    this.lines.push(line);
    this.bytes += Buffer.byteLength(line) + 1;
    while (this.bytes > MAX_LOG_BYTES) this.bytes -= Buffer.byteLength(this.lines.shift()!) + 1;
  }
}

/** Reads a saved log. If its agent has replaced the file with a larger one, the rest is ignored. */
export async function readStart(saved: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  let left = MAX_LOG_BYTES;
  for await (const piece of saved as AsyncIterable<Buffer>) {
    pieces.push(piece.subarray(0, left));
    left -= piece.length;
    if (left <= 0) break;
  }
  return Buffer.concat(pieces).toString();
}
