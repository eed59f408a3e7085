import type { ModelConfig } from '../config/schema.ts';
import type { Pricing } from '../domain/endpoint.ts';
import { perPiece, perToken, readPricesAbove, readTokenPrices } from '../metering/price.ts';

type WrittenPricing = NonNullable<ModelConfig['pricing']>;

/**
 * What the configuration says of prices, over what the catalogue says.
 *
 * @throws {Error} when one of the two main prices is then missing: it would be a silent zero
 */
export function mergePricing({ model, pricing }: ModelConfig, known: Pricing | undefined): Pricing | undefined {
  if (!pricing) return known;
  const { prompt, completion, request } = pricing;
  if (!known && (prompt === undefined) !== (completion === undefined) && request === undefined) {
    const missing = prompt === undefined ? 'prompt' : 'completion';
    throw new Error(`The pricing of ${model} has no ${missing}: write it, 0 when it costs nothing.`);
  }
  const own = readPricing(pricing);
  if (!known || (prompt !== undefined && completion !== undefined)) return own; // a price of one's own is one's own in all
  return {
    ...known,
    ...readTokenPrices(pricing, perToken),
    ...readPiecePrices(pricing),
    ...(own?.above === undefined ? undefined : { above: own.above }),
  };
}

/** @returns undefined when no price is written: nobody said, which is not the same as free */
function readPricing(pricing: WrittenPricing): Pricing | undefined {
  if (pricing.prompt === undefined && pricing.completion === undefined && pricing.request === undefined) {
    return undefined;
  }
  return {
    ...readTokenPrices(pricing, perToken),
    promptNanoUsdPerMillion: perToken(pricing.prompt ?? 0),
    completionNanoUsdPerMillion: perToken(pricing.completion ?? 0),
    ...readPiecePrices(pricing),
    ...(pricing.above === undefined ? undefined : { above: readPricesAbove(pricing.above, perToken) }),
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
