import { type Selectable, sql } from 'kysely';
import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import type { LedgerTotals, TrafficRow } from '../storage.ts';
import {
  type Integer,
  type NullableInteger,
  readFlag,
  readNullableNumber,
  readNumber,
  writeFlag,
  writeNullableText,
  writeText,
} from './columns.ts';
import type { Database } from './database.ts';
import { walkSlices } from './slices.ts';
import { addSpending, createSpendingSum } from './spending.ts';

export interface LedgerTable {
  id: string;
  created_at_ms: Integer;
  workspace_id: string;
  key_hash: string;
  member_id: string | null;
  requested_model: string;
  model: string | null;
  provider: string | null;
  outcome: LedgerEntry['outcome'];
  status: Integer;
  error_type: string | null;
  streamed: Integer;
  input_tokens: Integer;
  cached_tokens: Integer;
  cache_write_tokens: Integer;
  output_tokens: Integer;
  reasoning_tokens: Integer;
  cost_nano_usd: Integer;
  priced: Integer;
  estimated: Integer;
  first_output_ms: NullableInteger;
  duration_ms: Integer;
  session_id: string | null;
  end_user: string | null;
  router: string | null;
  task: string | null;
  input_cost_nano_usd: Integer;
}

/** 27 columns each: SQLite binds 32,766 values to a statement, PostgreSQL 65,535. */
const maxRowsPerInsert = 1000;

/** Books what is not booked yet, all or none of it, and what it adds to the sums of the day. */
export async function appendEntries(db: Database, entries: readonly LedgerEntry[]): Promise<void> {
  if (entries.length === 0) return;
  // Two hosts that replay overlapping journals wait for each other's rows: in one order, or they deadlock.
  const rows = entries.map(writeLedgerRow).sort((a, b) => (a.id < b.id ? -1 : 1));
  await db.transaction().execute(async (trx) => {
    const spent = createSpendingSum();
    for (let start = 0; start < rows.length; start += maxRowsPerInsert) {
      const booked = await trx
        .insertInto('ledger')
        .values(rows.slice(start, start + maxRowsPerInsert))
        .onConflict((oc) => oc.column('id').doNothing())
        .returning(['workspace_id', 'key_hash', 'member_id', 'created_at_ms', 'cost_nano_usd'])
        .execute();
      for (const row of booked) spent.add(row);
    }
    await addSpending(trx, spent.rows());
  });
}

/** @returns undefined when the entry belongs to another workspace, too */
export async function findEntry(db: Database, workspaceId: string, id: string): Promise<LedgerEntry | undefined> {
  const row = await db
    .selectFrom('ledger')
    .selectAll()
    .where('id', '=', writeText(id))
    .where('workspace_id', '=', writeText(workspaceId))
    .executeTakeFirst();
  return row && readEntry(row);
}

/** Reads every entry of the workspace, or of all: a report, nothing to ask for at each request. */
export async function readTotals(db: Database, workspaceId?: string): Promise<LedgerTotals> {
  let query = db.selectFrom('ledger').select([
    sql<bigint>`count(*)`.as('entries'),
    // PostgreSQL adds bigints up to a numeric; both dialects cast back to 64 bits, and fail above.
    sql<bigint>`cast(coalesce(sum(input_tokens), 0) as bigint)`.as('inputTokens'),
    sql<bigint>`cast(coalesce(sum(output_tokens), 0) as bigint)`.as('outputTokens'),
    sql<bigint>`cast(coalesce(sum(cost_nano_usd), 0) as bigint)`.as('costNanoUsd'),
  ]);
  if (workspaceId !== undefined) query = query.where('workspace_id', '=', writeText(workspaceId));
  const totals = await query.executeTakeFirstOrThrow();
  return { ...totals, entries: readNumber(totals.entries) };
}

/** Sums slice by slice, so that a week of a busy gateway holds nobody up. */
export async function readTraffic(db: Database, sinceMs: number): Promise<TrafficRow[]> {
  const sums = new Map<string, TrafficRow>();
  const since = BigInt(Math.round(sinceMs));
  await walkSlices(db, since, async (slice) => {
    const rows = await slice
      .select([
        'task',
        'model',
        sql<bigint>`count(*)`.as('answers'),
        sql<bigint>`cast(sum(cost_nano_usd) as bigint)`.as('costNanoUsd'),
        sql<bigint>`cast(sum(input_cost_nano_usd) as bigint)`.as('inputCostNanoUsd'),
        sql<bigint>`cast(sum(input_tokens) as bigint)`.as('inputTokens'),
      ])
      .where('created_at_ms', '>=', since)
      .where('model', 'is not', null)
      .where('priced', '=', 1n)
      .where('outcome', 'in', ['completed', 'incomplete'])
      .where((row) => row.or([row('router', 'is', null), row('router', '!=', 'router/bodybuilder')])) // whose answers are free
      .groupBy(['task', 'model'])
      .$narrowType<{ model: string }>()
      .execute();
    for (const found of rows) {
      const row = { ...found, answers: readNumber(found.answers) };
      const key = JSON.stringify([row.task, row.model]);
      const sum = sums.get(key);
      sums.set(key, sum ? add(sum, row) : row);
    }
  });
  return [...sums.values()];
}

const add = (a: TrafficRow, b: TrafficRow): TrafficRow => ({
  ...a,
  answers: a.answers + b.answers,
  costNanoUsd: a.costNanoUsd + b.costNanoUsd,
  inputCostNanoUsd: a.inputCostNanoUsd + b.inputCostNanoUsd,
  inputTokens: a.inputTokens + b.inputTokens,
});

/** An entry as the table has it: the same columns in the same order for every entry. */
export function writeLedgerRow(entry: LedgerEntry) {
  return {
    id: entry.id,
    created_at_ms: Math.round(entry.createdAtMs),
    workspace_id: entry.workspaceId,
    key_hash: entry.keyHash,
    member_id: entry.memberId,
    requested_model: writeText(entry.requestedModel),
    model: writeNullableText(entry.model),
    provider: writeNullableText(entry.provider),
    outcome: entry.outcome,
    status: entry.status,
    error_type: writeNullableText(entry.errorType),
    streamed: writeFlag(entry.streamed),
    input_tokens: entry.inputTokens,
    cached_tokens: entry.cachedTokens,
    cache_write_tokens: entry.cacheWriteTokens,
    output_tokens: entry.outputTokens,
    reasoning_tokens: entry.reasoningTokens,
    cost_nano_usd: entry.costNanoUsd,
    priced: writeFlag(entry.priced),
    estimated: writeFlag(entry.estimated),
    first_output_ms: entry.firstOutputMs === null ? null : Math.round(entry.firstOutputMs),
    duration_ms: Math.round(entry.durationMs),
    session_id: writeNullableText(entry.sessionId),
    end_user: writeNullableText(entry.endUser),
    router: writeNullableText(entry.router),
    task: writeNullableText(entry.task),
    input_cost_nano_usd: entry.inputCostNanoUsd,
  };
}

function readEntry(row: Selectable<LedgerTable>): LedgerEntry {
  return {
    id: row.id,
    createdAtMs: readNumber(row.created_at_ms),
    workspaceId: row.workspace_id,
    keyHash: row.key_hash,
    memberId: row.member_id,
    requestedModel: row.requested_model,
    router: row.router,
    task: row.task,
    model: row.model,
    provider: row.provider,
    outcome: row.outcome,
    status: readNumber(row.status),
    errorType: row.error_type,
    streamed: readFlag(row.streamed),
    inputTokens: readNumber(row.input_tokens),
    cachedTokens: readNumber(row.cached_tokens),
    cacheWriteTokens: readNumber(row.cache_write_tokens),
    outputTokens: readNumber(row.output_tokens),
    reasoningTokens: readNumber(row.reasoning_tokens),
    costNanoUsd: row.cost_nano_usd,
    inputCostNanoUsd: row.input_cost_nano_usd,
    priced: readFlag(row.priced),
    estimated: readFlag(row.estimated),
    firstOutputMs: readNullableNumber(row.first_output_ms),
    durationMs: readNumber(row.duration_ms),
    sessionId: row.session_id,
    endUser: row.end_user,
  };
}
