import { parseExactly } from '../domain/exact-numbers.ts';
import type { InputItem } from '../domain/items.ts';
import type { InputSource } from '../pipeline/run/conversation.ts';

/** The bytes of an accepted body. */
export class BodySource implements InputSource {
  private body: Buffer;
  private readonly readItems: (body: unknown) => InputItem[];

  /** @param readItems reads the input of the parsed body; it must not keep more than it needs */
  constructor(body: Buffer, readItems: (body: unknown) => InputItem[]) {
    this.body = body;
    this.readItems = readItems;
  }

  get bytes(): number {
    return this.body.length;
  }

  /** A small body is a slice of the pool of Node, 64 KB, which then also keeps what others had there. */
  separate(): void {
    if (this.body.buffer.byteLength === this.body.length) return;
    const own = Buffer.allocUnsafeSlow(this.body.length);
    this.body.copy(own);
    this.body = own;
  }

  read(): InputItem[] {
    return this.readItems(this.parse());
  }

  /** Parses the whole body again. */
  parse(): unknown {
    return parseExactly(this.body.toString('utf8'), 'request');
  }
}
