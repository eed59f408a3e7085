import {
  type AnnotationChunk,
  type Chunk,
  type FinishChunk,
  type ItemChunk,
  type ItemDoneChunk,
  type ItemKey,
  isOutput,
  type PartChunk,
  type PartDoneChunk,
  type ReasoningChunk,
  type ReasoningSealChunk,
  type ReasoningSummaryChunk,
  type RefusalChunk,
  type RelayChunk,
  type TextChunk,
  type ToolCallArgumentsChunk,
  type ToolCallChunk,
} from '../../domain/chunks.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Reviser, RevisingSink } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import type { FilterSets } from '../filter-sets.ts';
import { GuardedText } from './guarded-text.ts';
import { type GuardedRun, type OutputFilters, OutputScanner } from './output-scanner.ts';

/**
 * Creates a function that returns the reviser for the content filters of a caller. It returns a promise only if they must be
 * compiled first, and undefined if there are none.
 */
export const createOutputGuard =
  (sets: () => FilterSets) =>
  (run: GuardedRun): MaybePromise<Reviser<GuardedRun> | undefined> => {
    const { contentFilters } = run.caller;
    if (contentFilters === undefined || run.parent) return undefined;
    const found = sets().find(contentFilters, 'output');
    if (found instanceof Promise) return found.then((filters) => filters && guardOutput(filters));
    return found && guardOutput(found);
  };

/**
 * Creates the reviser that applies content filters to the output of a run.
 *
 * @see docs/reference/guardrails.md#output
 */
export const guardOutput = (filters: OutputFilters): Reviser<GuardedRun> => ({
  open: (run, out) => new GuardingSink(run, filters, out),
});

type DeltaChunk = TextChunk | RefusalChunk | ReasoningChunk | ReasoningSummaryChunk;

/** A text that is in progress, and how its chunks are written. */
interface OpenText {
  readonly text: GuardedText;
  /** Another chunk of it. */
  readonly write: (delta: string) => Chunk;
  readonly kind: DeltaChunk['type'] | 'call' | 'relay';
  /** Its number, if it is a part of a summary. */
  readonly part?: number | undefined;
}

/** An item of a wire that has items of its own. */
interface GuardedItem {
  /** Its parts; undefined for those without deltas. */
  readonly content: (GuardedText | undefined)[];
  readonly summary: GuardedText[];
  /** The part in progress. */
  current: OpenText | undefined;
  /** Its arguments, if it is a call. */
  call: OpenText | undefined;
  /** Texts of events that are relayed, by type and place. */
  relays: Map<string, OpenText> | undefined;
}

/**
 * Scans the output of one attempt, a part at a time. Text waits as long as a filter may still match in it. What the client
 * gets in whole items is the same text as in the deltas.
 */
class GuardingSink implements RevisingSink {
  private readonly run: GuardedRun;
  private readonly scanner: OutputScanner;
  private readonly out: Sink<Chunk>;
  /** Whether messages were requested as JSON. */
  private readonly isJson: boolean;
  /** The text in progress of a wire without items of its own. */
  private current: OpenText | undefined;
  private readonly calls = new Map<string, OpenText>();
  private readonly items = new Map<ItemKey, GuardedItem>();
  /** Keys of calls that the gateway runs itself. */
  private readonly hidden = new Set<ItemKey>();
  private ready: Chunk[] = [];
  private hasPassed = false;
  /** Whether text of the reasoning in progress was replaced. */
  private hasChangedReasoning = false;

  constructor(run: GuardedRun, filters: OutputFilters, out: Sink<Chunk>) {
    this.run = run;
    this.scanner = new OutputScanner(run, filters);
    this.out = out;
    const format = run.request.text?.format?.type;
    this.isJson = format === 'json_object' || format === 'json_schema';
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    this.scanner.beginBatch();
    const waiting = this.takeFrom(chunks, 0);
    if (!waiting) return this.pass();
    const passing = waiting.then(() => this.pass());
    passing.catch(() => {}); // the writer may have stopped waiting
    return passing;
  }

  abandon(): void {
    this.scanner.isAbandoned = true;
    this.ready = [];
    if (this.hasPassed && !this.scanner.isReported) this.scanner.report();
  }

  private pass(): Promise<void> | undefined {
    const { ready } = this;
    if (ready.length === 0 || this.scanner.isAbandoned) return undefined;
    // The start of an item commits the attempt. It waits for the first text, so that a block before that is an HTTP error.
    if (!this.hasPassed && !ready.some(isOutput)) return undefined;
    this.hasPassed = true;
    this.ready = [];
    return this.out.write(ready);
  }

  private takeFrom(chunks: readonly Chunk[], from: number): Promise<void> | undefined {
    for (let index = from; index < chunks.length; index++) {
      const waiting = this.take(chunks[index]!);
      if (waiting) return waiting.then(() => this.takeFrom(chunks, index + 1));
    }
    return undefined;
  }

  private take(chunk: Chunk): Promise<void> | undefined {
    switch (chunk.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
      case 'reasoning_summary': {
        const open = chunk.key === undefined ? this.textFor(chunk) : this.textOf(chunk.key, chunk);
        return open instanceof Promise ? open.then((text) => this.addTo(text, chunk)) : this.addTo(open, chunk);
      }
      case 'tool_call_arguments': {
        const open = chunk.key === undefined ? this.calls.get(chunk.callId) : this.callOf(chunk.key);
        if (open && !this.hidden.has(chunk.key ?? chunk.callId)) return this.addTo(open, chunk);
        this.ready.push(chunk);
        return undefined;
      }
      case 'start':
      case 'debug':
        this.ready.push(chunk);
        return undefined;
      default:
        return this.takeWhole(chunk);
    }
  }

  /** Takes a chunk that is not a piece of text. */
  private async takeWhole(chunk: Exclude<Chunk, DeltaChunk | ToolCallArgumentsChunk>): Promise<void> {
    switch (chunk.type) {
      case 'annotation':
        return this.takeAnnotation(chunk);
      case 'reasoning_seal':
        if (chunk.key === undefined && this.current && isReasoning(this.current)) await this.endCurrent();
        this.dropSignature(chunk);
        break;
      case 'tool_call':
        return this.takeCall(chunk);
      case 'item':
        return this.takeItem(chunk);
      case 'part':
        return this.takePart(chunk);
      case 'part_done':
        return this.takePartDone(chunk);
      case 'relay':
        return this.takeRelay(chunk);
      case 'item_done':
        return this.takeItemDone(chunk);
      case 'step_end':
        return this.endAll();
      case 'finish':
        return this.takeFinish(chunk);
      case 'part_end':
        return; // a text that is split must not escape the filters
    }
    this.ready.push(chunk);
  }

  private openText(kind: OpenText['kind'], isJson: boolean, isKept: boolean, write: OpenText['write']): OpenText {
    return { kind, text: new GuardedText(this.scanner.createScan(isJson), isKept), write };
  }

  /** Returns the text that a chunk without key belongs to. The text before it ends, if it is another one. */
  private textFor(chunk: DeltaChunk): MaybePromise<OpenText> {
    const { current } = this;
    if (current?.kind === chunk.type && isSamePart(current, chunk)) return current;
    const ended = current && this.endCurrent();
    const open = (): OpenText => {
      this.current = this.openDelta(chunk, false);
      return this.current;
    };
    return ended ? ended.then(open) : open();
  }

  private openDelta(chunk: DeltaChunk, isKept: boolean): OpenText {
    const { type, key } = chunk;
    const keyed = key === undefined ? undefined : { key };
    const part = chunk.type === 'reasoning_summary' ? chunk.part : undefined;
    const numbered = part === undefined ? undefined : { part };
    const isJson = type === 'text' && this.isJson;
    return { ...this.openText(type, isJson, isKept, (delta) => ({ type, delta, ...numbered, ...keyed })), part };
  }

  /** Returns the part of an item that a chunk belongs to. */
  private textOf(key: ItemKey, chunk: DeltaChunk): MaybePromise<OpenText> {
    const item = this.itemOf(key);
    const { current } = item;
    const isSame = current?.kind === chunk.type && isSamePart(current, chunk);
    if (isSame && !current.text.isEnded) return current;
    const ended = this.endPart(item, key);
    const open = (): OpenText => {
      // Text after the end of its part must not join it.
      if (!isSame) return this.addPart(item, this.openDelta(chunk, true));
      if (chunk.type === 'reasoning_summary') chunk.part = item.summary.length;
      else this.ready.push({ type: 'part', key, part: { type: partTypeOf(chunk.type) } });
      return this.addPart(item, this.openDelta(chunk, true));
    };
    return ended ? ended.then(open) : open();
  }

  private addPart(item: GuardedItem, open: OpenText): OpenText {
    item.current = open;
    (open.kind === 'reasoning_summary' ? item.summary : item.content).push(open.text);
    return open;
  }

  private itemOf(key: ItemKey): GuardedItem {
    let item = this.items.get(key);
    if (!item) {
      item = { content: [], summary: [], current: undefined, call: undefined, relays: undefined };
      this.items.set(key, item);
    }
    return item;
  }

  private callOf(key: ItemKey): OpenText | undefined {
    return this.items.get(key)?.call;
  }

  private addTo(open: OpenText, chunk: DeltaChunk | ToolCallArgumentsChunk): Promise<void> | undefined {
    const { text } = open;
    text.add(chunk.delta, this.scanner.isChanging && chunk.type === 'text' ? chunk.logprobs : undefined);
    const scanning = this.scanner.scan(text.scan);
    if (scanning) return scanning.then(() => this.passDelta(open, chunk));
    this.passDelta(open, chunk);
    return undefined;
  }

  private passDelta(open: OpenText, chunk: DeltaChunk | ToolCallArgumentsChunk): void {
    const ready = open.text.take();
    if (!this.scanner.isChanging) {
      this.ready.push(chunk);
      return;
    }
    const isEmpty = chunk.delta === '';
    chunk.delta = ready; // the chunk was created for this attempt alone
    if (chunk.type !== 'text') {
      if (ready !== '' || isEmpty) this.ready.push(chunk);
      return;
    }
    const logprobs = open.text.takeLogprobs();
    if (logprobs || chunk.logprobs) chunk.logprobs = logprobs ?? [];
    if (ready !== '' || isEmpty || logprobs) this.ready.push(chunk);
    this.passAnnotations(open, chunk.key);
  }

  private passAnnotations({ text }: OpenText, key: ItemKey | undefined): void {
    for (const annotation of text.takeAnnotations()) {
      this.ready.push({ type: 'annotation', annotation, ...(key !== undefined && { key }) });
    }
  }

  /** Ends a text and passes on what has waited. */
  private end(open: OpenText, key?: ItemKey): Promise<void> | undefined {
    const { text } = open;
    if (text.isEnded) return undefined;
    text.end();
    const scanning = this.scanner.scan(text.scan);
    if (scanning) return scanning.then(() => this.passRest(open, key));
    this.passRest(open, key);
    return undefined;
  }

  private passRest(open: OpenText, key: ItemKey | undefined): void {
    const rest = open.text.take();
    if (!this.scanner.isChanging) return;
    const logprobs = open.text.takeLogprobs();
    if (rest !== '' || logprobs) this.ready.push({ ...open.write(rest), ...(logprobs && { logprobs }) } as Chunk); // of a text
    this.passAnnotations(open, key);
    for (const field of open.text.dropped ?? []) this.scanner.dropped.add(field);
  }

  private endCurrent(): Promise<void> | undefined {
    const { current } = this;
    this.current = undefined;
    if (!current) return undefined;
    const ending = this.end(current);
    return ending ? ending.then(() => this.noteReasoning(current)) : this.noteReasoning(current);
  }

  private noteReasoning(ended: OpenText): undefined {
    this.hasChangedReasoning = isReasoning(ended) && (this.hasChangedReasoning || ended.text.scan.edits.hasAny);
  }

  private endPart(item: GuardedItem, key?: ItemKey): Promise<void> | undefined {
    return item.current && this.end(item.current, key);
  }

  /** A signature is that of the text before it was replaced: the provider would reject it. */
  private dropSignature(chunk: ReasoningSealChunk): void {
    const isChanged = chunk.key === undefined ? this.hasChangedReasoning : isChangedItem(this.items.get(chunk.key));
    if (!isChanged || chunk.signature === undefined) return;
    delete chunk.signature;
    this.scanner.dropped.add('signature');
  }

  private async takeAnnotation(chunk: AnnotationChunk): Promise<void> {
    const { key } = chunk;
    const about: DeltaChunk = { type: 'text', delta: '', ...(key !== undefined && { key }) };
    const open = await (key === undefined ? this.textFor(about) : this.textOf(key, about));
    const annotation = await this.scanner.reviseAll(chunk.annotation);
    if (!this.scanner.isChanging) {
      this.ready.push(chunk);
      return;
    }
    open.text.annotate(annotation);
    this.passAnnotations(open, key);
  }

  private async takeCall(chunk: ToolCallChunk): Promise<void> {
    await this.endCurrent();
    const { callId, name, namespace, kind, fields } = chunk;
    const known = this.calls.get(callId);
    if (known) await this.end(known); // another call of that id
    if (kind !== 'custom' && this.run.toolLoop?.owns(name, namespace)) this.hidden.add(callId);
    else {
      this.hidden.delete(callId);
      if (fields) chunk.fields = await this.scanner.reviseAll(fields);
      const write = (delta: string): Chunk => ({ type: 'tool_call_arguments', callId, delta });
      this.calls.set(callId, this.openText('call', kind !== 'custom', false, write));
    }
    this.ready.push(chunk);
  }

  private isHidden(key: ItemKey, item: OutputItem): boolean {
    const { type, name, namespace } = item as OutputItem & { namespace?: string };
    const isHidden = type === 'function_call' && this.run.toolLoop?.owns(String(name), namespace) === true;
    if (isHidden) this.hidden.add(key);
    else this.hidden.delete(key);
    return isHidden;
  }

  private async takeItem(chunk: ItemChunk): Promise<void> {
    await this.endCurrent();
    const { key, item } = chunk;
    await this.endItem(key); // another item of that key
    if (!this.isHidden(key, item)) {
      if (item.type === 'function_call' || item.type === 'custom_tool_call') this.openCall(key, item);
      chunk.item = await this.scanner.reviseOther(item);
    }
    this.ready.push(chunk);
  }

  private openCall(key: ItemKey, item: OutputItem): void {
    const callId = String(item['call_id']);
    const write = (delta: string): Chunk => ({ type: 'tool_call_arguments', callId, delta, key });
    this.itemOf(key).call = this.openText('call', item.type === 'function_call', true, write);
  }

  private async takePart(chunk: PartChunk): Promise<void> {
    const { key, part } = chunk;
    const item = this.itemOf(key);
    await this.endPart(item, key);
    const kind = kindOfPart(part.type);
    if (kind) this.addPart(item, this.openDelta({ type: kind, delta: '', key }, true));
    else {
      item.current = undefined;
      item.content.push(undefined);
      chunk.part = await this.scanner.reviseAll(part);
    }
    this.ready.push(chunk);
  }

  private async takePartDone(chunk: PartDoneChunk): Promise<void> {
    const { key, part, index } = chunk;
    const item = this.itemOf(key);
    const kind = part.type === 'summary_text' ? 'reasoning_summary' : kindOfPart(part.type);
    if (!kind) chunk.part = await this.scanner.reviseAll(part);
    else {
      const list = kind === 'reasoning_summary' ? item.summary : item.content;
      const place = index ?? (item.current?.kind === kind ? list.length - 1 : list.length);
      const isNew = place === list.length;
      if (isNew) await this.endPart(item, key);
      const { revised, text } = await this.revisePart(item, list[place], part, key);
      if (isNew) this.addPart(item, { ...this.openDelta({ type: kind, delta: '', key }, true), text });
      if (this.scanner.isChanging) chunk.part = revised as PartDoneChunk['part'];
    }
    this.ready.push(chunk);
  }

  /** @param known the deltas of the part; undefined: there were none */
  private async revisePart(
    item: GuardedItem,
    known: GuardedText | undefined,
    part: Record<string, unknown>,
    key: ItemKey,
  ): Promise<{ revised: Record<string, unknown>; text: GuardedText }> {
    const field = part['type'] === 'refusal' ? 'refusal' : 'text';
    const { [field]: given, annotations, logprobs, ...others } = part;
    const revised: Record<string, unknown> = await this.scanner.reviseAll(others);
    const text = typeof given === 'string' ? given : '';
    const isJson = part['type'] === 'output_text' && this.isJson;
    const whole = await this.finishText(item.current, known, text, isJson, key);
    if (given !== undefined)
      revised[field] = typeof given === 'string' ? whole.whole : await this.scanner.reviseAll(given);
    const { edits } = whole.scan;
    if (annotations !== undefined) {
      const list: unknown = await this.scanner.reviseAll(annotations);
      revised['annotations'] = Array.isArray(list) ? this.scanner.moveAnnotations(list, edits) : list;
    }
    if (logprobs !== undefined) revised['logprobs'] = this.scanner.keepLogprobs(logprobs, text, whole);
    return { revised, text: whole };
  }

  /**
   * Ends a text of which the whole is known now, and passes on what no delta contained.
   *
   * @param open the text, if it is in progress
   * @param known its deltas
   * @returns the whole text, scanned
   */
  private async finishText(
    open: OpenText | undefined,
    known: GuardedText | undefined,
    whole: string,
    isJson: boolean,
    key: ItemKey,
  ): Promise<GuardedText> {
    if (open && open.text === known && !known.isEnded) {
      const rest = known.restOf(whole);
      if (rest) known.add(rest);
      await this.end(open, key);
    }
    if (known?.isEnded && !known.differsFrom(whole)) return known;
    return this.scanner.revise(whole, isJson);
  }

  private async takeRelay(chunk: RelayChunk): Promise<void> {
    const { key, event } = chunk;
    if (key !== undefined && this.hidden.has(key)) {
      this.ready.push(chunk);
      return;
    }
    if (event.type.startsWith('response.image_generation_call.')) {
      this.ready.push(chunk); // images
      return;
    }
    const { delta, ...others } = event;
    if (typeof delta !== 'string' || !event.type.endsWith('.delta')) {
      await this.endRelays(this.items.get(key ?? NO_ITEM));
      chunk.event = await this.scanner.reviseAll(event);
      this.ready.push(chunk);
      return;
    }
    const revised: RelayChunk['event'] = await this.scanner.reviseAll(others);
    const open = this.relayOf(key, revised);
    open.text.add(delta);
    await this.scanner.scan(open.text.scan);
    const ready = open.text.take();
    if (!this.scanner.isChanging) this.ready.push(chunk);
    else if (ready !== '' || delta === '') this.ready.push(open.write(ready));
  }

  private relayOf(key: ItemKey | undefined, event: RelayChunk['event']): OpenText {
    const item = this.itemOf(key ?? NO_ITEM);
    item.relays ??= new Map();
    const { type, content_index: index, model, command_index: command, stream } = event;
    const place = [type, index, model, command, stream].join(' '); // models of a panel, and outputs, are mixed
    let open = item.relays.get(place);
    if (!open) {
      const keyed = key === undefined ? undefined : { key };
      const isJson = event.type.includes('arguments');
      open = this.openText('relay', isJson, false, (delta) => ({
        type: 'relay',
        ...keyed,
        event: { ...event, delta },
      }));
      item.relays.set(place, open);
    }
    return open;
  }

  private async endRelays(item: GuardedItem | undefined): Promise<void> {
    if (!item?.relays) return;
    for (const open of item.relays.values()) await this.end(open);
    item.relays.clear();
  }

  private async takeItemDone(chunk: ItemDoneChunk): Promise<void> {
    await this.endCurrent();
    const { key, item } = chunk;
    if (!this.isHidden(key, item)) {
      const known = this.itemOf(key);
      await this.endRelays(known);
      const revised = await this.reviseItem(known, item, key);
      await this.endItem(key);
      if (this.scanner.isChanging) chunk.item = revised;
    }
    this.ready.push(chunk);
  }

  private async reviseItem(known: GuardedItem, item: OutputItem, key: ItemKey): Promise<OutputItem> {
    const { type } = item;
    if (type === 'message' || type === 'reasoning') {
      const { content, summary, ...others } = item;
      const revised = await this.scanner.reviseAll(others as OutputItem);
      if (summary !== undefined) revised['summary'] = await this.reviseParts(known, known.summary, summary, key);
      if (content !== undefined) revised['content'] = await this.reviseParts(known, known.content, content, key);
      if (
        'signature' in revised &&
        JSON.stringify([summary, content]) !== JSON.stringify([revised['summary'], revised['content']])
      ) {
        delete revised['signature'];
        this.scanner.dropped.add('signature');
      }
      return revised;
    }
    if (type === 'function_call' || type === 'custom_tool_call') {
      const field = type === 'function_call' ? 'arguments' : 'input';
      const { [field]: text, ...others } = item;
      const revised = await this.scanner.reviseAll(others as OutputItem);
      if (text === undefined) return revised;
      if (typeof text !== 'string') return { ...revised, [field]: await this.scanner.reviseAll(text) };
      const whole = await this.finishText(known.call, known.call?.text, text, type === 'function_call', key);
      return { ...revised, [field]: whole.whole };
    }
    return this.scanner.reviseOther(item);
  }

  private async reviseParts(
    item: GuardedItem,
    known: readonly (GuardedText | undefined)[],
    parts: unknown,
    key: ItemKey,
  ): Promise<unknown> {
    if (!Array.isArray(parts)) return this.scanner.reviseAll(parts);
    const revised: unknown[] = [];
    for (const [index, part] of parts.entries()) {
      const isKnown = isObject(part) && (part['type'] === 'summary_text' || kindOfPart(part['type']) !== undefined);
      revised.push(
        isKnown ? (await this.revisePart(item, known[index], part, key)).revised : await this.scanner.reviseAll(part),
      );
    }
    return revised;
  }

  private async takeFinish(chunk: FinishChunk): Promise<void> {
    if (chunk.fields) chunk.fields = await this.scanner.reviseAll(chunk.fields);
    await this.endAll();
    this.ready.push(chunk);
  }

  private async endAll(): Promise<void> {
    await this.endCurrent();
    for (const call of this.calls.values()) await this.end(call);
    for (const key of this.items.keys()) await this.endItem(key);
    this.scanner.report();
  }

  private async endItem(key: ItemKey): Promise<void> {
    const item = this.items.get(key);
    if (!item) return;
    await this.endPart(item, key);
    if (item.call) await this.end(item.call);
    await this.endRelays(item);
    this.items.delete(key);
  }
}

/** Stands for the item of events that belong to none. */
const NO_ITEM = '';
const isReasoning = ({ kind }: OpenText): boolean => kind === 'reasoning' || kind === 'reasoning_summary';

const isChangedItem = (item: GuardedItem | undefined): boolean =>
  item !== undefined && [...item.content, ...item.summary].some((text) => text?.scan.edits.hasAny);

/** Whether a piece of a summary belongs to the part in progress. */
const isSamePart = ({ part }: OpenText, chunk: DeltaChunk): boolean =>
  chunk.type !== 'reasoning_summary' || chunk.part === undefined || chunk.part === part;

function partTypeOf(kind: 'text' | 'refusal' | 'reasoning'): string {
  return kind === 'text' ? 'output_text' : kind === 'refusal' ? 'refusal' : 'reasoning_text';
}

function kindOfPart(type: unknown): 'text' | 'refusal' | 'reasoning' | undefined {
  return type === 'output_text'
    ? 'text'
    : type === 'refusal'
      ? 'refusal'
      : type === 'reasoning_text'
        ? 'reasoning'
        : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
