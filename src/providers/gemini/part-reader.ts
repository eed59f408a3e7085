import type { Chunk } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import { createId } from '../../domain/ids.ts';
import { OpenCall } from '../open-call.ts';
import { reasoningFormat } from './contents.ts';
import type { Reading } from './wire.ts';

type Fields = Record<string, unknown>;

/** Reads the parts of an answer. Calls come whole on this wire, each in one part. */
export class PartReader {
  /** The provider's id of the answer, once it is known: ids of calls are made of it. */
  answerId: string | undefined;
  /** Nothing came behind the text, so that annotations can join it. */
  textIsLast = false;
  private readonly reading: Reading;
  private readonly dropped: Set<string>;
  private readonly pieces: string[] = []; // of the text, when the provider searches
  private images = 0;
  private calls = 0;

  constructor(reading: Reading, dropped: Set<string>) {
    this.reading = reading;
    this.dropped = dropped;
  }

  get hasCalls(): boolean {
    return this.calls > 0;
  }

  get text(): string {
    return this.pieces.join('');
  }

  /** @param logprobs of the candidate, which belong to its text */
  read(value: unknown, logprobs: unknown, chunks: Chunk[]): void {
    if (typeof value !== 'object' || value === null) {
      throw new GatewayError('upstream_failed', 'The provider sent a part that is no object.', { retryable: true });
    }
    const part = value as Fields;
    const { thoughtSignature: signature } = part;
    // It stands before the call that it seals, and behind the text.
    if (part.functionCall && typeof signature === 'string') this.seal(signature, chunks);
    if (typeof part.text === 'string') this.readText(part.text, part.thought === true, logprobs, chunks);
    for (const name in part) this.readField(name, part[name], chunks);
    if (!part.functionCall && typeof signature === 'string') this.seal(signature, chunks);
  }

  /** A delta of text, when nothing else can be in the frame. */
  readDelta(delta: string): Chunk {
    this.textIsLast = true;
    if (this.reading.searches) this.pieces.push(delta);
    return { type: 'text', delta };
  }

  private readField(name: string, value: unknown, chunks: Chunk[]): void {
    switch (name) {
      case 'text':
      case 'thought':
      case 'thoughtSignature':
        break;
      case 'functionCall':
        this.readCall((value ?? {}) as Fields, chunks);
        break;
      case 'inlineData':
        this.readMedia((value ?? {}) as Fields, chunks);
        break;
      default:
        if (value) this.dropped.add(`parts[].${name}`);
    }
  }

  private seal(signature: string, chunks: Chunk[]): void {
    this.textIsLast = false;
    chunks.push({ type: 'reasoning_seal', format: reasoningFormat, encryptedContent: signature });
  }

  private readText(delta: string, isThought: boolean, logprobs: unknown, chunks: Chunk[]): void {
    if (delta === '') return;
    if (isThought) {
      this.textIsLast = false;
      chunks.push({ type: 'reasoning', delta });
      return;
    }
    this.textIsLast = true;
    if (this.reading.searches) this.pieces.push(delta);
    const list = readLogprobs(logprobs);
    chunks.push(list ? { type: 'text', delta, logprobs: list } : { type: 'text', delta });
  }

  private readCall({ id, name, args, ...rest }: Fields, chunks: Chunk[]): void {
    if (typeof name !== 'string' || name === '') {
      throw new GatewayError('upstream_failed', 'The provider sent a call without a name.', { retryable: true });
    }
    for (const field in rest) if (rest[field]) this.dropped.add(`parts[].functionCall.${field}`);
    this.textIsLast = false;
    const callId = typeof id === 'string' && id !== '' ? id : this.createCallId();
    this.calls++;
    const call = new OpenCall(this.reading.tools, { callId, name }, chunks);
    if (typeof args === 'object' && args !== null && Object.keys(args).length > 0) {
      call.push(JSON.stringify(args), chunks);
    }
    call.end(chunks);
  }

  /** The same for the same answer, so that two readings of it agree. */
  private createCallId(): string {
    return this.answerId === undefined ? createId('call_') : `call_${this.answerId}_${this.calls}`;
  }

  private readMedia({ mimeType, data }: Fields, chunks: Chunk[]): void {
    if (typeof data !== 'string' || !String(mimeType).startsWith('image/')) {
      this.dropped.add(`parts[].inlineData (${String(mimeType)})`);
      return;
    }
    this.textIsLast = false;
    const item = { type: 'image_generation_call', status: 'completed', result: data };
    chunks.push({ type: 'item_done', key: `image-${this.images++}`, item });
  }
}

function readLogprobs(result: unknown): object[] | undefined {
  const { chosenCandidates: chosen, topCandidates: tops } = (result ?? {}) as Fields;
  if (!Array.isArray(chosen)) return undefined;
  return chosen.map((entry, index) => {
    const others = Array.isArray(tops) ? (tops[index] as { candidates?: unknown } | undefined)?.candidates : undefined;
    return { ...readLogprob(entry), top_logprobs: Array.isArray(others) ? others.map(readLogprob) : [] };
  });
}

function readLogprob(entry: unknown) {
  const { token, logProbability } = (entry ?? {}) as Fields;
  const text = typeof token === 'string' ? token : '';
  return { token: text, logprob: Number(logProbability ?? 0), bytes: [...Buffer.from(text)] };
}
