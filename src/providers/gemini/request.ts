import type { ReasoningEffort, Tool } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { dropRest, dropUnknown, isSet, refuse, refuseBecause } from '../draft.ts';
import { effortShare, planEffort } from '../effort.ts';
import type { Target, UpstreamRequest } from '../provider.ts';
import { addTools, type FlatTool, planTools, ToolBox, type ToolPlan } from '../tool-box.ts';
import { type Conversation, writeContents } from './contents.ts';
import { readDialect } from './dialect.ts';
import { readTraits } from './models.ts';
import type { GeminiDraft } from './parts.ts';
import { writeOpenApiSchema } from './schema.ts';
import type { Reading } from './wire.ts';

/**
 * What is written below, and what the gateway settles before a wire is asked: the model, routing, plugins, stored state.
 * Every other field is named in `dropped`.
 */
const settled = new Set([
  ...['input', 'model', 'models', 'instructions', 'stream', 'tools', 'tool_choice', 'text', 'reasoning', 'modalities'],
  ...['max_output_tokens', 'temperature', 'top_p', 'top_k', 'top_logprobs', 'frequency_penalty', 'presence_penalty'],
  ...['prompt', 'background', 'debug', 'max_tool_calls', 'plugins', 'previous_response_id', 'provider', 'route'],
  ...['safety_identifier', 'session_id', 'stop_server_tools_when', 'store', 'trace', 'user'],
]);

type Body = Record<string, unknown>;

/** Translates a request into the body of `generateContent`. @see responses.md section 6.3 */
export function writeRequest(request: ResponseRequest, target: Target): UpstreamRequest<Reading> {
  const dialect = readDialect(target.dialect);
  const traits = readTraits(dialect, target.upstreamModel);
  const draft: GeminiDraft = { target, dialect, traits, format: 'generateContent', dropped: [] };
  if (request.prompt) throw refuse(draft, 'prompt', 'A prompt template');

  const conversation = writeContents(draft, request.instructions, request.input);
  const body: Body = {};
  if (conversation.system.length > 0) body.systemInstruction = { parts: conversation.system };
  body.contents = conversation.contents;
  const { reading, tools, toolConfig } = writeTools(draft, request, conversation);
  if (tools.length > 0) body.tools = tools;
  if (toolConfig) body.toolConfig = toolConfig;

  const config: Body = {};
  writeSampling(config, request);
  writeReasoning(draft, config, request, conversation.effort);
  writeText(draft, config, request);
  if (request.modalities?.includes('image')) config.responseModalities = ['TEXT', 'IMAGE'];
  if (Object.keys(config).length > 0) body.generationConfig = config;
  dropRest(draft, request, settled);

  const path = `/${pathOf(target.upstreamModel)}:${target.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
  return { path, body, dropped: draft.dropped, reading };
}

/** A caller may have chosen the name through a wildcard, and must not reach another path by it. */
const pathOf = (model: string): string =>
  /^(?:models|tunedModels)\/[\w.-]+$/.test(model) ? model : `models/${encodeURIComponent(model)}`;

interface WrittenTools {
  reading: Reading;
  tools: object[];
  toolConfig: object | undefined;
}

function writeTools(draft: GeminiDraft, request: ResponseRequest, conversation: Conversation): WrittenTools {
  const box = new ToolBox();
  let searches = false;
  const takeOther = (tool: Tool, place: () => string): boolean => {
    if (!draft.dialect.native_search || !searchTypes.has(tool.type)) return false;
    checkSearch(draft, tool, place);
    searches = true;
    return true;
  };
  if (request.tools) addTools(draft, box, { tools: request.tools, path: 'tools', takeOther });
  for (const list of conversation.additionalTools) addTools(draft, box, { ...list, replaces: true, takeOther });
  const plan = planTools(draft, box, request.tool_choice);
  const tools: object[] = [];
  if (plan.tools.length > 0) tools.push({ functionDeclarations: plan.tools.map((tool) => writeTool(draft, tool)) });
  if (searches) tools.push({ googleSearch: {} });
  const reading: Reading = {};
  if (box.offered) reading.tools = box.offered;
  if (searches) reading.searches = true;
  return { reading, tools, toolConfig: plan.tools.length > 0 ? writeChoice(plan.choice) : undefined };
}

function writeTool(draft: GeminiDraft, { name, description, parameters, strict }: FlatTool): object {
  const written: Body = { name };
  if (description) written.description = description;
  if (parameters) {
    if (draft.dialect.schema === 'json') written.parametersJsonSchema = parameters;
    else written.parameters = writeSubset(draft, parameters, `tools.${name}.parameters`);
  }
  if (strict) draft.dropped.push(`tools.${name}.strict`);
  return written;
}

function writeSubset(draft: GeminiDraft, schema: object, path: string): object {
  const dropped = new Set<string>();
  const written = writeOpenApiSchema(schema, dropped);
  for (const keyword of dropped) draft.dropped.push(`${path} (${keyword})`);
  return written;
}

const searchTypes = new Set<string>([
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
]);

/** The provider's search takes no domains. @see responses.md section 6.3, "native search" */
function checkSearch(draft: GeminiDraft, tool: Tool, place: () => string): void {
  const { filters, allowed_domains: own, excluded_domains: less } = tool as Record<string, unknown>;
  const { allowed_domains: allowed } = (filters ?? {}) as { allowed_domains?: unknown };
  const isLimited = [own, less, allowed].some((list) => Array.isArray(list) && list.length > 0);
  if (isLimited) {
    throw refuseBecause(
      place(),
      `The search of ${draft.target.endpoint} takes no domains, neither to search nor to leave out.`,
    );
  }
  dropUnknown(draft, tool, new Set(['type', 'filters']), place);
}

function writeChoice(choice: ToolPlan['choice']): object | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === 'object') {
    return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [choice.name] } };
  }
  const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY' };
  return { functionCallingConfig: { mode: modes[choice] } };
}

function writeSampling(config: Body, request: ResponseRequest): void {
  const put = (name: string, value: unknown): void => {
    if (isSet(value)) config[name] = value;
  };
  put('maxOutputTokens', request.max_output_tokens);
  put('temperature', request.temperature);
  put('topP', request.top_p);
  put('topK', request.top_k);
  put('frequencyPenalty', request.frequency_penalty);
  put('presencePenalty', request.presence_penalty);
  if (request.top_logprobs) {
    config.responseLogprobs = true;
    config.logprobs = request.top_logprobs;
  }
}

/** The output limit against which a share is weighed when the request sets none: choice 69. */
const ASSUMED_OUTPUT = 32_000;

function writeReasoning(
  draft: GeminiDraft,
  config: Body,
  request: ResponseRequest,
  update: ReasoningEffort | undefined,
): void {
  const { reasoning } = request;
  if (!reasoning && update === undefined) return;
  const { dropped, traits } = draft;
  if (reasoning?.context) dropped.push('reasoning.context');
  if (reasoning?.mode) dropped.push('reasoning.mode');
  const budget = update === undefined ? reasoning?.max_tokens : undefined;
  const effort = update ?? (reasoning?.enabled === false ? 'none' : reasoning?.effort);
  const isOff = effort === 'none';
  if (traits.thinking === 'none') {
    if (effort && !isOff) dropped.push('reasoning.effort');
    if (isSet(budget)) dropped.push('reasoning.max_tokens');
    return;
  }
  if (isSet(budget) && !isOff) {
    if (effort) dropped.push('reasoning.effort');
    config.thinkingConfig = { includeThoughts: true, thinkingBudget: fitBudget(draft, Number(budget)) };
    return;
  }
  if (traits.thinking === 'level') {
    const level = planEffort(reasoning, update, request.max_output_tokens, traits.levels);
    if (level === undefined) return;
    const ours = effort === 'xhigh' || effort === 'max' ? 'high' : effort; // the same level under another name
    if (ours && ours !== level) dropped.push(`reasoning.effort (${effort} → ${level})`);
    config.thinkingConfig = { includeThoughts: !isOff, thinkingLevel: level };
    return;
  }
  if (isOff) {
    if (!traits.canStop) dropped.push(`reasoning.effort (none → ${traits.least} tokens)`);
    config.thinkingConfig = { includeThoughts: false, thinkingBudget: traits.canStop ? 0 : traits.least };
  } else if (effort) {
    const share = Math.floor((request.max_output_tokens || ASSUMED_OUTPUT) * effortShare(effort));
    config.thinkingConfig = {
      includeThoughts: true,
      thinkingBudget: Math.min(Math.max(share, traits.least), traits.most),
    };
  } else if (reasoning?.enabled || reasoning?.summary) {
    config.thinkingConfig = { includeThoughts: true, ...(reasoning.enabled ? { thinkingBudget: -1 } : undefined) }; // as it sees fit
  }
}

function fitBudget({ traits, dropped }: GeminiDraft, asked: number): number {
  if (traits.thinking === 'level') return asked;
  const budget = asked === 0 && traits.canStop ? 0 : Math.min(Math.max(asked, traits.least), traits.most);
  if (budget !== asked) dropped.push(`reasoning.max_tokens (${asked} → ${budget})`);
  return budget;
}

function writeText(draft: GeminiDraft, config: Body, { text }: ResponseRequest): void {
  const format = text?.format;
  if (format?.type === 'json_object' || format?.type === 'json_schema') config.responseMimeType = 'application/json';
  if (format?.type === 'json_schema') {
    if (draft.dialect.schema === 'json') config.responseJsonSchema = format.schema;
    else config.responseSchema = writeSubset(draft, format.schema, 'text.format.schema');
  }
  if (text?.verbosity) draft.dropped.push('text.verbosity');
}
