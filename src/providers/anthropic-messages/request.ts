import { findEffort, type ReasoningEffort } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { dropRest, isSet, listAdaptations, refuse } from '../kit/draft.ts';
import { effortShare, noteSwitch, planEffort } from '../kit/effort.ts';
import { writeFormatSchema } from '../kit/format-schema.ts';
import type { Target, UpstreamRequest } from '../wire.ts';
import { type EndpointTraits, readDialect, readTraits } from './dialect.ts';
import { fitBody, type WireBody } from './fit.ts';
import { addBetas, writeGivenSampling, writeNative } from './native.ts';
import { type WireConversation, writeMessages } from './messages.ts';

import type { MessagesDraft } from './parts.ts';
import { writeTools } from './tools.ts';
import type { Block, ReaderContext } from './wire.ts';

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
  'parallel_tool_calls',
  'service_tier',
  'anthropic_betas',
  'cache_control',
  'modalities',
  'native',
  'stop',
  'user',
  'safety_identifier',
]);

type Body = Record<string, unknown>;

/** Translates a request into the body of `POST /messages`. @see docs/reference/wires.md */
export function writeRequest(request: ResponseRequest, target: Target): UpstreamRequest<ReaderContext> {
  const dialect = readDialect(target.dialect);
  const native = request.native?.format === 'anthropic-messages' ? request.native : undefined;
  const draft: MessagesDraft = {
    target,
    dialect,
    format: 'messages',
    dropped: [],
    adapted: new Set(),
    betas: new Set(dialect.betas),
    keepsNative: native !== undefined,
    marksTools: dialect.cache_control,
  };
  if (request.prompt) throw refuse(draft, 'prompt', 'A prompt template');
  const traits = readTraits(dialect, target.rulesOf ?? target.upstreamModel);

  const conversation = writeMessages(draft, request.instructions, request.input);
  const { tools, choice, box, isForced } = writeTools(draft, request, conversation);
  const { values } = dialect.tool_choice ?? {};
  const forces = isForced && (!values || values.includes(choice?.type === 'any' ? 'required' : 'named'));
  const body: Body = { model: target.upstreamModel };
  const maxTokens = request.max_output_tokens || traits.maxTokens;
  if (maxTokens) body.max_tokens = maxTokens;
  if (conversation.system.length > 0) body.system = conversation.system;
  body.messages = conversation.turns;
  if (tools.length > 0) body.tools = tools;
  if (choice) body.tool_choice = choice;
  if (target.stream) body.stream = true;

  writeReasoning(draft, body, request, { conversation, traits, isForced: forces });
  if (native || dialect.gateway) writeGivenSampling(body, request);
  else writeSampling(draft, body, request);
  writeText(draft, body, request, traits);
  if (request.stop && request.stop.length > 0) body.stop_sequences = request.stop;
  if (native?.fields.speed === undefined) writeTier(draft, body, request.service_tier);
  const identity = target.endUser ?? (dialect.account_identity && !dialect.gateway ? target.account : undefined);
  if (identity !== undefined) body.metadata = { user_id: identity };
  if (request.cache_control) {
    if (dialect.cache_control) body.cache_control = request.cache_control;
    else draft.dropped.push('cache_control');
  }
  if (request.anthropic_betas) addBetas(draft, request.anthropic_betas);
  if (native) writeNative(draft, body, request, native, traits);
  if (request.modalities?.includes('image')) throw refuse(draft, 'modalities', 'A wish for images');
  dropRest(draft, request, writtenFields);
  fitBody(draft, body as WireBody, box); // written above

  const readerContext: ReaderContext = { summarizes: traits.summarizes };
  if (native) readerContext.keepsBlocks = true;
  if (dialect.answers?.open_end) readerContext.openEnd = true;
  if (box.offered) readerContext.tools = box.offered;
  const written: UpstreamRequest<ReaderContext> = {
    path: '/messages',
    body,
    dropped: draft.dropped,
    ...listAdaptations(draft),
    readerContext,
  };
  const headers: Record<string, string> = {};
  if (draft.betas.size > 0) headers['anthropic-beta'] = [...draft.betas].join(',');
  if (native?.version !== undefined) headers['anthropic-version'] = native.version;
  if (Object.keys(headers).length > 0) written.headers = headers;
  return written;
}

/**
 * The smallest budget that the provider accepts, and the largest that the gateway sends. @see docs/reference/wires.md
 */
const MIN_BUDGET = 1024;
const MAX_BUDGET = 128_000;

interface ReasoningPlan {
  conversation: WireConversation;
  traits: EndpointTraits;
  isForced: boolean;
}

function writeReasoning(draft: MessagesDraft, body: Body, request: ResponseRequest, plan: ReasoningPlan): void {
  const { reasoning } = request;
  const { conversation, traits, isForced } = plan;
  const update = conversation.effort;
  if (!reasoning && update === undefined) return;
  const { dropped } = draft;
  noteSummary(draft, reasoning?.summary, traits);
  if (reasoning?.context) dropped.push('reasoning.context');
  if (reasoning?.mode) dropped.push('reasoning.mode');

  const budget = update === undefined ? reasoning?.max_tokens : undefined;
  const isOff =
    update === 'none' || (update === undefined && (reasoning?.enabled === false || reasoning?.effort === 'none'));
  const wanted =
    update ?? findEffort(reasoning?.effort) ?? (isSet(budget) || reasoning?.enabled ? 'medium' : undefined);
  if (traits.thinking === 'none') {
    if (!isOff && wanted) dropped.push(isSet(budget) ? 'reasoning.max_tokens' : 'reasoning.effort');
    return;
  }
  if (isOff) {
    if (traits.off !== 'never') body.thinking = { type: traits.off };
    else writeLowest(draft, body, traits);
    return;
  }
  if (wanted === undefined) return;
  if (isForced) {
    dropped.push('reasoning (not supported with a forced tool call)');
    return;
  }
  const { gateway: isGateway } = draft.dialect;
  if (traits.thinking !== 'budget' && !(isGateway && isSet(budget))) {
    body.thinking = { type: traits.thinking };
    // Newer models omit the text unless the request asks for it.
    if (traits.thinking === 'adaptive' && traits.summarizes)
      body.thinking = { type: 'adaptive', display: 'summarized' };
    if (traits.efforts.length === 0) {
      noteSwitch(dropped, reasoning, update, 'on');
      return;
    }
    const effort = planEffort(reasoning, update, request.max_output_tokens, traits.efforts);
    if (reasoning?.effort && effort !== (update ?? reasoning.effort))
      dropped.push(`reasoning.effort (${update ?? reasoning.effort} → ${effort})`);
    if (isSet(budget)) dropped.push(`reasoning.max_tokens (→ effort ${effort})`);
    body.output_config = { effort };
    return;
  }
  if (conversation.lacksThinking && !isGateway) {
    dropped.push('reasoning (the calls of the input have no thinking to continue)');
    return;
  }
  writeBudget(draft, body, isSet(budget) ? Number(budget) : undefined, wanted);
}

/** Asks a model that always reasons for the lowest effort, if it has one. */
function writeLowest({ dropped }: MessagesDraft, body: Body, { efforts: [lowest] }: EndpointTraits): void {
  dropped.push('reasoning (the model always reasons)');
  if (lowest !== undefined) body.output_config = { effort: lowest };
}

/** Adds to `dropped` a summary that the model does not write, or a length that it cannot choose. */
function noteSummary(draft: MessagesDraft, summary: string | null | undefined, traits: EndpointTraits): void {
  if (!summary || (summary === 'auto' && traits.summarizes)) return;
  draft.dropped.push(traits.summarizes ? `reasoning.summary (${summary})` : 'reasoning.summary');
}

/** Returns `max_tokens`, which includes the reasoning and must be larger than its budget. */
function writeBudget(draft: MessagesDraft, body: Body, asked: number | undefined, effort: ReasoningEffort): void {
  const limit = Number(body.max_tokens ?? Number.POSITIVE_INFINITY);
  const planned = asked ?? Math.floor(Math.min(limit * effortShare(effort), MAX_BUDGET));
  const budget = Math.min(Math.max(planned, MIN_BUDGET), limit - 1);
  if (budget < MIN_BUDGET) {
    draft.dropped.push(`reasoning (max_output_tokens leaves less than ${MIN_BUDGET} tokens for it)`);
    return;
  }
  if (asked !== undefined && asked !== budget) draft.dropped.push(`reasoning.max_tokens (${asked} → ${budget})`);
  body.thinking = { type: 'enabled', budget_tokens: budget };
}

const isThinking = (body: Body): boolean => {
  const type = (body.thinking as { type?: string } | undefined)?.type;
  return type === 'enabled' || type === 'adaptive';
};

/** Writes the sampling settings. A thinking model accepts no temperature or `top_k`. The maximum temperature is 1. */
function writeSampling(draft: MessagesDraft, body: Body, request: ResponseRequest): void {
  const { temperature, top_p: topP, top_k: topK } = request;
  const { dropped, dialect } = draft;
  const thinks = isThinking(body);
  if (isSet(temperature)) {
    if (thinks && temperature !== 1) dropped.push('temperature');
    else body.temperature = Math.min(temperature!, 1);
    if (!thinks && temperature! > 1) dropped.push(`temperature (${temperature} → 1)`);
  }
  if (isSet(topP)) {
    if ((dialect.one_sampling && body.temperature !== undefined) || (thinks && topP! < 0.95)) dropped.push('top_p');
    else body.top_p = topP;
  }
  if (isSet(topK)) {
    if (thinks) dropped.push('top_k');
    else body.top_k = topK;
  }
}

function writeText(draft: MessagesDraft, body: Body, { text }: ResponseRequest, traits: EndpointTraits): void {
  const format = text?.format;
  if (format?.type === 'json_object') askForJson(draft, body);
  if (format?.type === 'json_schema') {
    body.output_config = {
      ...(body.output_config as object | undefined),
      format: { type: 'json_schema', schema: writeFormatSchema(draft, format) },
    };
    draft.betas.add('structured-outputs-2025-11-13');
  }
  const verbosity = text?.verbosity;
  if (!verbosity) return;
  const output = body.output_config as { effort?: unknown } | undefined;
  const effort = findEffort(verbosity);
  if (effort && traits.efforts.includes(effort) && output?.effort === undefined)
    body.output_config = { ...output, effort: verbosity };
  else draft.dropped.push('text.verbosity');
}

/** Requests JSON in the system prompt. The protocol supports JSON only with a schema. */
function askForJson(draft: MessagesDraft, body: Body): void {
  const block: Block = { type: 'text', text: 'Answer with one JSON object and nothing else.' };
  body.system = [...((body.system as Block[] | undefined) ?? []), block];
  draft.dropped.push('text.format (json_object, requested in the prompt)');
}

function writeTier(draft: MessagesDraft, body: Body, tier: ResponseRequest['service_tier']): void {
  if (tier === 'auto') body.service_tier = 'auto';
  else if (tier === 'default') body.service_tier = 'standard_only';
  else if (tier) draft.dropped.push(`service_tier (${tier})`);
}
