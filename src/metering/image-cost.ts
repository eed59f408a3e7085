import type { EndpointFacts } from '../domain/endpoint.ts';
import { countImages, type ImagePrice, type ImageCounts, type PixelSize } from '../domain/images.ts';
import { type Cost, type Usage, usage } from '../domain/usage.ts';
import { addCost, boundCost, costOf, MAX_COST_NANO_USD, totalOf } from './cost.ts';
import { isFree } from './price.ts';

/** The generated or requested images. */
export interface ImageUsage {
  pictures: ImageCounts;
  /** As the provider reported it. */
  usage: Usage | undefined;
}

/** The prices of an image endpoint. */
export type ImagePricedEndpoint = Pick<EndpointFacts, 'image' | 'pricing'>;

/**
 * Returns the image prices of an endpoint: its own lines, else its token prices as lines.
 *
 * @returns undefined if no price is known
 */
export function imagePriceLinesOf({ image, pricing }: ImagePricedEndpoint): readonly ImagePrice[] | undefined {
  if (image?.pricing || !pricing) return image?.pricing;
  const { promptNanoUsdPerMillion: prompt, completionNanoUsdPerMillion: completion } = pricing;
  const { imageTokenNanoUsdPerMillion: read = prompt, imageOutputNanoUsdPerMillion: made = completion } = pricing;
  const line = (billable: ImagePrice['billable'], nanoUsdPerMillion: number): ImagePrice => ({
    billable,
    unit: 'token',
    costUsd: nanoUsdPerMillion / 1e15,
  });
  return [line('input_text', prompt), line('input_image', read), line('output_image', made)];
}

/** Whether images are priced only by tokens. Reasoning and text then count as well. */
export const isPricedByTokens = ({ image, pricing }: ImagePricedEndpoint): boolean =>
  !image?.pricing && pricing !== undefined;

/** Prices a generation at its endpoint. */
export function costOfGeneration(maker: ImagePricedEndpoint, work: ImageUsage): Cost {
  if (!isPricedByTokens(maker)) return costOfImages(maker.image?.pricing, work);
  const { usage: reported } = work;
  const isReported = reported && (isCounted(reported) || isFree(maker.pricing));
  return costOf(isReported ? maker.pricing : undefined, reported ?? usage({ inputTokens: 0, outputTokens: 0 }));
}

/**
 * Returns the image prices of an endpoint for images in a text response: its lines per image if it has token prices,
 * else all of its lines.
 *
 * @returns undefined if images cost only their tokens
 */
export function imageLinesOf({ image, pricing }: ImagePricedEndpoint): readonly ImagePrice[] | undefined {
  const lines = image?.pricing;
  if (!lines?.some(isByImage)) return undefined;
  return pricing ? lines.filter(isByImage) : lines;
}

/** Whether these lines need the sizes of images. */
export const needsSizes = (lines: readonly ImagePrice[]): boolean =>
  lines.some(({ unit, variant }) => unit === 'megapixel' || variant !== undefined);

const isByImage = ({ billable, unit }: ImagePrice): boolean => billable === 'output_image' && unit !== 'token';

/**
 * Prices a text response: its tokens, and its images if the endpoint has prices per image. The tokens of these images
 * are then free.
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
 * Prices a generation by the lines of its endpoint: the sum of cost times quantity. Among lines for the same thing
 * and unit, the line of the tier applies, else the line for any tier.
 *
 * @param lines undefined if no price is known
 * @returns `priced: false` also if a line needs unknown tokens or sizes, or if images have only lines for other tiers
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
/** Converts a sum. An infinite one becomes more than the maximum. */
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

/** @returns undefined if unknown */
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

/** Zero tokens mean that the provider did not count them. */
const isCounted = ({ outputTokens }: Usage): boolean => outputTokens > 0;

/** Without details, the input tokens are text and the output tokens are images. */
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

/** Assumed tokens of an image: those of gpt-image for a 1024-pixel square at high quality. */
const USUAL_IMAGE_TOKENS = 4160;

/**
 * Estimates the maximum cost of a generation.
 *
 * @returns nano-dollars; undefined if no price is known
 */
export function estimateImageCost(
  lines: readonly ImagePrice[] | undefined,
  request: { count: number; references: number; promptTokens: number; size: PixelSize; variant: string | undefined },
): bigint | undefined {
  const area = (request.size.width * request.size.height) / (1024 * 1024);
  const outputTokens = Math.ceil(USUAL_IMAGE_TOKENS * Math.max(1, area) * request.count);
  const inputImageTokens = request.references * USUAL_IMAGE_TOKENS;
  const inputTokens = Math.ceil(request.promptTokens) + inputImageTokens;
  const square = { width: 1024, height: 1024 };
  const cost = costOfImages(lines, {
    pictures: countImages(
      Array.from({ length: request.count }, () => request.size),
      Array.from({ length: request.references }, () => square),
      request.variant,
    ),
    usage: usage({ inputTokens, outputTokens, special: { inputImageTokens, outputImageTokens: outputTokens } }),
  });
  const total = totalOf(cost); // even if it is capped
  return cost.priced || total > 0n ? total : undefined;
}

/** Estimates the maximum cost of an image in a text response: a 1024-pixel square in the most expensive tier. */
export function estimateImage(maker: ImagePricedEndpoint, promptTokens: number): bigint {
  const lines = imageLinesOf(maker);
  if (!lines) return 0n;
  const request = { count: 1, references: 0, promptTokens, size: { width: 1024, height: 1024 } };
  let max = 0n;
  for (const variant of new Set([undefined, ...lines.map((line) => line.variant?.toLowerCase())])) {
    const cost = estimateImageCost(lines, { ...request, variant }) ?? 0n;
    if (cost > max) max = cost;
  }
  return max;
}
