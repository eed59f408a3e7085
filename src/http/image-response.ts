import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../domain/errors.ts';
import type { CompletedImageEvent, ImageEvent } from '../domain/image-events.ts';
import type { Sink } from '../domain/sink.ts';
import type { ImageShape, ImageText } from './image-shape.ts';
import { DONE, waitForDrain, type EventStreamOptions, SseResponse } from './sse.ts';
import { base64Length, base64Pieces } from './write-base64.ts';

export interface ImageResponseOptions extends EventStreamOptions {
  /** Whether the current endpoint streams. Only then may the response start with a comment. */
  mayStream: () => boolean;
  shape: ImageShape;
}

/**
 * The response to an image generation: a stream of events if the endpoint streams and the client requested it, else one
 * JSON body. The first event decides.
 */
export class ImageResponse extends SseResponse implements Sink<ImageEvent> {
  private readonly settings: ImageResponseOptions;
  private readonly images: CompletedImageEvent[] = [];
  private isWriting = false;
  private isStream: boolean | undefined;

  constructor(raw: ServerResponse, options: ImageResponseOptions) {
    super(raw, options);
    this.settings = options;
  }

  async write(events: ImageEvent[]): Promise<void> {
    this.isStream ??= this.begun || this.settings.mayStream();
    if (!this.isStream) {
      for (const event of events) if (event.type === 'image_generation.completed') this.images.push(event);
      return;
    }
    this.isWriting = true;
    for (const event of events) await this.writeEvent(event);
    this.isWriting = false;
  }

  /** Called after the last event. Writes the body or ends the stream. */
  async end(): Promise<void> {
    if (!this.isStream) await this.writeBody();
    this.endBody();
  }

  /** Ends a started stream with an error. @see docs/reference/images.md#streaming */
  fail(error: GatewayError): void {
    if (this.isStream === false) {
      this.raw.destroy(); // a body that is shorter than its content-length is invalid
      return;
    }
    this.send(`${this.settings.shape.writeFailure(error)}${DONE}`);
    this.endBody();
  }

  /** Whether a comment is possible: not within an event, and not while the response may still be a body. */
  protected override mayComment(): boolean {
    return !this.isWriting && super.mayComment() && (this.isStream ?? this.settings.mayStream());
  }

  private async writeEvent(event: ImageEvent): Promise<void> {
    const text = this.settings.shape.writeEvent(event);
    if (text) await this.pushText(text);
    if (event.type === 'image_generation.completed' && event.isLast) await this.push(DONE);
  }

  private async writeBody(): Promise<void> {
    const { shape, headers } = this.settings;
    const entries = this.images.map((image) => shape.writeEntry(image));
    const { before, after } = shape.writeBody(this.images.at(-1));
    const head = `${JSON.stringify(before).slice(0, -1)},"data":[`;
    const rest = JSON.stringify(after);
    const tail = rest === '{}' ? ']}' : `],${rest.slice(1)}`;
    const length = entries.reduce(
      (sum, entry) => sum + lengthOf(entry),
      Buffer.byteLength(head) + Buffer.byteLength(tail) + entries.length - 1,
    );
    this.raw.writeHead(200, {
      ...headers(),
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(length),
    });
    await this.push(head);
    for (const [index, entry] of entries.entries()) {
      if (index > 0) await this.push(',');
      await this.pushText(entry);
    }
    await this.push(tail);
  }

  private async pushText({ head, bytes, tail }: ImageText): Promise<void> {
    await this.push(head);
    if (bytes) await this.pushBytes(bytes);
    if (tail !== undefined) await this.push(tail);
  }

  private async pushBytes(bytes: Buffer): Promise<void> {
    for (const piece of base64Pieces(bytes)) {
      if (this.raw.destroyed) return;
      if (!this.send(piece, 'latin1')) await waitForDrain(this.raw);
    }
  }

  private async push(text: string): Promise<void> {
    if (!this.raw.destroyed && !this.send(text)) await waitForDrain(this.raw);
  }
}

const lengthOf = ({ head, bytes, tail = '' }: ImageText): number =>
  Buffer.byteLength(head) + (bytes ? base64Length(bytes.length) : 0) + Buffer.byteLength(tail);
