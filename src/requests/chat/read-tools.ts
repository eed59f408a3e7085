import { type FunctionTool, isServerTool, type Tool, type ToolChoice, toolTypes } from '../../domain/items.ts';
import { FUNCTION_PREFIX, NATIVE_FIELD } from '../../domain/native.ts';
import type { TranslatedBody } from '../responses/request.ts';
import type { ChatBody } from './schema.ts';

type ChatTools = Pick<ChatBody, 'tools' | 'tool_choice' | 'functions' | 'function_call' | 'parallel_tool_calls'> &
  Pick<ChatBody, 'web_search_options'>;

/** Translates the tools of a request and their choice. @see docs/reference/chat-completions.md#tools */
export function readTools(body: ChatTools, translated: TranslatedBody): void {
  const { tools, functions, web_search_options: search } = body;
  const all: Tool[] = [];
  if (tools) for (const tool of tools) all.push(readTool(tool));
  if (functions) for (const each of functions) all.push(readFunction(each));
  if (search) all.push(readSearch(search));
  if (tools || all.length > 0) translated.tools = all as NonNullable<TranslatedBody['tools']>; // checked by the schema
  const choice = readChoice(body);
  if (choice !== undefined) translated.tool_choice = choice as NonNullable<TranslatedBody['tool_choice']>;
  if (functions?.length && !tools?.length)
    translated.parallel_tool_calls = false; // the older format has one call
  else if (body.parallel_tool_calls !== undefined) translated.parallel_tool_calls = body.parallel_tool_calls;
}

function readTool(tool: NonNullable<ChatBody['tools']>[number]): Tool {
  if (tool.type === 'function') {
    const { type: _, function: named, async, defer_loading: isDeferred, cache_control: mark, ...outer } = tool;
    const { name, description, parameters, strict, cache_control: innerMark, ...inner } = named;
    const read: FunctionTool = { type: 'function', ...readShape({ name, description, parameters, strict }) };
    if (async !== undefined) read.async = async;
    if (isDeferred !== undefined) read.defer_loading = isDeferred;
    // OpenRouter has it beside `function`, and LiteLLM also in it.
    if (mark ?? innerMark) read.cache_control = mark ?? innerMark;
    const native = { ...outer, ...prefix(inner) };
    return Object.keys(native).length > 0 ? ({ ...read, [NATIVE_FIELD]: native } as Tool) : read;
  }
  if (tool.type === 'custom') {
    const { name, description, format, cache_control: innerMark } = tool.custom;
    const mark = tool.cache_control ?? innerMark;
    return {
      type: 'custom',
      name,
      ...(description && { description }),
      ...(mark && { cache_control: mark }),
      ...(format && {
        format: format.type === 'grammar' ? { type: 'grammar' as const, ...format.grammar } : { type: 'text' as const },
      }),
    };
  }
  if (toolTypes.has(tool.type) || isServerTool(tool)) return tool as Tool; // the kinds that both APIs have
  return { type: `chat:${tool.type}`, [NATIVE_FIELD]: tool } as unknown as Tool; // a kind that only a provider knows
}

/** Names the unknown fields of a function by their place in the tool. */
const prefix = (inner: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(inner).map(([name, value]) => [`${FUNCTION_PREFIX}${name}`, value]));

interface FunctionShape {
  name: string;
  description?: string | null | undefined;
  parameters?: Record<string, unknown> | null | undefined;
  strict?: boolean | null | undefined;
}

/** A function is not strict unless it says so. In the Responses format, it would be. */
const readShape = ({ name, description, parameters, strict }: FunctionShape) => ({
  name,
  ...(description !== undefined && { description }),
  parameters: parameters ?? null,
  strict: strict ?? false,
});

const readFunction = (shape: FunctionShape): Tool => ({ type: 'function', ...readShape(shape) });

function readSearch({
  search_context_size: size,
  user_location: user,
}: NonNullable<ChatBody['web_search_options']>): Tool {
  return {
    type: 'web_search',
    ...(size && { search_context_size: size }),
    ...(user && { user_location: { type: 'approximate', ...user.approximate } }),
  };
}

function readChoice({ tool_choice: choice, function_call: legacy }: ChatTools): ToolChoice | undefined {
  if (choice === undefined || choice === null) {
    if (legacy === undefined || legacy === null || typeof legacy === 'string') return legacy ?? undefined;
    return { type: 'function', name: legacy.name };
  }
  if (typeof choice === 'string') return choice;
  switch (choice.type) {
    case 'function':
      return { type: 'function', name: choice.function.name };
    case 'custom':
      return { type: 'custom', name: choice.custom.name };
    case 'allowed_tools': {
      const { mode, tools } = choice.allowed_tools;
      return { type: 'allowed_tools', mode, tools: tools.map(readNamed) };
    }
    default:
      return isKnownChoice(choice) ? (choice as ToolChoice) : undefined; // `native.ts` keeps the others
  }
}

/** Whether a choice names a tool that both APIs have. */
export const isKnownChoice = ({ type }: { type: string }): boolean => toolTypes.has(type) || isServerTool({ type });

type NamedTool = { type: string; function?: { name: string }; custom?: { name: string } };

function readNamed(tool: NamedTool): { type: string; name?: string } {
  const name = tool.function?.name ?? tool.custom?.name;
  return name === undefined ? { ...tool } : { type: tool.type, name };
}
