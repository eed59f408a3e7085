import type {
  AnnotationChunk,
  Chunk,
  FinishChunk,
  ItemKey,
  ReasoningSealChunk,
  ReasoningSummaryChunk,
  RelayChunk,
  ToolCallArgumentsChunk,
  ToolCallChunk,
} from '../domain/chunks.ts';
import { isVisible } from '../domain/chunks.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { OutputItem } from '../domain/items.ts';
import type { ResponseObject } from '../domain/response.ts';
import { emptied, hostedProgress, type OpenItem, type OpenPart, openItem } from './output-items.ts';
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

const noLogprobs: unknown[] = [];

/**
 * Turns chunks into events. It alone knows item ids, indexes and sequence numbers.
 *
 * @see responses-stream.md sections 2 to 4
 */
export function createEventBuilder(context: BuilderContext): EventBuilder {
  const items: OpenItem[] = [];
  const byKey = new Map<ItemKey, OpenItem>();
  const byCallId = new Map<string, OpenItem>();
  let current: OpenItem | undefined; // the implicit item in progress
  let sequence = 0;
  let base: ResponseObject | undefined;
  let ended = false;
  let producedLength = 0;
  let events: ResponseEvent[] = [];

  const push = (type: string, fields: object): void => {
    events.push({ type, sequence_number: sequence++, ...fields });
  };

  function start(): void {
    if (base) return;
    base = context.base();
    push('response.created', { response: base });
    push('response.in_progress', { response: base });
  }

  // --- items ---

  function addItem(wire: OutputItem, key: ItemKey | undefined, native: boolean): OpenItem {
    const item = openItem(wire, items.length, key, native);
    items.push(item);
    if (key !== undefined) byKey.set(key, item);
    push('response.output_item.added', { output_index: item.index, item: item.wire });
    return item;
  }

  /** The item a text-like chunk belongs to: the one named, the one in progress, or a new one. */
  function itemFor(key: ItemKey | undefined, type: 'message' | 'reasoning'): OpenItem {
    if (key !== undefined) return byKey.get(key) ?? addItem(freshItem(type), key, true);
    if (current?.wire.type === type && !current.sealed) return current;
    closeImplicit();
    current = addItem(freshItem(type), undefined, false);
    return current;
  }

  /** A change of kind closes what a simple wire had open. */
  function closeImplicit(): void {
    current = undefined;
    for (const item of items) if (item.open && !item.native) closeItem(item, 'completed');
  }

  function closeItem(item: OpenItem, status: 'completed' | 'incomplete', final?: OutputItem): void {
    closePart(item);
    const isCall = item.wire.type === 'function_call' || item.wire.type === 'custom_tool_call';
    if (isCall) tellCallDone(item, final);
    item.wire = final
      ? { ...final, id: item.id }
      : { ...item.wire, ...(isCall ? callFields(item) : undefined), status };
    item.open = false;
    push('response.output_item.done', { output_index: item.index, item: item.wire });
  }

  // --- parts ---

  function openPart(item: OpenItem, type: OpenPart['type']): OpenPart {
    if (item.part?.type === type && type !== 'summary_text') return item.part;
    closePart(item);
    const isSummary = type === 'summary_text';
    const index = isSummary ? item.summaryParts++ : item.contentParts++;
    const part: OpenPart = { type, index, text: '', annotations: [], logprobs: noLogprobs };
    item.part = part;
    push(isSummary ? 'response.reasoning_summary_part.added' : 'response.content_part.added', {
      item_id: item.id,
      output_index: item.index,
      [isSummary ? 'summary_index' : 'content_index']: index,
      part: wirePart(part),
    });
    return part;
  }

  function closePart(item: OpenItem): void {
    const part = item.part;
    if (!part) return;
    item.part = undefined;
    const finished = wirePart(part);
    const isSummary = part.type === 'summary_text';
    const place = {
      item_id: item.id,
      output_index: item.index,
      [isSummary ? 'summary_index' : 'content_index']: part.index,
    };
    switch (part.type) {
      case 'output_text':
        push('response.output_text.done', { ...place, text: part.text, logprobs: part.logprobs });
        break;
      case 'refusal':
        push('response.refusal.done', { ...place, refusal: part.text });
        break;
      case 'reasoning_text':
        push('response.reasoning_text.done', { ...place, text: part.text });
        break;
      case 'summary_text':
        push('response.reasoning_summary_text.done', { ...place, text: part.text });
        break;
    }
    push(isSummary ? 'response.reasoning_summary_part.done' : 'response.content_part.done', {
      ...place,
      part: finished,
    });
    const field = isSummary ? 'summary' : 'content';
    const before = item.wire[field];
    item.wire = { ...item.wire, [field]: [...(Array.isArray(before) ? before : []), finished] };
  }

  // --- deltas: these come by the hundred ---

  function addText(item: OpenItem, delta: string, logprobs: unknown[] | undefined): void {
    const part = item.part?.type === 'output_text' ? item.part : openPart(item, 'output_text');
    part.text += delta;
    producedLength += delta.length;
    if (logprobs) part.logprobs = part.logprobs.concat(logprobs);
    events.push({
      type: 'response.output_text.delta',
      sequence_number: sequence++,
      item_id: item.id,
      output_index: item.index,
      content_index: part.index,
      delta,
      logprobs: logprobs ?? noLogprobs,
    });
  }

  function addPlain(item: OpenItem, type: 'refusal' | 'reasoning_text', delta: string): void {
    const part = openPart(item, type);
    part.text += delta;
    producedLength += delta.length;
    events.push({
      type: type === 'refusal' ? 'response.refusal.delta' : 'response.reasoning_text.delta',
      sequence_number: sequence++,
      item_id: item.id,
      output_index: item.index,
      content_index: part.index,
      delta,
    });
  }

  function addSummary(item: OpenItem, delta: string): void {
    const part = item.part?.type === 'summary_text' ? item.part : openPart(item, 'summary_text');
    part.text += delta;
    producedLength += delta.length;
    events.push({
      type: 'response.reasoning_summary_text.delta',
      sequence_number: sequence++,
      item_id: item.id,
      output_index: item.index,
      summary_index: part.index,
      delta,
    });
  }

  function addCallText(item: OpenItem, delta: string): void {
    item.callText += delta;
    producedLength += delta.length;
    events.push({
      type:
        item.wire.type === 'custom_tool_call'
          ? 'response.custom_tool_call_input.delta'
          : 'response.function_call_arguments.delta',
      sequence_number: sequence++,
      item_id: item.id,
      output_index: item.index,
      delta,
    });
  }

  function summary(chunk: ReasoningSummaryChunk): void {
    const item = itemFor(chunk.key, 'reasoning');
    if (chunk.part !== undefined && chunk.part !== item.summaryNumber) {
      item.summaryNumber = chunk.part;
      openPart(item, 'summary_text');
    }
    if (chunk.delta !== '') addSummary(item, chunk.delta);
  }

  function annotate(chunk: AnnotationChunk): void {
    const item = itemFor(chunk.key, 'message');
    const part = openPart(item, 'output_text');
    part.annotations.push(chunk.annotation);
    push('response.output_text.annotation.added', {
      item_id: item.id,
      output_index: item.index,
      content_index: part.index,
      annotation_index: part.annotations.length - 1,
      annotation: chunk.annotation,
    });
  }

  function seal(chunk: ReasoningSealChunk): void {
    const item = itemFor(chunk.key, 'reasoning');
    const { encryptedContent, signature } = chunk;
    item.wire = {
      ...item.wire,
      ...(encryptedContent === undefined ? undefined : { encrypted_content: encryptedContent }),
      ...(signature === undefined ? undefined : { signature }),
      format: chunk.format,
    };
    item.sealed = true;
  }

  function startCall(chunk: ToolCallChunk): void {
    if (current) closeImplicit(); // a message or reasoning was open; calls stay open beside each other
    const isCustom = chunk.kind === 'custom';
    const item = addItem(
      {
        id: undefined,
        type: isCustom ? 'custom_tool_call' : 'function_call',
        status: 'in_progress',
        call_id: chunk.callId,
        name: chunk.name,
        [isCustom ? 'input' : 'arguments']: '',
        ...(chunk.namespace === undefined ? undefined : { namespace: chunk.namespace }),
        ...chunk.fields,
      },
      undefined,
      false,
    );
    byCallId.set(chunk.callId, item);
  }

  function callArguments(chunk: ToolCallArgumentsChunk): void {
    const item = chunk.key === undefined ? byCallId.get(chunk.callId) : byKey.get(chunk.key);
    if (!item) throw new Error(`Arguments arrived for the call ${chunk.callId}, which never began.`);
    addCallText(item, chunk.delta);
  }

  function tellCallDone(item: OpenItem, final: OutputItem | undefined): void {
    const isCustom = item.wire.type === 'custom_tool_call';
    const whole = final?.[isCustom ? 'input' : 'arguments'];
    if (typeof whole === 'string' && whole.length > item.callText.length && whole.startsWith(item.callText)) {
      addCallText(item, whole.slice(item.callText.length));
    }
    const place = { item_id: item.id, output_index: item.index };
    if (isCustom) push('response.custom_tool_call_input.done', { ...place, input: item.callText });
    else
      push('response.function_call_arguments.done', {
        ...place,
        name: (final ?? item.wire)['name'],
        arguments: item.callText,
      });
  }

  // --- native items ---

  function relay(chunk: RelayChunk): void {
    const item = chunk.key === undefined ? undefined : byKey.get(chunk.key);
    const event: ResponseEvent = { ...chunk.event, sequence_number: sequence++ };
    if (item) {
      item.relayed = true;
      event['output_index'] = item.index;
      if ('item_id' in event) event['item_id'] = item.id;
    }
    events.push(event);
  }

  function finishItem(key: ItemKey, final: OutputItem): void {
    const item = byKey.get(key) ?? addItem(emptied(final), key, true);
    if (!item.open) return;
    tellRest(item, final);
    if (!item.relayed) {
      for (const event of hostedProgress(final, { item_id: item.id, output_index: item.index })) {
        events.push({ ...event, sequence_number: sequence++ });
      }
    }
    closeItem(item, 'completed', final);
  }

  /** Tells by events what the finished item says and no delta has said. */
  function tellRest(item: OpenItem, final: OutputItem): void {
    for (const [index, part] of partsOf(final, 'summary').entries()) {
      if (index >= item.summaryParts) openPart(item, 'summary_text');
      else if (item.part?.type !== 'summary_text' || item.part.index !== index) continue;
      const rest = restOf(item.part, String(part['text'] ?? ''));
      if (rest !== '') addSummary(item, rest);
    }
    for (const [index, part] of partsOf(final, 'content').entries()) {
      if (!isStreamed(part['type'])) {
        tellStrangePart(item, index, part);
        continue;
      }
      const type = part['type'];
      if (index >= item.contentParts) {
        closePart(item);
        openPart(item, type);
      } else if (!item.part || item.part.type === 'summary_text' || item.part.index !== index) continue;
      const rest = restOf(item.part, String((type === 'refusal' ? part['refusal'] : part['text']) ?? ''));
      if (type === 'output_text') {
        const logprobs = item.part?.text === '' && Array.isArray(part['logprobs']) ? part['logprobs'] : undefined;
        if (rest !== '') addText(item, rest, logprobs);
        const annotations = Array.isArray(part['annotations']) ? part['annotations'] : [];
        for (const annotation of annotations.slice(item.part?.annotations.length)) {
          annotate({ type: 'annotation', annotation, key: item.key });
        }
      } else if (rest !== '') {
        addPlain(item, type, rest);
      }
    }
  }

  /** A part of a kind that has no deltas here: shown when it begins (or now) and when it is done, as it was sent. */
  function tellStrangePart(item: OpenItem, index: number, part: Record<string, unknown>): void {
    const place = { item_id: item.id, output_index: item.index, content_index: index };
    if (index >= item.contentParts) {
      closePart(item);
      item.contentParts++;
      push('response.content_part.added', { ...place, part });
    }
    push('response.content_part.done', { ...place, part });
  }

  // --- the end ---

  function finish(chunk: FinishChunk): void {
    const lastOpen = items.findLast((item) => item.open);
    for (const item of items) {
      if (item.open) closeItem(item, item === lastOpen && chunk.reason === 'length' ? 'incomplete' : 'completed');
    }
    const output = items.map((item) => item.wire);
    const response = finishResponse(base!, chunk, { output, ...context.settle(chunk) }, context.now());
    push(`response.${response.status}`, { response });
    ended = true;
  }

  function take(chunk: Chunk): void {
    switch (chunk.type) {
      case 'text':
        return addText(itemFor(chunk.key, 'message'), chunk.delta, chunk.logprobs);
      case 'tool_call_arguments':
        return callArguments(chunk);
      case 'reasoning':
        return addPlain(itemFor(chunk.key, 'reasoning'), 'reasoning_text', chunk.delta);
      case 'reasoning_summary':
        return summary(chunk);
      case 'refusal':
        return addPlain(itemFor(chunk.key, 'message'), 'refusal', chunk.delta);
      case 'annotation':
        return annotate(chunk);
      case 'reasoning_seal':
        return seal(chunk);
      case 'tool_call':
        return startCall(chunk);
      case 'item':
        closeImplicit();
        addItem(chunk.item, chunk.key, true);
        return;
      case 'part': {
        const item = byKey.get(chunk.key);
        if (!item) return;
        closePart(item);
        if (isStreamed(chunk.part.type)) openPart(item, chunk.part.type);
        else {
          const place = { item_id: item.id, output_index: item.index, content_index: item.contentParts++ };
          push('response.content_part.added', { ...place, part: chunk.part });
        }
        return;
      }
      case 'relay':
        return relay(chunk);
      case 'item_done':
        return finishItem(chunk.key, chunk.item);
      case 'debug':
        return push('response.debug', { debug: { echo_upstream_body: chunk.upstreamBody } });
      case 'finish':
        return finish(chunk);
      case 'start':
        return;
    }
  }

  return {
    build(chunks) {
      events = [];
      for (const chunk of chunks) {
        if (ended) break;
        if (!base && isVisible(chunk)) start();
        take(chunk);
      }
      return events;
    },
    fail(error) {
      events = [];
      if (ended) return events;
      start();
      const output = items.map((item) => (item.open ? cutItem(item) : item.wire));
      const response = failResponse(base!, error, { output, ...context.settle(undefined) });
      push('response.failed', { response });
      ended = true;
      return events;
    },
    get started() {
      return base !== undefined;
    },
    get ended() {
      return ended;
    },
    get producedLength() {
      return producedLength;
    },
  };
}

function freshItem(type: 'message' | 'reasoning'): OutputItem {
  return type === 'message'
    ? { id: undefined, type, role: 'assistant', status: 'in_progress', content: [] }
    : { id: undefined, type, status: 'in_progress', summary: [] };
}

function wirePart(part: OpenPart): Record<string, unknown> {
  switch (part.type) {
    case 'output_text':
      return part.logprobs.length > 0
        ? { type: part.type, text: part.text, annotations: [...part.annotations], logprobs: part.logprobs }
        : { type: part.type, text: part.text, annotations: [...part.annotations] };
    case 'refusal':
      return { type: part.type, refusal: part.text };
    default:
      return { type: part.type, text: part.text };
  }
}

function callFields(item: OpenItem): Record<string, string> {
  return item.wire.type === 'custom_tool_call' ? { input: item.callText } : { arguments: item.callText };
}

/** An item as far as it came when the run broke. */
function cutItem(item: OpenItem): OutputItem {
  const wire: OutputItem = { ...item.wire, status: 'incomplete' };
  if (item.callText !== '') Object.assign(wire, callFields(item));
  if (item.part) {
    const field = item.part.type === 'summary_text' ? 'summary' : 'content';
    const before = wire[field];
    wire[field] = [...(Array.isArray(before) ? before : []), wirePart(item.part)];
  }
  return wire;
}

function isStreamed(type: unknown): type is 'output_text' | 'refusal' | 'reasoning_text' {
  return type === 'output_text' || type === 'refusal' || type === 'reasoning_text';
}

function partsOf(item: OutputItem, field: 'content' | 'summary'): Record<string, unknown>[] {
  const parts = item.type === 'message' || item.type === 'reasoning' ? item[field] : undefined;
  return Array.isArray(parts) ? parts : [];
}

/** What a text says beyond its deltas; nothing when the provider contradicts itself. */
function restOf(part: OpenPart | undefined, whole: string): string {
  const told = part?.text ?? '';
  return whole.startsWith(told) ? whole.slice(told.length) : '';
}
