import { findEffort, isEffort, type ReasoningEffort, type Tool } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { dropRest, isSet, listAdaptations, nameIdentity, refuse } from '../kit/draft.ts';
import { noteEffort, noteSwitch, planEffort } from '../kit/effort.ts';
import type { Target, UpstreamRequest } from '../wire.ts';
import { addTools, planTools, ToolBox } from '../kit/tool-box.ts';
import { type Dialect, readDialect } from './dialect.ts';
import type { ChatDraft } from './draft.ts';
import { type WireBody, fitBody } from './fit.ts';
import { writeMessages } from './messages.ts';
import { takeNative, writeNative } from './native.ts';
import { writeChoice, writeTool } from './tools.ts';
import type { ChatTool, ReaderContext } from './wire.ts';

/** Fields that are written below. Every other field that reaches the wire is added to `dropped`. */
const writtenFields = new Set([
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_k',
  'top_logprobs',
  'frequency_penalty',
  'presence_penalty',
  'parallel_tool_calls',
  'prompt_cache_key',
  'service_tier',
  'metadata',
  'cache_control',
  'modalities',
  'image_config',
  'logit_bias',
  'logprobs',
  'min_p',
  'prediction',
  'prompt_cache_retention',
  'repetition_penalty',
  'seed',
  'stop',
  'top_a',
  'native',
  'user',
  'safety_identifier',
]);

/** Translates a request into the body of `POST /chat/completions`. @see docs/reference/wires.md */
export function writeRequest(request: ResponseRequest, target: Target): UpstreamRequest<ReaderContext> {
  const dialect = readDialect(target.dialect);
  const native = request.native?.format === 'openai-chat' ? request.native : undefined;
  const keepsNative = native !== undefined;
  const draft: ChatDraft = {
    target,
    dialect,
    format: 'chat completions',
    dropped: [],
    adapted: new Set(),
    keepsNative,
    marksTools: dialect.cache_control,
  };
  if (request.prompt) throw refuse(draft, 'prompt', 'A prompt template');

  const conversation = writeMessages(draft, request.instructions, request.input);
  const body: WireBody = { model: target.upstreamModel, messages: conversation.messages };
  if (target.stream) {
    body.stream = true;
    if (dialect.stream_usage) body.stream_options = { include_usage: true };
  }

  const box = new ToolBox();
  const nativeTools: object[] = [];
  const takeOther = keepsNative ? (tool: Tool): boolean => takeNative(tool, nativeTools) : undefined;
  if (request.tools) addTools(draft, box, { tools: request.tools, path: 'tools', ...(takeOther && { takeOther }) });
  for (const list of conversation.additionalTools) addTools(draft, box, { ...list, replaces: true });
  const { tools, choice } = planTools(draft, box, request.tool_choice);
  if (tools.length > 0) body.tools = tools.map((tool) => writeTool(draft, tool));
  if (choice !== undefined) body.tool_choice = writeChoice(choice);
  if (tools.length > 0) put(draft, body, 'parallel_tool_calls', request.parallel_tool_calls);
  else if (isSet(request.parallel_tool_calls)) draft.dropped.push('parallel_tool_calls'); // servers reject it

  writeSampling(draft, body, request);
  writeText(draft, body, request.text);
  writeReasoning(draft, body, request, conversation.effort);
  put(draft, body, 'prompt_cache_key', request.prompt_cache_key);
  put(draft, body, 'prompt_cache_retention', request.prompt_cache_retention);
  put(draft, body, 'prediction', request.prediction);
  put(draft, body, 'service_tier', request.service_tier);
  put(draft, body, 'user', target.endUser, nameIdentity(request));
  // `user` would also change which requests share a cache.
  if (target.endUser === undefined && dialect.account_identity) put(draft, body, 'safety_identifier', target.account);
  putWhen(dialect.metadata, draft, body, 'metadata', request.metadata);
  putWhen(dialect.cache_control, draft, body, 'cache_control', request.cache_control);
  // Every server supports `["text"]`. Only servers that generate images support a list with images.
  putWhen(request.modalities?.includes('image') === true, draft, body, 'modalities', request.modalities);
  put(draft, body, 'image_config', request.image_config);
  dropRest(draft, request, writtenFields);
  fitBody(draft, body, box);
  if (native) writeNative(body, nativeTools, native);

  const functions = dialect.answers?.marked_calls ? listFunctions(body) : [];
  const readerContext: ReaderContext = {
    ...(box.offered !== undefined && { tools: box.offered }),
    ...(dialect.answers?.think_tags && { thinkTags: true }),
    ...(dialect.answers?.think_opened && { thinkOpened: true }),
    ...(functions.length > 0 && { markedCalls: new Set(functions) }),
  };
  const { session_header: header } = dialect;
  return {
    path: '/chat/completions',
    ...(header !== null && target.session !== undefined && { headers: { [header]: target.session } }),
    body,
    dropped: draft.dropped,
    ...listAdaptations(draft),
    readerContext,
  };
}

/** Returns the names of the functions. A tool of a kind that only the provider knows has none. */
const listFunctions = (body: { tools?: Partial<ChatTool>[] }): string[] =>
  (body.tools ?? []).flatMap(({ function: offered }) => (offered ? [offered.name] : []));

/** @param field the name of the request field, if it differs from that of the body */
function put(draft: ChatDraft, body: Record<string, unknown>, name: string, value: unknown, field = name): void {
  if (value === undefined || value === null) return;
  const { omit } = draft.dialect;
  if (omit.length > 0 && omit.includes(name as Dialect['omit'][number])) draft.dropped.push(field);
  else body[name] = value;
}

function putWhen(
  taken: boolean,
  draft: ChatDraft,
  body: Record<string, unknown>,
  name: 'metadata' | 'cache_control' | 'modalities' | 'top_k' | (typeof openFields)[number],
  value: unknown,
): void {
  if (!isSet(value)) return;
  if (taken) body[name] = value;
  else draft.dropped.push(name);
}

/** Sampling that servers of open models have, and OpenAI has not. */
const openFields = ['min_p', 'repetition_penalty', 'top_a'] as const;

function writeSampling(draft: ChatDraft, body: Record<string, unknown>, request: ResponseRequest): void {
  if (isSet(request.max_output_tokens)) body[draft.dialect.max_tokens_field] = request.max_output_tokens;
  put(draft, body, 'temperature', request.temperature);
  put(draft, body, 'top_p', request.top_p);
  putWhen(draft.dialect.top_k, draft, body, 'top_k', request.top_k);
  put(draft, body, 'frequency_penalty', request.frequency_penalty);
  put(draft, body, 'presence_penalty', request.presence_penalty);
  put(draft, body, 'seed', request.seed);
  put(draft, body, 'stop', request.stop);
  put(draft, body, 'logit_bias', request.logit_bias);
  for (const field of openFields) putWhen(draft.dialect.top_k, draft, body, field, request[field]);
  if (request.top_logprobs || request.logprobs) body.logprobs = true;
  if (request.top_logprobs) body.top_logprobs = request.top_logprobs;
}

function writeText(draft: ChatDraft, body: Record<string, unknown>, text: ResponseRequest['text']): void {
  if (!text) return;
  const { format } = text;
  if (format?.type === 'json_object') {
    body.response_format = { type: 'json_object' };
  } else if (format?.type === 'json_schema') {
    const { name, description, schema, strict } = format;
    const nested: Record<string, unknown> = { name, schema };
    if (isSet(description)) nested.description = description;
    if (isSet(strict)) nested.strict = strict;
    body.response_format = { type: 'json_schema', json_schema: nested };
  }
  put(draft, body, 'verbosity', text.verbosity, 'text.verbosity');
}

/** Returns the effort of a server that can only turn reasoning on and off: `on` if it has no name for it. */
function findSwitch({ reasoning, reasoning_rules: rules }: Dialect): string | undefined {
  const { on, keep_effort: keeps, budget } = rules ?? {};
  if (reasoning !== 'reasoning_effort' || on === undefined || keeps || budget?.field !== undefined) return undefined;
  return findEffort(on['reasoning_effort'] as string | undefined) ?? 'on';
}

function writeReasoning(
  draft: ChatDraft,
  body: Record<string, unknown>,
  request: ResponseRequest,
  update: ReasoningEffort | undefined,
): void {
  const { reasoning } = request;
  if (!reasoning && update === undefined) return;
  const { dialect, dropped } = draft;
  if (reasoning?.summary) dropped.push('reasoning.summary');
  if (reasoning?.context) dropped.push('reasoning.context');
  if (reasoning?.mode) dropped.push('reasoning.mode');

  const { enabled, max_tokens: budget } = (update === undefined && reasoning) || {};
  const wanted = update ?? (enabled === false ? 'none' : reasoning?.effort);
  const isNew = wanted !== undefined && wanted !== null && !isEffort(wanted); // newer than the gateway
  if (dialect.reasoning === 'none') {
    if (wanted) dropped.push(enabled === false ? 'reasoning.enabled' : 'reasoning.effort');
    if (isSet(budget)) dropped.push('reasoning.max_tokens');
    return;
  }
  const effort = isNew ? wanted : planEffort(reasoning, update, request.max_output_tokens, dialect.efforts);
  const hasBudget = typeof budget === 'number' && budget > 0 && !wanted && !!dialect.reasoning_rules?.budget;
  if (hasBudget) draft.budget = budget;
  // If both are set, effort takes precedence, because servers of this format support it
  // (docs/reference/responses.md#reasoning).
  const onlyEffort = effort === undefined || effort === 'none' ? undefined : findSwitch(dialect);
  if (onlyEffort !== undefined) noteSwitch(dropped, reasoning, update, onlyEffort);
  else if (!hasBudget && (wanted || dialect.reasoning === 'reasoning_effort'))
    noteEffort(dropped, reasoning, update, effort);
  if (dialect.reasoning === 'reasoning_effort') {
    if (effort !== undefined) body.reasoning_effort = effort;
    return;
  }
  const setting: Record<string, unknown> = {};
  const staysOn = enabled === false && !dialect.efforts.includes('none');
  if (isSet(budget) && !wanted) setting.max_tokens = budget;
  else if (wanted && (enabled !== false || staysOn)) setting.effort = effort;
  if (isSet(enabled) && !staysOn) setting.enabled = enabled;
  if (Object.keys(setting).length > 0) body.reasoning = setting;
}
