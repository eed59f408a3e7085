import {
  type EndpointFacts,
  inputModalities,
  type Model,
  type ModelReasoning,
  outputModalities,
  type Pricing,
  parameterNames,
  quantizations,
} from '../../domain/endpoint.ts';
import { writePerPiece, writePerToken } from '../../metering/price.ts';
import type { ModelRow } from '../../routing/model-rows.ts';

const efforts: readonly unknown[] = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'];

/** A price that varies, such as a router's, or is unknown. Unlike `0`, it does not mean free. */
const UNKNOWN_PRICE = '-1';

/** A model as `GET /models` shows it. Unknown fields are null or empty. @see docs/reference/models.md */
export function writeModel({ model, isRouter, aliasTarget, ...row }: ModelRow): Record<string, unknown> {
  const { id, name, created, description, reasoning } = model;
  return {
    id,
    canonical_slug: model.canonicalSlug,
    name,
    created,
    ...(description === undefined ? undefined : { description }),
    context_length: row.contextLength ?? null,
    architecture: writeArchitecture(row, isRouter ? 'Router' : undefined),
    pricing: writePricing(row.top?.pricing),
    top_provider: {
      context_length: row.top?.contextLength ?? row.contextLength ?? null,
      max_completion_tokens: row.top?.maxOutputTokens ?? model.maxOutputTokens ?? null,
      is_moderated: row.top?.isModerated ?? false,
    },
    per_request_limits: null,
    supported_parameters: filterKnown(row.parameters, parameterNames),
    default_parameters: null,
    supported_voices: null,
    links: { details: linkTo(id) },
    hugging_face_id: model.huggingFaceId ?? null,
    knowledge_cutoff: model.knowledgeCutoff ?? null,
    expiration_date: model.expirationDate ?? null,
    ...(reasoning === undefined ? undefined : { reasoning: writeReasoning(reasoning) }),
    ...(aliasTarget === undefined ? undefined : { alias_target: aliasTarget }),
  };
}

/** The same with the fields that clients of OpenAI read. */
export const writeListedModel = (row: ModelRow): Record<string, unknown> => ({
  ...writeModel(row),
  object: 'model',
  owned_by: row.model.id.split('/', 1)[0],
});

/** Input and output of a model: `text+image->text`. */
export function writeArchitecture({ input, output }: Pick<ModelRow, 'input' | 'output'>, tokenizer?: string) {
  const reads = filterKnown(input, inputModalities);
  const makes = filterKnown(output, outputModalities);
  return {
    modality: reads.length === 0 || makes.length === 0 ? null : `${reads.join('+')}->${makes.join('+')}`,
    input_modalities: reads,
    output_modalities: makes,
    ...(tokenizer === undefined ? undefined : { tokenizer }),
    instruct_type: null,
  };
}

/**
 * Prices as decimal strings, USD per token, request, image or search. `prompt` and `completion` are `-1` if the price
 * varies or is unknown.
 *
 * @see docs/reference/models.md
 */
export function writePricing(pricing: Pricing | undefined): Record<string, unknown> {
  if (!pricing) return { prompt: UNKNOWN_PRICE, completion: UNKNOWN_PRICE };
  const { requestNanoUsd, imageNanoUsd, webSearchNanoUsd, above } = pricing;
  return {
    ...writeTokenPrices(pricing),
    ...(requestNanoUsd === undefined ? undefined : { request: writePerPiece(requestNanoUsd) }),
    ...(imageNanoUsd === undefined ? undefined : { image: writePerPiece(imageNanoUsd) }),
    ...(webSearchNanoUsd === undefined ? undefined : { web_search: writePerPiece(webSearchNanoUsd) }),
    ...(above === undefined || above.length === 0
      ? undefined
      : {
          overrides: above.map(({ promptTokens, ...prices }) => ({
            min_prompt_tokens: promptTokens,
            ...writeTokenPrices(prices),
          })),
        }),
  };
}

const tokenPrices = {
  prompt: 'promptNanoUsdPerMillion',
  completion: 'completionNanoUsdPerMillion',
  input_cache_read: 'cacheReadNanoUsdPerMillion',
  input_cache_write: 'cacheWriteNanoUsdPerMillion',
  input_cache_write_1h: 'cacheWrite1hNanoUsdPerMillion',
  internal_reasoning: 'reasoningNanoUsdPerMillion',
  audio: 'audioNanoUsdPerMillion',
  audio_output: 'audioOutputNanoUsdPerMillion',
  input_audio_cache: 'audioCacheReadNanoUsdPerMillion',
  image_token: 'imageTokenNanoUsdPerMillion',
  image_output: 'imageOutputNanoUsdPerMillion',
} as const satisfies Record<string, keyof Pricing>;

function writeTokenPrices(prices: Partial<Pricing>): Record<string, string> {
  const written: Record<string, string> = {};
  for (const [name, key] of Object.entries(tokenPrices)) {
    const price = prices[key];
    if (price !== undefined) written[name] = writePerToken(price);
  }
  return written;
}

function writeReasoning(reasoning: ModelReasoning): Record<string, unknown> {
  const { supported_efforts: supported, default_effort: usual } = reasoning;
  return {
    ...reasoning,
    mandatory: reasoning.mandatory ?? false,
    ...(supported === undefined ? undefined : { supported_efforts: supported.filter((one) => efforts.includes(one)) }),
    ...(usual === undefined ? undefined : { default_effort: efforts.includes(usual) ? usual : null }),
  };
}

/** @returns null if it is unknown, `unknown` for a word that the interface does not have */
export const writeQuantization = ({ quantization }: EndpointFacts): string | null =>
  quantization === undefined || (quantizations as readonly string[]).includes(quantization)
    ? (quantization ?? null)
    : 'unknown';

/** The modalities that the interface has words for, in the interface's order. */
export const filterKnown = (names: readonly string[], known: readonly string[]): string[] =>
  known.filter((name) => names.includes(name));

/** Returns the path of the endpoints of a slug: everything after the author is one segment. */
function linkTo(id: Model['id']): string {
  const slash = id.indexOf('/');
  const encode = (text: string): string => encodeURIComponent(text).replaceAll('%3A', ':');
  if (slash === -1) return `/api/v1/model/${encode(id)}`; // the route of endpoints needs an author
  return `/api/v1/models/${encode(id.slice(0, slash))}/${encode(id.slice(slash + 1))}/endpoints`;
}
