import type { ImageCounts } from '../../../domain/images.ts';
import { type NullableInteger, readNumber, writeNullableText } from './columns.ts';

/** Columns that ledger entries and their lines have in common. Null: not counted. */
export interface ImageColumns {
  output_images: NullableInteger;
  output_pixels: NullableInteger;
  reference_images: NullableInteger;
  reference_pixels: NullableInteger;
  picture_tier: string | null;
}

/** Writes the same columns in the same order for all rows. */
export const writeImageCounts = (counts: ImageCounts | undefined) => ({
  output_images: counts?.made ?? null,
  output_pixels: writePixels(counts?.madePixels),
  reference_images: counts?.references ?? null,
  reference_pixels: writePixels(counts?.referencePixels),
  picture_tier: writeNullableText(counts?.variant ?? null),
});

/** Writes pixels, because the headers of images can claim more than a column can store. */
const writePixels = (pixels: number | undefined): number | null =>
  pixels !== undefined && Number.isSafeInteger(pixels) ? pixels : null;

/** @returns the field `pictures`, or no field if nothing was counted */
export function readImageCounts(
  row: {
    [Column in keyof ImageColumns]: ImageColumns[Column] extends NullableInteger ? bigint | null : string | null;
  },
): { pictures?: ImageCounts } {
  if (row.output_images === null) return {};
  const images: ImageCounts = {
    made: readNumber(row.output_images),
    references: readNumber(row.reference_images ?? 0n),
  };
  if (row.output_pixels !== null) images.madePixels = readNumber(row.output_pixels);
  if (row.reference_pixels !== null) images.referencePixels = readNumber(row.reference_pixels);
  if (row.picture_tier !== null) images.variant = row.picture_tier;
  return { pictures: images };
}
