import {
  type Chunk,
  type FinishChunk,
  type ItemKey,
  isVisible,
  type ReasoningSealChunk,
  type ReasoningSummaryChunk,
  type RelayChunk,
  type ToolCallChunk,
} from '../domain/chunks.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { OutputItem } from '../domain/items.ts';
import type { ResponseObject } from '../domain/response.ts';
import { cutItem, ItemWriter, restOf } from './item-writer.ts';
import { emptied, hostedProgress, type OpenItem, type OpenPart } from './output-items.ts';
import { type Ending, failResponse, finishResponse } from './response-object.ts';

/** What the builder is told about the run it builds for. */
export interface BuilderContext {
  /** The response object before any output; asked for once, when the first output comes. */
  base(): ResponseObject;
  /** Called once at the end, regular (`finish`) or not, for usage and metadata. */
  settle(finish: FinishChunk | undefined): Omit<Ending, 'output'>;
  /** Unix seconds. */
  now(): number;
}

export interface EventBuilder {
  /** @returns the events of these chunks, in order; call it with every batch, in order */
  build(chunks: readonly Chunk[]): ResponseEvent[];
  /** Ends a run that broke: what is open stays, marked incomplete, and `response.failed` is the last event. */
  fail(error: GatewayError): ResponseEvent[];
  /** True once the client has been shown an event. */
  readonly started: boolean;
  /** True once the terminal event has been built. */
  readonly ended: boolean;
  /** UTF-16 units of text, reasoning and arguments so far: what an estimate of a cut stream counts. */
  readonly producedLength: number;
}

/**
 * Turns chunks into events. With `item-writer.ts` it alone knows item ids, indexes and sequence numbers.
 *
 * @see responses-stream.md sections 2 to 4
 */
export function createEventBuilder(context: BuilderContext): EventBuilder {
  const writer = new ItemWriter();
  const byKey = new Map<ItemKey, OpenItem>();
  const byCallId = new Map<string, OpenItem>();
  let current: OpenItem | undefined; // the message or reasoning in progress on a wire that names no items
  let base: ResponseObject | undefined;
  let ended = false;

  function start(): ResponseObject {
    if (!base) {
      base = context.base();
      writer.push('response.created', { response: base });
      writer.push('response.in_progress', { response: base });
    }
    return base;
  }

  /** The item a text-like chunk belongs to: the one named, the one in progress, or a new one. */
  function itemFor(key: ItemKey | undefined, type: 'message' | 'reasoning'): OpenItem {
    if (key !== undefined) return byKey.get(key) ?? addNative(key, freshItem(type));
    if (current?.wire.type === type && !current.sealed) return current;
    closeCurrent();
    current = writer.addItem(freshItem(type), undefined, false);
    return current;
  }

  function addNative(key: ItemKey, wire: OutputItem): OpenItem {
    const item = writer.addItem(wire, key, true);
    byKey.set(key, item);
    return item;
  }

  /**
   * A change of kind closes the message or reasoning that a simple wire had open. Calls stay open to the end: their
   * pieces may interleave with one another, and with text.
   */
  function closeCurrent(): void {
    if (current?.open) writer.closeItem(current, 'completed');
    current = undefined;
  }

  function addSummary(chunk: ReasoningSummaryChunk): void {
    const item = itemFor(chunk.key, 'reasoning');
    if (chunk.part !== undefined && chunk.part !== item.summaryNumber) {
      item.summaryNumber = chunk.part;
      writer.openPart(item, 'summary_text');
    }
    if (chunk.delta !== '') writer.addSummary(item, chunk.delta);
  }

  function seal(chunk: ReasoningSealChunk): void {
    const item = sealedItem(chunk);
    const { encryptedContent, signature } = chunk;
    item.wire = {
      ...item.wire,
      ...(encryptedContent === undefined ? undefined : { encrypted_content: encryptedContent }),
      ...(signature === undefined ? undefined : { signature }),
      format: chunk.format,
    };
    item.sealed = true;
    if (chunk.key === undefined && item !== current) writer.closeItem(item, 'completed');
  }

  /** The reasoning in progress; a seal that comes after it had to be closed is an item of its own. */
  function sealedItem({ key }: ReasoningSealChunk): OpenItem {
    if (key !== undefined || current === undefined || current.wire.type === 'reasoning')
      return itemFor(key, 'reasoning');
    return writer.addItem(freshItem('reasoning'), undefined, false);
  }

  function startCall(chunk: ToolCallChunk): void {
    closeCurrent();
    const isCustom = chunk.kind === 'custom';
    const wire: OutputItem = {
      id: undefined,
      type: isCustom ? 'custom_tool_call' : 'function_call',
      status: 'in_progress',
      call_id: chunk.callId,
      name: chunk.name,
      [isCustom ? 'input' : 'arguments']: '',
      ...(chunk.namespace === undefined ? undefined : { namespace: chunk.namespace }),
      ...chunk.fields,
    };
    byCallId.set(chunk.callId, writer.addItem(wire, undefined, false));
  }

  function callItem(callId: string, key: ItemKey | undefined): OpenItem {
    const item = key === undefined ? byCallId.get(callId) : byKey.get(key);
    if (item) return item;
    const message = `The provider sent arguments of the call ${callId.slice(0, 100)}, which never began.`;
    throw new GatewayError('upstream_failed', message, { retryable: true });
  }

  function relay({ key, event }: RelayChunk): void {
    const item = key === undefined ? undefined : byKey.get(key);
    const { type, sequence_number: _theirs, ...fields } = event;
    if (item) {
      item.relayed = true;
      fields['output_index'] = item.index;
      if ('item_id' in fields) fields['item_id'] = item.id;
    }
    writer.push(type, fields);
  }

  function addPart(key: ItemKey, part: { type: string }): void {
    const item = byKey.get(key);
    if (!item) return;
    writer.closePart(item);
    if (isStreamed(part.type)) writer.openPart(item, part.type);
    else writer.addStrangePart(item, part);
  }

  function finishItem(key: ItemKey, final: OutputItem): void {
    const item = byKey.get(key) ?? addNative(key, emptied(final));
    if (!item.open) return;
    tellSummary(item, partsOf(final, 'summary'));
    tellContent(item, partsOf(final, 'content'));
    if (!item.relayed) {
      for (const { type, ...fields } of hostedProgress(final)) {
        writer.push(type, { item_id: item.id, output_index: item.index, ...fields });
      }
    }
    writer.closeItem(item, 'completed', final);
  }

  /** Tells by events what the finished item says and no delta has said. */
  function tellSummary(item: OpenItem, parts: Record<string, unknown>[]): void {
    for (const [index, part] of parts.entries()) {
      if (index >= item.summaryParts) writer.openPart(item, 'summary_text');
      else if (item.part?.type !== 'summary_text' || item.part.index !== index) continue;
      const rest = restOf(item.part?.text ?? '', part['text']);
      if (rest !== '') writer.addSummary(item, rest);
    }
  }

  function tellContent(item: OpenItem, parts: Record<string, unknown>[]): void {
    for (const [index, part] of parts.entries()) {
      const type = part['type'];
      if (!isStreamed(type)) {
        if (index >= item.contentParts) writer.addStrangePart(item, part);
        const place = { item_id: item.id, output_index: item.index, content_index: index };
        writer.push('response.content_part.done', { ...place, part });
        continue;
      }
      if (index >= item.contentParts) {
        writer.closePart(item);
        writer.openPart(item, type);
      } else if (!item.part || item.part.type === 'summary_text' || item.part.index !== index) continue;
      tellRestOfPart(item, type, part);
    }
  }

  function tellRestOfPart(item: OpenItem, type: OpenPart['type'], part: Record<string, unknown>): void {
    const told = item.part?.text ?? '';
    const rest = restOf(told, type === 'refusal' ? part['refusal'] : part['text']);
    if (type === 'refusal' || type === 'reasoning_text') {
      if (rest !== '') writer.addPlain(item, type, rest);
      return;
    }
    const logprobs = part['logprobs'];
    if (rest !== '') writer.addText(item, rest, told === '' && Array.isArray(logprobs) ? logprobs : undefined);
    const annotations = Array.isArray(part['annotations']) ? part['annotations'] : [];
    for (const annotation of annotations.slice(item.part?.annotations.length)) writer.addAnnotation(item, annotation);
  }

  function finish(chunk: FinishChunk): void {
    const lastOpen = writer.items.findLast((item) => item.open);
    for (const item of writer.items) {
      if (item.open)
        writer.closeItem(item, item === lastOpen && chunk.reason === 'length' ? 'incomplete' : 'completed');
    }
    const output = writer.items.map((item) => item.wire);
    const response = finishResponse(start(), chunk, { output, ...context.settle(chunk) }, context.now());
    writer.push(`response.${response.status}`, { response });
    ended = true;
  }

  function take(chunk: Chunk): void {
    switch (chunk.type) {
      case 'text':
        writer.addText(itemFor(chunk.key, 'message'), chunk.delta, chunk.logprobs);
        break;
      case 'tool_call_arguments':
        writer.addCallText(callItem(chunk.callId, chunk.key), chunk.delta);
        break;
      case 'reasoning':
        writer.addPlain(itemFor(chunk.key, 'reasoning'), 'reasoning_text', chunk.delta);
        break;
      case 'reasoning_summary':
        addSummary(chunk);
        break;
      case 'refusal':
        writer.addPlain(itemFor(chunk.key, 'message'), 'refusal', chunk.delta);
        break;
      case 'annotation':
        writer.addAnnotation(itemFor(chunk.key, 'message'), chunk.annotation);
        break;
      case 'reasoning_seal':
        seal(chunk);
        break;
      case 'tool_call':
        startCall(chunk);
        break;
      case 'item':
        closeCurrent();
        addNative(chunk.key, chunk.item);
        break;
      case 'part':
        addPart(chunk.key, chunk.part);
        break;
      case 'relay':
        relay(chunk);
        break;
      case 'item_done':
        finishItem(chunk.key, chunk.item);
        break;
      case 'debug':
        writer.push('response.debug', { debug: { echo_upstream_body: chunk.upstreamBody } });
        break;
      case 'finish':
        finish(chunk);
        break;
      case 'start':
        break;
    }
  }

  return {
    build(chunks) {
      for (const chunk of chunks) {
        if (ended) break;
        if (!base && isVisible(chunk)) start();
        take(chunk);
      }
      return writer.takeEvents();
    },
    fail(error) {
      if (ended) return [];
      const output = writer.items.map((item) => (item.open ? cutItem(item) : item.wire));
      const response = failResponse(start(), error, { output, ...context.settle(undefined) });
      writer.push('response.failed', { response });
      ended = true;
      return writer.takeEvents();
    },
    get started() {
      return base !== undefined;
    },
    get ended() {
      return ended;
    },
    get producedLength() {
      return writer.producedLength;
    },
  };
}

function freshItem(type: 'message' | 'reasoning'): OutputItem {
  return type === 'message'
    ? { id: undefined, type, role: 'assistant', status: 'in_progress', content: [] }
    : { id: undefined, type, status: 'in_progress', summary: [] };
}

function isStreamed(type: unknown): type is 'output_text' | 'refusal' | 'reasoning_text' {
  return type === 'output_text' || type === 'refusal' || type === 'reasoning_text';
}

/** What is no object is no part: it is carried with its item, and nothing is told of it. */
function partsOf(item: OutputItem, field: 'content' | 'summary'): Record<string, unknown>[] {
  const parts = item.type === 'message' || item.type === 'reasoning' ? item[field] : undefined;
  return Array.isArray(parts) ? parts.filter((part) => typeof part === 'object' && part !== null) : [];
}
