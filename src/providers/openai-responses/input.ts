import { placesOf } from '../../domain/input-places.ts';
import {
  type AgentMessageItem,
  type FunctionCallItem,
  type InputItem,
  type InputPart,
  isServerTool,
  type MessageItem,
  type ReasoningEffort,
  type ReasoningItem,
  type Tool,
} from '../../domain/items.ts';
import { UNTITLED_DOCUMENT } from '../../domain/native.ts';
import type { Word } from '../../domain/word.ts';
import { generatedImageHeading, readGeneratedImage } from '../../domain/generated-image.ts';
import { replaceHalves } from '../../domain/write-json.ts';
import type { Dialect } from './dialect.ts';

/** The result of writing the items of a request. */
export interface WrittenInput {
  input: unknown[];
  /** Tools that arrived as items, if the upstream has no such items. */
  tools: Tool[];
  /** The effort of the last `configuration_update`, if the upstream does not support that item. */
  effort: Word<ReasoningEffort> | undefined;
}

/**
 * Writes input items, including unknown kinds and unknown fields. Copies only items that must change. All others are
 * the caller's own objects.
 *
 * @param dropped receives the paths of omitted items and fields
 */
export function writeInput(items: InputItem[], dialect: Dialect, dropped: string[]): WrittenInput {
  const written: WrittenInput = { input: items, tools: [], effort: undefined };
  let changed = false;
  let reasoning: 'sent' | 'dropped' | undefined; // that of the turn
  const places = placesOf(items);
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!;
    const place = places?.[index] ?? index;
    let after = writeItem(item, place, written, dialect, dropped);
    if (item.type === 'reasoning') {
      if (after !== undefined && !dialect.gateway && !dialect.plain_reasoning && !isFollowed(items, index)) {
        dropped.push(`input[${place}]`);
        after = undefined;
      }
      reasoning = after === undefined ? 'dropped' : (reasoning ?? 'sent');
    } else if (endsTurn(item)) reasoning = undefined;
    else if (idStarts.has(item.type) && (reasoning === 'dropped' || (!reasoning && isStoredId(item)) || isOddId(item)))
      after = withoutId(after);
    if (after !== undefined && isLongId(item)) after = withoutId(after);
    if (lacksNulls.has(item.type)) after = withoutNulls(after);
    if (after !== item && !changed) {
      changed = true;
      written.input = items.slice(0, index);
    }
    if (changed && after !== undefined) written.input.push(after);
  }
  return written;
}

/** Types of items that the model did not generate. */
const endsTurn = (item: InputItem): boolean =>
  item.type === 'message' ? item.role !== 'assistant' : item.type.endsWith('_output');

/** Kinds of items that may lack their id → how their ids begin. */
const idStarts: ReadonlyMap<string, string> = new Map([
  ['message', 'msg'],
  ['function_call', 'fc'],
  ['custom_tool_call', 'ctc'],
]);

/** Whether the id is one that a client has made up, which OpenAI rejects: openai/openai-agents-python#270. */
const isOddId = ({ id, type }: InputItem & { id?: unknown }): boolean =>
  typeof id === 'string' && !id.startsWith(idStarts.get(type)!);

/** The most characters of an id that OpenAI takes. Databricks makes longer ones: anomalyco/opencode#26510. */
const MAX_ID = 64;
const isLongId = ({ id, type }: InputItem & { id?: unknown }): boolean =>
  typeof id === 'string' && id.length > MAX_ID && type !== 'item_reference';

/**
 * Whether an item has an id of OpenAI, which knows the reasoning behind it:
 * https://github.com/openai/openai-node/issues/1791.
 */
const isStoredId = ({ id }: InputItem & { id?: unknown }): boolean =>
  typeof id === 'string' && /^[a-z]+_[0-9a-f]{32,}$/.test(id);

/** Items that the model generates, but that no reasoning belongs to. */
const isAside = ({ type }: InputItem): boolean =>
  type === 'reasoning' || type === 'configuration_update' || type === 'additional_tools' || type.startsWith('router:');

/**
 * Whether output of the model follows a reasoning item. A response that was cut off while the model reasoned has none,
 * and the upstream rejects its reasoning: https://github.com/openclaw/openclaw/issues/19582.
 */
function isFollowed(items: readonly InputItem[], index: number): boolean {
  let next = index + 1;
  while (next < items.length && isAside(items[next]!)) next++;
  return next < items.length && !endsTurn(items[next]!);
}

/** Kinds of items whose every null means an absent field. */
const lacksNulls: ReadonlySet<string> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
]);

/**
 * Removes nulls, which typed clients send for fields that the server does not take back:
 * https://github.com/openai/openai-python/issues/3008.
 */
function withoutNulls<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || !Object.values(value).includes(null)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null)) as Value; // no field needs null
}

/** Names a file that has no name, because the upstream rejects it: https://github.com/laravel/ai/pull/324. */
function withName<Part extends object>(part: Part): Part {
  const { type, file_data: data, filename } = part as { type?: string; file_data?: unknown; filename?: unknown };
  return type === 'input_file' && data && !filename ? { ...part, filename: UNTITLED_DOCUMENT } : part;
}

/**
 * Removes the id of an item. The upstream uses the id to find the item's reasoning, and rejects the item without it:
 * choice 239.
 */
function withoutId(item: unknown): unknown {
  const { id: _, ...rest } = item as { id?: string }; // items are objects
  return rest;
}

/** @returns the same item, a changed copy, or undefined if it is not sent upstream */
function writeItem(
  given: InputItem,
  index: number,
  written: WrittenInput,
  dialect: Dialect,
  dropped: string[],
): unknown {
  const item = dialect.gateway ? given : withoutMark(given, dropped);
  switch (item.type) {
    case 'message':
      return writeMessage(item, index, dialect, dropped);
    case 'function_call':
      return writeCall(item);
    case 'function_call_output':
    case 'custom_tool_call_output': {
      if (!Array.isArray(item.output)) return item;
      const output = writeParts(item.output, dialect, dropped);
      return output === item.output ? item : { ...item, output };
    }
    case 'reasoning':
      return writeReasoningItem(item, index, dialect, dropped);
    case 'configuration_update':
      if (dialect.native_configuration_update) return item;
      written.effort = item.reasoning.effort;
      return undefined;
    case 'additional_tools': {
      const tools = item.tools.some(isServerTool) ? item.tools.filter((tool) => !isServerTool(tool)) : item.tools;
      if (dialect.native_items) return tools === item.tools ? item : { ...item, tools };
      for (const tool of tools) written.tools.push(tool);
      return undefined;
    }
    case 'agent_message': {
      if (!dialect.native_items) return writeAgentMessage(item, index, dialect, dropped);
      const content = writeParts(item.content, dialect, dropped);
      return content === item.content ? item : { ...item, content };
    }
    case 'image_generation_call':
      return writeMadeImage(item, index, dropped);
    case 'compaction':
    case 'context_compaction':
      if (dialect.native_items) return item;
      dropped.push(`input[${index}]`); // only the upstream that made it can read it
      return undefined;
    default:
      if (!item.type.startsWith('router:')) return item;
      dropped.push(`input[${index}]`);
      return undefined;
  }
}

/** Removes the cache breakpoint of a call or a result, which the format has only in parts. */
function withoutMark(item: InputItem, dropped: string[]): InputItem {
  if (!('cache_control' in item)) return item;
  const { cache_control: _, ...rest } = item;
  if (!dropped.includes('cache_control')) dropped.push('cache_control');
  return rest as InputItem; // the field is optional in every item
}

/** Matches an id that the gateway created. Another provider generated that image, and this one expects its own ids. */
const ownImageId = /^img_[0-9A-Za-z]{24}$/;

/**
 * Writes a generated image. An image of another provider becomes a user message. One of this provider is sent
 * unchanged.
 */
function writeMadeImage(item: InputItem, index: number, dropped: string[]): unknown {
  if (!ownImageId.test(String(item['id']))) return item;
  const image = readGeneratedImage(item);
  if (!image) {
    dropped.push(`input[${index}] (${item.type})`);
    return undefined;
  }
  const url = `data:${image.mediaType};base64,${image.data}`;
  const content = [
    { type: 'input_text', text: generatedImageHeading },
    { type: 'input_image', image_url: url, detail: 'auto' },
  ];
  return { type: 'message', role: 'user', content };
}

function writeMessage(item: MessageItem, index: number, dialect: Dialect, dropped: string[]): unknown {
  const content = Array.isArray(item.content) ? writeParts(item.content, dialect, dropped) : item.content;
  if (item.name) dropped.push(`input[${index}].name`);
  if (!('model' in item) && !item.name) return content === item.content ? item : { ...item, content };
  const { model: _, name: __, ...rest } = item as MessageItem & { model?: unknown }; // a mark for `pin_model`, internal to the gateway
  return { ...rest, content };
}

/** Removes `subagent_*` fields, which belong to a server tool of the gateway. */
function writeCall(item: FunctionCallItem): unknown {
  const text = replaceHalves(item.arguments);
  if (text === item.arguments && !('subagent_id' in item) && !('subagent_items' in item)) return item;
  const { subagent_id: _id, subagent_items: _items, ...rest } = item as FunctionCallItem & Record<string, unknown>;
  return { ...rest, arguments: text };
}

/**
 * Writes reasoning. Encrypted reasoning is sent back only to the dialect that made it. Text without it is useful only
 * to servers that accept plain reasoning. Other servers look up the item in a store, which lacks it because the gateway
 * never stores items.
 *
 * @see docs/reference/items.md#reasoning
 */
function writeReasoningItem(item: ReasoningItem, index: number, dialect: Dialect, dropped: string[]): unknown {
  if (dialect.gateway) return item.summary ? item : { ...item, summary: [] };
  const { format, signature, ...rest } = item;
  const isForeign =
    (format !== undefined && format !== null && format !== dialect.reasoning_format) ||
    dialect.reasoning_rules?.sealed === false;
  if (!isForeign && item.encrypted_content) return { ...rest, summary: item.summary ?? [] };
  const hasText = (item.summary?.length ?? 0) > 0 || (item.content?.length ?? 0) > 0;
  if (!dialect.plain_reasoning || !hasText) {
    dropped.push(`input[${index}]`);
    return undefined;
  }
  if (isForeign && item.encrypted_content) dropped.push(`input[${index}].encrypted_content`);
  if (signature) dropped.push(`input[${index}].signature`);
  const { encrypted_content: _, ...plain } = rest;
  return { ...plain, summary: item.summary ?? [] };
}

/** Writes a message between agents as one of the user that names sender and recipient. */
function writeAgentMessage(item: AgentMessageItem, index: number, dialect: Dialect, dropped: string[]): unknown {
  const content: InputPart[] = [{ type: 'input_text', text: `Message from ${item.author} to ${item.recipient}:` }];
  item.content.forEach((part, place) => {
    if (part.type === 'encrypted_content') dropped.push(`input[${index}].content[${place}]`);
    else content.push(part);
  });
  return { type: 'message', role: 'user', content: writeParts(content, dialect, dropped) };
}

/** @returns the same list if no part must change */
function writeParts<Part extends object>(parts: Part[], dialect: Dialect, dropped: string[]): Part[] {
  let written: Part[] | undefined;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!;
    const after = withName(withoutNulls(writePart(part, dialect, dropped)));
    if (after !== part) {
      written ??= parts.slice();
      written[index] = after;
    }
  }
  return written ?? parts;
}

/**
 * Writes a part. A cache mark becomes the upstream's own, which has no lifetime, and which no text of the model has:
 * https://docs.langchain4j.dev/apidocs/dev/langchain4j/model/openaiofficial/OpenAiOfficialPromptCacheBreakpoint.html. The excerpt in a citation and the
 * annotation of a parsed file are extensions of the gateway and are removed. Another gateway has all of them.
 *
 * @see docs/reference/responses.md#prompt-caching, docs/reference/items.md#annotations
 */
export function writePart<Part extends object>(part: Part, dialect: Dialect, dropped: string[]): Part {
  if (dialect.gateway) return part;
  if ('annotations' in part && Array.isArray(part.annotations) && part.annotations.some(isExtension)) {
    const annotations = part.annotations.filter((annotation) => !isParsedFile(annotation));
    return { ...part, annotations: annotations.map(withoutExcerpt) };
  }
  const isMarked = 'cache_control' in part;
  const takesMarks = dialect.cache_control && !('type' in part && part.type === 'output_text');
  if (!isMarked && (takesMarks || !('prompt_cache_breakpoint' in part))) return part;
  const { cache_control: mark, ...rest } = part as Part & Record<string, unknown>;
  if (!takesMarks) {
    const { prompt_cache_breakpoint: _, ...bare } = rest;
    if (!dropped.includes('cache_control')) dropped.push('cache_control');
    return bare as unknown as Part; // both fields are optional in every part
  }
  const isTimed = typeof mark === 'object' && mark !== null && 'ttl' in mark;
  if (isTimed && !dropped.includes('cache_control.ttl')) dropped.push('cache_control.ttl');
  const marked = mark ? { prompt_cache_breakpoint: { mode: 'explicit' }, ...rest } : rest;
  return marked as unknown as Part; // see above
}

const isParsedFile = (annotation: unknown): boolean =>
  typeof annotation === 'object' && annotation !== null && 'file' in annotation;

const isExtension = (annotation: unknown): boolean => isParsedFile(annotation) || hasExcerpt(annotation);

const hasExcerpt = (annotation: unknown): boolean =>
  typeof annotation === 'object' && annotation !== null && 'content' in annotation;

function withoutExcerpt(annotation: unknown): unknown {
  if (!hasExcerpt(annotation)) return annotation;
  const { content: _, ...rest } = annotation as Record<string, unknown>; // checked by `hasExcerpt`
  return rest;
}
