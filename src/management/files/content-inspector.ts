import { createHash } from 'node:crypto';
import { type FileSample, SAMPLE_BYTES } from './detect-media-type.ts';

/** Learns the type and the hash of a content while it passes, in constant memory. */
export class ContentInspector {
  bytes = 0;
  private readonly hash = createHash('sha256');
  private readonly decoder = new TextDecoder('utf-8', { fatal: true });
  private readonly head = Buffer.alloc(SAMPLE_BYTES);
  private readonly tail = new Tail();
  private isText = true;

  add(piece: Uint8Array): void {
    this.hash.update(piece);
    if (this.bytes < SAMPLE_BYTES) this.head.set(piece.subarray(0, SAMPLE_BYTES - this.bytes), this.bytes);
    this.tail.add(piece);
    if (this.isText) this.isText = !piece.includes(0) && this.decode(piece, true);
    this.bytes += piece.length;
  }

  /** The content so far. Valid until the next piece. */
  sample(filename: string): FileSample {
    const { bytes, isText } = this;
    return { filename, bytes, isText, head: this.head.subarray(0, bytes), tail: this.tail.read() };
  }

  /** Ends the content. @returns its SHA-256 in lower-case hex */
  end(): string {
    if (this.isText) this.isText = this.decode(new Uint8Array(), false);
    return this.hash.digest('hex');
  }

  private decode(piece: Uint8Array, stream: boolean): boolean {
    try {
      this.decoder.decode(piece, { stream });
      return true;
    } catch {
      return false;
    }
  }
}

/** The last bytes of a content. Twice their size is allocated, so that short pieces are not moved each time. */
class Tail {
  private readonly kept = Buffer.alloc(2 * SAMPLE_BYTES);
  private length = 0;

  add(piece: Uint8Array): void {
    const last = piece.subarray(Math.max(0, piece.length - SAMPLE_BYTES));
    if (this.length + last.length > this.kept.length) {
      this.kept.copyWithin(0, this.length - SAMPLE_BYTES, this.length);
      this.length = SAMPLE_BYTES;
    }
    this.kept.set(last, this.length);
    this.length += last.length;
  }

  read(): Buffer {
    return this.kept.subarray(Math.max(0, this.length - SAMPLE_BYTES), this.length);
  }
}
