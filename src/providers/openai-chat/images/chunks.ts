import { GatewayError } from '../../../domain/errors.ts';
import type { ImageChunk, ImageFinishChunk } from '../../../domain/images.ts';
import { DroppedNames } from '../../kit/dropped-names.ts';
import { parseUpstream } from '../../kit/invalid-data.ts';
import { decodeImage } from '../../kit/image-text.ts';
import { withImageTokens } from '../../kit/image-tokens.ts';
import type { Frame, Reader } from '../../wire.ts';
import { readUpstreamErrorObject } from '../../errors/upstream-error.ts';
import { readFinishReason, readUsage } from '../usage.ts';
import type { ChatResponse, ChatChoice, ChatDelta } from '../wire.ts';
import type { ReaderContext } from './request.ts';

/** Reads a stream of chunks. The `finish` chunk waits for usage, `[DONE]` or the end of the body. */
export const createImageReader = (readerContext: ReaderContext): Reader<ImageChunk> => new AnswerReader(readerContext);

/** Reads a buffered response like a stream of one delta, whose field is `message`. */
export function readWholeImage(body: unknown, readerContext: ReaderContext): ImageChunk[] {
  const reader = new AnswerReader(readerContext);
  const chunks = [...reader.take(body), ...reader.close()];
  if (chunks.at(-1)?.type !== 'finish') throw new TypeError('The response has no finished choice.');
  return chunks;
}

class AnswerReader implements Reader<ImageChunk> {
  private readonly count: number;
  private readonly dropped = new DroppedNames();
  private readonly words: string[] = [];
  private readonly refusal: string[] = [];
  private begun = false;
  private isOver = false;
  private made = 0;
  private reason: string | undefined;
  private usage: unknown;

  constructor({ count }: ReaderContext) {
    this.count = count;
  }

  read({ event, data }: Frame): ImageChunk[] {
    if (data === '[DONE]') return this.close();
    if (data === '' || this.isOver) return [];
    const chunk = parseUpstream(data);
    if (event === 'error') throw readUpstreamErrorObject((chunk as ChatResponse | null)?.error ?? chunk, 200);
    const chunks = this.take(chunk);
    return this.reason !== undefined && this.usage !== undefined ? [...chunks, ...this.end()] : chunks;
  }

  take(value: unknown): ImageChunk[] {
    if (typeof value !== 'object' || value === null) throw new TypeError('The response is not an object.');
    const { usage, error, model, choices, object } = value as ChatResponse;
    if (usage) this.usage = usage;
    if (error || object === 'error') throw readUpstreamErrorObject(error ?? value, 200);
    const chunks: ImageChunk[] = [];
    if (!this.begun) {
      this.begun = true;
      chunks.push(typeof model === 'string' && model !== '' ? { type: 'start', model } : { type: 'start' });
    }
    for (const choice of Array.isArray(choices) ? (choices as (ChatChoice | null)[]) : []) {
      this.readChoice(choice ?? {}, chunks);
    }
    return chunks;
  }

  /** The end by the protocol, which some servers send without a reason: choice 871. */
  close(): ImageChunk[] {
    if (this.made > 0) this.reason ??= 'stop';
    return this.end();
  }

  end(): ImageChunk[] {
    if (this.isOver || this.reason === undefined) return []; // without a reason, the stream was truncated
    this.isOver = true;
    if (this.made === 0) throw this.explainNothing(this.reason);
    const finish: ImageFinishChunk = { type: 'finish' };
    const counts = readUsage(this.usage, this.dropped);
    if (counts) finish.usage = withImageTokens(counts);
    if (this.dropped.size > 0) finish.dropped = [...this.dropped];
    return [finish];
  }

  /** Reads a choice. Some servers send several images as several choices. */
  private readChoice(choice: ChatChoice, chunks: ImageChunk[]): void {
    if (choice.error) throw readUpstreamErrorObject(choice.error, 200);
    const said = choice.delta ?? choice.message;
    if (said) this.readMessage(said, chunks);
    if (choice.finish_reason) this.reason = String(choice.finish_reason);
  }

  private readMessage(message: ChatDelta, chunks: ImageChunk[]): void {
    for (const name in message) {
      const value = message[name];
      if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) continue;
      switch (name) {
        case 'role':
          break;
        case 'content':
          for (const part of Array.isArray(value) ? value : [{ type: 'text', text: value }])
            this.readPart(part, chunks);
          break;
        case 'images':
          for (const image of Array.isArray(value) ? value : []) this.addImage(image, chunks);
          break;
        case 'refusal':
          this.refusal.push(String(value));
          break;
        default:
          this.dropped.add(`message.${name}`);
      }
    }
  }

  private readPart(part: Record<string, unknown> | null, chunks: ImageChunk[]): void {
    if (part?.type === 'image_url') this.addImage(part, chunks);
    else {
      if (part?.type === 'text') this.words.push(String(part.text));
      this.dropped.add(`message.content[] (${String(part?.type)})`);
    }
  }

  private addImage(image: unknown, chunks: ImageChunk[]): void {
    const { image_url: place } = (image ?? {}) as { image_url?: string | { url?: unknown } | null }; // checked below
    const url = typeof place === 'string' ? place : place?.url;
    if (typeof url !== 'string') {
      this.dropped.add('message.images[] (without a URL)');
    } else if (this.made === this.count) {
      this.dropped.add('message.images[] (more than was asked for)');
    } else {
      this.made++;
      chunks.push(url.startsWith('data:') ? { type: 'image', bytes: decodeImage(url) } : { type: 'image_link', url });
    }
  }

  /** @throws {GatewayError} if the reason itself means that the server failed */
  private explainNothing(reason: string): GatewayError {
    const isFiltered = readFinishReason(reason, this.dropped) === 'content_filter';
    const refusal = this.refusal.join('').trim();
    const words = (refusal || this.words.join('').trim()).slice(0, 300);
    const says = words === '' ? '.' : `: ${words}`;
    if (isFiltered || refusal !== '') {
      return new GatewayError('content_policy', `The provider refused to make the image (${reason})${says}`, {
        providerCode: reason,
        ...(!isFiltered && { errorType: 'refusal' }),
      });
    }
    return new GatewayError('upstream_failed', `The model made no image (${reason})${says}`, {
      retryable: true,
      providerCode: reason,
    });
  }
}
