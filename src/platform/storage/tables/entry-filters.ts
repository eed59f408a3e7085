import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { EntryFilters } from '../ports/entries.ts';
import { writeFlag, writeTextColumn } from './columns.ts';
import type { Tables } from './database.ts';

type Rows = ExpressionBuilder<Tables, 'ledger'>;

/** The corrections of an entry sort directly after it. */
const corrections = sql`from ledger as other where other.id > ledger.id || '.' and other.id < ledger.id || '/' and other.corrects = ledger.id`;

/** The cost of an entry with its corrections. */
const settledNanoUsd = sql<bigint>`ledger.cost_nano_usd + cast(coalesce((select sum(other.cost_nano_usd) ${corrections}), 0) as bigint)`;

/** Whether the cost of an entry is known. */
const isPriced = sql<SqlBool>`(ledger.priced = 1 or exists (select 1 ${corrections}))`;

/** Whether the JSON of a column has a field with a text. A text within the JSON has other quotes, so it does not match. */
function hasPair(column: 'tags' | 'history', field: string, text: string) {
  const pair = writeTextColumn(`${JSON.stringify(field)}:${JSON.stringify(text)}`);
  const json = sql.ref(`ledger.${column}`);
  return sql<SqlBool>`replace(${json}, ${pair}, '') <> ${json}`;
}

/**
 * Returns the cost of an entry with its corrections.
 *
 * @param hasCorrections whether there can be any. They cost a read of each row
 */
export const costOfEntry = (hasCorrections: boolean): Expression<bigint> =>
  hasCorrections ? settledNanoUsd : sql<bigint>`ledger.cost_nano_usd`;

/**
 * Returns the condition that a row is a matching entry. A correction is none.
 *
 * @param hasCorrections whether the rows can have any
 */
export function matchEntries(filters: EntryFilters, hasCorrections = true): (row: Rows) => Expression<SqlBool> {
  return (row) => {
    const all: Expression<SqlBool>[] = [row('corrects', 'is', null)];
    const add = (condition: Expression<SqlBool> | false | undefined): void => {
      if (condition) all.push(condition);
    };
    const matchText = (
      column: 'key_hash' | 'member_id' | 'session_id' | 'end_user' | 'error_type',
      text: string | undefined,
    ) => text !== undefined && row(column, '=', writeTextColumn(text));
    const { fromMs = 0, toMs, workspaceId, model, provider, outcomes, statuses, tool, tags = {}, idEnd } = filters;
    const { minCostNanoUsd, maxCostNanoUsd, minDurationMs, maxDurationMs, streamed, cached } = filters;
    add(fromMs > 0 && row('created_at_ms', '>=', BigInt(Math.round(fromMs))));
    add(toMs !== undefined && row('created_at_ms', '<', BigInt(Math.round(toMs))));
    // An expression, so that SQLite reads the slice, and not all entries of the workspace for each slice.
    add(workspaceId !== undefined && sql<SqlBool>`ledger.workspace_id || '' = ${writeTextColumn(workspaceId)}`);
    add(matchText('key_hash', filters.keyHash));
    add(matchText('member_id', filters.memberId));
    add(matchText('session_id', filters.sessionId));
    add(matchText('end_user', filters.endUser));
    add(matchText('error_type', filters.errorType));
    for (const [text, columns] of [
      [model, ['model', 'requested_model']],
      [provider, ['provider', 'provider_id']],
    ] as const) {
      if (text !== undefined) add(row.or(columns.map((column) => row(column, '=', writeTextColumn(text)))));
    }
    add(outcomes && (outcomes.length > 0 ? row('outcome', 'in', outcomes) : sql<SqlBool>`1 = 0`));
    add(statuses && row.and([row('status', '>=', BigInt(statuses[0])), row('status', '<=', BigInt(statuses[1]))]));
    for (const [key, value] of Object.entries(tags)) add(hasPair('tags', key, value));
    add(streamed !== undefined && row('streamed', '=', BigInt(writeFlag(streamed))));
    add(cached !== undefined && row('cached_tokens', cached ? '>' : '=', 0n));
    add(minDurationMs !== undefined && row('duration_ms', '>=', BigInt(minDurationMs)));
    add(maxDurationMs !== undefined && row('duration_ms', '<=', BigInt(maxDurationMs)));
    add(
      idEnd !== undefined &&
        sql<SqlBool>`substr(ledger.id, length(ledger.id) - ${sql.lit(idEnd.length - 1)}) = ${writeTextColumn(idEnd)}`,
    );
    // These read other rows, so they are last.
    if (tool !== undefined) {
      const charges = row
        .selectFrom('ledger_lines')
        .select('position')
        .whereRef('entry_id', '=', 'ledger.id')
        .where('kind', '=', 'tool')
        .where('ledger_lines.model', '=', writeTextColumn(tool));
      add(row.or([hasPair('history', 'tool', tool), row.exists(charges)]));
    }
    const cost = costOfEntry(hasCorrections);
    if (minCostNanoUsd !== undefined || maxCostNanoUsd !== undefined)
      add(hasCorrections ? isPriced : row('priced', '=', 1n));
    add(minCostNanoUsd !== undefined && sql<SqlBool>`${cost} >= ${minCostNanoUsd}`);
    add(maxCostNanoUsd !== undefined && sql<SqlBool>`${cost} <= ${maxCostNanoUsd}`);
    return row.and(all);
  };
}
