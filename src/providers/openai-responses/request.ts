import type { Tool } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { Target, UpstreamRequest } from '../wire.ts';
import { listAdaptations, nameIdentity } from '../kit/draft.ts';
import { type Dialect, readDialect } from './dialect.ts';
import { writeReasoning } from './effort.ts';
import { fitBody, type WireBody, type ResponsesDraft } from './fit.ts';
import { writeInput, writePart } from './input.ts';
import { listAbilities, listLacking, writeToolChoice, writeTools } from './tools.ts';

/** Facts about the request that the reader needs. */
export interface ReaderContext {
  /** Marks encrypted reasoning with the dialect that made it. */
  reasoningFormat: string;
  /** Whether the upstream may name another one, because it is a gateway. */
  keepsFormat?: boolean;
  /** Names of the custom tools that calls may have. Absent: any. */
  offered?: ReadonlySet<string>;
}

/** Fields with the same meaning upstream. */
const carried = [
  'instructions',
  'frequency_penalty',
  'max_output_tokens',
  'metadata',
  'parallel_tool_calls',
  'presence_penalty',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'service_tier',
  'temperature',
  'text',
  'top_logprobs',
  'top_p',
  'truncation',
] as const;

/** Fields that only gateways support. */
const gatewayFields = ['cache_control', 'image_config', 'modalities', 'top_k'] as const;

/** Fields that the upstream does not support. Excludes fields that the gateway itself reads (`models`, `trace`, …). */
const placeless = ['logit_bias', 'min_p', 'prediction', 'repetition_penalty', 'seed', 'top_a'] as const;

const logprobs = 'message.output_text.logprobs';
const sealed = 'reasoning.encrypted_content';
const sources = 'web_search_call.action.sources';

/**
 * Translates a request. Nearly all fields are sent unchanged. A field that only the interface has is translated or
 * omitted. `null` means "not set" and is not sent.
 *
 * @see docs/reference/wires.md
 */
export function writeRequest(request: ResponseRequest, target: Target): UpstreamRequest<ReaderContext> {
  const dialect = readDialect(target.dialect);
  const dropped: string[] = [];
  const draft: ResponsesDraft = { target, dialect, format: 'responses', dropped, adapted: new Set() };
  const { input, tools: toolsOfItems, effort } = writeInput(request.input, dialect, dropped);
  const body: Record<string, unknown> = { model: target.upstreamModel, input, stream: target.stream, store: false };
  for (const field of carried) {
    const value = request[field];
    if (value !== undefined && value !== null) body[field] = value;
  }
  for (const field of gatewayFields) {
    if (request[field] === undefined) continue;
    if (dialect.gateway) body[field] = request[field];
    else dropped.push(field);
  }
  for (const field of placeless) if (request[field] !== undefined) dropped.push(field);

  const callersTools = request.tools ?? [];
  const { tools, hasHosted } = writeTools(
    toolsOfItems.length === 0 ? callersTools : [...callersTools, ...toolsOfItems],
    { lacking: listLacking(listAbilities(dialect)), keepsMarks: dialect.gateway, dropped },
  );
  if (tools.length > 0) body.tools = tools;
  // Upstream, this limits only hosted calls. The gateway counts the calls of server tools.
  if (hasHosted && typeof request.max_tool_calls === 'number') body.max_tool_calls = request.max_tool_calls;
  if (request.tool_choice !== undefined) {
    const choice = writeToolChoice(request.tool_choice, dropped);
    if (choice !== undefined) body.tool_choice = choice;
  }
  if (request.reasoning || effort !== undefined) {
    const reasoning = writeReasoning(
      request.reasoning ?? {},
      effort,
      request.max_output_tokens,
      dialect.efforts,
      dropped,
    );
    if (reasoning) body.reasoning = reasoning;
  }
  if (request.prompt) body.prompt = writePrompt(request.prompt, dialect, dropped);
  const searches = target.showsSources && dialect.search_sources && tools.some(isSearch);
  const include = listIncluded(request, target, dialect, searches === true);
  if (include.length > 0) body.include = include;
  const takesAccount = dialect.account_identity && !dialect.omit.includes('safety_identifier');
  const identity = target.endUser ?? (takesAccount ? target.account : undefined);
  if (identity !== undefined) body.safety_identifier = identity; // `user` itself is never sent
  if (dialect.session_cache_key && target.session !== undefined) body.prompt_cache_key ??= target.session;
  for (const field of dialect.omit) {
    if (!(field in body)) continue;
    delete body[field];
    dropped.push(field === 'safety_identifier' ? nameIdentity(request) : field);
  }
  if (request.stop && request.stop.length > 0) {
    draft.appliedStops = request.stop; // the protocol has no place for them
    draft.adapted.add('stop');
  }
  fitBody(draft, body as WireBody); // written above
  const readerContext: ReaderContext = { reasoningFormat: dialect.reasoning_format };
  if (dialect.gateway) readerContext.keepsFormat = true;
  if (target.onlyOfferedCalls) readerContext.offered = nameCustomTools([...callersTools, ...toolsOfItems]);
  const path = '/responses';
  const compacts = request.standalone_compaction && dialect.native_compaction;
  if (!compacts) return { path, body, dropped, ...listAdaptations(draft), readerContext };
  const compacted = writeCompaction(body as WireBody, dropped); // written above
  return { path: `${path}/compact`, body: compacted, dropped, ...listAdaptations(draft), readerContext };
}

/** Names the custom tools of a request, also those in groups. */
const nameCustomTools = (tools: readonly Tool[]): Set<string> =>
  new Set(
    tools.flatMap((tool) => {
      if (tool.type === 'custom') return [tool.name];
      return tool.type === 'namespace' ? [...nameCustomTools(tool.tools)] : [];
    }),
  );

/** The fields of `POST /responses/compact`. Source: developers.openai.com/api/reference, Compact a response */
const compactionFields: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'service_tier',
]);

/** The fields that are not the client's. */
const ownFields: ReadonlySet<string> = new Set(['stream', 'store', 'include', 'safety_identifier']);

/** Writes the body of a compaction: without the item that requests it, and without fields that the call rejects. */
function writeCompaction(body: WireBody, dropped: string[]): Record<string, unknown> {
  const written: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (compactionFields.has(name)) written[name] = value;
    else if (!ownFields.has(name)) dropped.push(name);
  }
  written['input'] = body.input.slice(0, -1);
  return written;
}

/** Lists the extra output that the caller requests, or that the response needs. */
function listIncluded(
  request: ResponseRequest,
  { sealsReasoning }: Target,
  dialect: Dialect,
  showsSources: boolean,
): string[] {
  const include = [...(request.include ?? [])];
  const add = (name: string): unknown => include.includes(name) || include.push(name);
  if (request.top_logprobs || request.logprobs) add(logprobs); // the upstream requires both fields
  const isAccepted = (dialect.gateway || !dialect.plain_reasoning) && !dialect.omit.includes('include');
  if (sealsReasoning && isAccepted) add(sealed); // choice 776
  if (showsSources && isAccepted) add(sources);
  return include;
}

/** Whether a tool is a search that the provider runs. */
const isSearch = (tool: unknown): boolean => (tool as { type: string }).type === 'web_search';

/** Writes variables, which may be content parts with cache marks. */
function writePrompt(prompt: NonNullable<ResponseRequest['prompt']>, dialect: Dialect, dropped: string[]): unknown {
  if (!prompt.variables) return prompt;
  const variables = Object.entries(prompt.variables).map(([name, value]) => {
    return [name, typeof value === 'object' && value !== null ? writePart(value, dialect, dropped) : value];
  });
  return { ...prompt, variables: Object.fromEntries(variables) };
}
