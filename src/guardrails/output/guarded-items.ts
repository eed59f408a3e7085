import type {
  Chunk,
  ItemChunk,
  ItemDoneChunk,
  ItemKey,
  PartChunk,
  PartDoneChunk,
  RelayChunk,
} from '../../domain/chunks.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { GuardedText } from './guarded-text.ts';
import type { HiddenCalls } from './hidden-calls.ts';
import { continues, type DeltaChunk, type OpenText, type OpenTexts } from './open-texts.ts';
import type { OutputScanner } from './output-scanner.ts';

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

/** Guards the items of a wire that has items of its own. A whole part or item has the same text as its deltas. */
export class GuardedItems {
  private readonly texts: OpenTexts;
  private readonly scanner: OutputScanner;
  private readonly hidden: HiddenCalls;
  private readonly items = new Map<ItemKey, GuardedItem>();

  constructor(texts: OpenTexts, hidden: HiddenCalls) {
    this.texts = texts;
    this.scanner = texts.scanner;
    this.hidden = hidden;
  }

  /** Whether a filter has replaced text of the item. */
  isChanged(key: ItemKey): boolean {
    const item = this.items.get(key);
    return item !== undefined && [...item.content, ...item.summary].some((text) => text?.scan.edits.hasAny);
  }

  /** Returns the part of an item that a chunk belongs to. */
  textFor(key: ItemKey, chunk: DeltaChunk): MaybePromise<OpenText> {
    const item = this.itemOf(key);
    const { current } = item;
    const isSame = current !== undefined && continues(current, chunk);
    if (isSame && !current.text.isEnded) return current;
    const ended = this.endPart(item, key);
    const open = (): OpenText => {
      // Text after the end of its part must not join it.
      if (!isSame) return this.addPart(item, this.texts.openDelta(chunk, true));
      if (chunk.type === 'reasoning_summary') chunk.part = item.summary.length;
      else this.texts.ready.push({ type: 'part', key, part: { type: partTypeOf(chunk.type) } });
      return this.addPart(item, this.texts.openDelta(chunk, true));
    };
    return ended ? ended.then(open) : open();
  }

  callOf(key: ItemKey): OpenText | undefined {
    return this.items.get(key)?.call;
  }

  async takeItem(chunk: ItemChunk): Promise<void> {
    const { key, item } = chunk;
    await this.endItem(key); // another item of that key
    if (!this.isHidden(key, item)) {
      if (item.type === 'function_call' || item.type === 'custom_tool_call') this.openCall(key, item);
      chunk.item = await this.scanner.reviseOther(item);
    }
    this.texts.ready.push(chunk);
  }

  async takePart(chunk: PartChunk): Promise<void> {
    const { key, part } = chunk;
    const item = this.itemOf(key);
    await this.endPart(item, key);
    const kind = kindOfPart(part.type);
    if (kind) this.addPart(item, this.texts.openDelta({ type: kind, delta: '', key }, true));
    else {
      item.current = undefined;
      item.content.push(undefined);
      chunk.part = await this.scanner.reviseAll(part);
    }
    this.texts.ready.push(chunk);
  }

  async takePartDone(chunk: PartDoneChunk): Promise<void> {
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
      if (isNew) this.addPart(item, { ...this.texts.openDelta({ type: kind, delta: '', key }, true), text });
      if (this.scanner.isChanging) chunk.part = revised as PartDoneChunk['part'];
    }
    this.texts.ready.push(chunk);
  }

  async takeRelay(chunk: RelayChunk): Promise<void> {
    const { key, event } = chunk;
    if (key !== undefined && this.hidden.has(key)) {
      this.texts.ready.push(chunk);
      return;
    }
    if (event.type.startsWith('response.image_generation_call.')) {
      this.texts.ready.push(chunk); // images
      return;
    }
    const { delta, ...others } = event;
    if (typeof delta !== 'string' || !event.type.endsWith('.delta')) {
      await this.endRelays(this.items.get(key ?? NO_ITEM));
      chunk.event = await this.scanner.reviseAll(event);
      this.texts.ready.push(chunk);
      return;
    }
    const revised: RelayChunk['event'] = await this.scanner.reviseAll(others);
    const open = this.relayOf(key, revised);
    open.text.add(delta);
    await this.scanner.scan(open.text.scan);
    const ready = open.text.take();
    if (!this.scanner.isChanging) this.texts.ready.push(chunk);
    else if (ready !== '' || delta === '') this.texts.ready.push(open.write(ready));
  }

  async takeItemDone(chunk: ItemDoneChunk): Promise<void> {
    const { key, item } = chunk;
    if (!this.isHidden(key, item)) {
      const known = this.itemOf(key);
      await this.endRelays(known);
      const revised = await this.reviseItem(known, item, key);
      await this.endItem(key);
      if (this.scanner.isChanging) chunk.item = revised;
    }
    this.texts.ready.push(chunk);
  }

  async endAll(): Promise<void> {
    for (const key of this.items.keys()) await this.endItem(key);
  }

  private async endItem(key: ItemKey): Promise<void> {
    const item = this.items.get(key);
    if (!item) return;
    await this.endPart(item, key);
    if (item.call) await this.texts.end(item.call);
    await this.endRelays(item);
    this.items.delete(key);
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

  private endPart(item: GuardedItem, key?: ItemKey): Promise<void> | undefined {
    return item.current && this.texts.end(item.current, key);
  }

  private isHidden(key: ItemKey, item: OutputItem): boolean {
    const { type, name, namespace } = item as OutputItem & { namespace?: string };
    return this.hidden.note(key, type === 'function_call' && { name: String(name), namespace });
  }

  private openCall(key: ItemKey, item: OutputItem): void {
    const callId = String(item['call_id']);
    const write = (delta: string): Chunk => ({ type: 'tool_call_arguments', callId, delta, key });
    this.itemOf(key).call = this.texts.open('call', item.type === 'function_call', true, write);
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
    const isJson = part['type'] === 'output_text' && this.texts.isJson;
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
      await this.texts.end(open, key);
    }
    if (known?.isEnded && !known.differsFrom(whole)) return known;
    return this.scanner.revise(whole, isJson);
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
      open = this.texts.open('relay', isJson, false, (delta) => ({
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
    for (const open of item.relays.values()) await this.texts.end(open);
    item.relays.clear();
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
}

/** Stands for the item of events that belong to none. */
const NO_ITEM = '';

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
