import { billingHeader, isBillingText } from '../../domain/billing-text.ts';
import { PlacedItems, placesOf } from '../../domain/input-places.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { GatewayError } from '../../domain/errors.ts';
import {
  type CacheControl,
  type FunctionCallOutputItem,
  type FunctionTool,
  type InputItem,
  partHolders,
  type Tool,
  type ToolOutputPart,
} from '../../domain/items.ts';
import {
  FAILED_CALL,
  isDirect,
  isNativePart,
  nameKind,
  NATIVE_FIELD,
  type NativePart,
  type NativeRequest,
  readNative,
  translatedGeminiSettings,
} from '../../domain/native.ts';
import { findToolPath, noteLateTool } from '../../domain/late-tools.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { describeReference, listKnownTools } from '../../domain/tool-references.ts';
import { refuseBecause } from '../../providers/kit/draft.ts';

const nothing: readonly string[] = [];

type NamedEndpoint = Pick<EndpointFacts, 'model' | 'provider'>;

/**
 * Removes what only the format of the client can say, for an endpoint whose wire has another format.
 *
 * @param endpoint for messages
 * @returns the paths of the content that the model does not receive
 * @throws {GatewayError} `invalid_request` for content that the model needs, and for tools
 * @see docs/reference/messages.md#other-models
 */
export function leaveOutNative(
  request: ResponseRequest,
  wire: string | undefined,
  endpoint: NamedEndpoint,
): { request: ResponseRequest; dropped: readonly string[] } {
  if (!request.native || request.native.format === wire) return { request, dropped: nothing };
  const { native, ...rest } = request;
  const removal = new Removal(native.format, endpoint, wire);
  removal.noteRequest(native);
  const before = placesOf(request.input);
  const left = new PlacedItems();
  for (const [index, item] of request.input.entries()) {
    const written = removal.writeItem(item, `input[${before?.[index] ?? index}]`);
    if (written) left.add(written, index);
  }
  const input = left.finish(request.input);
  const tools = removal.writeTools(request);
  return { request: { ...rest, input, ...(tools && { tools }) }, dropped: removal.dropped };
}

/** Whether only a search of the client can find the tool. */
const isDeferred = (tool: Tool): boolean => readNative(tool)?.['defer_loading'] === true;

/** Top-level fields whose meaning the request of the gateway contains. */
const translated: ReadonlySet<string> = new Set(['output_format', 'speed']);

/** Top-level fields without which the response would be another one. */
const needed: ReadonlySet<string> = new Set(['cachedContent', 'compaction', 'inference_geo']);

/** Values of needed fields that change nothing: the default of `inference_geo`. */
const losable: ReadonlySet<unknown> = new Set(['global']);

/** Their members that the request of the gateway contains. */
const translatedMembers: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['thinking', new Set(['type', 'budget_tokens'])],
  ['output_config', new Set(['effort', 'format'])],
  ['toolConfig', new Set(['functionCallingConfig'])],
  ['generationConfig', translatedGeminiSettings],
]);

/** Their settings are in the request of the gateway. */
const thinkingTypes: ReadonlySet<string> = new Set(['enabled', 'adaptive', 'disabled', 'between_tools']);

/** The formats as messages name them. */
const formatNames: Readonly<Record<NativeRequest['format'], string>> = {
  'anthropic-messages': 'Messages',
  'openai-chat': 'chat completions',
  gemini: 'Gemini',
};

/** Fields of blocks, parts and tools that the gateway needs only to write them again, and does not name. */
const structural: Readonly<Record<NativeRequest['format'], ReadonlySet<string>>> = {
  'anthropic-messages': new Set(['place', 'title', 'type', 'name', 'defer_loading']),
  'openai-chat': new Set(),
  gemini: new Set([
    ...['googleSearch', 'googleSearchRetrieval', 'id', 'inner', 'mimeType', 'name', 'of', 'parameters', 'parts'],
  ]),
};

/** The settings of the output in the Gemini format. */
interface GeminiOutput {
  responseMimeType?: string | null;
  responseModalities?: readonly string[] | null;
}

const textOutputs: ReadonlySet<string> = new Set(['text/plain', 'application/json']);

class Removal {
  readonly dropped: string[] = [];
  private readonly format: NativeRequest['format'];
  private readonly endpoint: NamedEndpoint;
  private readonly wire: string | undefined;
  private hasMarks = false;

  constructor(format: NativeRequest['format'], endpoint: NamedEndpoint, wire: string | undefined) {
    this.format = format;
    this.endpoint = endpoint;
    this.wire = wire;
  }

  /** Creates the error for what only endpoints of the client's format know. Without it, the response would be another one. */
  private refuse(path: string, what: string, type: unknown): GatewayError {
    const name = nameKind(String(type)).slice(0, 100);
    const { model, provider } = this.endpoint;
    const message = `The ${what} ${name} cannot be sent to ${model} at ${provider.name}: only an endpoint of the ${formatNames[this.format]} format has a place for it.`;
    return refuseBecause(path, message);
  }

  noteRequest({ fields, betas }: NativeRequest): void {
    for (const [name, value] of Object.entries(fields)) {
      const members = translatedMembers.get(name);
      if (name === 'tool_choice') throw this.refuse('tool_choice.type', 'choice', (value as { type: string }).type);
      if (needed.has(name) && !losable.has(value)) throw this.refuse(name, 'field', name);
      if (name === 'generationConfig') this.checkOutput(value as GeminiOutput);
      if (translated.has(name)) continue;
      if (name === 'thinking') this.noteThinking(value as { type: string });
      if (!members) this.dropped.push(name);
      else
        for (const [member, given] of Object.entries(value as object))
          if (given !== null && !members.has(member)) this.dropped.push(`${name}.${member}`);
    }
    if (betas.length > 0) this.dropped.push(`anthropic-beta (${betas.join(', ')})`);
  }

  /** Rejects a kind of output that only the format of the client has. */
  private checkOutput({ responseMimeType: type, responseModalities: modalities }: GeminiOutput): void {
    if (type && !textOutputs.has(type)) throw this.refuse('generationConfig.responseMimeType', 'output', type);
    const other = modalities?.find((each) => !/^(?:text|image)$/i.test(each));
    if (other) throw this.refuse('generationConfig.responseModalities', 'output', other);
  }

  private noteThinking({ type }: { type: string }): void {
    if (!thinkingTypes.has(type)) this.dropped.push(`thinking.type (${type.slice(0, 100)})`);
  }

  /** Caching changes only the cost, so it is named once. */
  private noteFields(native: Readonly<Record<string, unknown>> | undefined, path: string): void {
    if (!native) return;
    const { settings } = (native['place'] ?? {}) as { settings?: Record<string, unknown> };
    const { inner, googleSearch, googleSearchRetrieval } = native as Record<string, object | undefined>;
    const all = { ...settings, ...inner, ...googleSearch, ...googleSearchRetrieval, ...native };
    for (const [name, value] of Object.entries(all)) {
      if (structural[this.format].has(name) || name === 'isText' || value === null || value === false) continue;
      if (name === 'caller' && isDirect(value)) continue;
      if (name !== 'cache_control') this.dropped.push(`${path}.${name}`);
      else if (!this.hasMarks) {
        this.hasMarks = true;
        this.dropped.push('cache_control');
      }
    }
  }

  private withoutField<Value extends object>(value: Value, path: string): Value {
    if (!(NATIVE_FIELD in value)) return value;
    this.noteFields(readNative(value), path);
    const { [NATIVE_FIELD]: _, ...rest } = value;
    return rest as Value;
  }

  /** Writes the tools without those that only a search of the client could find, and has not found. */
  writeTools({ tools, tool_choice: choice, input }: ResponseRequest): Tool[] | undefined {
    const known = tools?.some(isDeferred) ? listKnownTools(choice, input) : undefined;
    return tools?.flatMap((tool, index): Tool[] => {
      if (isDeferred(tool) && !known!.has((tool as FunctionTool).name)) return []; // there is one without it
      const path = findToolPath(tool, index);
      const written = this.writeTool(tool, path);
      if (known) noteLateTool(written, path);
      return [written];
    });
  }

  private writeTool(tool: Tool, path: string): Tool {
    if (isNativePart(tool)) throw this.refuse(path, this.format === 'gemini' ? 'tool field' : 'tool', tool.type);
    const native = readNative(tool);
    if (native?.['type'] === undefined) return this.withoutField(tool, path);
    const { [NATIVE_FIELD]: _, ...rest } = tool as Tool & Record<string, unknown>;
    return rest as Tool;
  }

  /** @returns undefined if no content is left */
  writeItem(given: InputItem, path: string): InputItem | undefined {
    const item =
      given.type === 'function_call_output' ? moveMark(moveError(given as FunctionCallOutputItem, this.wire)) : given;
    const own = this.withoutField(item, path);
    const field = partHolders.get(item.type);
    const parts = field && (own as Record<string, unknown>)[field];
    if (!field || !Array.isArray(parts)) return own;
    const written = (parts as { type: string; text?: unknown }[]).flatMap((part, index): object[] => {
      const place = `${path}.${field}[${index}]`;
      if (isToolBlock(part) || isAttribution(own, part)) {
        this.dropped.push(`${place} (${isNativePart(part) ? nameKind(part.type) : billingHeader})`);
        return [];
      }
      const shown = describeReference(part) ?? showSummary(part, own);
      if (shown) return [shown];
      if (isNativePart(part)) throw this.refuse(place, 'part', part.type);
      return [this.withoutField(part, place)];
    });
    if (written.length === 0 && parts.length > 0 && own.type === 'message') return undefined;
    return { ...own, [field]: written } as InputItem;
  }
}

/** Moves a cache mark of a result, which only its format has there, to its last text. */
function moveMark(item: FunctionCallOutputItem): InputItem {
  const { cache_control: mark, ...rest } = readNative(item) ?? {};
  const { output } = item;
  const parts: ToolOutputPart[] = typeof output === 'string' ? [{ type: 'input_text', text: output }] : [...output];
  const at = parts.findLastIndex((part) => part.type === 'input_text' && part.text !== '');
  if (!mark || at === -1) return item;
  parts[at] = { cache_control: mark as CacheControl, ...parts[at]! }; // the schema has checked it
  return { ...item, output: parts, [NATIVE_FIELD]: rest } as FunctionCallOutputItem;
}

/**
 * Moves the mark of a failed call to where the format of the wire has it: `error` in the result of Gemini, `is_error` of
 * Claude. Another format says it in words: https://github.com/mozilla-ai/any-llm/issues/1311.
 */
function moveError(item: FunctionCallOutputItem, wire: string | undefined): FunctionCallOutputItem {
  const { is_error: hasFailed, ...rest } = readNative(item) ?? {};
  if (hasFailed !== true) return wire === 'anthropic-messages' ? readError(item) : item;
  return { ...item, output: writeError(item.output, wire), [NATIVE_FIELD]: rest } as FunctionCallOutputItem;
}

function writeError(output: string | ToolOutputPart[], wire: string | undefined): string | ToolOutputPart[] {
  const parts: ToolOutputPart[] = typeof output === 'string' ? [{ type: 'input_text', text: output }] : output;
  const texts = parts.flatMap((part) => (part.type === 'input_text' && part.text !== '' ? [part.text] : []));
  if (wire !== 'gemini') {
    if (typeof output === 'string') return [FAILED_CALL, ...texts].join('\n');
    return [{ type: 'input_text', text: FAILED_CALL }, ...output];
  }
  const error = JSON.stringify({ error: texts.join('\n') || FAILED_CALL });
  const media = parts.filter(({ type }) => type !== 'input_text');
  return media.length === 0 ? error : [{ type: 'input_text', text: error }, ...media];
}

/** Reads a result of Gemini that has only an `error`. */
function readError(item: FunctionCallOutputItem): FunctionCallOutputItem {
  const result = typeof item.output === 'string' ? parseObject(item.output, 'arguments') : undefined;
  if (!result || Object.keys(result).join() !== 'error') return item;
  const { error } = result as { error?: unknown };
  return { ...item, output: typeof error === 'string' ? error : JSON.stringify(error), is_error: true };
}

/** Whether a part is a call or a result of a tool that the provider ran. The text that followed contains the result. */
const isToolBlock = (part: { type: string }): part is NativePart =>
  isNativePart(part) &&
  /^(?:anthropic:(?:server_tool_use|mcp_tool_use|mcp_tool_listing|.*_tool_result)|gemini:(?:executableCode|codeExecutionResult|toolCall|toolResponse))$/.test(
    part.type,
  );

/** Shows the summary of earlier turns that Claude wrote. Another model reads it as a text. */
function showSummary(part: { type: string }, holder: InputItem): object | undefined {
  if (part.type !== 'anthropic:compaction') return undefined;
  const { content: text } = (part as NativePart).block;
  if (typeof text !== 'string') return undefined;
  const isOutput = holder.type === 'message' && holder.role === 'assistant';
  return { type: isOutput ? 'output_text' : 'input_text', text };
}

const isAttribution = (item: InputItem, { text }: { text?: unknown }): boolean =>
  item.type === 'message' && item.role === 'system' && typeof text === 'string' && isBillingText(text);
