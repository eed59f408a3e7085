import type { RecordedEntry } from '../../domain/ledger-entry.ts';
import { writeGeneration } from './write-generation.ts';

/** A generation, and what identifies its request. The keys and members of a workspace are for management keys. */
export const writeListed = (entry: RecordedEntry, seesAll: boolean): Record<string, unknown> => ({
  ...writeGeneration(entry),
  requested_model: entry.requestedModel,
  outcome: entry.outcome,
  ...(seesAll && { api_key_hash: entry.keyHash, user_id: entry.memberId }),
});
