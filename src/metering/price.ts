import type { EndpointFacts, Pricing, TokenPrices } from '../domain/endpoint.ts';

/** Nano-dollars per million tokens for one USD per token. */
const NANO_PER_MILLION = 1e15;

/** USD per token → nano-dollars per million tokens. */
export const perToken = (usd: number | string): number => Math.round(Number(usd) * NANO_PER_MILLION);
/** USD per million tokens → nano-dollars per million tokens. */
export const perMillionTokens = (usd: number | string): number => Math.round(Number(usd) * 1e9);
/** USD per request or image → nano-dollars. */
export const perPiece = (usd: number | string): number => Math.round(Number(usd) * 1e9);

/** The names of token prices in the catalog and the configuration. */
const tokenPrices = {
  prompt: 'promptNanoUsdPerMillion',
  completion: 'completionNanoUsdPerMillion',
  cache_read: 'cacheReadNanoUsdPerMillion',
  cache_write: 'cacheWriteNanoUsdPerMillion',
  cache_write_1h: 'cacheWrite1hNanoUsdPerMillion',
  reasoning: 'reasoningNanoUsdPerMillion',
  audio: 'audioNanoUsdPerMillion',
  audio_cache_read: 'audioCacheReadNanoUsdPerMillion',
  audio_output: 'audioOutputNanoUsdPerMillion',
  image_token: 'imageTokenNanoUsdPerMillion',
  image_output: 'imageOutputNanoUsdPerMillion',
} as const satisfies Record<string, keyof TokenPrices>;

/** Token prices as written, in the unit of their source. */
type WrittenPrices<Price> = { readonly [Name in keyof typeof tokenPrices]?: Price };

/** @param read returns nano-dollars per million tokens */
export function readTokenPrices<Price>(
  written: WrittenPrices<Price>,
  read: (price: Price) => number,
): Partial<TokenPrices> {
  const prices: Partial<TokenPrices> = {};
  for (const name of Object.keys(tokenPrices) as (keyof typeof tokenPrices)[]) {
    const price = written[name];
    if (price !== undefined) prices[tokenPrices[name]] = read(price);
  }
  return prices;
}

/** Prices beyond a prompt length, shortest first. @param read returns nano-dollars per million tokens */
export const readPricesAbove = <Price>(
  written: readonly (WrittenPrices<Price> & { readonly prompt_tokens: number })[],
  read: (price: Price) => number,
): NonNullable<Pricing['above']> =>
  written
    .map(({ prompt_tokens: promptTokens, ...prices }) => ({ promptTokens, ...readTokenPrices(prices, read) }))
    .sort((a, b) => a.promptTokens - b.promptTokens);

/** Nano-dollars per million tokens → USD per token, as an exact decimal: `0.00000025`. */
export const writePerToken = (price: number): string => writeDecimal(price, 15);
/** Nano-dollars → USD, as an exact decimal. */
export const writePerPiece = (price: number | bigint): string => writeDecimal(price, 9);

/** Formats an integer divided by a power of ten, without an exponent and trailing zeros. */
function writeDecimal(value: number | bigint, digits: number): string {
  const padded = BigInt(value)
    .toString()
    .padStart(digits + 1, '0');
  const fraction = padded.slice(-digits).replace(/0+$/, '');
  const whole = padded.slice(0, -digits);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** Prices that are the price of the prompt, or of the completion, where they are absent. */
const followers = {
  promptNanoUsdPerMillion: [
    'cacheReadNanoUsdPerMillion',
    'cacheWriteNanoUsdPerMillion',
    'cacheWrite1hNanoUsdPerMillion',
    'audioNanoUsdPerMillion',
    'audioCacheReadNanoUsdPerMillion',
    'imageTokenNanoUsdPerMillion',
  ],
  completionNanoUsdPerMillion: [
    'reasoningNanoUsdPerMillion',
    'audioOutputNanoUsdPerMillion',
    'imageOutputNanoUsdPerMillion',
  ],
} as const;

/**
 * Returns the prices of a prompt of that length. A tier with a price of the prompt has none of the shorter one's prices
 * for parts of it: what it does not name costs as much as the prompt.
 */
export function pricesFor(pricing: Pricing, promptTokens: number): Pricing {
  if (!pricing.above) return pricing;
  let prices = pricing;
  for (const tier of pricing.above) {
    if (promptTokens <= tier.promptTokens) continue;
    const base: Pricing = { ...prices };
    for (const leader of ['promptNanoUsdPerMillion', 'completionNanoUsdPerMillion'] as const) {
      if (tier[leader] !== undefined) for (const follower of followers[leader]) delete base[follower];
    }
    prices = { ...base, ...tier };
  }
  return prices;
}

/**
 * Returns a price for comparisons: a million tokens, three parts input to one part output.
 *
 * @returns nano-dollars; undefined if no price is known
 * @see docs/reference/routing.md#order-of-endpoints
 */
export function blendedPrice(pricing: Pricing | undefined, promptTokens = 0): number | undefined {
  if (!pricing) return undefined;
  const { promptNanoUsdPerMillion, completionNanoUsdPerMillion }: TokenPrices = pricesFor(pricing, promptTokens);
  return (3 * promptNanoUsdPerMillion + completionNanoUsdPerMillion) / 4;
}

/** Whether tokens and requests cost nothing. An unknown price is not free. */
export const isFree = (pricing: Pricing | undefined): boolean =>
  pricing !== undefined &&
  pricing.promptNanoUsdPerMillion === 0 &&
  pricing.completionNanoUsdPerMillion === 0 &&
  (pricing.requestNanoUsd ?? 0) === 0;

/**
 * Returns the prices of the tier that served the response, which may differ from the requested one. A tier without
 * known prices has those of the endpoint.
 *
 * @param used the tier that the provider reported; null or undefined if it reported none
 * @see docs/reference/routing.md#service-tiers
 */
export function pricesOfTier(
  { pricing, tier, tierPricing }: Pick<EndpointFacts, 'pricing' | 'tier' | 'tierPricing'>,
  used: string | null | undefined,
): Pricing | undefined {
  if (!used || !tierPricing || used === (tier ?? 'default')) return pricing;
  return tierPricing.get(used) ?? pricing;
}
