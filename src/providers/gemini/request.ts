import type { ResponseRequest } from '../../domain/request.ts';
import { dropInclude, dropRest, isSet, listAdaptations, refuse, refuseBecause } from '../kit/draft.ts';
import { writeFormatSchema } from '../kit/format-schema.ts';
import type { Target, UpstreamRequest } from '../wire.ts';
import { writeContents } from './contents.ts';
import { readDialect } from './dialect.ts';
import { fitBody, type WireBody } from './fit.ts';
import { readTraits } from './models.ts';
import { writeNative } from './native.ts';
import type { GeminiDraft } from './parts.ts';
import { writePath } from './path.ts';
import { writeThinking } from './reasoning.ts';
import { writeSubset } from './schema.ts';
import { writeTools } from './tools.ts';
import type { ReaderContext } from './wire.ts';

/** Fields that are written below. Every other field that reaches the wire is added to `dropped`. */
const writtenFields = new Set([
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'modalities',
  'image_config',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_k',
  'top_logprobs',
  'frequency_penalty',
  'presence_penalty',
  'parallel_tool_calls',
  'service_tier',
  'include',
  'stop',
  'seed',
  'logprobs',
  'native',
]);

type Body = Record<string, unknown>;

/** Translates a request into the body of `generateContent`. @see docs/reference/wires.md */
export function writeRequest(request: ResponseRequest, target: Target): UpstreamRequest<ReaderContext> {
  const dialect = readDialect(target.dialect);
  const traits = readTraits(dialect, target.rulesOf ?? target.upstreamModel);
  const native = request.native?.format === 'gemini' ? request.native : undefined;
  const draft: GeminiDraft = {
    target,
    dialect,
    traits,
    format: 'generateContent',
    dropped: [],
    adapted: new Set(),
    keepsNative: native !== undefined,
  };
  if (request.prompt) throw refuse(draft, 'prompt', 'A prompt template');

  const conversation = writeContents(draft, request.instructions, request.input);
  const { system, contents } = conversation;
  const body: Body = {};
  if (contents.length === 0 && system.length > 0)
    contents.push({ role: 'user', parts: system }); // there must be at least one turn: choice 106
  else if (system.length > 0) body.systemInstruction = { parts: system };
  if (contents.length === 0) throw refuseBecause('input', 'holds no content: all of its texts are blank');
  body.contents = contents;
  const { readerContext, tools, toolConfig } = writeTools(draft, request, conversation);
  if (tools.length > 0) body.tools = tools;
  if (toolConfig) body.toolConfig = toolConfig;

  const config: Body = {};
  writeSampling(draft, config, request);
  const thinking = writeThinking(draft, request, conversation.effort);
  if (thinking) config.thinkingConfig = thinking;
  writeText(draft, config, request);
  const { modalities = [] } = request;
  if (modalities.length > 0) config.responseModalities = modalities.map((each) => each.toUpperCase());
  if (modalities.length > 0 && !modalities.includes('text')) readerContext.showsOnly = true;
  writeImageConfig(draft, config, request.image_config);
  if (Object.keys(config).length > 0) body.generationConfig = config;
  const headers = writeTier(draft, body, request.service_tier);
  if (native) {
    writeNative(draft, body, request, native);
    readerContext.keepsNative = true;
  }
  dropInclude(draft, request, included);
  dropRest(draft, request, writtenFields);
  fitBody(draft, body as WireBody, readerContext); // written above

  return {
    path: writePath(target),
    body,
    dropped: draft.dropped,
    ...listAdaptations(draft),
    readerContext,
    ...(headers && { headers }),
  };
}

/** Image settings of the protocol, by their names in the interface. */
const imageSettings = new Map([
  ['aspect_ratio', 'aspectRatio'],
  ['image_size', 'imageSize'],
]);

function writeImageConfig({ dropped }: GeminiDraft, config: Body, asked: ResponseRequest['image_config']): void {
  if (!asked) return;
  const settings: Body = {};
  for (const [name, value] of Object.entries(asked)) {
    const field = imageSettings.get(name);
    if (field === undefined) dropped.push(`image_config.${name}`);
    else settings[field] = value;
  }
  if (Object.keys(settings).length > 0) config.imageConfig = settings;
}

/**
 * Writes the service tier. Without one, the provider uses its standard tier.
 *
 * @returns the header of a server that has the tier there
 */
function writeTier(
  { dialect, dropped }: GeminiDraft,
  body: Body,
  tier: ResponseRequest['service_tier'],
): Record<string, string> | undefined {
  if (!tier || tier === 'auto' || tier === 'default') return undefined;
  if (tier === 'scale' || (!dialect.service_tier && dialect.tier_header === null)) {
    dropped.push(`service_tier (${tier})`);
    return undefined;
  }
  const written = tier === 'flex' ? 'flex' : 'priority';
  if (dialect.tier_header !== null) return { [dialect.tier_header]: written };
  body.serviceTier = written;
  return undefined;
}

/** Values of `include` that a response always contains. */
const included = new Set<string>(['reasoning.encrypted_content', 'web_search_call.action.sources']);

function writeSampling({ dropped }: GeminiDraft, config: Body, request: ResponseRequest): void {
  const put = (name: string, value: unknown): void => {
    if (isSet(value)) config[name] = value;
  };
  put('maxOutputTokens', request.max_output_tokens);
  put('temperature', request.temperature);
  put('topP', request.top_p);
  if (request.top_k === 0)
    dropped.push('top_k (0)'); // 0 means no limit, which the protocol cannot express
  else put('topK', request.top_k);
  put('stopSequences', request.stop);
  put('seed', request.seed);
  put('frequencyPenalty', request.frequency_penalty);
  put('presencePenalty', request.presence_penalty);
  if (request.top_logprobs || request.logprobs) config.responseLogprobs = true;
  if (request.top_logprobs) config.logprobs = request.top_logprobs;
}

function writeText(draft: GeminiDraft, config: Body, { text }: ResponseRequest): void {
  const format = text?.format;
  if (format?.type === 'json_object' || format?.type === 'json_schema') config.responseMimeType = 'application/json';
  if (format?.type === 'json_schema') {
    const schema = writeFormatSchema(draft, format);
    if (draft.dialect.schema === 'json') config.responseJsonSchema = schema;
    else config.responseSchema = writeSubset(draft, schema, 'text.format.schema');
  }
  if (text?.verbosity) draft.dropped.push('text.verbosity');
}
