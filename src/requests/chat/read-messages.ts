import type {
  CarriedItem,
  CustomToolCallItem,
  FunctionCallItem,
  InputItem,
  MessageItem,
  MessagePart,
  OutputTextPart,
  ReasoningItem,
  ToolOutputPart,
} from '../../domain/items.ts';
import { readDataUrl } from '../../domain/data-url.ts';
import { findThoughtSignature, noSignature, signatureFormat } from '../../domain/thought-signature.ts';
import { readAssistantParts, readUserParts } from './read-parts.ts';
import { type ReasoningBlocks, readReasoningBlocks, readThinkingBlock } from './read-reasoning.ts';
import type { AssistantMessage, ChatRequestMessage } from './schema/messages.ts';

/** The place in the body that an item comes from. */
export interface ItemOrigin {
  /** `messages[2]`, `messages[2].tool_calls[0]`. */
  path: string;
  kind: 'message' | 'call' | 'custom_call' | 'legacy_call' | 'output' | 'reasoning' | 'signature' | 'image';
}

/** Notes what the reader of messages finds. Each is absent if no caller needs it. */
export interface MessageNotes {
  /** Receives the origin of each item. */
  origins?: ItemOrigin[];
  /** Called for a field that has no place in the items. */
  onIgnored?: (path: string, field: string) => void;
}

/**
 * Reads messages as input items. One assistant message becomes several items, in the order in which a model writes them:
 * reasoning, generated images, text, calls.
 *
 * @see docs/reference/chat-completions.md#messages
 */
export const readMessages = (messages: readonly ChatRequestMessage[], notes: MessageNotes = {}): InputItem[] =>
  new MessagesReader(notes).read(messages);

class MessagesReader {
  private readonly notes: MessageNotes;
  private readonly items: InputItem[] = [];
  /** Ids of the calls of custom tools. Most conversations have none. */
  private customCalls: Set<string> | undefined;
  /** Function name → ids of its calls without a result, in order, for messages of the role `function`. */
  private readonly named = new Map<string, string[]>();

  constructor(notes: MessageNotes) {
    this.notes = notes;
  }

  read(messages: readonly ChatRequestMessage[]): InputItem[] {
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index]!;
      switch (message.role) {
        case 'assistant':
          this.readAssistant(message, index);
          break;
        case 'tool':
          this.closeCall(message.tool_call_id);
          this.add(
            {
              type: this.customCalls?.has(message.tool_call_id) ? 'custom_tool_call_output' : 'function_call_output',
              call_id: message.tool_call_id,
              output:
                typeof message.content === 'string'
                  ? message.content
                  : (readUserParts(message.content) as ToolOutputPart[]), // a wire rejects what it cannot carry
            },
            index,
            'output',
          );
          break;
        case 'function':
          this.add(
            {
              type: 'function_call_output',
              call_id: this.named.get(message.name)?.shift() ?? legacyId(message.name, index),
              output: message.content ?? '',
            },
            index,
            'output',
          );
          break;
        default: {
          const { role, content, name } = message;
          const item: MessageItem = {
            type: 'message',
            role,
            content: typeof content === 'string' ? content : readUserParts(content),
          };
          if (name) item.name = name;
          this.add(item, index, 'message');
        }
      }
    }
    return this.items;
  }

  private add(item: InputItem, index: number, kind: ItemOrigin['kind'], within = ''): void {
    this.items.push(item);
    this.notes.origins?.push({ path: `messages[${index}]${within}`, kind });
  }

  private openCall(name: string, id: string): void {
    const ids = this.named.get(name);
    if (ids) ids.push(id);
    else this.named.set(name, [id]);
  }

  private closeCall(id: string): void {
    for (const ids of this.named.values()) {
      const at = ids.indexOf(id);
      if (at >= 0) ids.splice(at, 1);
    }
  }

  private readAssistant(message: AssistantMessage, index: number): void {
    const { items, calls } = this.readReasoning(message, index);
    const late = calls && groupByCall(message, calls);
    for (const item of items) if (!late?.has(calls?.get(item) ?? '')) this.add(item, index, 'reasoning');
    for (const [at, { image_url: image }] of message.images?.entries() ?? []) {
      this.add(readImage(image.url), index, 'image', `.images[${at}]`);
    }
    const text = readText(message);
    if (text) this.add(text, index, 'message');
    this.readCalls(message, index, { late, isSigned: items.some(isSigned) });
  }

  /** The lists of blocks contain the text of `reasoning`, so they take precedence. */
  private readReasoning(message: AssistantMessage, index: number): Pick<ReasoningBlocks, 'items' | 'calls'> {
    const { reasoning_details: details, thinking_blocks: blocks, reasoning, reasoning_content: content } = message;
    if (details && details.length > 0) {
      const read = readReasoningBlocks(details);
      if (read.hasUnknown) this.notes.onIgnored?.(`messages[${index}]`, 'reasoning_details');
      return read;
    }
    if (blocks && blocks.length > 0) {
      const items = blocks.flatMap((block) => readThinkingBlock(block) ?? []);
      if (items.length < blocks.length) this.notes.onIgnored?.(`messages[${index}]`, 'thinking_blocks');
      if (items.length > 0) return { items, calls: undefined };
    }
    const plain = reasoning || content;
    if (!plain) return noReasoning;
    const item: ReasoningItem = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: plain }] };
    return { items: [item], calls: undefined };
  }

  /** Reads the signature of a call, for clients that return calls as they are and no blocks of reasoning. */
  private readSignature(extra: unknown, index: number, at: number, hasSignatures: boolean): void {
    const signature = findThoughtSignature(extra);
    if (signature === undefined) this.notes.onIgnored?.(`messages[${index}].tool_calls[${at}]`, 'extra_content');
    else if (!hasSignatures && signature !== noSignature) {
      const item: ReasoningItem = {
        type: 'reasoning',
        summary: [],
        encrypted_content: signature,
        format: signatureFormat,
      };
      this.add(item, index, 'signature', `.tool_calls[${at}].extra_content`);
    }
  }

  private readCalls(
    { tool_calls: calls, function_call: legacy }: AssistantMessage,
    index: number,
    { late, isSigned: hasSignatures }: CallNotes,
  ): void {
    if (calls) {
      for (let at = 0; at < calls.length; at++) {
        const call = calls[at]!;
        for (const item of late?.get(call.id) ?? []) this.add(item, index, 'reasoning');
        const within = this.notes.origins ? `.tool_calls[${at}]` : '';
        if (call.type !== 'custom' && call.extra_content)
          this.readSignature(call.extra_content, index, at, hasSignatures);
        if (call.type === 'custom') {
          this.customCalls ??= new Set();
          this.customCalls.add(call.id);
          const { name, input } = call.custom;
          const item: CustomToolCallItem = { type: 'custom_tool_call', call_id: call.id, name, input };
          if (call.cache_control) item.cache_control = call.cache_control;
          this.add(item, index, 'custom_call', within);
        } else {
          const { name, arguments: text } = call.function;
          this.openCall(name, call.id);
          const item: FunctionCallItem = { type: 'function_call', call_id: call.id, name, arguments: text };
          if (call.cache_control) item.cache_control = call.cache_control;
          this.add(item, index, 'call', within);
        }
      }
    }
    if (legacy) {
      const id = legacyId(legacy.name, index);
      this.openCall(legacy.name, id);
      this.add(
        { type: 'function_call', call_id: id, name: legacy.name, arguments: legacy.arguments },
        index,
        'legacy_call',
        '.function_call',
      );
    }
  }
}

/** Facts about the calls of a message that its blocks of reasoning contain. */
interface CallNotes {
  /** The reasoning before a call, by its id. */
  late: ReadonlyMap<string, readonly ReasoningItem[]> | undefined;
  /** Whether the blocks have the signatures of Gemini. */
  isSigned: boolean;
}

const isSigned = ({ format, encrypted_content: data }: ReasoningItem): boolean => format === signatureFormat && !!data;

const noReasoning = { items: [], calls: undefined };

/** Returns the reasoning that precedes a call, by the id of the call. An unknown id counts for nothing. */
function groupByCall(
  { tool_calls: calls }: AssistantMessage,
  before: ReadonlyMap<ReasoningItem, string>,
): ReadonlyMap<string, readonly ReasoningItem[]> {
  const ids = new Set(calls?.map(({ id }) => id));
  const grouped = new Map<string, ReasoningItem[]>();
  for (const [item, id] of before) {
    const items = grouped.get(id);
    if (items) items.push(item);
    else if (ids.has(id)) grouped.set(id, [item]);
  }
  return grouped;
}

/** The older format has no ids. The same messages always get the same ids, so that prompt caches work. */
const legacyId = (name: string, index: number): string => `call_${index}_${name}`;

/** @returns undefined if the message has only reasoning or calls */
function readText(message: AssistantMessage): MessageItem | undefined {
  const { content, refusal, annotations, file_annotations: ofFiles, name, model } = message;
  const isEmpty = !content && !refusal;
  if (isEmpty && (message.tool_calls?.length || message.function_call || message.images?.length)) return undefined;
  const { reasoning_details: details, thinking_blocks: blocks, reasoning, reasoning_content: thought } = message;
  if (isEmpty && (details?.length || blocks?.length || reasoning || thought)) return undefined;
  const item: MessageItem = { type: 'message', role: 'assistant' };
  const isAnnotated = !!annotations?.length || !!ofFiles?.length;
  if (!refusal && !isAnnotated && typeof content === 'string') item.content = content;
  else item.content = readAssistantContent(message);
  if (name) item.name = name;
  if (model) (item as { model?: string }).model = model;
  return item;
}

function readAssistantContent(message: AssistantMessage): MessagePart[] {
  const { content, refusal } = message;
  const annotations = [...(message.annotations ?? []), ...(message.file_annotations ?? [])];
  const parts: MessagePart[] =
    typeof content === 'string' ? (content === '' ? [] : [{ type: 'output_text', text: content }]) : [];
  if (Array.isArray(content)) for (const part of readAssistantParts(content)) parts.push(part); // too many for arguments
  if (annotations.length > 0) {
    let text = parts.find((part): part is OutputTextPart => part.type === 'output_text');
    if (!text) {
      text = { type: 'output_text', text: '' };
      parts.unshift(text);
    }
    text.annotations = annotations.map(flattenAnnotation);
  }
  if (refusal) parts.push({ type: 'refusal', refusal });
  return parts;
}

type Annotation = NonNullable<AssistantMessage['annotations']>[number];

/** Chat completions nest the fields of a citation. Other kinds have the same shape in both APIs. */
function flattenAnnotation(annotation: Annotation): object {
  if (annotation.type !== 'url_citation') return annotation;
  const { url, title, content, start_index: start = 0, end_index: end = 0 } = annotation.url_citation;
  const flat = { type: 'url_citation', url, title: title ?? '', start_index: start, end_index: end };
  return content ? { ...flat, content } : flat;
}

function readImage(url: string): CarriedItem {
  const data = readDataUrl(url);
  const item: CarriedItem = { type: 'image_generation_call', status: 'completed' };
  return data?.isBase64 ? { ...item, result: data.data } : { ...item, result: null, url }; // choice 59
}
