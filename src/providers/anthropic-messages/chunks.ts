import type { Chunk, FinishReason, StartChunk } from '../../domain/chunks.ts';
import { readCount, type Usage } from '../../domain/usage.ts';
import { DroppedNames } from '../kit/dropped-names.ts';
import { DeltaFrames } from '../kit/frame-template.ts';
import type { Frame, Reader } from '../wire.ts';
import { invalidUpstreamData, isKeepAlive, parseEvent } from '../kit/invalid-data.ts';
import { findError } from '../errors/complaint.ts';
import { readUpstreamErrorObject } from '../errors/upstream-error.ts';
import { BlockReader } from './blocks.ts';
import { NativeEnding, restOf } from './native-ending.ts';
import { type Counts, readServiceTier, readStopDetails, readStopReason, readUsage } from './usage.ts';
import type { ResponseBlock, ResponseMessage, ReaderContext } from './wire.ts';

/** Reads the events of a streamed message. */
export const createReader = (readerContext: ReaderContext): Reader => new MessageReader(readerContext);

/** Reads a buffered message. Each block is one delta. */
export function readWhole(body: unknown, readerContext: ReaderContext): Chunk[] {
  const message = asObject(body, 'The provider answered with something other than a JSON object.') as ResponseMessage;
  const failure = findError(message, 'content') ?? (message.type === 'error' ? message : undefined);
  if (failure) throw readUpstreamErrorObject(failure, 200);
  if (!Array.isArray(message.content)) throw invalidUpstreamData('The provider answered without content.');
  const reader = new MessageReader(readerContext);
  const chunks = reader.start(message);
  for (const block of message.content) reader.readBlock(block, chunks);
  reader.stop(message.stop_reason, chunks);
  return chunks;
}

function asObject(value: unknown, otherwise: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw invalidUpstreamData(otherwise);
  return value as Record<string, unknown>;
}

/** Message fields that carry no information or are read elsewhere. */
const known = new Set([
  'id',
  'type',
  'role',
  'model',
  'content',
  'stop_reason',
  'stop_sequence',
  'stop_details',
  'usage',
  'error',
]);

/** A class, because each response has one and an instance costs far less than a set of closures. */
class MessageReader implements Reader {
  private readonly dropped = new DroppedNames();
  private readonly blocks: BlockReader;
  private counts: Counts = {};
  /** Whether the output has been counted. The count of `message_start` is a placeholder. */
  private hasCounted = false;
  private stopReason: unknown;
  private stopDetails: unknown;
  private ended = false;
  private readonly frames = new DeltaFrames();
  private kept = 0;
  /** Absent if the client has another format. */
  private readonly ending: NativeEnding | undefined;
  /** Whether the stream may end without `message_stop`. */
  private readonly openEnd: boolean;

  constructor(readerContext: ReaderContext) {
    this.blocks = new BlockReader(readerContext, this.dropped);
    this.openEnd = readerContext.openEnd === true;
    if (readerContext.keepsBlocks) this.ending = new NativeEnding();
  }

  read(frame: Frame): Chunk[] {
    const { data } = frame;
    if (isKeepAlive(frame) || this.ended) return [];
    const delta = this.blocks.isText ? this.frames.read(data) : undefined;
    if (delta) return [this.blocks.readText(delta)];
    const chunks: Chunk[] = [];
    this.take(parseEvent(data), data, chunks);
    // A signature, citations, the query of a search and counts become part of a later chunk.
    if (chunks.length === 0) this.kept += data.length;
    return chunks;
  }

  end(): Chunk[] {
    if (!this.openEnd || this.ended || this.stopReason === undefined) return []; // the stream was truncated
    const chunks: Chunk[] = [];
    this.stop(this.stopReason, chunks);
    return chunks;
  }

  start(message: ResponseMessage): Chunk[] {
    this.count(message.usage);
    const { ending } = this;
    if (ending) ending.start(message);
    else for (const name in message) if (!known.has(name) && message[name]) this.dropped.add(name);
    this.stopDetails = message.stop_details;
    const { model } = message;
    const chunk: StartChunk = typeof model === 'string' && model !== '' ? { type: 'start', model } : { type: 'start' };
    if (ending) chunk.native = { usage: { ...this.counts }, fields: restOf(message, known) };
    return [chunk];
  }

  readBlock(block: unknown, chunks: Chunk[]): void {
    const whole = asObject(block, 'The provider sent a content block that is not an object.') as ResponseBlock;
    this.blocks.open(whole, undefined, chunks);
    this.blocks.close(undefined, chunks);
  }

  stop(reason: unknown, chunks: Chunk[]): void {
    if (typeof reason !== 'string') throw invalidUpstreamData('The provider ended its message without a reason.');
    this.ended = true;
    const { ending } = this;
    const read: FinishReason = readStopReason(reason, ending ? new Set() : this.dropped);
    this.blocks.end(chunks, read === 'length');
    const refusal = ending ? undefined : readStopDetails(this.stopDetails, this.dropped);
    if (refusal !== undefined) chunks.push({ type: 'refusal', delta: refusal });
    const finish: Chunk = { type: 'finish', reason: read, nativeReason: reason };
    if (ending) finish.native = ending.finish(reason, this.stopDetails, this.counts);
    const counts = readUsage(this.counts, ending ? new Set() : this.dropped);
    if (counts) finish.usage = counts;
    const tier = readServiceTier(this.counts);
    if (tier !== undefined) finish.serviceTier = tier;
    if (this.dropped.size > 0) finish.dropped = [...this.dropped];
    chunks.push(finish);
  }

  counted(): Usage | undefined {
    const counts = this.hasCounted ? this.counts : { ...this.counts, output_tokens: 0 };
    return readCount(counts.input_tokens) !== undefined ? readUsage(counts, this.dropped) : undefined;
  }

  keptLength(): number {
    return this.kept;
  }

  private take(event: Record<string, unknown>, data: string, chunks: Chunk[]): void {
    switch (event.type) {
      case 'content_block_delta':
        this.readDelta(event, data, chunks);
        break;
      case 'content_block_start': {
        const block = asObject(event.content_block, 'The provider sent a content block that is not an object.');
        this.blocks.open(block, event.index, chunks);
        this.frames.forget();
        break;
      }
      case 'content_block_stop':
        this.blocks.close(event.index, chunks);
        break;
      case 'message_start':
        chunks.push(...this.start(asObject(event.message, 'The provider began a message without a message.')));
        break;
      case 'message_delta': {
        const delta = (event.delta ?? {}) as Record<string, unknown>;
        this.count(event.usage);
        this.hasCounted = true;
        this.stopReason = delta.stop_reason ?? this.stopReason;
        this.stopDetails = delta.stop_details ?? this.stopDetails;
        if (this.ending) this.ending.add(delta, event);
        else for (const name in delta) if (!known.has(name) && delta[name]) this.dropped.add(name);
        break;
      }
      case 'message_stop':
        this.stop(this.stopReason, chunks);
        break;
      case 'error':
        throw readUpstreamErrorObject(event.error ?? event, 200);
      case 'ping':
        break;
      default:
        if (findError(event, 'type')) throw readUpstreamErrorObject(findError(event, 'type'), 200); // of a proxy
        this.dropped.add(`event ${String(event.type)}`);
    }
  }

  private readDelta(event: Record<string, unknown>, data: string, chunks: Chunk[]): void {
    const delta = asObject(event.delta, 'The provider sent a delta that is not an object.');
    this.blocks.add(delta, event.index, chunks);
    const [first] = chunks;
    if (delta.type !== 'text_delta' || chunks.length !== 1 || first?.type !== 'text') return;
    this.frames.learn(data, [{ key: 'text', value: first.delta }]);
  }

  private count(counts: unknown): void {
    if (typeof counts !== 'object' || counts === null) return;
    for (const [name, value] of Object.entries(counts)) if (value !== null) this.counts[name] = value;
  }
}
