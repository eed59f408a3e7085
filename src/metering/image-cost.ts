import type { EndpointFacts } from '../domain/endpoint.ts';
import { countImages, type ImagePrice, type ImageCounts, type PixelSize } from '../domain/images.ts';
import { type Cost, type Usage, usage } from '../domain/usage.ts';
import { addCost, boundCost, costOf, MAX_COST_NANO_USD, totalOf } from './cost.ts';
import { isFree } from './price.ts';

/** What was made, or is about to be. */
export interface ImageUsage {
  pictures: ImageCounts;
  /** As the provider reported it. */
  usage: Usage | undefined;
}

/** Who makes the pictures, as far as prices go. */
export type ImagePricedEndpoint = Pick<EndpointFacts, 'image' | 'pricing'>;

/**
 * What an endpoint asks for pictures: its own lines, or else its prices of tokens, told as lines.
 *
 * @returns undefined when nobody knows a price
 */
export function imagePriceLinesOf({ image, pricing }: ImagePricedEndpoint): readonly ImagePrice[] | undefined {
  if (image?.pricing || !pricing) return image?.pricing;
  const { promptNanoUsdPerMillion: prompt, completionNanoUsdPerMillion: completion } = pricing;
  const { imageTokenNanoUsdPerMillion: read = prompt, imageOutputNanoUsdPerMillion: made = completion } = pricing;
  const line = (billable: ImagePrice['billable'], nanoUsdPerMillion: number): ImagePrice => ({
    ...{ billable, unit: 'token', costUsd: nanoUsdPerMillion / 1e15 },
  });
  return [line('input_text', prompt), line('input_image', read), line('output_image', made)];
}

/** Is what an endpoint asks for pictures a matter of its prices of tokens alone? Then thoughts and words count, too. */
export const isPricedByTokens = ({ image, pricing }: ImagePricedEndpoint): boolean =>
  !image?.pricing && pricing !== undefined;

/** What a generation costs at the endpoint that made it. */
export function costOfGeneration(maker: ImagePricedEndpoint, work: ImageUsage): Cost {
  if (!isPricedByTokens(maker)) return costOfImages(maker.image?.pricing, work);
  const { usage: told } = work;
  const isReported = told && (isCounted(told) || isFree(maker.pricing));
  return costOf(isReported ? maker.pricing : undefined, told ?? usage({ inputTokens: 0, outputTokens: 0 }));
}

/**
 * What an endpoint asks for pictures that come in the course of an answer. Beside prices of tokens these are its lines for
 * pictures themselves; where it has no prices of tokens, all of its lines.
 *
 * @returns undefined when pictures are no more than the tokens they take
 */
export function imageLinesOf({ image, pricing }: ImagePricedEndpoint): readonly ImagePrice[] | undefined {
  const lines = image?.pricing;
  if (!lines?.some(isByImage)) return undefined;
  return pricing ? lines.filter(isByImage) : lines;
}

/** Do these lines ask for more of a picture than that it is there? */
export const needsSizes = (lines: readonly ImagePrice[]): boolean =>
  lines.some(({ unit, variant }) => unit === 'megapixel' || variant !== undefined);

const isByImage = ({ billable, unit }: ImagePrice): boolean => billable === 'output_image' && unit !== 'token';

/**
 * What an answer costs: its tokens, and the pictures in it where the endpoint asks for pictures themselves. Tokens that
 * the provider reports of them then cost nothing besides.
 */
export function costOfResponse(maker: ImagePricedEndpoint, used: Usage, pictures: ImageCounts | undefined): Cost {
  const { pricing } = maker;
  const lines = pictures && pictures.made > 0 ? imageLinesOf(maker) : undefined;
  if (!pictures || !lines) return costOf(pricing, used);
  const cost = costOfImages(lines, { pictures, usage: used });
  return pricing ? boundCost(addCost(costOf(pricing, withoutImageTokens(used)), cost)) : cost;
}

function withoutImageTokens(used: Usage): Usage {
  const images = Math.min(used.special?.outputImageTokens ?? 0, used.outputTokens);
  if (images === 0) return used;
  return { ...used, outputTokens: used.outputTokens - images, special: { ...used.special, outputImageTokens: 0 } };
}

/**
 * Prices a generation by the lines of its endpoint: cost times quantity, summed. Of the lines for the same thing and unit
 * the one for the tier counts, else the one for any.
 *
 * @param lines undefined when nobody knows a price
 * @returns `priced: false` also where a line needs tokens or sizes that nobody told, or pictures have lines for other
 *   tiers alone
 * @see docs/reference/images.md#cost
 */
export function costOfImages(lines: readonly ImagePrice[] | undefined, work: ImageUsage): Cost {
  const unknown: Cost = { inputNanoUsd: 0n, outputNanoUsd: 0n, priced: false };
  if (!lines || lines.length === 0) return unknown;
  let inputUsd = 0;
  let outputUsd = 0;
  const picked = pickLines(lines, work.pictures.variant);
  if (lines.some(isOutput) && !picked.some(isOutput)) return unknown;
  for (const line of picked) {
    const quantity = quantityOf(line, work);
    if (quantity === undefined) return unknown;
    if (line.billable === 'output_image') outputUsd += line.costUsd * quantity;
    else inputUsd += line.costUsd * quantity;
  }
  return boundCost({ inputNanoUsd: toNano(inputUsd), outputNanoUsd: toNano(outputUsd), priced: true });
}

const isOutput = ({ billable }: ImagePrice): boolean => billable === 'output_image';
/** Of a sum that has no end, more than can be booked. */
const toNano = (usd: number): bigint =>
  usd * 1e9 > Number(MAX_COST_NANO_USD) ? MAX_COST_NANO_USD + 1n : BigInt(Math.round(usd * 1e9));

function pickLines(lines: readonly ImagePrice[], variant: string | undefined): readonly ImagePrice[] {
  const groups = Map.groupBy(lines, ({ billable, unit }) => `${billable} ${unit}`);
  return [...groups.values()].flatMap(
    (group) =>
      group.find((line) => line.variant !== undefined && line.variant.toLowerCase() === variant) ??
      group.find((line) => line.variant === undefined) ??
      [],
  );
}

/** @returns undefined when it is not known */
function quantityOf({ billable, unit, costUsd }: ImagePrice, { pictures, usage }: ImageUsage): number | undefined {
  const isMade = billable === 'output_image';
  switch (unit) {
    case 'request':
      return 1;
    case 'image':
      return isMade ? pictures.made : pictures.references;
    case 'megapixel': {
      const pixels = isMade ? pictures.madePixels : pictures.referencePixels;
      return pixels === undefined ? undefined : pixels / 1e6;
    }
    case 'token':
      if (isMade && pictures.made > 0 && costUsd > 0 && usage && !isCounted(usage)) return undefined;
      return usage && tokensOf(billable, usage);
  }
}

/** No picture takes no tokens: a provider that says so has not counted. */
const isCounted = ({ outputTokens }: Usage): boolean => outputTokens > 0;

/** A provider that does not tell the input's parts apart has counted text, and what it makes are pictures. */
function tokensOf(billable: ImagePrice['billable'], { inputTokens, outputTokens, special }: Usage): number {
  const imageInputTokens = Math.min(special?.inputImageTokens ?? 0, inputTokens);
  switch (billable) {
    case 'output_image':
      return Math.min(special?.outputImageTokens ?? outputTokens, outputTokens);
    case 'input_text':
      return inputTokens - imageInputTokens;
    case 'input_image':
    case 'input_reference':
      return imageInputTokens;
    case 'input_font':
      return 0;
  }
}

/** Tokens of a picture where a provider bills tokens: what gpt-image takes for a square of 1024 pixels at high quality. */
const USUAL_IMAGE_TOKENS = 4160;

/**
 * What a generation may cost, before it is sent.
 *
 * @returns nano-dollars; undefined when no price is known
 */
export function estimateImageCost(
  lines: readonly ImagePrice[] | undefined,
  asked: { count: number; references: number; promptCharacters: number; size: PixelSize; variant: string | undefined },
): bigint | undefined {
  const area = (asked.size.width * asked.size.height) / (1024 * 1024);
  const outputTokens = Math.ceil(USUAL_IMAGE_TOKENS * Math.max(1, area) * asked.count);
  const inputImageTokens = asked.references * USUAL_IMAGE_TOKENS;
  const inputTokens = Math.ceil(asked.promptCharacters / 4) + inputImageTokens;
  const square = { width: 1024, height: 1024 };
  const cost = costOfImages(lines, {
    pictures: countImages(
      Array.from({ length: asked.count }, () => asked.size),
      Array.from({ length: asked.references }, () => square),
      asked.variant,
    ),
    usage: usage({ inputTokens, outputTokens, special: { inputImageTokens, outputImageTokens: outputTokens } }),
  });
  const total = totalOf(cost); // also of one that cannot be true
  return cost.priced || total > 0n ? total : undefined;
}

/** What one picture in the course of an answer may cost: a square of 1024 pixels, in the dearest of the tiers that have prices. */
export function estimateImage(maker: ImagePricedEndpoint, promptCharacters: number): bigint {
  const lines = imageLinesOf(maker);
  if (!lines) return 0n;
  const asked = { count: 1, references: 0, promptCharacters, size: { width: 1024, height: 1024 } };
  let max = 0n;
  for (const variant of new Set([undefined, ...lines.map((line) => line.variant?.toLowerCase())])) {
    const cost = estimateImageCost(lines, { ...asked, variant }) ?? 0n;
    if (cost > max) max = cost;
  }
  return max;
}
