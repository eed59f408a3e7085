import { type Chunk, type FinishReason, isSpoken, isOutput } from '../../domain/chunks.ts';
import { hasCounts, type Usage } from '../../domain/usage.ts';
import { DroppedNames } from '../kit/dropped-names.ts';
import { DeltaFrames } from '../kit/frame-template.ts';
import { invalidUpstreamData, isKeepAlive, parseEvent } from '../kit/invalid-data.ts';
import { isLengthError } from '../kit/length-error.ts';
import { findError } from '../errors/complaint.ts';
import { readUpstreamErrorObject } from '../errors/upstream-error.ts';
import type { Frame, Reader } from '../wire.ts';
import { MessageReader } from './message.ts';
import { findUsage, mergeUsage, readFinishReason, readServiceTier, readUsage } from './usage.ts';
import type { ChatChoice, ChatResponse, ReaderContext } from './wire.ts';

/**
 * Creates the reader of a streamed response. The `finish` chunk waits for usage, `[DONE]` or the end of the body. Only
 * `[DONE]` replaces a reason.
 */
export const createReader = (readerContext: ReaderContext): Reader => new ChatReader(readerContext);

/** Reads a buffered response like a stream of one delta, whose field is `message`. */
export function readWhole(body: unknown, readerContext: ReaderContext): Chunk[] {
  if (typeof body !== 'object' || body === null)
    throw invalidUpstreamData('The provider returned a body that is not a JSON object.');
  const reader = new ChatReader(readerContext);
  const chunks = reader.take(body as ChatResponse, 'message');
  if (!reader.seenChoice) throw invalidUpstreamData('The provider returned a response without a choice.');
  if (reader.lacksMessage) throw invalidUpstreamData('The provider sent a choice without a message.');
  for (const chunk of reader.close()) chunks.push(chunk);
  return chunks;
}

/** @see TextWire.countWhole */
export const countWhole = (body: unknown): Usage | undefined =>
  readUsage(findUsage((body ?? {}) as ChatResponse), new Set());

/** A class, because each response has one and an instance costs far less than a set of closures. */
class ChatReader implements Reader {
  seenChoice = false;
  private readonly dropped = new DroppedNames();
  private readonly message: MessageReader;
  private readonly frames = new DeltaFrames();
  private begun = false;
  private streamed = false;
  private reason: FinishReason | undefined;
  private nativeReason = '';
  /** The word of the provider behind a server that is a gateway. */
  private innerReason = '';
  private usage: unknown;
  /** Whether the last piece has its usage in the choice. */
  private countedInChoice = false;
  private serviceTier: string | undefined;
  private stopText: string | undefined;
  private citations: unknown;
  private searchResults: unknown;
  private ended = false;
  private seenMessage = false;
  private hasOutput = false;
  /** Whether it has output other than reasoning. */
  private hasSpoken = false;
  private lacksReason = false;

  constructor(readerContext: ReaderContext) {
    this.message = new MessageReader(readerContext, this.dropped);
  }

  read(frame: Frame): Chunk[] {
    const { event, data } = frame;
    if (data.startsWith('[DONE]')) return this.close();
    if (isKeepAlive(frame)) return [];
    const delta = this.ended || event === 'error' ? undefined : this.frames.read(data);
    if (delta) return [this.message.readText(delta)];
    const chunk = parseEvent(data) as ChatResponse; // each of its fields is checked before it is used
    if (event === 'error') return this.fail(chunk.error ?? chunk);
    const chunks = this.take(chunk, 'delta');
    this.learn(data, chunks);
    return chunks;
  }

  /** Makes a template of a frame that contains only a text delta, for the frames after it. */
  private learn(data: string, chunks: readonly Chunk[]): void {
    const [first] = chunks;
    if (this.message.isSplitting) return;
    if (chunks.length !== 1 || first?.type !== 'text' || first.logprobs) return;
    this.frames.learn(data, [{ key: 'content', value: first.delta }]);
  }

  take(response: ChatResponse, key: 'delta' | 'message'): Chunk[] {
    if (this.ended) return [];
    const counts = findUsage(response);
    if (hasCounts(counts)) this.usage = mergeUsage(this.usage, counts); // some servers send it in every chunk
    const failure = findError(response, 'choices');
    if (failure) return this.fail(failure); // more precise than the finish reason in the same chunk
    const chunks: Chunk[] = [];
    if (!this.begun) {
      this.begun = true;
      const { model } = response;
      chunks.push(typeof model === 'string' && model !== '' ? { type: 'start', model } : { type: 'start' });
    }
    let counted = false;
    this.countedInChoice = false;
    for (const name in response) {
      const value = response[name];
      switch (name) {
        case 'id':
        case 'created':
        case 'model':
        case 'error':
        case 'obfuscation': // padding that hides the length of the text from network observers
          break;
        case 'choices':
          if (Array.isArray(value)) this.readChoices(value as ChatChoice[], key, chunks);
          else if (value !== null) throw invalidUpstreamData('The provider sent choices that are no list.');
          break;
        case 'object':
          if (value === 'error') return this.fail(response); // older vLLM
          break;
        case 'usage':
          if (hasCounts(value)) counted = true;
          break;
        case 'x_groq': {
          const own = value as { usage?: unknown; error?: unknown } | null;
          if (own?.error) throw readUpstreamErrorObject({ message: own.error, type: 'server_error' }, 200);
          if (hasCounts(own?.usage) && this.usage === undefined) {
            this.usage = own!.usage;
            counted = true;
          }
          break;
        }
        case 'service_tier':
          if (typeof value === 'string') this.serviceTier = readServiceTier(value);
          break;
        case 'citations':
          this.citations = value;
          break;
        case 'search_results':
          this.searchResults = value;
          break;
        default:
          if (value !== null) this.dropped.add(name);
      }
    }
    this.hasOutput ||= chunks.some(isOutput);
    this.hasSpoken ||= chunks.some(isSpoken);
    counted ||= this.countedInChoice;
    if (counted && this.reason !== undefined) for (const chunk of this.end()) chunks.push(chunk);
    return chunks;
  }

  /** @throws {GatewayError} the error, unless it is about the length and follows output */
  private fail(error: unknown): Chunk[] {
    if (this.ended) return [];
    if (!this.hasOutput || !isLengthError(error)) throw readUpstreamErrorObject(error, 200);
    this.reason = 'length';
    return this.end();
  }

  /** Whether the response ended with `stop` but without a message. A filtered choice may have no message. */
  get lacksMessage(): boolean {
    return !this.seenMessage && this.reason === 'stop';
  }

  /**
   * The end by the protocol: `[DONE]`, or the end of a buffered body. Some servers never send a reason. A response is
   * then complete if it has output whose calls are whole: choice 871.
   */
  close(): Chunk[] {
    if (this.reason === undefined && this.message.hasWholeCalls && (this.hasSpoken || this.message.hasCalls)) {
      this.reason = 'stop';
      this.lacksReason = true;
    }
    return this.end();
  }

  end(): Chunk[] {
    const { reason } = this;
    if (this.ended || reason === undefined) return []; // without a reason the stream was truncated
    this.ended = true;
    const chunks: Chunk[] = [];
    this.message.end(chunks, {
      citations: this.citations,
      searchResults: this.searchResults,
      cut: reason === 'length',
    });
    // Some servers send `stop` after calls.
    const finish: Chunk = {
      type: 'finish',
      reason: reason === 'stop' && this.message.hasCalls ? 'tool_calls' : reason,
    };
    const word = this.innerReason || this.nativeReason;
    if (word !== finish.reason) finish.nativeReason = word;
    if (this.lacksReason) finish.adapted = ['the finish reason of the response'];
    if (this.stopText !== undefined) finish.stopText = this.stopText;
    const counts = readUsage(this.usage, this.dropped);
    if (counts !== undefined) finish.usage = counts;
    if (this.serviceTier !== undefined) finish.serviceTier = this.serviceTier;
    if (this.dropped.size > 0) finish.dropped = [...this.dropped];
    chunks.push(finish);
    return chunks;
  }

  counted(): Usage | undefined {
    return readUsage(this.usage, this.dropped);
  }

  keptLength(): number {
    return this.message.keptLength;
  }

  private readChoice(choice: ChatChoice, key: 'delta' | 'message', chunks: Chunk[]): void {
    this.seenChoice = true;
    if (choice.delta) this.streamed = true;
    // Some servers repeat the text so far as `message` in each chunk. Others stream one complete message.
    const message = choice[key] ?? (this.streamed ? undefined : choice.message);
    if (message) this.seenMessage = true;
    if (message) this.message.read(message, { logprobs: choice.logprobs, isWhole: message !== choice.delta }, chunks);
    for (const name in choice) {
      switch (name) {
        case 'index':
        case 'delta':
        case 'message':
        case 'logprobs':
          break;
        case 'finish_reason':
          if (!choice.finish_reason) break;
          this.nativeReason = String(choice.finish_reason);
          this.reason = readFinishReason(this.nativeReason, this.dropped);
          break;
        case 'usage': // Moonshot: AstrBotDevs/AstrBot#6614
          if (hasCounts(choice.usage) && this.usage === undefined) {
            this.usage = choice.usage;
            this.countedInChoice = true;
          }
          break;
        case 'stop_reason': // vLLM
        case 'matched_stop': // SGLang. Both send a number for a token
          if (typeof choice[name] === 'string') this.stopText = choice[name];
          break;
        case 'native_finish_reason':
          if (typeof choice[name] === 'string') this.innerReason = choice[name];
          break;
        case 'error':
          if (choice.error) throw readUpstreamErrorObject(choice.error, 200);
          break;
        default:
          if (choice[name] !== null) this.dropped.add(`choices[].${name}`);
      }
    }
  }

  private readChoices(choices: ChatChoice[], key: 'delta' | 'message', chunks: Chunk[]): void {
    for (const choice of choices) {
      if (choice.index === undefined || choice.index <= 0) {
        this.readChoice(choice, key, chunks);
        continue;
      }
      // One choice is requested. Some proxies have the calls of the response in another one: langchain4j/langchain4j#4931
      const calls = (choice[key] ?? choice.message)?.tool_calls;
      if (Array.isArray(calls) && calls.length > 0) this.readChoice({ [key]: { tool_calls: calls } }, key, chunks);
      else if (choice.finish_reason !== 'tool_calls') this.dropped.add(`choices[${choice.index}]`);
    }
  }
}
