import type { LedgerRow } from '../../platform/storage/ports/entries.ts';
import { writeHistoryParts } from '../../management/generations/write-attempts.ts';

type Value = string | number | readonly string[] | null;

interface Column {
  name: string;
  type: string;
  /** Integers of 64 bits are texts, because JSON numbers lose digits. */
  write: (row: LedgerRow) => Value;
}

const column = (name: string, type: string, write: Column['write']): Column => ({ name, type, write });
const textColumn = (name: string, read: (entry: LedgerRow['entry']) => string | null | undefined): Column =>
  column(name, 'String', ({ entry }) => read(entry) ?? '');
const countColumn = (name: string, read: (entry: LedgerRow['entry']) => number): Column =>
  column(name, 'Int64', ({ entry }) => String(Math.round(read(entry))));
const moneyColumn = (name: string, read: (entry: LedgerRow['entry']) => bigint): Column =>
  column(name, 'Int64', ({ entry }) => String(read(entry)));
const flagColumn = (name: string, read: (entry: LedgerRow['entry']) => boolean): Column =>
  column(name, 'UInt8', ({ entry }) => (read(entry) ? 1 : 0));
const writeNullable = (value: number | null): string | null => (value === null ? null : String(Math.round(value)));

/**
 * The columns of the table, with types that every version of ClickHouse since 2018 has. An absent text is empty. A new
 * column goes to the end, because the table of an operator may lack it: ClickHouse ignores unknown fields.
 */
const columns: readonly Column[] = [
  textColumn('id', ({ id }) => id),
  column('corrects', 'String', ({ correction }) => correction?.of ?? ''),
  column('created_at', "DateTime('UTC')", ({ entry }) => Math.floor(entry.createdAtMs / 1000)),
  countColumn('created_at_ms', ({ createdAtMs }) => createdAtMs),
  column('corrected_at_ms', 'Nullable(Int64)', ({ correction }) => writeNullable(correction?.atMs ?? null)),
  textColumn('api_type', ({ apiType }) => apiType ?? 'response'),
  textColumn('parent_id', ({ parentId }) => parentId),
  textColumn('workspace_id', ({ workspaceId }) => workspaceId),
  textColumn('key_hash', ({ keyHash }) => keyHash),
  textColumn('member_id', ({ memberId }) => memberId),
  textColumn('requested_model', ({ requestedModel }) => requestedModel),
  textColumn('router', ({ router }) => router),
  textColumn('task', ({ task }) => task),
  textColumn('model', ({ model }) => model),
  textColumn('provider', ({ provider }) => provider),
  textColumn('provider_id', ({ providerId }) => providerId),
  textColumn('endpoint_id', ({ endpointId }) => endpointId),
  textColumn('tier', ({ tier }) => tier),
  flagColumn('is_byok', ({ isByok }) => isByok),
  textColumn('outcome', ({ outcome }) => outcome),
  column('status', 'UInt16', ({ entry }) => entry.status),
  textColumn('error_type', ({ errorType }) => errorType),
  flagColumn('streamed', ({ streamed }) => streamed),
  countColumn('input_tokens', ({ inputTokens }) => inputTokens),
  countColumn('cached_tokens', ({ cachedTokens }) => cachedTokens),
  countColumn('cache_write_tokens', ({ cacheWriteTokens }) => cacheWriteTokens),
  countColumn('output_tokens', ({ outputTokens }) => outputTokens),
  countColumn('reasoning_tokens', ({ reasoningTokens }) => reasoningTokens),
  moneyColumn('cost_nano_usd', ({ costNanoUsd }) => costNanoUsd),
  moneyColumn('input_cost_nano_usd', ({ inputCostNanoUsd }) => inputCostNanoUsd),
  column('upstream_cost_nano_usd', 'Nullable(Int64)', ({ entry }) => writeNullable(entry.upstreamCostNanoUsd)),
  flagColumn('priced', ({ priced }) => priced),
  flagColumn('estimated', ({ estimated }) => estimated),
  column('first_output_ms', 'Nullable(Int64)', ({ entry }) => writeNullable(entry.firstOutputMs)),
  countColumn('duration_ms', ({ durationMs }) => durationMs),
  textColumn('session_id', ({ sessionId }) => sessionId),
  textColumn('end_user', ({ endUser }) => endUser),
  column('tag_keys', 'Array(String)', ({ entry }) => Object.keys(entry.tags ?? {})),
  column('tag_values', 'Array(String)', ({ entry }) => Object.values(entry.tags ?? {})),
  // JSON, as `attempts` of `GET /generation`.
  column('attempts', 'String', ({ entry, correction }) =>
    correction ? '[]' : JSON.stringify(writeHistoryParts(entry).attempts),
  ),
];

/** Writes a row as a line of `JSONEachRow`. */
export const writeClickHouseRow = (row: LedgerRow): string =>
  JSON.stringify(Object.fromEntries(columns.map(({ name, write }) => [name, write(row)])));

/**
 * Returns the statement that creates the table.
 *
 * @param knowsTokens whether the server is 22.2 or later, which removes repeated inserts by their token
 */
export function writeTableStatement(table: string, knowsTokens = true): string {
  const lines = columns.map(({ name, type }) => `  ${name} ${type}`).join(',\n');
  const settings = knowsTokens ? '\nsettings non_replicated_deduplication_window = 10000' : '';
  return `create table if not exists ${table} (\n${lines}\n)\nengine = ReplacingMergeTree\norder by (toDate(created_at), id)${settings}`;
}
