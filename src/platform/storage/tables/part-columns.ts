import type { Selectable } from 'kysely';
import type { EntryPart } from '../../../domain/ledger-entry.ts';
import { type Integer, type NullableInteger, readFlag, readNullableNumber, readNumber } from './columns.ts';
import { type ImageColumns, readImageCounts } from './image-columns.ts';
import { readSpecialCounts, type SpecialCountColumns } from './special-counts.ts';

/** Columns that ledger entries and their lines share. */
export interface PartColumns extends SpecialCountColumns, ImageColumns {
  model: string | null;
  provider: string | null;
  provider_id: string | null;
  endpoint_id: string | null;
  tier: string | null;
  is_byok: Integer;
  input_tokens: Integer;
  cached_tokens: Integer;
  cache_write_tokens: Integer;
  output_tokens: Integer;
  reasoning_tokens: Integer;
  cost_nano_usd: Integer;
  input_cost_nano_usd: Integer;
  priced: Integer;
  upstream_cost_nano_usd: NullableInteger;
  estimated: Integer;
}

export const readPart = (row: Selectable<PartColumns>): EntryPart => ({
  model: row.model,
  provider: row.provider,
  providerId: row.provider_id,
  endpointId: row.endpoint_id,
  tier: row.tier,
  isByok: readFlag(row.is_byok),
  inputTokens: readNumber(row.input_tokens),
  cachedTokens: readNumber(row.cached_tokens),
  cacheWriteTokens: readNumber(row.cache_write_tokens),
  outputTokens: readNumber(row.output_tokens),
  reasoningTokens: readNumber(row.reasoning_tokens),
  ...readSpecialCounts(row),
  ...readImageCounts(row),
  costNanoUsd: row.cost_nano_usd,
  inputCostNanoUsd: row.input_cost_nano_usd,
  priced: readFlag(row.priced),
  upstreamCostNanoUsd: readNullableNumber(row.upstream_cost_nano_usd),
  estimated: readFlag(row.estimated),
});
