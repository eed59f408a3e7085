import { GatewayError } from '../../../domain/errors.ts';
import type { ImageChunk, ImageFinishChunk } from '../../../domain/images.ts';
import { DroppedNames } from '../../kit/dropped-names.ts';
import { parseUpstream } from '../../kit/invalid-data.ts';
import { decodeImage } from '../../kit/image-text.ts';
import { withImageTokens } from '../../kit/image-tokens.ts';
import type { Frame, Reader } from '../../wire.ts';
import { refuseBlocked } from '../blocked.ts';
import { readUpstreamErrorObject } from '../../errors/upstream-error.ts';
import { readFinishReason, readUsage } from '../usage.ts';
import type { GeminiResponse, Candidate } from '../wire.ts';
import type { ReaderContext } from './request.ts';

/** Reads a stream of responses. Each contains only new parts. The end of the body is the end of the response. */
export const createImageReader = (readerContext: ReaderContext): Reader<ImageChunk> => new AnswerReader(readerContext);

/** Reads a buffered response, which is a stream event with all parts. */
export function readWholeImage(body: unknown, readerContext: ReaderContext): ImageChunk[] {
  const reader = new AnswerReader(readerContext);
  const chunks: ImageChunk[] = [];
  for (const answer of Array.isArray(body) ? body : [body]) reader.take(answer, chunks);
  chunks.push(...reader.end());
  if (chunks.at(-1)?.type !== 'finish') throw new TypeError('The response has no finished candidate.');
  return chunks;
}

class AnswerReader implements Reader<ImageChunk> {
  private readonly count: number;
  private readonly dropped = new DroppedNames();
  private readonly words: string[] = [];
  private begun = false;
  private made = 0;
  private tried = 0;
  private reason: string | undefined;
  private usage: Record<string, unknown> | undefined;

  constructor({ count }: ReaderContext) {
    this.count = count;
  }

  read({ data }: Frame): ImageChunk[] {
    if (data === '') return [];
    const chunks: ImageChunk[] = [];
    const answer = parseUpstream(data);
    for (const each of Array.isArray(answer) ? answer : [answer]) this.take(each, chunks);
    return chunks;
  }

  take(value: unknown, chunks: ImageChunk[]): void {
    if (typeof value !== 'object' || value === null) throw new TypeError('The response is not an object.');
    const answer = value as GeminiResponse;
    if (answer.usageMetadata) this.usage = answer.usageMetadata;
    if (answer.error) throw readUpstreamErrorObject(answer.error, 200);
    if (!this.begun) {
      this.begun = true;
      const { modelVersion: model } = answer;
      chunks.push(typeof model === 'string' ? { type: 'start', model } : { type: 'start' });
    }
    refuseBlocked(answer);
    for (const candidate of Array.isArray(answer.candidates) ? (answer.candidates as (Candidate | null)[]) : []) {
      this.readCandidate(candidate ?? {}, chunks);
    }
  }

  end(): ImageChunk[] {
    if (this.reason === undefined) return []; // without a reason, the stream was truncated
    if (this.made === 0) throw this.explainNothing(this.reason);
    const finish: ImageFinishChunk = { type: 'finish' };
    const counts = readUsage(this.usage);
    if (counts) finish.usage = withImageTokens(counts);
    if (this.dropped.size > 0) finish.dropped = [...this.dropped];
    return [finish];
  }

  private readCandidate({ content, finishReason }: Candidate, chunks: ImageChunk[]): void {
    const parts = content?.parts;
    for (const part of Array.isArray(parts) ? (parts as (Record<string, unknown> | null)[]) : []) {
      this.readPart(part ?? {}, chunks);
    }
    if (typeof finishReason === 'string') this.reason = finishReason;
  }

  /** Reads an image. An image in the thoughts is a draft. */
  private readPart({ inlineData, thought, text, ...rest }: Record<string, unknown>, chunks: ImageChunk[]): void {
    const isThought = thought === true;
    if (typeof text === 'string' && text !== '') {
      this.dropped.add(isThought ? 'parts[].text (of a thought)' : 'parts[].text');
      if (!isThought) this.words.push(text);
    }
    for (const name in rest) if (rest[name]) this.dropped.add(`parts[].${name}`);
    const { mimeType, data } = (inlineData ?? {}) as Record<string, unknown>; // checked below
    if (!inlineData) return;
    if (!String(mimeType).startsWith('image/')) this.dropped.add(`parts[].inlineData (${String(mimeType)})`);
    else if (isThought) chunks.push({ type: 'partial', index: this.tried++, bytes: decodeImage(data) });
    else if (this.made === this.count) this.dropped.add('parts[].inlineData (more than was asked for)');
    else {
      this.made++;
      chunks.push({ type: 'image', bytes: decodeImage(data) });
    }
  }

  /** @throws {GatewayError} if the reason means that the model failed */
  private explainNothing(reason: string): GatewayError {
    const words = this.words.join('').trim().slice(0, 300);
    const says = words === '' ? '.' : `: ${words}`;
    if (readFinishReason(reason, undefined, this.dropped) === 'content_filter') {
      return new GatewayError('content_policy', `The provider refused to make the image (${reason})${says}`, {
        providerCode: reason,
      });
    }
    return new GatewayError('upstream_failed', `The model made no image (${reason})${says}`, {
      retryable: true,
      providerCode: reason,
    });
  }
}
