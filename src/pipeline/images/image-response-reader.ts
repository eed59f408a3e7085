import { GatewayError } from '../../domain/errors.ts';
import type { ImageChunk } from '../../domain/images.ts';
import type { ImageWire, Poll } from '../../providers/image-wire.ts';
import { extractImages, readExtracted } from '../../providers/kit/image-text.ts';
import type { Reader } from '../../providers/wire.ts';
import type { ResponseReader } from '../attempts/read-response.ts';

/** Reads the responses of one exchange into chunks. Extracts large base64 texts from a body before it is parsed. */
export class ImageResponseReader implements ResponseReader<ImageChunk> {
  private readonly wire: ImageWire;
  private readonly name: string;
  private next: Poll | undefined;
  /** The base64 texts that `lift` extracted. */
  private texts: readonly Buffer[] = [];

  /** @param name of the provider, for messages */
  constructor(wire: ImageWire, name: string) {
    this.wire = wire;
    this.name = name;
  }

  /** Whether the provider is still working according to its last response. */
  get isPending(): boolean {
    return this.next !== undefined;
  }

  /** Returns how to poll for the rest, once per response. Undefined if the response is complete. */
  takePoll(): Poll | undefined {
    const { next } = this;
    this.next = undefined;
    return next;
  }

  createReader(readerContext: unknown): Reader<ImageChunk> {
    const reader = this.wire.createReader?.(readerContext);
    if (reader) return reader;
    throw new GatewayError('upstream_failed', `${this.name} sent a stream that was not requested.`, {
      retryable: true,
    });
  }

  /** Extracts the images from a whole body. @returns the rest of it */
  lift(pieces: readonly Buffer[]): Buffer {
    const body = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0)); // not pooled
    let length = 0;
    for (const piece of pieces) length += piece.copy(body, length);
    const { json, texts } = extractImages(body);
    this.texts = texts;
    return json;
  }

  /** Reads a complete body. Returns only a `finish` if the provider must be polled for the rest. */
  readWhole(body: unknown, readerContext: unknown): ImageChunk[] {
    const texts = this.texts;
    this.texts = [];
    const read = readExtracted(texts, () => this.wire.readWhole(body, readerContext));
    // Frees the bytes of the body now. Megabytes that wait for the garbage collector fragment the memory.
    (texts[0]?.buffer as ArrayBuffer | undefined)?.transfer(0); // `lift` allocated it, and nothing else reads it
    if (Array.isArray(read)) return read;
    this.next = read;
    return [{ type: 'finish' }];
  }
}
