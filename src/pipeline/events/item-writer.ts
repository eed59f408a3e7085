import { GatewayError } from '../../domain/errors.ts';
import type { DeltaEvent, ResponseEvent } from '../../domain/events.ts';
import { type TextCounter, WholeText } from '../../domain/growing-text.ts';
import type { OutputItem } from '../../domain/items.ts';
import { type OpenItem, type OpenPart, openItem } from './output-items.ts';

const noLogprobs: unknown[] = [];

/** Stands for half of a character whose other half never came. */
const NO_CHARACTER = '\ufffd';

/** Whether a delta was only half of a character, which waits for the other one. Logprobs do not wait. */
const isHeld = (whole: string, delta: string, logprobs?: unknown[]): boolean =>
  whole === '' && delta !== '' && !logprobs?.length;

/** Each delta repeats the id of its item. */
const MAX_ID_LENGTH = 1024;

/**
 * Creates the numbered events of items and their parts: added, delta, done. It keeps the events of an item in order.
 * `build-events.ts` decides which item a chunk belongs to.
 *
 * @see docs/reference/events.md#order
 */
export class ItemWriter implements TextCounter {
  readonly items: OpenItem[] = [];
  private readonly emitsDeltas: boolean;
  private events: ResponseEvent[] = [];
  private sequence = 0;
  private ids: Set<string> | undefined; // most responses have one item
  private readonly limitBytes: number;
  private textBytes = 0;

  /**
   * @param emitsDeltas false: only the last event is created
   * @param limitBytes maximum retained text, as JSON
   */
  constructor(emitsDeltas: boolean, limitBytes: number) {
    this.emitsDeltas = emitsDeltas;
    this.limitBytes = limitBytes;
  }

  /**
   * Measures text one block at a time. The last events write all text as JSON, where a character takes up to six bytes.
   *
   * @throws {GatewayError} `upstream_failed` above the limit
   */
  countBlock(block: string): void {
    this.textBytes += Buffer.byteLength(JSON.stringify(block));
    if (this.textBytes <= this.limitBytes) return;
    const message = `The provider sent more output than ${this.limitBytes} bytes (upstream_body_limit).`;
    throw new GatewayError('upstream_failed', message, { retryable: true });
  }

  /** @returns the events since the last call */
  takeEvents(): ResponseEvent[] {
    const { events } = this;
    this.events = [];
    return events;
  }

  push(type: string, fields: object): void {
    if (this.emitsDeltas) this.pushLast(type, fields);
  }

  pushLast(type: string, fields: object): void {
    this.events.push({ type, sequence_number: this.sequence++, ...fields });
  }

  private pushDelta(event: DeltaEvent): void {
    if (this.emitsDeltas) this.events.push(event);
  }

  /**
   * Replaces an id that another item has, because clients find items by id, or that is too long to repeat in each
   * event.
   */
  addItem(wire: OutputItem): OpenItem {
    const isUsable = wire.id === undefined || (wire.id.length <= MAX_ID_LENGTH && !this.isTaken(wire.id));
    const item = openItem(isUsable ? wire : { ...wire, id: undefined }, this.items.length, this);
    this.items.push(item);
    this.ids?.add(item.id);
    this.push('response.output_item.added', { output_index: item.index, item: item.wire });
    return item;
  }

  private isTaken(id: string): boolean {
    if (this.items.length === 0) return false;
    this.ids ??= new Set(this.items.map((item) => item.id));
    return this.ids.has(id);
  }

  /**
   * @param final the provider's finished item, unchanged where it agrees with the events; absent: the item so far is
   *   used
   */
  closeItem(item: OpenItem, status: 'completed' | 'incomplete', final?: OutputItem): void {
    this.closePart(item);
    if (isCall(item)) this.emitCallDone(item, final);
    if (!final) item.wire = { ...item.wire, ...callFields(item), status };
    else {
      const { wire } = item;
      item.wire = { ...final, id: item.id, ...(hasCallText(item, final) ? callFields(item) : undefined) };
      if (wire.type === 'message') item.wire['model'] = wire['model'];
      for (const field of ['content', 'summary'] as const) {
        const parts = reconcileParts(wire[field], final[field]);
        if (parts) item.wire[field] = parts;
      }
      if (final['status'] === 'in_progress') item.wire.status = status; // the event ends it
    }
    item.open = false;
    this.push('response.output_item.done', { output_index: item.index, item: item.wire });
  }

  /** Opens a part, unless one of this type is open. A summary part is always a new one. */
  openPart(item: OpenItem, type: OpenPart['type']): OpenPart {
    if (item.part?.type === type && type !== 'summary_text') return item.part;
    this.closePart(item);
    const isSummary = type === 'summary_text';
    const index = isSummary ? item.summaryParts++ : item.contentParts++;
    const part: OpenPart = { type, index, text: new WholeText(this), annotations: [], logprobs: noLogprobs };
    item.part = part;
    if (this.emitsDeltas) {
      this.push(isSummary ? 'response.reasoning_summary_part.added' : 'response.content_part.added', {
        ...placeOf(item, part),
        part: wirePart(part),
      });
    }
    return part;
  }

  closePart(item: OpenItem): void {
    const part = item.part;
    if (!part) return;
    if (part.text.dropHalf()) this.endText(item, part.type);
    item.part = undefined;
    const finished = wirePart(part);
    if (this.emitsDeltas) this.emitPartDone(item, part, finished);
    addPart(item, part.type === 'summary_text' ? 'summary' : 'content', finished);
  }

  private endText(item: OpenItem, type: OpenPart['type']): void {
    if (type === 'output_text') this.addText(item, NO_CHARACTER, undefined);
    else if (type === 'summary_text') this.addSummary(item, NO_CHARACTER);
    else this.addPlain(item, type, NO_CHARACTER);
  }

  private emitPartDone(item: OpenItem, part: OpenPart, finished: object): void {
    const place = placeOf(item, part);
    const { text } = part.text;
    if (part.type === 'output_text')
      this.push('response.output_text.done', { ...place, text, logprobs: part.logprobs });
    else if (part.type === 'refusal') this.push('response.refusal.done', { ...place, refusal: text });
    else if (part.type === 'reasoning_text') this.push('response.reasoning_text.done', { ...place, text });
    else this.push('response.reasoning_summary_text.done', { ...place, text });
    const isSummary = part.type === 'summary_text';
    this.push(isSummary ? 'response.reasoning_summary_part.done' : 'response.content_part.done', {
      ...place,
      part: finished,
    });
  }

  /** Adds a part of a kind without deltas, unchanged. */
  addStrangePart(item: OpenItem, part: object): void {
    this.closePart(item);
    addPart(item, 'content', part);
    this.push('response.content_part.added', {
      item_id: item.id,
      output_index: item.index,
      content_index: item.contentParts++,
      part,
    });
  }

  addText(item: OpenItem, delta: string, logprobs: unknown[] | undefined): void {
    const part = item.part?.type === 'output_text' ? item.part : this.openPart(item, 'output_text');
    const whole = part.text.addWhole(delta);
    if (logprobs) addLogprobs(part, logprobs);
    if (!this.emitsDeltas || isHeld(whole, delta, logprobs)) return;
    this.pushDelta({
      type: 'response.output_text.delta',
      sequence_number: this.sequence++,
      item_id: item.id,
      output_index: item.index,
      content_index: part.index,
      delta: whole,
      logprobs: logprobs ?? noLogprobs,
    });
  }

  addPlain(item: OpenItem, type: 'refusal' | 'reasoning_text', delta: string): void {
    const part = this.openPart(item, type);
    const whole = part.text.addWhole(delta);
    if (isHeld(whole, delta)) return;
    this.pushDelta({
      type: type === 'refusal' ? 'response.refusal.delta' : 'response.reasoning_text.delta',
      sequence_number: this.sequence++,
      item_id: item.id,
      output_index: item.index,
      content_index: part.index,
      delta: whole,
    });
  }

  addSummary(item: OpenItem, delta: string): void {
    const part = item.part?.type === 'summary_text' ? item.part : this.openPart(item, 'summary_text');
    const whole = part.text.addWhole(delta);
    if (isHeld(whole, delta)) return;
    this.pushDelta({
      type: 'response.reasoning_summary_text.delta',
      sequence_number: this.sequence++,
      item_id: item.id,
      output_index: item.index,
      summary_index: part.index,
      delta: whole,
    });
  }

  addAnnotation(item: OpenItem, annotation: Record<string, unknown>): void {
    const part = this.openPart(item, 'output_text');
    part.annotations.push(annotation);
    this.push('response.output_text.annotation.added', {
      ...placeOf(item, part),
      annotation_index: part.annotations.length - 1,
      annotation,
    });
  }

  /** The arguments of a function call, or the input of a custom tool call. */
  addCallText(item: OpenItem, delta: string): void {
    const whole = item.callText.addWhole(delta);
    if (isHeld(whole, delta)) return;
    const isCustom = item.wire.type === 'custom_tool_call';
    this.pushDelta({
      type: isCustom ? 'response.custom_tool_call_input.delta' : 'response.function_call_arguments.delta',
      sequence_number: this.sequence++,
      item_id: item.id,
      output_index: item.index,
      delta: whole,
    });
  }

  private emitCallDone(item: OpenItem, final: OutputItem | undefined): void {
    const isCustom = item.wire.type === 'custom_tool_call';
    const wasCut = item.callText.dropHalf();
    const rest = remainderOf(item.callText.text, final?.[isCustom ? 'input' : 'arguments']);
    if (rest !== '' || wasCut) this.addCallText(item, rest || NO_CHARACTER);
    if (item.callText.dropHalf()) this.addCallText(item, NO_CHARACTER); // the rest ends with half of a character
    const place = { item_id: item.id, output_index: item.index };
    if (isCustom) this.push('response.custom_tool_call_input.done', { ...place, input: item.callText.text });
    else {
      const { name } = final ?? item.wire;
      this.push('response.function_call_arguments.done', { ...place, name, arguments: item.callText.text });
    }
  }
}

/** Kinds without the status `incomplete`. @see docs/reference/items.md#output-items */
const allOrNothing = new Set(['web_search_call', 'file_search_call', 'image_generation_call']);

/** Returns an open item of a failed run, marked incomplete. */
export function truncateItem(item: OpenItem): OutputItem {
  const status = allOrNothing.has(item.wire.type) ? 'failed' : 'incomplete';
  const wire: OutputItem = { ...item.wire, ...callFields(item), status };
  if (!item.part) return wire;
  return withPart(wire, item.part.type === 'summary_text' ? 'summary' : 'content', wirePart(item.part));
}

/** Returns the part of a text that no delta contained. Empty if the provider contradicts itself. */
export function remainderOf(told: string, whole: unknown): string {
  return typeof whole === 'string' && whole.startsWith(told) ? whole.slice(told.length) : '';
}

/**
 * Keeps the finished item equal to the events. Where they differ, the parts of the events win, because clients already
 * have them. choice 44
 *
 * @param told the parts in the events
 * @returns undefined if nothing differs
 */
function reconcileParts(told: unknown, final: unknown): object[] | undefined {
  if (!Array.isArray(told) || told.length === 0) return undefined;
  const parts = (Array.isArray(final) ? final : []).filter((part) => typeof part === 'object' && part !== null);
  if (told.every((part, index) => agrees(part, parts[index]) && hasLists(parts[index]))) return undefined;
  const reconciled = told.map((part, index) => (agrees(part, parts[index]) ? withLists(parts[index]) : part));
  return [...reconciled, ...parts.slice(told.length)];
}

/** Whether a part has its lists. Some providers omit empty lists of a text. */
const hasLists = (part: Part): boolean =>
  part?.['type'] !== 'output_text' || (Array.isArray(part['annotations']) && Array.isArray(part['logprobs']));

const withLists = (part: Part): object => {
  if (hasLists(part)) return part!;
  const { annotations, logprobs } = part!;
  return { ...part, annotations: annotations ?? [], logprobs: logprobs ?? noLogprobs };
};

type Part = Record<string, unknown> | undefined;

/** Kinds of parts whose text the events contain. */
const streamed = new Set<unknown>([
  'output_text',
  'refusal',
  'reasoning_text',
  'summary_text',
] satisfies OpenPart['type'][]);

/** Whether a finished part has the text of the events and at least their annotations. */
function agrees(told: Part, part: Part): boolean {
  if (part?.['type'] !== told?.['type']) return false;
  if (!streamed.has(told?.['type'])) return true;
  if (part?.['text'] !== told?.['text']) return false;
  return part?.['refusal'] === told?.['refusal'] && countOf(part?.['annotations']) >= countOf(told?.['annotations']);
}

const countOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

/** Whether the call has text. False if the provider sent something other than a text and no event had any arguments. */
const hasCallText = (item: OpenItem, final: OutputItem): boolean =>
  item.callText.text !== '' || typeof (final['arguments'] ?? final['input']) === 'string';

const isCall = (item: OpenItem): boolean => item.wire.type === 'function_call' || item.wire.type === 'custom_tool_call';

function callFields(item: OpenItem): object | undefined {
  if (!isCall(item)) return undefined;
  return item.wire.type === 'custom_tool_call' ? { input: item.callText.text } : { arguments: item.callText.text };
}

function placeOf(item: OpenItem, part: OpenPart) {
  return part.type === 'summary_text'
    ? { item_id: item.id, output_index: item.index, summary_index: part.index }
    : { item_id: item.id, output_index: item.index, content_index: part.index };
}

function wirePart({ type, text: { text }, annotations, logprobs }: OpenPart): Record<string, unknown> {
  if (type === 'refusal') return { type, refusal: text };
  if (type !== 'output_text') return { type, text };
  return { type, text, annotations: [...annotations], logprobs };
}

/** Appends to the list of a part in place, because there are many tokens. The list of a chunk belongs to its delta. */
function addLogprobs(part: OpenPart, logprobs: readonly unknown[]): void {
  if (part.logprobs === noLogprobs) part.logprobs = [];
  for (const each of logprobs) part.logprobs.push(each);
}

/** Adds a part to a list of the item. Copies the list once, because an earlier event contains it. */
function addPart(item: OpenItem, field: 'content' | 'summary', part: object): void {
  const list = item.wire[field];
  if (item.grown !== undefined && item.grown === list) item.grown.push(part);
  else {
    item.wire = withPart(item.wire, field, part);
    item.grown = item.wire[field] as object[]; // `withPart` created it
  }
}

function withPart(wire: OutputItem, field: 'content' | 'summary', part: object): OutputItem {
  const before = wire[field];
  return { ...wire, [field]: [...(Array.isArray(before) ? before : []), part] };
}
