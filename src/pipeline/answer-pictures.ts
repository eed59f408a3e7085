import type { Chunk } from '../domain/chunks.ts';
import { type PixelSize, tierOf } from '../domain/images.ts';
import type { OutputItem } from '../domain/items.ts';
import { findPicture } from '../domain/picture.ts';
import { type ImageWork, type PricedMaker, pictureLinesOf } from '../metering/image-cost.ts';

/** Pictures of an answer as prices look at them. */
export interface AnswerPictures {
  made: ImageWork['made'];
  /** The tier of the largest: `2k`. */
  variant: string | undefined;
}

/**
 * The finished pictures of an answer, where its endpoint asks for pictures themselves. Their sizes are looked at only
 * where they make a difference, since all of a picture is decoded for it.
 *
 * @returns undefined when there is nothing to price apart from tokens
 */
export function findPictures(maker: PricedMaker, items: readonly OutputItem[]): AnswerPictures | undefined {
  const lines = maker.image && pictureLinesOf(maker);
  if (!lines) return undefined;
  const results = items.flatMap((item) => readResult(item) ?? []);
  if (results.length === 0) return undefined;
  if (!lines.some(({ unit, variant }) => unit === 'megapixel' || variant !== undefined)) {
    return { made: results.map(() => unsized), variant: undefined };
  }
  const made = results.map(measure);
  const largest = made
    .filter((size): size is PixelSize => size.width !== undefined)
    .reduce<PixelSize | undefined>((most, size) => (most && areaOf(most) >= areaOf(size) ? most : size), undefined);
  return { made, variant: largest && tierOf(largest).toLowerCase() };
}

/** Items that are finished in what an attempt said. */
export const itemsOf = (chunks: readonly Chunk[]): OutputItem[] =>
  chunks.flatMap((chunk) => (chunk.type === 'item_done' ? chunk.item : []));

const unsized = { width: undefined, height: undefined };
const areaOf = ({ width, height }: PixelSize): number => width * height;

/** Base64, or a link; undefined when the item is no picture, or one that failed. */
function readResult(item: OutputItem): string | undefined {
  if (item.type !== 'image_generation_call') return undefined;
  const { result } = item as { result?: unknown };
  return typeof result === 'string' && result !== '' ? result : undefined;
}

function measure(result: string): ImageWork['made'][number] {
  const { width, height } = findPicture(Buffer.from(result, 'base64')) ?? {};
  return width === undefined || height === undefined ? unsized : { width, height };
}
