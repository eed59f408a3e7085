import type { Chunk, FinishReason, ItemKey } from '../../domain/chunks.ts';
import { isReasoningFormat, type OutputItem } from '../../domain/items.ts';
import type { Usage } from '../../domain/usage.ts';
import { DroppedNames } from '../kit/dropped-names.ts';
import { FrameTemplate, type Placeholder } from '../kit/frame-template.ts';
import { isLengthError } from '../kit/length-error.ts';
import { findError } from '../errors/complaint.ts';
import { readUpstreamErrorObject } from '../errors/upstream-error.ts';
import { isKeepAlive } from '../kit/invalid-data.ts';
import type { Frame, Reader } from '../wire.ts';
import type { ReaderContext } from './request.ts';
import { completeAnnotation, completeItem, completePart } from './required-fields.ts';
import {
  isRecord,
  readDelta,
  readItem,
  readServiceTier,
  readSettings,
  readUnknownFields,
  readUsage,
  readWire,
  unexpectedUpstreamData,
  type WireEvent,
  type WireResponse,
} from './wire.ts';

/** Reads a streamed response. Drops padding (`obfuscation`) and the upstream's sequence numbers. */
export function createReader(readerContext: ReaderContext): Reader {
  const reader = createResponseReader(readerContext);
  return {
    read: (frame: Frame) => (frame.data.startsWith('[DONE]') || isKeepAlive(frame) ? [] : reader.read(frame)),
    end: () => [],
    counted: () => reader.counted(),
    keptLength: () => reader.keptLength(),
  };
}

/**
 * Reads a buffered response. The last event of a stream contains the same object, so the response is read as a stream
 * with that event only.
 *
 * @throws {GatewayError} `upstream_failed` if it is not a finished response; the response's own error if it failed
 */
export function readWhole(body: unknown, readerContext: ReaderContext): Chunk[] {
  if (!isRecord(body)) throw unexpectedUpstreamData('a body that is not a JSON object');
  if (!Array.isArray(body.output)) {
    const failure = findError(body, 'output');
    if (failure) throw readUpstreamErrorObject(failure, 200);
    throw unexpectedUpstreamData('a response without output');
  }
  if (body.status === 'in_progress' || body.status === 'queued')
    throw unexpectedUpstreamData(`a response that is ${body.status}`);
  const reader = createResponseReader(readerContext);
  const whole = body.object === 'response.compaction' ? { ...body, output: body.output.filter(isNoMessage) } : body;
  return [...reader.start(whole), ...reader.finish(whole, 'completed')];
}

/** The window of a compaction repeats the messages of the user. */
const isNoMessage = (item: unknown): boolean => !(isRecord(item) && item['type'] === 'message');

/** @see TextWire.countWhole */
export const countWhole = (body: unknown): Usage | undefined => (isRecord(body) ? readUsage(body, 0) : undefined);

/** Maximum number of consecutive templates without a match. After that, no template is made. */
const MAX_MISSES = 20;

/** UTF-16 units counted for an item that has not been passed on. */
const ITEM_UNITS = 256;

/** The stored state of an item. */
interface Seen {
  id: string | undefined;
  callId: string;
  done: boolean;
  /** Whether its first deltas arrived before the item. They are dropped, because `item_done` contains everything. */
  silent: boolean;
  /** Whether a delta had arguments of the call. */
  hasArguments: boolean;
}

type Status = 'completed' | 'incomplete' | 'failed';

function createResponseReader({ reasoningFormat, keepsFormat = false, offered }: ReaderContext) {
  const seen = new Map<ItemKey, Seen>();
  const keys = new Map<string, ItemKey>(); // item id → key
  let lastKey: ItemKey = 0;
  let learned: { event: string; key: ItemKey; template: FrameTemplate } | undefined;
  let misses = 0;
  let started = false;
  let ended = false;
  let hasCalls = false;
  let searches = 0;
  let kept = 0;
  let usage: Usage | undefined;
  const dropped = new DroppedNames();

  function start(response: unknown): Chunk[] {
    if (started) return [];
    started = true;
    if (!isRecord(response)) return [{ type: 'start' }];
    const { model } = response;
    const settings = readSettings(response);
    return [{ type: 'start', ...(typeof model === 'string' && { model }), ...(settings && { settings }) }];
  }

  // --- the item of an event: some servers change its id midway, and some omit its index or never increment it ---

  /** Finds the key of an item id. If several items share it: the one in progress at the index, or the last one. */
  function find(id: unknown, index: unknown): ItemKey | undefined {
    if (typeof id !== 'string') return undefined;
    const there = typeof index === 'number' ? seen.get(index) : undefined;
    return there?.id === id && !there.done ? (index as number) : keys.get(id); // `there` implies an index
  }

  function keyOf({ item_id: id, output_index: index }: WireEvent): ItemKey {
    const known = find(id, index);
    if (known !== undefined) return known;
    if (typeof index === 'number') return index;
    return typeof id === 'string' && id !== '' ? id : lastKey;
  }

  function keyOfItem({ id }: OutputItem, index: unknown, isFree: (there: Seen) => boolean): ItemKey {
    const known = find(id, index);
    const isAnother =
      typeof known === 'number' && seen.get(known)?.done && typeof index === 'number' && !seen.has(index);
    if (known !== undefined && !isAnother) return known;
    if (typeof index === 'number') {
      const there = seen.get(index);
      if (!there || isFree(there)) return index;
    }
    return id ?? `#${seen.size}`;
  }

  function remember(key: ItemKey, item: OutputItem): Seen {
    const callId = typeof item.call_id === 'string' ? item.call_id : '';
    const fresh = { id: item.id, callId, done: false, silent: false, hasArguments: false };
    seen.set(key, fresh);
    if (item.id) keys.set(item.id, key);
    if (callKinds.has(item.type)) hasCalls = true;
    lastKey = key;
    return fresh;
  }

  // --- items ---

  function addItem(event: WireEvent): Chunk[] {
    const item = readItem(event.item);
    const { output_index: index } = event;
    const namesake = find(item.id, index);
    const isElsewhere = typeof namesake === 'number' && typeof index === 'number' && namesake !== index;
    if (namesake !== undefined && (isElsewhere || seen.get(namesake)?.done)) keys.delete(item.id!); // a reused id
    const key = keyOfItem(item, index, (there) => there.id === undefined && !there.done);
    if (leavesOut(key, item)) return [];
    const before = seen.get(key);
    if (before && !before.silent) return []; // announced before, or opened by its own deltas
    remember(key, item).silent = before !== undefined;
    return [{ type: 'item', key, item }];
  }

  /**
   * Leaves out a call of a custom tool that the client did not offer, if the API of the client has no form for it. xAI reports
   * the steps of its own searches as such calls, and has already run them. `dropped_upstream_fields` has the name of the call.
   *
   * @see https://docs.x.ai/docs/guides/tools/overview
   */
  function leavesOut(key: ItemKey, item: OutputItem): boolean {
    if (item.type !== 'custom_tool_call' || !offered || offered.has(String(item['name']))) return false;
    dropped.add(`output[] (custom_tool_call ${String(item['name']).slice(0, 100)})`);
    const { id, call_id: callId } = item;
    seen.set(key, { id, callId: String(callId ?? ''), done: true, silent: true, hasArguments: true });
    if (id) keys.set(id, key);
    return true;
  }

  const finishItem = (item: OutputItem, index: unknown): Chunk[] =>
    finishAt(
      keyOfItem(item, index, (there) => !there.done),
      item,
    );

  function finishAt(key: ItemKey, item: OutputItem): Chunk[] {
    const before = seen.get(key);
    if (before?.done || leavesOut(key, item)) return [];
    const isNamed = keepsFormat && isReasoningFormat(String(item['format']));
    const isSealed = item.type === 'reasoning' && item.encrypted_content && !isNamed;
    remember(key, item).done = true;
    if (item.type === 'web_search_call' && isSearch(item.action)) searches++;
    const whole = completeItem(item);
    return [{ type: 'item_done', key, item: isSealed ? { ...whole, format: reasoningFormat } : whole }];
  }

  /** Adds a chunk to its item. If the item was not announced, opens it with the id that the event has. */
  function addToItem(type: 'message' | 'reasoning', event: WireEvent, chunk: Chunk & { key: ItemKey }): Chunk[] {
    const there = seen.get(chunk.key);
    if (there) return there.done ? [] : [chunk];
    const id = typeof event.item_id === 'string' && event.item_id !== '' ? event.item_id : undefined;
    const item: OutputItem =
      type === 'message'
        ? { id, type, role: 'assistant', status: 'in_progress', content: [] }
        : { id, type, status: 'in_progress', summary: [] };
    remember(chunk.key, item);
    return [{ type: 'item', key: chunk.key, item }, chunk];
  }

  function readText(event: WireEvent): Chunk[] {
    const { logprobs } = event;
    const key = keyOf(event);
    const delta = readDelta(event);
    if (!Array.isArray(logprobs) || logprobs.length === 0)
      return addToItem('message', event, { type: 'text', delta, key });
    return addToItem('message', event, { type: 'text', delta, logprobs, key });
  }

  function readArguments(event: WireEvent): Chunk[] {
    const key = keyOf(event);
    const there = seen.get(key);
    if (!there) {
      seen.set(key, { id: undefined, callId: '', done: false, silent: true, hasArguments: false }); // not passed on: its name is missing
      kept += ITEM_UNITS + String(key).length;
      return [];
    }
    if (there.done || there.silent) return [];
    there.hasArguments = true;
    return [{ type: 'tool_call_arguments', callId: there.callId, delta: readDelta(event), key }];
  }

  /** Reads the complete arguments of a call. Some servers send them here only: BerriAI/litellm#25321. */
  function readArgumentsDone(event: WireEvent): Chunk[] {
    const key = keyOf(event);
    const there = seen.get(key);
    const delta = event['arguments'] ?? event['input'];
    if (!there || there.done || there.silent || there.hasArguments) return [];
    if (typeof delta !== 'string' || delta === '') return [];
    return [{ type: 'tool_call_arguments', callId: there.callId, delta, key }];
  }

  function readSummary(event: WireEvent, delta: string): Chunk[] {
    const part = typeof event.summary_index === 'number' ? event.summary_index : undefined;
    const key = keyOf(event);
    const chunk = part === undefined ? { delta, key } : { delta, part, key };
    return addToItem('reasoning', event, { type: 'reasoning_summary', ...chunk });
  }

  function readPart(event: WireEvent): Chunk[] {
    const { part } = event;
    if (!isRecord(part) || typeof part.type !== 'string')
      throw unexpectedUpstreamData(`${event.type} without its part`);
    const key = keyOf(event);
    const isReasoning = part.type === 'reasoning_text';
    const opening: Chunk = { type: 'part', key, part: { ...part, type: part.type } };
    const chunks = addToItem(isReasoning ? 'reasoning' : 'message', event, opening);
    const { text } = part; // the protocol leaves it empty; if a server sends text in it, the text becomes a delta
    if (chunks.length === 0 || typeof text !== 'string' || text === '') return chunks;
    return [...chunks, { type: isReasoning ? 'reasoning' : 'text', delta: text, key }];
  }

  /** Reads the complete text of a part. Some servers send no deltas before it, or only some of them. */
  function readPartDone(event: WireEvent, part: unknown): Chunk[] {
    if (!isRecord(part) || typeof part.type !== 'string' || !partTexts.has(part.type)) return [];
    if (typeof part[partTexts.get(part.type)!] !== 'string') return [];
    const isSummary = part.type === 'summary_text';
    const index = isSummary ? event.summary_index : event.content_index;
    const chunk: Chunk & { key: ItemKey } = {
      type: 'part_done',
      key: keyOf(event),
      part: completePart({ ...part, type: part.type }),
    };
    if (typeof index === 'number') chunk.index = index;
    return addToItem(isSummary || part.type === 'reasoning_text' ? 'reasoning' : 'message', event, chunk);
  }

  function readAnnotation(event: WireEvent): Chunk[] {
    const { annotation } = event;
    if (!isRecord(annotation)) throw unexpectedUpstreamData(`${event.type} without its annotation`);
    return addToItem('message', event, {
      type: 'annotation',
      annotation: completeAnnotation(annotation),
      key: keyOf(event),
    });
  }

  /**
   * Relays progress of hosted tools, and unknown events. Removes a field `error`, because clients treat an event with
   * that field as the end of the stream.
   */
  function relay({ error, ...event }: WireEvent): Chunk[] {
    if (error !== undefined && error !== null) dropped.add(`${event.type.slice(0, 100)}.error`);
    const isPlaced =
      typeof event.output_index === 'number' || (typeof event.item_id === 'string' && event.item_id !== '');
    if (!isPlaced) return [{ type: 'relay', event }];
    const key = keyOf(event);
    if (seen.get(key)?.done === false) return [{ type: 'relay', key, event }];
    dropped.add(event.type.slice(0, 100)); // clients have no open item at this index
    return [];
  }

  // --- the end ---

  function finish(object: unknown, otherwise: Status): Chunk[] {
    const response: WireResponse = isRecord(object) ? object : {};
    const chunks = Array.isArray(response.output) ? finishItems(response.output) : [];
    ended = true;
    usage = readUsage(response, searches);
    const status = statuses.has(response.status) ? response.status : otherwise;
    if (status === 'cancelled') throw unexpectedUpstreamData('a response that was cancelled');
    const hasFailed = status === 'failed';
    if (hasFailed && !(isLengthError(response.error) && seen.size > 0))
      throw readUpstreamErrorObject(response.error, 200);
    const reason = hasFailed
      ? 'length'
      : status === 'incomplete'
        ? readIncompleteReason(response)
        : hasCalls
          ? 'tool_calls'
          : 'stop';
    const settings = readSettings(response);
    chunks.push({
      type: 'finish',
      reason,
      usage,
      serviceTier: readServiceTier(response.service_tier),
      ...(settings && { settings }),
      ...fieldsOf(response),
      ...(dropped.size > 0 && { dropped: [...dropped] }),
    });
    return chunks;
  }

  /** Finishes the remaining items: all items of a buffered response, few or none at the end of a stream. */
  function finishItems(output: unknown[]): Chunk[] {
    const chunks: Chunk[] = [];
    const seenBefore = seen.size;
    const listed = new Set<ItemKey>(); // some servers give all items one id
    output.forEach((entry, index) => {
      const item = readItem(entry);
      const named = item.id === undefined || seen.get(index)?.id === item.id ? index : (keys.get(item.id) ?? index);
      const key = listed.has(named) ? index : named;
      listed.add(key);
      const there = seen.get(key);
      if (there ? !there.done : index >= seenBefore) chunks.push(...finishAt(key, item));
    });
    return chunks;
  }

  /** Reads an error event, which has no response object around its error. */
  function fail(event: WireEvent): Chunk[] {
    return finish({ status: 'failed', error: errorIn(event) ?? event }, 'failed');
  }

  /** Makes a template of a frame that contains only a text, for the frames after it. */
  function learn(frame: Frame, event: WireEvent, chunks: readonly Chunk[]): void {
    const [first] = chunks;
    if (chunks.length !== 1 || first?.type !== 'text' || first.logprobs || first.key === undefined) return;
    const holes: Placeholder[] = [{ key: 'delta', value: first.delta }];
    for (const key of ['sequence_number', 'obfuscation']) {
      const value = event[key];
      if (typeof value === 'number' || typeof value === 'string') holes.push({ key, value });
    }
    const template = FrameTemplate.learn(frame.data, holes);
    misses++;
    if (template) learned = { event: frame.event, key: first.key, template };
  }

  function read(frame: Frame): Chunk[] {
    const delta = ended || frame.event !== learned?.event ? undefined : learned.template.read(frame.data);
    if (delta && learned) {
      misses = 0;
      return [{ type: 'text', delta, key: learned.key }];
    }
    const event = readWire(frame.data, frame.event);
    if (ended) return [];
    learned = undefined; // another event may end the item of the deltas
    switch (event.type) {
      case 'response.output_text.delta': {
        const chunks = readText(event);
        if (misses < MAX_MISSES) learn(frame, event, chunks);
        return chunks;
      }
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return readArguments(event);
      case 'response.reasoning_text.delta':
        return addToItem('reasoning', event, { type: 'reasoning', delta: readDelta(event), key: keyOf(event) });
      case 'response.reasoning_summary_text.delta':
        return readSummary(event, readDelta(event));
      case 'response.refusal.delta':
        return addToItem('message', event, { type: 'refusal', delta: readDelta(event), key: keyOf(event) });
      case 'response.output_item.added':
        return addItem(event);
      case 'response.output_item.done':
        return finishItem(readItem(event.item), event.output_index);
      case 'response.content_part.added':
      case 'response.reasoning_part.added': // vLLM's name for the same event
        return readPart(event);
      case 'response.output_text.annotation.added':
        return readAnnotation(event);
      case 'response.content_part.done':
      case 'response.reasoning_part.done':
      case 'response.reasoning_summary_part.done':
        return readPartDone(event, event.part);
      case 'response.output_text.done':
        return readPartDone(event, { type: 'output_text', text: event.text, logprobs: event.logprobs });
      case 'response.reasoning_text.done':
        return readPartDone(event, { type: 'reasoning_text', text: event.text });
      case 'response.reasoning_summary_text.done':
        return readPartDone(event, { type: 'summary_text', text: event.text });
      case 'response.refusal.done':
        return readPartDone(event, { type: 'refusal', refusal: event.refusal });
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        return readArgumentsDone(event);
      // The deltas or the finished item contain the same content.
      case 'response.reasoning_summary_part.added':
      case 'keepalive':
        return [];
      case 'response.created':
      case 'response.in_progress':
      case 'response.queued':
        return start(event.response);
      case 'response.completed':
        return finish(event.response, 'completed');
      case 'response.incomplete':
        return finish(event.response, 'incomplete');
      case 'response.failed':
        return finish(withError(event), 'failed');
      case 'response.cancelled':
        throw unexpectedUpstreamData('a response that was cancelled');
      case 'error':
        return fail(event);
      default:
        if (event.type.startsWith('response.')) return relay(event);
        return errorIn(event) === undefined ? [] : fail(event);
    }
  }

  return { start, read, finish, counted: () => usage, keptLength: () => kept };
}

/** Returns the response of an event, with the error that some proxies send beside it. */
const withError = ({ response, error }: WireEvent): unknown =>
  isRecord(response) && !response.error && error ? { ...response, error } : response;

/** Returns the error in an event of another format, as proxies send it. An event without a name may be one as a whole. */
const errorIn = (event: WireEvent): unknown => findError(event, event.type === '' ? 'response' : 'type');

/** Whether an action is a search. Opening a page, or searching in one, costs nothing. */
const isSearch = (action: unknown): boolean =>
  !isRecord(action) || action.type === undefined || action.type === 'search';

/** Kinds of parts that have deltas → the field of their text. */
const partTexts = new Map([
  ['output_text', 'text'],
  ['refusal', 'refusal'],
  ['reasoning_text', 'text'],
  ['summary_text', 'text'],
]);

const statuses = new Set<unknown>(['completed', 'incomplete', 'failed', 'cancelled']);

/** Types of calls that the client runs. */
const callKinds = new Set([
  'function_call',
  'custom_tool_call',
  'apply_patch_call',
  'local_shell_call',
  'computer_call',
]);

function readIncompleteReason({ incomplete_details: details }: WireResponse): FinishReason {
  return isRecord(details) && details.reason === 'content_filter' ? 'content_filter' : 'length';
}

function fieldsOf(response: WireResponse): { fields?: Record<string, unknown> } {
  const fields = readUnknownFields(response);
  return fields ? { fields } : {};
}
