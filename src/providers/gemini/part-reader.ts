import type { Chunk } from '../../domain/chunks.ts';
import { GrowingText } from '../../domain/growing-text.ts';
import { createId } from '../../domain/ids.ts';
import { OpenCall, takeCallId } from '../kit/open-call.ts';
import { invalidUpstreamData } from '../kit/invalid-data.ts';
import { NATIVE_FIELD } from '../../domain/native.ts';
import { signatureFormat } from '../../domain/thought-signature.ts';
import type { ReaderContext } from './wire.ts';

type Fields = Record<string, unknown>;

/** Reads the parts of a response. On this wire, each call arrives complete in one part. */
export class PartReader {
  /** The provider's id of the response, once known. Call ids are derived from it. */
  responseId: string | undefined;
  /** Whether the message is still open, so that annotations can join it. */
  isTextOpen = false;
  /** @see Reader.keptLength */
  keptLength = 0;
  /** Log probabilities of the current candidate. Its first text consumes them. */
  logprobs: unknown;
  private readonly readerContext: ReaderContext;
  private readonly dropped: Set<string>;
  private message = new GrowingText(); // the message's text, if the provider searches
  private isSealOpen = false; // the last chunk is a seal, which would otherwise apply to the next call
  private images = 0;
  private calls = 0;
  private natives = 0;
  private readonly callIds = new Set<string>();
  private readonly tries: string[] = []; // draft images that were not reported yet
  private trial: { key: string; told: number } | undefined; // the image item that the drafts belong to

  constructor(readerContext: ReaderContext, dropped: Set<string>) {
    this.readerContext = readerContext;
    this.dropped = dropped;
  }

  get hasCalls(): boolean {
    return this.calls > 0;
  }

  /** Text of the last message; undefined if it is not needed. */
  get text(): string | undefined {
    return this.readerContext.searches ? this.message.text : undefined;
  }

  read(value: unknown, chunks: Chunk[]): void {
    if (typeof value !== 'object' || value === null)
      throw invalidUpstreamData('The provider sent a part that is not an object.');
    const part = value as Fields;
    if (this.readerContext.keepsNative && isForeign(part)) {
      this.addNative(part, chunks);
      return;
    }
    const { thoughtSignature } = part;
    const signature = typeof thoughtSignature === 'string' && thoughtSignature !== '' ? thoughtSignature : undefined;
    const isThought = part.thought === true;
    if (part.functionCall) this.sealCall(signature, chunks);
    if (typeof part.text === 'string') this.readText(part.text, isThought, chunks);
    for (const name in part) if (part[name] !== null) this.readField(name, part[name], isThought, chunks);
    if (!part.functionCall && signature !== undefined) this.seal(signature, chunks);
  }

  /** Reads a text delta of a frame that contains nothing else. */
  readDelta(delta: string): Chunk {
    this.keepText(delta);
    return { type: 'text', delta };
  }

  /** Handles the end of the response. An image that has drafts but was never finished has failed. */
  end(chunks: Chunk[]): void {
    const key = this.reportTries(chunks);
    if (key !== undefined) chunks.push({ type: 'item_done', key, item: { ...image, status: 'failed', result: null } });
  }

  /** Adds a part that the interface has no item for, unchanged. */
  private addNative(part: Fields, chunks: Chunk[]): void {
    this.isTextOpen = false;
    this.isSealOpen = false;
    const kind = Object.keys(part).find((name) => name !== 'thought' && name !== 'thoughtSignature');
    const type = `gemini:${kind}`;
    const key = `native-${this.natives++}`;
    chunks.push({ type: 'item', key, item: { type, status: 'in_progress' } });
    chunks.push({ type: 'item_done', key, item: { type, status: 'completed', block: part } });
  }

  private readField(name: string, value: unknown, isThought: boolean, chunks: Chunk[]): void {
    switch (name) {
      case 'text':
      case 'thought':
      case 'thoughtSignature':
        break;
      case 'functionCall':
        this.readCall(value as Fields, chunks);
        break;
      case 'inlineData':
        this.readMedia(value as Fields, isThought, chunks);
        break;
      default:
        if (value) this.dropped.add(`parts[].${name}`);
    }
  }

  /** Adds the seal of a call before it. An empty seal marks a call without one after a call with one. */
  private sealCall(signature: string | undefined, chunks: Chunk[]): void {
    if (signature !== undefined || this.isSealOpen) this.seal(signature ?? '', chunks);
    this.isSealOpen = false;
  }

  /** Adds the seal of any other part after it. The message stays open, because more of its text may arrive. */
  private seal(signature: string, chunks: Chunk[]): void {
    this.isSealOpen = true;
    chunks.push({ type: 'reasoning_seal', format: signatureFormat, encryptedContent: signature });
  }

  private readText(delta: string, isThought: boolean, chunks: Chunk[]): void {
    if (delta === '') return;
    if (isThought) {
      this.isTextOpen = false;
      chunks.push({ type: 'reasoning_summary', delta });
      return;
    }
    this.keepText(delta);
    const logprobs = readLogprobs(this.logprobs);
    this.logprobs = undefined;
    chunks.push(logprobs ? { type: 'text', delta, logprobs } : { type: 'text', delta });
  }

  private keepText(delta: string): void {
    if (!this.isTextOpen && this.readerContext.searches) this.message = new GrowingText();
    this.isTextOpen = true;
    if (this.readerContext.searches) this.message.add(delta);
  }

  private readCall({ id, name, args, ...rest }: Fields, chunks: Chunk[]): void {
    if (typeof name !== 'string' || name === '') throw invalidUpstreamData('The provider sent a call without a name.');
    if (typeof (args ?? {}) !== 'object')
      throw invalidUpstreamData('The provider sent a call whose arguments are no object.');
    const { keepsNative } = this.readerContext;
    const inner = keepsNative && Object.keys(rest).length > 0 ? { [NATIVE_FIELD]: { inner: rest } } : undefined;
    for (const field in rest) if (rest[field] && !keepsNative) this.dropped.add(`parts[].functionCall.${field}`);
    this.isTextOpen = false;
    const callId = takeCallId(typeof id === 'string' && id !== '' ? id : this.createCallId(), this.callIds);
    this.calls++;
    const call = new OpenCall(this.readerContext.tools, { callId, name, ...(inner && { fields: inner }) }, chunks);
    if (typeof args === 'object' && args !== null && Object.keys(args).length > 0) {
      call.push(JSON.stringify(args), chunks);
    }
    call.end(chunks);
  }

  /** Creates the same id for the same response, so that two readings of it agree. */
  private createCallId(): string {
    return this.responseId === undefined ? createId('call_') : `call_${this.responseId}_${this.calls}`;
  }

  private readMedia({ mimeType, data }: Fields, isThought: boolean, chunks: Chunk[]): void {
    if (typeof data !== 'string' || !String(mimeType).startsWith('image/')) {
      this.dropped.add(`parts[].inlineData (${String(mimeType)})`);
    } else if (isThought) {
      this.tries.push(data);
      this.keptLength += data.length;
      if (this.readerContext.showsOnly) this.reportTries(chunks);
    } else this.finishImage(data, chunks);
  }

  private finishImage(data: string, chunks: Chunk[]): void {
    this.isTextOpen = false;
    const tried = this.reportTries(chunks);
    if (tried !== undefined) chunks.push(progress(tried, 'completed'));
    const key = tried ?? this.beginImage(chunks);
    this.trial = undefined;
    chunks.push({ type: 'item_done', key, item: { ...image, status: 'completed', result: data } });
  }

  /**
   * Reports drafts as partial images of the final image. If text may precede the image, the drafts wait for it, because
   * the image follows the text and its seal belongs to the image.
   *
   * @returns the key of the image; undefined if there are no drafts
   */
  private reportTries(chunks: Chunk[]): string | undefined {
    if (this.tries.length === 0) return this.trial?.key;
    if (!this.trial) {
      const key = this.beginImage(chunks);
      this.trial = { key, told: 0 };
      chunks.push(progress(key, 'in_progress'), progress(key, 'generating'));
    }
    for (const data of this.tries.splice(0)) {
      const place = { partial_image_b64: data, partial_image_index: this.trial.told++ };
      chunks.push(progress(this.trial.key, 'partial_image', place));
    }
    return this.trial.key;
  }

  private beginImage(chunks: Chunk[]): string {
    this.isTextOpen = false;
    const key = `image-${this.images++}`;
    chunks.push({ type: 'item', key, item: { ...image, status: 'in_progress', result: null } });
    return key;
  }
}

/** Whether a part has neither text nor a call nor an image. */
function isForeign({ text, functionCall, inlineData, thoughtSignature: _, thought: __, ...rest }: Fields): boolean {
  const { mimeType } = (inlineData ?? {}) as Fields;
  if (typeof text === 'string' || functionCall || String(mimeType).startsWith('image/')) return false;
  return inlineData !== undefined || Object.keys(rest).length > 0;
}

const image = { type: 'image_generation_call' };

/** The event builder sets the id of the item. */
const progress = (key: string, step: string, fields?: object): Chunk => ({
  type: 'relay',
  key,
  event: { type: `response.image_generation_call.${step}`, item_id: '', ...fields },
});

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
