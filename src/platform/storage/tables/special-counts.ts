import { type SpecialCounts, special } from '../../../domain/usage.ts';
import { type Integer, readNumber } from './columns.ts';

/** Columns that ledger entries and their lines share. */
export interface SpecialCountColumns {
  cache_write_1h_tokens: Integer;
  input_audio_tokens: Integer;
  cached_audio_tokens: Integer;
  input_image_tokens: Integer;
  output_audio_tokens: Integer;
  output_image_tokens: Integer;
  input_images: Integer;
  web_searches: Integer;
}

const none: SpecialCounts = {};

/** Writes the same columns in the same order for all rows. */
export const writeSpecialCounts = (counts = none) => ({
  cache_write_1h_tokens: counts.cacheWrite1hTokens ?? 0,
  input_audio_tokens: counts.inputAudioTokens ?? 0,
  cached_audio_tokens: counts.cachedAudioTokens ?? 0,
  input_image_tokens: counts.inputImageTokens ?? 0,
  output_audio_tokens: counts.outputAudioTokens ?? 0,
  output_image_tokens: counts.outputImageTokens ?? 0,
  input_images: counts.inputImages ?? 0,
  web_searches: counts.webSearches ?? 0,
});

/** @returns the member `special`, or no member if all counts are 0 */
export function readSpecialCounts(row: Record<keyof SpecialCountColumns, bigint>): { special?: SpecialCounts } {
  const counts = special({
    cacheWrite1hTokens: readNumber(row.cache_write_1h_tokens),
    inputAudioTokens: readNumber(row.input_audio_tokens),
    cachedAudioTokens: readNumber(row.cached_audio_tokens),
    inputImageTokens: readNumber(row.input_image_tokens),
    outputAudioTokens: readNumber(row.output_audio_tokens),
    outputImageTokens: readNumber(row.output_image_tokens),
    inputImages: readNumber(row.input_images),
    webSearches: readNumber(row.web_searches),
  });
  return counts === undefined ? {} : { special: counts };
}
