import { writeGeneration } from '../management/generations/write-generation.ts';
import type { RecordedEntry } from '../domain/ledger-entry.ts';
import { usdOf } from '../metering/cost.ts';

/** Writes an entry for JSON: the generation of the API, and fields for the operator. */
export function writeLedgerEntry(entry: RecordedEntry): Record<string, unknown> {
  const { requestedModel, providerId, endpointId, keyHash, memberId, cacheWriteTokens, special, correction } = entry;
  const counts = Object.entries(special ?? {}).map(([name, count]) => [writeName(name), count]);
  return {
    ...writeGeneration(entry),
    requested_model: requestedModel,
    outcome: entry.outcome,
    provider_id: providerId,
    endpoint_id: endpointId,
    key_hash: keyHash,
    member_id: memberId,
    cache_write_tokens: cacheWriteTokens,
    ...Object.fromEntries(counts),
    booked_cost: entry.priced ? usdOf(entry.costNanoUsd) : null,
    corrections: { count: correction?.count ?? 0, cost: usdOf(correction?.costNanoUsd ?? 0n) },
  };
}

/** `cacheWrite1hTokens` → `cache_write_1h_tokens`. */
const writeName = (name: string): string => name.replace(/[A-Z]|\d/g, (part) => `_${part.toLowerCase()}`);
