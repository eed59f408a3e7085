import type { Selectable } from 'kysely';
import type { RecordedEntry, LedgerEntry, LedgerLine } from '../../../domain/ledger-entry.ts';
import { readNumber, writeFlag, writeNullableText } from './columns.ts';
import type { Database, LedgerLineTable } from './database.ts';
import { readPart } from './part-columns.ts';
import { writeImageCounts } from './image-columns.ts';
import { writeSpecialCounts } from './special-counts.ts';

/** Writes the lines of an entry as rows, with the same columns in the same order. */
export function writeLineRows({ id, lines = [] }: LedgerEntry) {
  return lines.map((line, position) => ({
    entry_id: id,
    position,
    kind: line.kind,
    model: writeNullableText(line.model),
    provider: writeNullableText(line.provider),
    provider_id: writeNullableText(line.providerId),
    endpoint_id: writeNullableText(line.endpointId),
    tier: writeNullableText(line.tier),
    is_byok: writeFlag(line.isByok),
    status: line.status,
    input_tokens: line.inputTokens,
    cached_tokens: line.cachedTokens,
    cache_write_tokens: line.cacheWriteTokens,
    output_tokens: line.outputTokens,
    reasoning_tokens: line.reasoningTokens,
    ...writeSpecialCounts(line.special),
    ...writeImageCounts(line.pictures),
    cost_nano_usd: line.costNanoUsd,
    input_cost_nano_usd: line.inputCostNanoUsd,
    priced: writeFlag(line.priced),
    upstream_cost_nano_usd: line.upstreamCostNanoUsd,
    estimated: writeFlag(line.estimated),
  }));
}

/** 33 columns each. @see maxRowsPerInsert of the ledger */
const maxRowsPerInsert = 900;

/** @param entries new entries of this transaction */
export async function insertLines(trx: Database, entries: readonly LedgerEntry[]): Promise<void> {
  const rows = entries.flatMap(writeLineRows);
  for (let start = 0; start < rows.length; start += maxRowsPerInsert) {
    await trx
      .insertInto('ledger_lines')
      .values(rows.slice(start, start + maxRowsPerInsert))
      .execute();
  }
}

/** Selects the lines of entries, in order. */
export const selectLines = (db: Database, entryIds: readonly string[]) =>
  db
    .selectFrom('ledger_lines')
    .selectAll()
    .where('entry_id', 'in', entryIds)
    .orderBy('entry_id')
    .orderBy('position')
    .execute();

/** Adds the lines to each entry, in order. An entry with a single part has none. */
export async function addLines(db: Database, entries: readonly RecordedEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const rows = await selectLines(
    db,
    entries.map(({ id }) => id),
  );
  const byEntry = Map.groupBy(rows, (row) => row.entry_id);
  for (const entry of entries) {
    const lines = byEntry.get(entry.id)?.map(readLine);
    if (lines) entry.lines = lines;
  }
}

const readLine = ({ kind, status, ...row }: Selectable<LedgerLineTable>): LedgerLine => ({
  kind,
  status: readNumber(status),
  ...readPart(row),
});
