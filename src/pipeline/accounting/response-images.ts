import type { Chunk } from '../../domain/chunks.ts';
import { countImages, type ImageCounts, type Measured, type PixelSize, tierOf } from '../../domain/images.ts';
import type { OutputItem } from '../../domain/items.ts';
import { parseImage } from '../../domain/parse-image.ts';
import { type ImagePricedEndpoint, imageLinesOf, needsSizes } from '../../metering/image-cost.ts';

/**
 * The finished pictures of an answer whose endpoint can make some. Their sizes are looked at only where they make a
 * difference to its price, since all of a picture is decoded for it.
 *
 * @param references pictures that were sent; nobody measures them
 */
export function countResponseImages(
  maker: ImagePricedEndpoint,
  items: readonly OutputItem[],
  references: number,
): ImageCounts {
  const sent = Array.from({ length: references }, () => unsized);
  const results = items.flatMap((item) => readResult(item) ?? []);
  if (!needsSizes(imageLinesOf(maker) ?? []))
    return countImages(
      results.map(() => unsized),
      sent,
    );
  const made = results.map(measure);
  const largest = made
    .filter((size): size is PixelSize => size.width !== undefined)
    .reduce<PixelSize | undefined>((max, size) => (max && areaOf(max) >= areaOf(size) ? max : size), undefined);
  return countImages(made, sent, largest && tierOf(largest).toLowerCase());
}

/** Items that are finished in what an attempt said. */
export const itemsOf = (chunks: readonly Chunk[]): OutputItem[] =>
  chunks.flatMap((chunk) => (chunk.type === 'item_done' ? chunk.item : []));

const unsized: Measured = { width: undefined, height: undefined };
const areaOf = ({ width, height }: PixelSize): number => width * height;

/** Base64, or a link; undefined when the item is no picture, or one that failed. */
function readResult(item: OutputItem): string | undefined {
  if (item.type !== 'image_generation_call') return undefined;
  const { result } = item as { result?: unknown };
  return typeof result === 'string' && result !== '' ? result : undefined;
}

function measure(result: string): Measured {
  const { width, height } = parseImage(Buffer.from(result, 'base64')) ?? {};
  return width === undefined || height === undefined ? unsized : { width, height };
}
