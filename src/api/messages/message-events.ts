import type { ResponseEvent } from '../../domain/events.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { isObject } from '../../schema/by-kind.ts';
import type { OutputItem, ReasoningItem } from '../../domain/items.ts';
import { NATIVE_FIELD, type NativeEnd, type NativeStart } from '../../domain/native.ts';
import { PART_BREAK, sealReasoning } from '../../domain/sealed-items.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { renameMetadata } from '../../requests/rename-fields.ts';
import { claudeFormat } from '../../domain/thought-signature.ts';
import { BlockOrder } from './block-order.ts';
import { writeCitation } from './citations.ts';
import { sayPromptTooLong } from '../overflow-words.ts';
import { errorTypeOf } from './errors.ts';
import { writeServerBlocks } from './server-blocks.ts';
import { findStopReason } from './stop-reason.ts';
import { translatedUsage, withoutCost, writeMessageUsage } from './usage.ts';
import type { BlockDelta, ContentBlock, MessageEvent } from './wire.ts';

/** Facts about a run that its events do not contain. */
export interface MessageFacts {
  readonly requestId: string;
  /** Names the fields in a text as the body does. */
  readonly rename: (text: string) => string;
  /** The beginning as a provider of this format reported it. Called at the first event. */
  readStart(): NativeStart | undefined;
  /** Estimated tokens of the input, until the provider has counted them. */
  estimateInput(): number;
  /** The end as a provider of this format reported it. Called at the last event. */
  readEnd(): NativeEnd | undefined;
  /** The stop text of the request that ended the output, if it is known. Called at the last event. */
  readStop(): string | undefined;
}

interface OpenBlock {
  index: number;
  type: 'text' | 'thinking' | 'tool_use';
  /** Arguments of a call so far; for reasoning, the name of its part in progress. */
  text: string;
  /** Whether the arguments so far end with a brace. */
  hasBrace: boolean;
  /** Characters of arguments that were parsed in vain. */
  parsed: number;
  isClosed: boolean;
}

type Event = Record<string, unknown>;

/**
 * Turns the events of a run into those of the format. A block is open from its first event to its last; calls end as
 * soon as their arguments are complete and another block begins. `BlockOrder` sends blocks one after another.
 *
 * @see docs/reference/messages.md#stream
 */
export class MessageEvents {
  private readonly facts: MessageFacts;
  private out: MessageEvent[] = [];
  private readonly order = new BlockOrder((event) => this.out.push(event));
  private blocks = 0;
  /** Whether a provider of this format responds, whose fields are not completed. */
  private isNative = false;
  /** By item and part. */
  private readonly open = new Map<string, OpenBlock>();
  /** Keys of the calls that got arguments since another block began. A provider may open thousands of calls. */
  private readonly changedCalls = new Set<string>();

  constructor(facts: MessageFacts) {
    this.facts = facts;
  }

  /** @returns the events of the format, in order */
  take(event: ResponseEvent): MessageEvent[] {
    this.read(event as unknown as Event);
    const { out } = this;
    this.out = [];
    return out;
  }

  private read(event: Event): void {
    switch (event['type']) {
      case 'response.created':
        this.start(event['response'] as ResponseObject);
        break;
      case 'response.content_part.added':
        this.openPart(event);
        break;
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.push(this.textBlock(event), { type: 'text_delta', text: String(event['delta']) });
        break;
      case 'response.output_text.annotation.added': {
        const citation = writeCitation(event['annotation'] as Event);
        this.push(this.textBlock(event), { type: 'citations_delta', citation });
        break;
      }
      case 'response.content_part.done':
        this.close(partKey(event));
        break;
      case 'response.reasoning_text.delta':
        this.addThought(event, `content ${String(event['content_index'] ?? 0)}`);
        break;
      case 'response.reasoning_summary_text.delta':
        this.addThought(event, `summary ${String(event['summary_index'] ?? 0)}`);
        break;
      case 'response.output_item.added':
        this.openCall(event);
        break;
      case 'response.function_call_arguments.delta':
        this.addArguments(event);
        break;
      case 'response.output_item.done':
        this.endItem(event);
        break;
      case 'response.completed':
      case 'response.incomplete':
        this.end(event['response'] as ResponseObject);
        break;
      case 'response.debug':
        this.out.push({ type: 'debug', debug: event['debug'] });
        break;
      case 'response.failed':
        this.fail(event['response'] as ResponseObject);
        break;
    }
  }

  private start({ id, model }: ResponseObject): void {
    const native = this.facts.readStart();
    const { usage, fields } = native ?? {};
    this.isNative = native !== undefined;
    this.out.push({
      type: 'message_start',
      message: {
        id: `msg_${id.replace(/^resp_/, '')}`,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        container: null,
        ...(native ? fields : { diagnostics: null }),
        usage: {
          ...(native ? undefined : translatedUsage),
          input_tokens: this.facts.estimateInput(),
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 0,
          ...withoutCost(usage),
        },
      },
    });
  }

  private openBlock(key: string, type: OpenBlock['type'], content: ContentBlock): OpenBlock {
    this.closeFinishedCalls();
    const block: OpenBlock = { index: this.blocks++, type, text: '', hasBrace: false, parsed: 0, isClosed: false };
    this.open.set(key, block);
    this.order.take({ type: 'content_block_start', index: block.index, content_block: content });
    return block;
  }

  private push(block: OpenBlock, delta: BlockDelta): void {
    if (!block.isClosed) this.order.take({ type: 'content_block_delta', index: block.index, delta });
  }

  private close(key: string): void {
    const block = this.open.get(key);
    if (!block) return;
    this.open.delete(key);
    this.stop(block);
  }

  private stop(block: OpenBlock): void {
    if (block.isClosed) return;
    if (block.type === 'tool_use' && block.text === '')
      this.push(block, { type: 'input_json_delta', partial_json: '' });
    block.isClosed = true;
    this.order.take({ type: 'content_block_stop', index: block.index });
  }

  /** Ends the calls whose arguments are complete: their last event arrives only at the end of the response. */
  private closeFinishedCalls(): void {
    for (const key of this.changedCalls) {
      const block = this.open.get(key);
      if (block && isComplete(block)) this.close(key);
    }
    this.changedCalls.clear();
  }

  private openPart(event: Event): void {
    const { type } = event['part'] as { type: string };
    if (type === 'output_text' || type === 'refusal') this.textBlock(event);
  }

  private textBlock(event: Event): OpenBlock {
    const key = partKey(event);
    return this.open.get(key) ?? this.openBlock(key, 'text', { type: 'text', text: '' });
  }

  /** The parts of a summary and of raw reasoning are one text. */
  private addThought(event: Event, part: string): void {
    const key = itemKey(event);
    let block = this.open.get(key);
    if (!block) {
      block = this.openBlock(key, 'thinking', { type: 'thinking', thinking: '', signature: '' });
      block.text = part;
    } else if (block.text !== part) {
      block.text = part;
      this.push(block, { type: 'thinking_delta', thinking: PART_BREAK });
    }
    this.push(block, { type: 'thinking_delta', thinking: String(event['delta']) });
  }

  private openCall(event: Event): void {
    const { type, call_id: id, name, [NATIVE_FIELD]: native } = event['item'] as OutputItem;
    if (type !== 'function_call') return;
    const more = isObject(native) ? native : {};
    this.openBlock(itemKey(event), 'tool_use', { type: 'tool_use', id, name, ...this.callerOf(), input: {}, ...more });
  }

  private addArguments(event: Event): void {
    const block = this.open.get(itemKey(event));
    if (!block || block.isClosed) return;
    const delta = String(event['delta']);
    if (delta === '') return;
    block.text += delta;
    const end = delta.trimEnd();
    if (end !== '') block.hasBrace = end.endsWith('}');
    this.changedCalls.add(itemKey(event));
    this.push(block, { type: 'input_json_delta', partial_json: delta });
  }

  private endItem(event: Event): void {
    const item = event['item'] as OutputItem;
    switch (item.type) {
      case 'message':
        return;
      case 'function_call':
        this.close(itemKey(event));
        return;
      case 'reasoning':
        this.endThought(itemKey(event), item as unknown as ReasoningItem);
        return;
      case 'custom_tool_call': {
        const input = { input: String(item['input'] ?? '') };
        this.addWhole({ type: 'tool_use', id: item['call_id'], name: item['name'], ...this.callerOf(), input });
        return;
      }
      case 'mcp_list_tools':
        return; // the client has listed the servers
      default:
        for (const block of writeServerBlocks(item)) this.addWhole(block);
    }
  }

  /** The field of a call that the public schema requires: no code of the provider has made the call. */
  private callerOf(): { caller?: { type: 'direct' } } {
    return this.isNative ? {} : { caller: { type: 'direct' } };
  }

  /** Adds a block at once. The input of a call is a delta: some clients reject a call without one. */
  private addWhole(content: ContentBlock): void {
    this.closeFinishedCalls();
    const index = this.blocks++;
    const { input } = content;
    const start = input === undefined ? content : { ...content, input: {} };
    this.order.take({ type: 'content_block_start', index, content_block: start });
    if (input !== undefined) {
      const delta: BlockDelta = { type: 'input_json_delta', partial_json: JSON.stringify(input) };
      this.order.take({ type: 'content_block_delta', index, delta });
    }
    this.order.take({ type: 'content_block_stop', index });
  }

  /**
   * Adds the signature: that of the provider, or the sealed item of one of another format. A thought of another format
   * without a text is an empty one, because some clients do not know `redacted_thinking`.
   */
  private endThought(key: string, item: ReasoningItem): void {
    const isNative = item.format === claudeFormat;
    if (!this.open.has(key) && !(isNative && item.signature)) {
      if (!item.encrypted_content) return;
      if (isNative) {
        this.addWhole({ type: 'redacted_thinking', data: item.encrypted_content });
        return;
      }
    }
    const block =
      this.open.get(key) ?? this.openBlock(key, 'thinking', { type: 'thinking', thinking: '', signature: '' });
    const signature = isNative ? (item.signature ?? '') : sealReasoning(item);
    this.push(block, { type: 'signature_delta', signature });
    this.close(key);
  }

  private end(response: ResponseObject): void {
    for (const key of [...this.open.keys()]) this.close(key);
    const native = this.facts.readEnd();
    const usage = writeMessageUsage(response.usage, native?.usage, response.service_tier);
    const reason = this.findReason(native, response);
    const stop = native || reason !== 'end_turn' ? undefined : this.facts.readStop();
    const delta =
      stop === undefined
        ? { stop_sequence: null, ...(native?.delta ?? endFields), stop_reason: reason }
        : { stop_sequence: stop, ...endFields, stop_reason: 'stop_sequence' };
    this.out.push({ type: 'message_delta', delta, usage, ...native?.fields });
    const { router_metadata: given } = response;
    const metadata = given && renameMetadata(given, this.facts.rename);
    this.out.push({ type: 'message_stop', ...(metadata && { router_metadata: metadata }) });
  }

  /** The provider may have stopped for a call that the gateway has run itself. */
  private findReason(native: NativeEnd | undefined, response: ResponseObject): string {
    const reason = native?.delta.stop_reason;
    return reason === undefined || reason === 'tool_use' ? findStopReason(response) : reason;
  }

  /** The last event of a failed run. The message has no regular end. */
  private fail({ error, error_type: code = 'server', router_metadata: metadata }: ResponseObject): void {
    const message = this.facts.rename(error?.message ?? 'The response failed.');
    this.out.push({
      type: 'error',
      error: {
        type: errorTypeOf(code),
        message: code === 'context_length_exceeded' ? sayPromptTooLong(message) : message,
        error_type: code,
      },
      request_id: this.facts.requestId,
      ...(metadata && { router_metadata: renameMetadata(metadata, this.facts.rename) }),
    });
  }
}

/** Fields of `message_delta` that the public schema requires. */
const endFields = { container: null, stop_details: null };

const itemKey = (event: Event): string => String(event['output_index']);
const partKey = (event: Event): string => `${String(event['output_index'])}/${String(event['content_index'])}`;

/** Maximum characters of arguments that are parsed in vain, besides four times their length. */
const MAX_PARSED = 65_536;

/** Whether the arguments of a call are a whole object. Long ones are parsed a few times at most. */
function isComplete(call: OpenBlock): boolean {
  const { text } = call;
  if (!call.hasBrace || call.parsed > 4 * text.length + MAX_PARSED) return false;
  try {
    parseJson(text);
    return true;
  } catch {
    call.parsed += text.length;
    return false;
  }
}
