/** A mark in the output of a process: the marker, a letter that says what it means, a number and a line feed. */
export interface OutputMark {
  kind: string;
  value: number;
}

export interface MarkedOutputSink {
  bytes(piece: Buffer): void;
  mark(mark: OutputMark): void;
}

/** Longest mark behind the marker, with its line feed. Longer ones are output of a command that invents marks. */
const MAX_MARK = 16;

/** Separates the output of commands from marks between them. A piece can end anywhere. */
export class MarkedOutput {
  private readonly marker: Buffer;
  private readonly sink: MarkedOutputSink;
  /** The end of the output so far, if a mark may have begun. */
  private rest: Buffer = Buffer.alloc(0);

  constructor(marker: string, sink: MarkedOutputSink) {
    this.marker = Buffer.from(marker);
    this.sink = sink;
  }

  push(piece: Buffer): void {
    let bytes = this.rest.length > 0 ? Buffer.concat([this.rest, piece]) : piece;
    this.rest = Buffer.alloc(0);
    while (bytes.length > 0) {
      const at = bytes.indexOf(this.marker);
      const start = at === -1 ? bytes.length - this.countBegun(bytes) : at;
      if (start > 0) this.sink.bytes(bytes.subarray(0, start));
      bytes = bytes.subarray(start);
      if (at === -1) break;
      const size = this.marker.length;
      const behind = bytes.toString('latin1', size, size + MAX_MARK);
      const mark = /^([a-z])(\d+)\n/.exec(behind);
      if (!mark && behind.length < MAX_MARK && /^([a-z]\d*)?$/.test(behind)) break;
      const next = size + (mark?.[0].length ?? 0);
      if (mark) this.sink.mark({ kind: mark[1]!, value: Number(mark[2]) });
      else this.sink.bytes(bytes.subarray(0, next)); // another marker can follow at once
      bytes = bytes.subarray(next);
    }
    this.rest = Buffer.from(bytes);
  }

  /** Counts the bytes at the end with which the marker may begin. */
  private countBegun(bytes: Buffer): number {
    for (let size = Math.min(this.marker.length - 1, bytes.length); size > 0; size--) {
      if (bytes.subarray(bytes.length - size).equals(this.marker.subarray(0, size))) return size;
    }
    return 0;
  }
}
