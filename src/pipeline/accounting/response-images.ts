import type { Chunk } from '../../domain/chunks.ts';
import { countImages, type ImageCounts, type Measured, type PixelSize, tierOf } from '../../domain/images.ts';
import type { OutputItem } from '../../domain/items.ts';
import { parseImage } from '../../domain/parse-image.ts';
import { type ImagePricedEndpoint, imageLinesOf, needsSizes } from '../../metering/image-cost.ts';

/**
 * Counts the finished images of a response whose endpoint can generate some. Their sizes are measured only if they
 * affect the price, because the whole image must be decoded for it.
 *
 * @param references images of the request; they are not measured
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

/** Returns the finished items of an attempt's output. */
export const itemsOf = (chunks: readonly Chunk[]): OutputItem[] =>
  chunks.flatMap((chunk) => (chunk.type === 'item_done' ? chunk.item : []));

const unsized: Measured = { width: undefined, height: undefined };
const areaOf = ({ width, height }: PixelSize): number => width * height;

/** Base64, or a link; undefined if the item is not an image, or a failed one. */
function readResult(item: OutputItem): string | undefined {
  if (item.type !== 'image_generation_call') return undefined;
  const { result } = item as { result?: unknown };
  return typeof result === 'string' && result !== '' ? result : undefined;
}

function measure(result: string): Measured {
  const { width, height } = parseImage(Buffer.from(result, 'base64')) ?? {};
  return width === undefined || height === undefined ? unsized : { width, height };
}
