import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../domain/errors.ts';
import type { CompletedImageEvent, ImageEvent } from '../domain/image-events.ts';
import type { Sink } from '../domain/sink.ts';
import { DONE, waitForDrain, type EventStreamOptions, SseResponse } from './sse.ts';
import { base64Length, base64Pieces } from './write-base64.ts';

export interface ImageResponseOptions extends EventStreamOptions {
  /** Whether the current endpoint streams. Only then may the response start with a comment. */
  mayStream: () => boolean;
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
  fail({ message, errorType, status, metadata }: GatewayError): void {
    if (this.isStream === false) {
      this.raw.destroy(); // a body that is shorter than its content-length is invalid
      return;
    }
    const param = typeof metadata['param'] === 'string' ? metadata['param'] : null;
    const error = { message, code: String(status), param, type: errorType };
    this.send(`data: ${JSON.stringify({ type: 'error', error })}\n\n${DONE}`);
    this.endBody();
  }

  /** Whether a comment is possible: not within an event, and not while the response may still be a body. */
  protected override mayComment(): boolean {
    return !this.isWriting && super.mayComment() && (this.isStream ?? this.settings.mayStream());
  }

  private async writeEvent(event: ImageEvent): Promise<void> {
    const { type } = event;
    switch (type) {
      case 'image_generation.text_chunk':
        return this.push(`data: ${JSON.stringify(event)}\n\n`);
      case 'image_generation.partial_image':
        await this.push(`data: {"type":"${type}","partial_image_index":${event.partial_image_index},"b64_json":"`);
        await this.pushBytes(event.bytes);
        return this.push('"}\n\n');
      case 'image_generation.completed': {
        const { image, created, usage, routerMetadata } = event;
        const rest = JSON.stringify({ created, media_type: image.mediaType, usage, router_metadata: routerMetadata });
        await this.push(`data: {"type":"${type}","b64_json":"`);
        await this.pushBytes(image.bytes);
        return this.push(`",${rest.slice(1)}\n\n${event.isLast ? DONE : ''}`);
      }
    }
  }

  private async writeBody(): Promise<void> {
    const last = this.images.at(-1);
    const entries = this.images.map(({ image }) => ({
      head: '{"b64_json":"',
      bytes: image.bytes,
      tail: `","media_type":"${image.mediaType}"}`,
    }));
    const head = `{"created":${last?.created ?? 0},"data":[`;
    const rest = JSON.stringify({ usage: last?.usage, router_metadata: last?.routerMetadata });
    const tail = rest === '{}' ? ']}' : `],${rest.slice(1)}`;
    const length = entries.reduce(
      (sum, entry) => sum + entry.head.length + base64Length(entry.bytes.length) + entry.tail.length,
      Buffer.byteLength(head) + Buffer.byteLength(tail) + entries.length - 1,
    );
    this.raw.writeHead(200, {
      ...this.settings.headers(),
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(length),
    });
    await this.push(head);
    for (const [index, entry] of entries.entries()) {
      await this.push(index === 0 ? entry.head : `,${entry.head}`);
      await this.pushBytes(entry.bytes);
      await this.push(entry.tail);
    }
    await this.push(tail);
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
