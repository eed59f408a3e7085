import {
  type Chunk,
  type FinishChunk,
  type ItemKey,
  isVisible,
  type PartDoneChunk,
  type ReasoningSealChunk,
  type ReportedSettings,
  type ReasoningSummaryChunk,
  type RelayChunk,
  type ToolCallChunk,
} from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ResponseEvent } from '../../domain/events.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { ItemWriter, remainderOf, truncateItem } from './item-writer.ts';
import { createEmptyItem, hostedProgress, type OpenItem, type OpenPart } from './output-items.ts';
import { type Ending, failResponse, finishResponse } from './response-object.ts';

/** The facts about a run that its builder needs. */
export interface BuilderContext {
  /** Creates the response object before any output. Called once, at the first output. */
  base(): ResponseObject;
  /** The slug of the model that is responding. Messages name it: each step may have another one. */
  model(): string;
  /** Called once at the end, regular (`finish`) or not, for usage and metadata. */
  settle(finish: FinishChunk | undefined): Omit<Ending, 'output'>;
  /** Unix seconds. */
  now(): number;
  /** Maximum retained text, in bytes of JSON. */
  readonly limitBytes: number;
}

/**
 * Turns the chunks of one run into events. Only this class and `item-writer.ts` know item ids, indexes and sequence
 * numbers. It is a class because every request has one, and a set of closures costs several times as much.
 *
 * @see docs/reference/events.md#common-fields, docs/reference/events.md#order
 */
export class EventBuilder {
  /** True once the terminal event has been built. */
  ended = false;
  private readonly context: BuilderContext;
  private readonly writer: ItemWriter;
  private byKey: Map<ItemKey, OpenItem> | undefined; // only on wires with item names
  private byCallId: Map<string, OpenItem> | undefined; // most responses have no call
  private current: OpenItem | undefined; // the message or reasoning in progress, on a wire without item names
  private base: ResponseObject | undefined;
  private settings: ReportedSettings | undefined;

  /** @param emitsDeltas false for a buffered response: only the last event is created */
  constructor(context: BuilderContext, emitsDeltas = true) {
    this.context = context;
    this.writer = new ItemWriter(emitsDeltas, context.limitBytes);
  }

  /** Whether an event has been created. */
  get started(): boolean {
    return this.base !== undefined;
  }

  /** The items so far, as the client sees them. */
  get items(): readonly OutputItem[] {
    return this.writer.items.map((item) => item.wire);
  }

  /** The output of the response object at the end. Open items of a failed run are marked incomplete. */
  get output(): readonly OutputItem[] {
    return this.writer.items.map((item) => (item.open ? truncateItem(item) : item.wire));
  }

  /** Returns the events of these chunks, in order. Call it with every batch, in order. */
  build(chunks: readonly Chunk[]): ResponseEvent[] {
    for (const chunk of chunks) {
      if (this.ended) break;
      if (!this.base && isVisible(chunk)) this.start();
      this.take(chunk);
    }
    return this.writer.takeEvents();
  }

  /**
   * Ends a failed run. Open items stay and are marked incomplete. `error` precedes `response.failed`, because the
   * stream helpers of some clients treat the latter as a regular end.
   */
  fail(error: GatewayError): ResponseEvent[] {
    if (this.ended) return [];
    const output = [...this.output];
    const response = failResponse(this.start(), error, { output, ...this.context.settle(undefined) });
    this.writer.push('error', { code: error.errorType, message: error.message, param: null });
    this.writer.pushLast('response.failed', { response });
    this.ended = true;
    return this.writer.takeEvents();
  }

  private start(): ResponseObject {
    if (!this.base) {
      this.base = this.context.base();
      if (this.settings) Object.assign(this.base, this.settings);
      this.writer.push('response.created', { response: this.base });
      this.writer.push('response.in_progress', { response: this.base });
    }
    return this.base;
  }

  /** Returns the item that a chunk of text belongs to: the named one, the one in progress, or a new one. */
  private itemFor(key: ItemKey | undefined, type: 'message' | 'reasoning'): OpenItem {
    if (key !== undefined) return this.byKey?.get(key) ?? this.addNative(key, freshItem(type));
    if (this.current?.wire.type === type && !this.current.sealed) return this.current;
    this.closeCurrent();
    this.current = this.addItem(freshItem(type));
    return this.current;
  }

  /** A message names its model, for `pin_model`. */
  private addItem(wire: OutputItem): OpenItem {
    return this.writer.addItem(wire.type === 'message' ? { ...wire, model: this.context.model() } : wire);
  }

  private addNative(key: ItemKey, wire: OutputItem): OpenItem {
    const item = this.addItem(wire);
    this.byKey ??= new Map();
    this.byKey.set(key, item);
    return item;
  }

  /**
   * Closes the open message or reasoning of a simple wire when the kind changes. Calls stay open to the end, because
   * their pieces may interleave with one another and with text.
   */
  private closeCurrent(): void {
    if (this.current?.open) this.writer.closeItem(this.current, 'completed');
    this.current = undefined;
  }

  private addSummary(chunk: ReasoningSummaryChunk): void {
    const item = this.itemFor(chunk.key, 'reasoning');
    if (chunk.part !== undefined && chunk.part !== item.summaryNumber) {
      item.summaryNumber = chunk.part;
      this.writer.openPart(item, 'summary_text');
    }
    if (chunk.delta !== '') this.writer.addSummary(item, chunk.delta);
  }

  private seal(chunk: ReasoningSealChunk): void {
    const item = this.sealedItem(chunk);
    const { encryptedContent, signature } = chunk;
    item.wire = {
      ...item.wire,
      ...(encryptedContent === undefined ? undefined : { encrypted_content: encryptedContent }),
      ...(signature === undefined ? undefined : { signature }),
      format: chunk.format,
    };
    item.sealed = true;
    if (chunk.key === undefined && item !== this.current) this.writer.closeItem(item, 'completed');
  }

  /** Returns the reasoning in progress. A seal that arrives after the reasoning was closed becomes a separate item. */
  private sealedItem({ key }: ReasoningSealChunk): OpenItem {
    if (key !== undefined || this.current === undefined || this.current.wire.type === 'reasoning')
      return this.itemFor(key, 'reasoning');
    return this.writer.addItem(freshItem('reasoning'));
  }

  private startCall(chunk: ToolCallChunk): void {
    this.closeCurrent();
    this.byCallId ??= new Map();
    this.byCallId.set(chunk.callId, this.writer.addItem(writeCall(chunk)));
  }

  private callItem(callId: string, key: ItemKey | undefined): OpenItem {
    const item = key === undefined ? this.byCallId?.get(callId) : this.byKey?.get(key);
    if (item) return item;
    const message = `The provider sent arguments of the call ${callId.slice(0, 100)}, which never began.`;
    throw new GatewayError('upstream_failed', message, { retryable: true });
  }

  private relay({ key, event }: RelayChunk): void {
    const item = key === undefined ? undefined : this.byKey?.get(key);
    const { type, sequence_number: _theirs, ...fields } = event;
    if (item) {
      item.relayed = true;
      fields['output_index'] = item.index;
      if ('item_id' in fields) fields['item_id'] = item.id;
    }
    this.writer.push(type, fields);
  }

  private addPart(key: ItemKey, part: { type: string }): void {
    const item = this.byKey?.get(key);
    if (!item) return;
    this.writer.closePart(item);
    if (isStreamed(part.type)) this.writer.openPart(item, part.type);
    else this.writer.addStrangePart(item, part);
  }

  /** Finishes a part, which may be open, closed or without any event. */
  private finishPart({ key, part, index }: PartDoneChunk): void {
    const item = this.byKey?.get(key);
    const { type } = part;
    if (!item?.open || !(isStreamed(type) || type === 'summary_text')) return;
    const count = type === 'summary_text' ? item.summaryParts : item.contentParts;
    const place = index ?? item.part?.index ?? count;
    if (place === count) {
      this.writer.closePart(item);
      this.writer.openPart(item, type);
      if (type === 'summary_text') item.summaryNumber = place;
    } else if (item.part?.type !== type || item.part.index !== place) return;
    this.emitRestOfPart(item, type, part);
  }

  private finishItem(key: ItemKey, final: OutputItem): void {
    const item = this.byKey?.get(key) ?? this.addNative(key, createEmptyItem(final));
    if (item.open) this.finishOpenItem(item, final);
  }

  /** Leaves an item in progress. The response ends without an event for it. choice 590 */
  private suspendItem(key: ItemKey): void {
    const item = this.byKey?.get(key);
    if (item) item.open = false;
  }

  private finishOpenItem(item: OpenItem, final: OutputItem): void {
    if (final.type !== item.wire.type) {
      this.writer.closeItem(item, 'completed'); // clients already have the other type
      return;
    }
    this.emitTexts(item, final);
    if (!item.relayed) {
      for (const { type, ...fields } of hostedProgress(final)) {
        this.writer.push(type, { item_id: item.id, output_index: item.index, ...fields });
      }
    }
    this.writer.closeItem(item, 'completed', final);
  }

  /** Emits the texts of an item that no delta contained. */
  private emitTexts(item: OpenItem, whole: OutputItem): void {
    this.emitSummary(item, partsOf(whole, 'summary'));
    this.emitContent(item, partsOf(whole, 'content'));
  }

  private emitSummary(item: OpenItem, parts: Record<string, unknown>[]): void {
    for (const [index, part] of parts.entries()) {
      if (index >= item.summaryParts) this.writer.openPart(item, 'summary_text');
      else if (item.part?.type !== 'summary_text' || item.part.index !== index) continue;
      this.emitRestOfPart(item, 'summary_text', part);
    }
  }

  private emitContent(item: OpenItem, parts: Record<string, unknown>[]): void {
    for (const [index, part] of parts.entries()) {
      const type = part['type'];
      if (!isStreamed(type)) {
        if (index >= item.contentParts) this.writer.addStrangePart(item, part);
        else if (partsOf(item.wire, 'content')[index]?.['type'] !== type) continue; // clients have another kind
        const place = { item_id: item.id, output_index: item.index, content_index: index };
        this.writer.push('response.content_part.done', { ...place, part });
        continue;
      }
      if (index >= item.contentParts) {
        this.writer.closePart(item);
        this.writer.openPart(item, type);
      } else if (item.part?.type !== type || item.part.index !== index) continue;
      this.emitRestOfPart(item, type, part);
    }
  }

  private emitRestOfPart(item: OpenItem, type: OpenPart['type'], part: Record<string, unknown>): void {
    const told = item.part?.text.text ?? '';
    const rest = remainderOf(told, type === 'refusal' ? part['refusal'] : part['text']);
    if (rest !== '') item.part?.text.dropHalf(); // the rest contains it
    if (type === 'summary_text') {
      if (rest !== '') this.writer.addSummary(item, rest);
      return;
    }
    if (type === 'refusal' || type === 'reasoning_text') {
      if (rest !== '') this.writer.addPlain(item, type, rest);
      return;
    }
    const logprobs = part['logprobs'];
    if (rest !== '') this.writer.addText(item, rest, told === '' && Array.isArray(logprobs) ? logprobs : undefined);
    const annotations = Array.isArray(part['annotations']) ? part['annotations'] : [];
    for (const annotation of annotations.slice(item.part?.annotations.length))
      this.writer.addAnnotation(item, annotation);
  }

  /** @param last the status of the last one */
  private closeAll(last: 'completed' | 'incomplete'): void {
    const lastOpen = this.writer.items.findLast((item) => item.open);
    for (const item of this.writer.items) {
      if (!item.open) continue;
      const status = item === lastOpen ? last : 'completed';
      const { announced } = item;
      if (announced && isEmpty(item)) {
        this.emitTexts(item, announced);
        this.writer.closeItem(item, status, { ...announced, status });
      } else this.writer.closeItem(item, status);
    }
    this.current = undefined;
  }

  private finish(chunk: FinishChunk): void {
    this.closeAll(chunk.reason === 'length' ? 'incomplete' : 'completed');
    const output = this.writer.items.map((item) => item.wire);
    const response = finishResponse(this.start(), chunk, { output, ...this.context.settle(chunk) }, this.context.now());
    const type = response.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
    this.writer.pushLast(type, { response });
    this.ended = true;
  }

  private take(chunk: Chunk): void {
    switch (chunk.type) {
      case 'text':
        this.writer.addText(this.itemFor(chunk.key, 'message'), chunk.delta, chunk.logprobs);
        break;
      case 'tool_call_arguments':
        this.writer.addCallText(this.callItem(chunk.callId, chunk.key), chunk.delta);
        break;
      case 'reasoning':
        this.writer.addPlain(this.itemFor(chunk.key, 'reasoning'), 'reasoning_text', chunk.delta);
        break;
      case 'reasoning_summary':
        this.addSummary(chunk);
        break;
      case 'refusal':
        this.writer.addPlain(this.itemFor(chunk.key, 'message'), 'refusal', chunk.delta);
        break;
      case 'annotation':
        this.writer.addAnnotation(this.itemFor(chunk.key, 'message'), chunk.annotation);
        break;
      case 'reasoning_seal':
        this.seal(chunk);
        break;
      case 'tool_call':
        this.startCall(chunk);
        break;
      case 'item':
        this.closeCurrent();
        this.addNative(chunk.key, createEmptyItem(chunk.item)).announced = chunk.item;
        break;
      case 'part':
        this.addPart(chunk.key, chunk.part);
        break;
      case 'part_end':
        if (this.current?.wire.type === 'message') this.writer.closePart(this.current);
        break;
      case 'part_done':
        this.finishPart(chunk);
        break;
      case 'relay':
        this.relay(chunk);
        break;
      case 'item_done':
        this.closeCurrent();
        this.finishItem(chunk.key, chunk.item);
        break;
      case 'item_suspended':
        this.suspendItem(chunk.key);
        break;
      case 'debug':
        this.writer.push('response.debug', { debug: { echo_upstream_body: chunk.upstreamBody } });
        break;
      case 'step_end':
        this.closeAll('completed');
        break;
      case 'finish':
        this.finish(chunk);
        break;
      case 'start':
        this.settings = chunk.settings;
        break;
    }
  }
}

/** The item of a call as it is when it begins. */
export function writeCall({ kind, callId, name, namespace, fields }: ToolCallChunk): OutputItem {
  const isCustom = kind === 'custom';
  return {
    id: undefined,
    type: isCustom ? 'custom_tool_call' : 'function_call',
    status: 'in_progress',
    call_id: callId,
    name,
    [isCustom ? 'input' : 'arguments']: '',
    ...(namespace === undefined ? undefined : { namespace }),
    ...fields,
  };
}

function freshItem(type: 'message' | 'reasoning'): OutputItem {
  return type === 'message'
    ? { id: undefined, type, role: 'assistant', status: 'in_progress', content: [] }
    : { id: undefined, type, status: 'in_progress', summary: [] };
}

/** Whether no event has contained any of its text. */
const isEmpty = ({ contentParts, summaryParts, callText }: OpenItem): boolean =>
  contentParts === 0 && summaryParts === 0 && callText.text === '';

function isStreamed(type: unknown): type is 'output_text' | 'refusal' | 'reasoning_text' {
  return type === 'output_text' || type === 'refusal' || type === 'reasoning_text';
}

/** Entries that are not objects stay in their item and cause no events. */
function partsOf(item: OutputItem, field: 'content' | 'summary'): Record<string, unknown>[] {
  const parts = item.type === 'message' || item.type === 'reasoning' ? item[field] : undefined;
  return Array.isArray(parts) ? parts.filter((part) => typeof part === 'object' && part !== null) : [];
}
