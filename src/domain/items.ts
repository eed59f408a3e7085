import type { Word } from './word.ts';

/**
 * Items and content parts keep their wire shape everywhere (snake_case), because they may carry unknown fields. Only
 * fields that the gateway reads are typed. Every shape is open.
 *
 * @see docs/reference/items.md
 */
export interface InputTextPart {
  type: 'input_text';
  text: string;
  prompt_cache_breakpoint?: { mode: 'explicit' } | null;
  cache_control?: CacheControl;
}
export interface InputImagePart {
  type: 'input_image';
  detail?: 'auto' | 'high' | 'low' | 'original';
  image_url?: string | null;
  file_id?: string | null;
  cache_control?: CacheControl;
}
export interface InputFilePart {
  type: 'input_file';
  file_data?: string;
  file_url?: string;
  file_id?: string | null;
  filename?: string;
  cache_control?: CacheControl;
}
export interface InputAudioPart {
  type: 'input_audio';
  input_audio: { data: string; format: 'mp3' | 'wav' };
}
export interface InputVideoPart {
  type: 'input_video';
  video_url: string;
  processing?: 'agentic' | 'static';
}
export interface EncryptedContentPart {
  type: 'encrypted_content';
  encrypted_content: string;
}
export interface OutputTextPart {
  type: 'output_text';
  text: string;
  annotations?: unknown[];
  logprobs?: unknown[];
}
export interface RefusalPart {
  type: 'refusal';
  refusal: string;
}
export interface ReasoningTextPart {
  type: 'reasoning_text';
  text: string;
}
export interface SummaryTextPart {
  type: 'summary_text';
  text: string;
}
export interface CacheControl {
  type: 'ephemeral';
  ttl?: '5m' | '1h';
}

export type InputPart = InputTextPart | InputImagePart | InputFilePart | InputAudioPart | InputVideoPart;
export type ToolOutputPart = InputTextPart | InputImagePart | InputFilePart;
export type MessagePart = InputPart | OutputTextPart | RefusalPart;

export type ItemStatus = Word<'in_progress' | 'completed' | 'incomplete'>;

export interface MessageItem {
  type: 'message';
  id?: string;
  role: 'user' | 'system' | 'assistant' | 'developer';
  content?: string | MessagePart[] | null;
  /** The participant, where several have the same role. Only chat completions have it. */
  name?: string;
  phase?: Word<'commentary' | 'final_answer'> | null;
  status?: ItemStatus;
}
export interface ReasoningItem {
  type: 'reasoning';
  id?: string;
  summary?: SummaryTextPart[] | null;
  content?: ReasoningTextPart[] | null;
  encrypted_content?: string | null;
  /** The dialect that created the opaque fields. */
  format?: ReasoningFormat | null;
  signature?: string | null;
  status?: ItemStatus;
}
/** The dialects that create opaque fields of reasoning. */
export const reasoningFormats = [
  'unknown',
  'openai-responses-v1',
  'azure-openai-responses-v1',
  'bedrock-openai-responses-v1',
  'bedrock-xai-responses-v1',
  'xai-responses-v1',
  'meta-responses-v1',
  'anthropic-claude-v1',
  'google-gemini-v1',
] as const;
export type ReasoningFormat = (typeof reasoningFormats)[number];

export const isReasoningFormat = (format: string): format is ReasoningFormat =>
  (reasoningFormats as readonly string[]).includes(format);

export interface FunctionCallItem {
  type: 'function_call';
  id?: string;
  call_id: string;
  name: string;
  arguments: string;
  namespace?: string;
  async?: boolean;
  status?: ItemStatus;
  /** Marks the conversation up to this call for a prompt cache. */
  cache_control?: CacheControl;
}
export interface FunctionCallOutputItem {
  type: 'function_call_output';
  id?: string | null;
  call_id: string;
  output: string | ToolOutputPart[];
  status?: ItemStatus | null;
  /** The call failed. Only Claude has a field for it. */
  is_error?: boolean;
  cache_control?: CacheControl;
}
export interface CustomToolCallItem {
  type: 'custom_tool_call';
  id?: string;
  call_id: string;
  name: string;
  input: string;
  namespace?: string;
  async?: boolean;
  status?: ItemStatus;
  cache_control?: CacheControl;
}
export interface CustomToolCallOutputItem {
  type: 'custom_tool_call_output';
  id?: string;
  call_id: string;
  output: string | ToolOutputPart[];
}
export interface AdditionalToolsItem {
  type: 'additional_tools';
  role: string;
  tools: Tool[];
  id?: string | null;
}
export interface AgentMessageItem {
  type: 'agent_message';
  author: string;
  recipient: string;
  content: (InputTextPart | InputImagePart | EncryptedContentPart)[];
  id?: string | null;
}
export interface ConfigurationUpdateItem {
  type: 'configuration_update';
  reasoning: { effort: Word<ReasoningEffort> };
  id?: string | null;
}

/**
 * Kinds that the gateway carries without reading them: hosted tool calls, MCP, patches, shells, references,
 * compactions.
 */
export interface CarriedItem {
  type: CarriedItemType;
  [field: string]: unknown;
}
export type CarriedItemType =
  | 'item_reference'
  | 'compaction'
  | 'context_compaction'
  | 'compaction_trigger'
  | 'apply_patch_call'
  | 'apply_patch_call_output'
  | 'local_shell_call'
  | 'local_shell_call_output'
  | 'shell_call'
  | 'shell_call_output'
  | 'mcp_list_tools'
  | 'mcp_approval_request'
  | 'mcp_approval_response'
  | 'mcp_call'
  | 'web_search_call'
  | 'file_search_call'
  | 'image_generation_call'
  | 'code_interpreter_call'
  | 'computer_call'
  | `router:${string}`;

/** An entry of `input` after the checks of `api/responses/`. A message always has its `type`. */
export type InputItem =
  | MessageItem
  | ReasoningItem
  | FunctionCallItem
  | FunctionCallOutputItem
  | CustomToolCallItem
  | CustomToolCallOutputItem
  | AdditionalToolsItem
  | AgentMessageItem
  | ConfigurationUpdateItem
  | CarriedItem;

/**
 * The known kinds of input items, except our own (`router:…`). Unknown kinds pass the checks as a `CarriedItem`. Only
 * native wires send them, unchanged.
 */
export const itemTypes: ReadonlySet<string> = new Set<InputItem['type']>([
  ...(['message', 'reasoning', 'function_call', 'function_call_output', 'custom_tool_call'] as const),
  ...(['custom_tool_call_output', 'additional_tools', 'agent_message', 'configuration_update'] as const),
  ...(['item_reference', 'compaction', 'context_compaction', 'compaction_trigger'] as const),
  ...(['apply_patch_call', 'apply_patch_call_output'] as const),
  ...(['local_shell_call', 'local_shell_call_output', 'shell_call', 'shell_call_output', 'mcp_list_tools'] as const),
  ...(['mcp_approval_request', 'mcp_approval_response', 'mcp_call', 'web_search_call', 'file_search_call'] as const),
  ...(['image_generation_call', 'code_interpreter_call', 'computer_call'] as const),
]);

/** Whether the item is a call of one of the gateway's own tools. */
export const isServerItem = ({ type }: { type: string }): boolean => type.startsWith('router:');

/** Items of hosted tools that the gateway can run. Models of other providers see them as calls of functions. */
export const replayedTypes: ReadonlySet<string> = new Set<CarriedItemType>([
  ...(['shell_call', 'shell_call_output', 'local_shell_call', 'local_shell_call_output'] as const),
  ...(['apply_patch_call', 'apply_patch_call_output', 'code_interpreter_call'] as const),
  'web_search_call',
  'file_search_call',
]);

/** Whether the gateway knows the kind of an item. */
export const isKnownItem = (item: { type: string }): boolean => itemTypes.has(item.type) || isServerItem(item);

/** Items that have parts, or a text instead of parts → the field. */
export const partHolders: ReadonlyMap<string, 'content' | 'output'> = new Map([
  ['message', 'content'],
  ['agent_message', 'content'],
  ['function_call_output', 'output'],
  ['custom_tool_call_output', 'output'],
]);

/** The kinds of parts that the gateway knows in messages, between agents and in the output of tools. */
export const partTypes: ReadonlySet<string> = new Set<MessagePart['type'] | EncryptedContentPart['type']>([
  ...(['input_text', 'input_image', 'input_file', 'input_audio', 'input_video'] as const),
  ...(['output_text', 'refusal', 'encrypted_content'] as const),
]);

/** Whether the gateway knows the kind of a part. */
export const isKnownPart = ({ type }: { type: string }): boolean => partTypes.has(type);

/** An entry of `output`. Open: a native provider may send unknown kinds. */
export interface OutputItem {
  type: string;
  id?: string;
  status?: string;
  [field: string]: unknown;
}

/** The known efforts, in ascending order. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type ReasoningEffort = (typeof efforts)[number];

/** Whether the gateway knows the effort. Only native wires send others. */
export const isEffort = (word: string): word is ReasoningEffort => (efforts as readonly string[]).includes(word);

/** Returns the effort, if the gateway knows it. */
export const findEffort = (word: string | null | undefined): ReasoningEffort | undefined =>
  typeof word === 'string' && isEffort(word) ? word : undefined;

export interface FunctionTool {
  type: 'function';
  name: string;
  description?: string | null;
  parameters?: Record<string, unknown> | null;
  strict?: boolean | null;
  async?: boolean;
  defer_loading?: boolean;
  /** Marks the tools up to this one for a prompt cache. */
  cache_control?: CacheControl | null;
}
export interface CustomTool {
  type: 'custom';
  name: string;
  description?: string;
  format?: { type: 'text' } | { type: 'grammar'; definition: string; syntax: 'lark' | 'regex' };
  async?: boolean;
  cache_control?: CacheControl | null;
}
export interface NamespaceTool {
  type: 'namespace';
  name: string;
  description?: string;
  tools: (FunctionTool | CustomTool)[];
}
/** Kinds that run at the provider. Unknown kinds pass the checks as such a tool. Only native wires send them, unchanged. */
export interface HostedTool {
  type:
    | 'web_search'
    | 'web_search_2025_08_26'
    | 'web_search_preview'
    | 'web_search_preview_2025_03_11'
    | 'file_search'
    | 'computer_use_preview'
    | 'code_interpreter'
    | 'mcp'
    | 'image_generation'
    | 'local_shell'
    | 'shell'
    | 'apply_patch';
  [field: string]: unknown;
}
/** Tools whose definition is the caller's own. */
const clientTools: ReadonlySet<string> = new Set<Tool['type']>(['function', 'custom', 'namespace']);

/** Names of the web search that a provider runs. */
export const searchTypes: ReadonlySet<string> = new Set<HostedTool['type']>([
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
]);

/** Tools that the provider runs itself, if it has them. A request is still meaningful without them. */
const providerRun: ReadonlySet<string> = new Set<string>([
  ...searchTypes,
  ...(['code_interpreter', 'image_generation', 'mcp'] satisfies HostedTool['type'][]),
]);

/** The known kinds of tools, except our own. */
export const toolTypes: ReadonlySet<string> = new Set<string>([
  ...clientTools,
  ...providerRun,
  ...(['file_search', 'computer_use_preview', 'local_shell', 'shell', 'apply_patch'] satisfies HostedTool['type'][]),
]);

/** Whether the tool is not a function. Only some protocols and providers have such a tool. */
export const isHosted = (tool: { type: string }): boolean => !clientTools.has(tool.type) && !isServerTool(tool);

/** Whether the tool names an MCP server of the operator, which no provider can reach. */
export const isGatewayMcp = (tool: { type: string; server_url?: unknown; connector_id?: unknown }): boolean =>
  tool.type === 'mcp' && tool.server_url === undefined && tool.connector_id === undefined;

/** Whether the tool may name a server with its secrets: MCP, or a kind that only the provider knows. */
export const mayNameServer = ({ type }: { type: string }): boolean =>
  type === 'mcp' || !(toolTypes.has(type) || isServerTool({ type }));

/** Returns a tool without the headers for its server. */
export function hideMcpSecrets<T extends object>(tool: T): T {
  const { authorization: _, headers: __, ...shown } = tool as T & { authorization?: unknown; headers?: unknown };
  return shown as T; // both are optional
}

/**
 * Whether the provider runs the tool, and a request is meaningful without it. A search in files of the provider is not
 * optional, and the other hosted kinds (a shell, patches, a computer) run at the client.
 */
export const isProviderRun = ({ type }: { type: string }): boolean => providerRun.has(type);

/** Kinds that run in the gateway. */
export interface GatewayTool {
  type: `router:${string}` | 'tool_search';
  parameters?: Record<string, unknown>;
}
/** Whether the tool runs in the gateway. The provider gets such a tool as a function. */
export const isServerTool = (tool: { type: string }): boolean =>
  tool.type.startsWith('router:') || (tool.type === 'tool_search' && !isClientSearch(tool));

/** Whether the tool is a search for tools that the client runs, as Codex does. */
export const isClientSearch = (tool: { type: string; execution?: unknown }): tool is ClientSearchTool =>
  tool.type === 'tool_search' && tool.execution === 'client';

/** The function that the model sees for a server tool. Function names have no colon. */
export const nameFunction = (type: string): string => type.replace(':', '_');

/**
 * The function that the model sees for one of several entries of a server tool.
 *
 * @param name the function of the tool
 * @param instance position among its entries, from 0
 */
export const nameInstance = (name: string, instance: number): string =>
  instance === 0 ? name : `${name}__${instance}`;

/** A search for tools that the client runs. */
export interface ClientSearchTool {
  type: 'tool_search';
  execution: 'client';
  description?: string | null;
  parameters?: Record<string, unknown> | null;
}

export type Tool = FunctionTool | CustomTool | NamespaceTool | HostedTool | GatewayTool | ClientSearchTool;

export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { type: 'function' | 'custom'; name: string }
  | {
      type: 'allowed_tools';
      mode: 'auto' | 'required';
      tools: { type: string; name?: string; [field: string]: unknown }[];
    }
  | { type: 'mcp'; server_label: string; name?: string | null }
  | {
      type:
        | ('web_search_preview' | 'web_search_preview_2025_03_11')
        | ('apply_patch' | 'shell' | 'image_generation')
        | `router:${string}`;
    };
