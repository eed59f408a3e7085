import type { ModelConfig } from '../config/schema.ts';
import type { Pricing } from '../domain/endpoint.ts';
import { perPiece, perToken, readPricesAbove, readTokenPrices } from '../metering/price.ts';

type WrittenPricing = NonNullable<ModelConfig['pricing']>;

/**
 * Merges the prices of the configuration over those of the catalog.
 *
 * @throws {Error} if the result lacks one of the two main prices, which would silently be zero
 */
export function mergePricing(
  { model, pricing, capabilities }: ModelConfig,
  known: Pricing | undefined,
): Pricing | undefined {
  if (!pricing || Object.keys(pricing).length === 0) return known;
  const { prompt, completion, request, web_search: search, above } = pricing;
  const missing = [prompt === undefined && 'prompt', completion === undefined && 'completion'].filter(Boolean);
  const generates =
    capabilities?.output?.some((modality) => modality !== 'embeddings' && modality !== 'rerank') ?? true;
  const isComplete = generates ? missing.length === 0 : prompt !== undefined || search !== undefined;
  if (!known && !isComplete && request === undefined) {
    const what = missing.join(' and no ');
    throw new Error(
      `The pricing of ${model} has no ${what}: write ${missing.length === 1 ? 'it' : 'them'}, 0 when it costs nothing.`,
    );
  }
  const own = {
    ...readTokenPrices(pricing, perToken),
    ...readPiecePrices(pricing),
    ...(above === undefined ? undefined : { above: readPricesAbove(above, perToken) }),
  };
  if (known && missing.length > 0) return { ...known, ...own };
  // Complete prices of the configuration replace those of the catalog.
  return {
    ...own,
    promptNanoUsdPerMillion: perToken(prompt ?? 0),
    completionNanoUsdPerMillion: perToken(completion ?? 0),
  };
}

function readPiecePrices(pricing: WrittenPricing): Partial<Pricing> {
  const { request, image, web_search: search, searched_request: searched } = pricing;
  return {
    ...(request === undefined ? undefined : { requestNanoUsd: perPiece(request) }),
    ...(image === undefined ? undefined : { imageNanoUsd: perPiece(image) }),
    ...(search === undefined ? undefined : { webSearchNanoUsd: perPiece(search) }),
    ...(searched === undefined ? undefined : { searchedRequestNanoUsd: perPiece(searched) }),
  };
}
