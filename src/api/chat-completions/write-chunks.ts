import type { DeltaEvent, OtherEvent, ResponseEvent } from '../../domain/events.ts';
import type { OutputItem, ReasoningItem } from '../../domain/items.ts';
import { originOf, type ReasoningDetail } from '../../domain/reasoning-details.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { DONE, type EventFormat, KEEP_ALIVE, quoteDelta } from '../../http/sse.ts';
import { isTerminal } from '../../pipeline/events/fold-events.ts';
import type { ChatFacts } from './chat-facts.ts';
import { writeChatFailure } from './errors.ts';
import {
  addChatAnnotation,
  appendFields,
  type ChatAnnotations,
  type ChatFinishReason,
  findCallId,
  findImageUrl,
  isClientCall,
  TEXT_GAP,
  writeChatUsage,
  writeEnding,
  writeFinishReason,
  writeImage,
  writeToolCall,
} from './write-parts.ts';

/** A block of reasoning whose deltas arrive. */
interface OpenBlock {
  /** `index` of the block. */
  index: number;
  /** The JSON of a delta up to its text, twice, and after it. */
  before: string;
  middle: string;
  after: string;
}

/** A call whose arguments arrive. */
interface OpenCall {
  before: string;
  after: string;
}

/**
 * Writes the events of a response as chunks of a chat completion. All chunks begin and end alike, so that a delta costs
 * one concatenation. Events without a place in chat completions, such as those of server tools, become nothing.
 *
 * @see docs/reference/chat-completions.md#chunks
 */
export class ChatChunkWriter implements EventFormat {
  readonly end = DONE;
  readonly keepAlive = KEEP_ALIVE;
  private readonly facts: ChatFacts;
  private model: string;
  /** A chunk up to its choices. */
  private head = '';
  private textHead = '';
  /** `output_index` of the messages. Other items have texts, too, such as an advisor. */
  private readonly messages = new Set<number>();
  private readonly calls = new Map<number, OpenCall>();
  private readonly blocks = new Map<string, OpenBlock>();
  /** The block of the last text of reasoning. */
  private lastBlock: OpenBlock | undefined;
  private blockCount = 0;
  private callCount = 0;
  private imageCount = 0;
  /** Length of the text so far. */
  private length = 0;
  /** Item and part of the last text delta, and where each part begins in the text. */
  private textItem = -1;
  private textPart = -1;
  private readonly starts = new Map<string, number>();
  /** `output_index` of the first item that is not reasoning. */
  private firstOther = Number.POSITIVE_INFINITY;
  /** The last reasoning that ended. */
  private reasoning: { item: OutputItem; at: number } | undefined;
  /** Reasoning whose opaque fields wait for the next item, because they name it if it is a call. choice 775 */
  private waiting: { item: ReasoningItem; at: number } | undefined;

  constructor(facts: ChatFacts) {
    this.facts = facts;
    this.model = facts.requested;
  }

  write(event: ResponseEvent): string {
    switch (event.type) {
      case 'response.output_text.delta':
        return this.writeText(event as DeltaEvent);
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return this.facts.hidesReasoning ? '' : this.writeReasoning(event as DeltaEvent);
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.writeArguments(event as DeltaEvent);
      case 'response.refusal.delta':
        return this.writeDelta({ refusal: (event as DeltaEvent).delta });
      case 'response.created':
        return this.begin((event as { response: ResponseObject }).response);
      case 'response.output_item.added':
        return this.beginItem(event as ItemEvent);
      case 'response.output_item.done':
        return this.endItem(event as ItemEvent);
      case 'response.output_text.annotation.added':
        return this.writeAnnotation(event as OtherEvent);
      case 'response.debug':
        return this.writeDebug(event as OtherEvent);
      default:
        return isTerminal(event) ? this.finish(event.response) : '';
    }
  }

  /** The facts are complete when the first output arrives. */
  private writeHead(): string {
    const { id, created, findProvider } = this.facts;
    const facts = { id, object: 'chat.completion.chunk', created, model: this.model, provider: findProvider() };
    return `data: ${JSON.stringify(facts).slice(0, -1)},"choices":[`;
  }

  private begin(response: ResponseObject): string {
    this.model = response.model;
    this.head = `${this.writeHead()}{"index":0,"delta":`;
    this.textHead = `${this.head}{"content":`;
    return `${this.head}{"role":"assistant","content":""}${TAIL}`;
  }

  private writeDelta(delta: object): string {
    return this.head + JSON.stringify(delta) + TAIL;
  }

  private writeText(event: DeltaEvent): string {
    const { output_index: item, content_index: part = 0, delta, logprobs } = event;
    let before = this.textHead;
    if (item !== this.textItem || part !== this.textPart) {
      if (!this.messages.has(item)) return '';
      before += this.beginText(item, part);
    } else before += '"';
    this.length += delta.length;
    const quoted = quoteDelta(delta);
    if (!logprobs?.length) return before + quoted.slice(1) + TEXT_TAIL;
    return `${before}${quoted.slice(1)}},"logprobs":${JSON.stringify({ content: logprobs, refusal: null })}${TAIL.slice(NO_LOGPROBS)}`;
  }

  /** @returns the beginning of the string, with the gap after an earlier message */
  private beginText(item: number, part: number): string {
    const hasGap = item !== this.textItem && this.length > 0;
    if (hasGap) this.length += TEXT_GAP.length;
    this.textItem = item;
    this.textPart = part;
    const key = `${item}/${part}`;
    if (!this.starts.has(key)) this.starts.set(key, this.length);
    return hasGap ? '"\\n\\n' : '"';
  }

  private writeReasoning(event: DeltaEvent): string {
    const isSummary = event.summary_index !== undefined;
    const key = `${event.output_index}/${isSummary ? 's' : 'c'}/${event.summary_index ?? event.content_index}`;
    let block = this.blocks.get(key);
    if (!block) {
      block = this.openBlock(event, isSummary);
      this.blocks.set(key, block);
    }
    const quoted = quoteDelta(event.delta);
    let plain = quoted;
    if (block !== this.lastBlock && event.delta !== '') {
      if (this.lastBlock) plain = `"\\n\\n${quoted.slice(1)}`;
      this.lastBlock = block;
    }
    return block.before + plain + block.middle + quoted + block.after;
  }

  private openBlock(event: DeltaEvent, isSummary: boolean): OpenBlock {
    const index = this.blockCount++;
    const type = isSummary ? 'reasoning.summary' : 'reasoning.text';
    const fields = JSON.stringify({ id: event.item_id, index }).slice(1, -1);
    return {
      index,
      before: `${this.head}{"reasoning":`,
      middle: `,"reasoning_details":[{"type":"${type}",${fields},"${isSummary ? 'summary' : 'text'}":`,
      after: `}]}${TAIL}`,
    };
  }

  private beginItem({ item, output_index: at }: ItemEvent): string {
    const sealed = this.waiting ? this.sealWaiting(findCallId(item)) : '';
    if (item.type === 'message') this.messages.add(at);
    if (item.type !== 'reasoning') this.firstOther = Math.min(this.firstOther, at);
    return isClientCall(item) ? sealed + this.beginCall(item, at) : sealed;
  }

  private beginCall(item: OutputItem, at: number): string {
    const index = this.callCount++;
    const call = writeToolCall(item, this.reasoning?.at === at - 1 ? this.reasoning.item : undefined);
    if (this.facts.hasLegacyCalls && item.type === 'function_call' && index === 0) {
      this.calls.set(at, { before: `${this.head}{"function_call":{"arguments":`, after: `}}${TAIL}` });
      return this.writeDelta({ function_call: call['function'] });
    }
    const field = item.type === 'function_call' ? '"function":{"arguments":' : '"custom":{"input":';
    this.calls.set(at, {
      before: `${this.head}{"tool_calls":[{"index":${index},${field}`,
      after: `}}]}${TAIL}`,
    });
    return this.writeDelta({ tool_calls: [{ index, ...call }] });
  }

  private writeArguments(event: DeltaEvent): string {
    const call = this.calls.get(event.output_index);
    return call ? call.before + quoteDelta(event.delta) + call.after : '';
  }

  private endItem({ item, output_index: at }: ItemEvent): string {
    if (item.type === 'reasoning') {
      this.reasoning = { item, at };
      return this.facts.hidesReasoning ? '' : this.endReasoning(item as ReasoningItem, at);
    }
    const url = findImageUrl(item);
    return url === undefined ? '' : this.writeDelta({ images: [writeImage(url, this.imageCount++)] });
  }

  private endReasoning(item: ReasoningItem, at: number): string {
    const sealed = this.sealWaiting(undefined);
    if (this.firstOther > at) return sealed + this.sealReasoning(item, at, undefined);
    this.waiting = { item, at };
    return sealed;
  }

  /** @param before the id of the call that follows the reasoning */
  private sealWaiting(before: string | undefined): string {
    const { waiting } = this;
    if (!waiting) return '';
    this.waiting = undefined;
    return this.sealReasoning(waiting.item, waiting.at, before);
  }

  /** Writes the opaque fields of reasoning, which arrive last: the signature belongs to the last block of text. */
  private sealReasoning(item: ReasoningItem, at: number, before: string | undefined): string {
    const { signature, encrypted_content: data } = item;
    const origin = originOf(item);
    const details: ReasoningDetail[] = [];
    if (signature) {
      const last = this.blocks.get(`${at}/c/${(item.content?.length ?? 0) - 1}`);
      const index = last?.index ?? this.blockCount++;
      details.push({ type: 'reasoning.text', index, text: '', signature, ...origin });
    }
    if (data) details.push({ type: 'reasoning.encrypted', index: this.blockCount++, data, ...origin });
    if (before !== undefined && details.length > 0) details.at(-1)!.tool_call_id = before;
    return details.length === 0 ? '' : this.writeDelta({ reasoning_details: details });
  }

  private writeAnnotation(event: OtherEvent): string {
    const { annotation, output_index: item, content_index: part } = event as unknown as AnnotationEvent;
    const lists: ChatAnnotations = {};
    addChatAnnotation(lists, annotation, this.starts.get(`${item}/${part}`) ?? this.length);
    return this.writeDelta(lists);
  }

  private writeDebug({ debug }: OtherEvent): string {
    return `${this.writeHead()}],"debug":${JSON.stringify(debug)}}\n\n`;
  }

  private finish(response: ResponseObject): string {
    const sealed = this.sealWaiting(undefined);
    return sealed + (response.status === 'failed' ? this.fail(response) : this.writeEnd(response));
  }

  private writeEnd(response: ResponseObject): string {
    const { facts } = this;
    const reason = writeFinishReason(response, facts.hasLegacyCalls);
    const choice = this.writeChoice(reason, facts.findNativeReason() ?? null);
    const ending = writeEnding(response, facts);
    if (!facts.includesUsage) return `${this.writeHead()}${choice}]${appendFields(ending)}\n\n`;
    const last = appendFields({ ...(response.usage && { usage: writeChatUsage(response.usage) }), ...ending });
    return `${this.writeHead()}${choice}]}\n\n${this.writeHead()}]${last}\n\n`;
  }

  /**
   * Writes the failure of a response that had begun: alone, and once more in the chunk that ends the choice. Clients that
   * check the shape of a chunk see no error beside choices, and know no `finish_reason` for it. choice 608
   */
  private fail(response: ResponseObject): string {
    const failure = writeChatFailure(response, this.facts);
    const choice = this.writeChoice('error', null);
    const usage = response.usage && { usage: writeChatUsage(response.usage) };
    const rest = appendFields({ ...failure, ...usage, ...writeEnding(response, this.facts) });
    return `event: error\ndata: ${JSON.stringify(failure)}\n\n${this.writeHead()}${choice}]${rest}\n\n`;
  }

  private writeChoice(reason: ChatFinishReason, native: string | null): string {
    const end = { logprobs: null, finish_reason: reason, native_finish_reason: native };
    return `{"index":0,"delta":{},${JSON.stringify(end).slice(1)}`;
  }
}

/** The end of a chunk before the last one. `usage` is absent there, not null, because some clients reject null. */
const TAIL = ',"logprobs":null,"finish_reason":null,"native_finish_reason":null}]}\n\n';
const TEXT_TAIL = `}${TAIL}`;
const NO_LOGPROBS = ',"logprobs":null'.length;

interface ItemEvent extends OtherEvent {
  output_index: number;
  item: OutputItem;
}

interface AnnotationEvent {
  annotation: Record<string, unknown>;
  output_index: number;
  content_index: number;
}
