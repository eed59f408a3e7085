import { sql } from 'kysely';
import type { LedgerTotals, TrafficRow } from '../ports/activity.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database } from './database.ts';
import { walkSlices } from './slices.ts';

/** Counts the entries in a query whose rows are entries and corrections. */
export const answers = sql<bigint>`cast(sum(case when corrects is null then 1 else 0 end) as bigint)`;

/**
 * Reads every entry of one workspace or of all, and the sums of those that were archived. For reports only, never for each
 * request.
 */
export async function readTotals(db: Database, workspaceId?: string): Promise<LedgerTotals> {
  const where = workspaceId === undefined ? sql`` : sql`where workspace_id = ${writeTextColumn(workspaceId)}`;
  // PostgreSQL adds bigints up to a numeric. Both dialects cast back to 64 bits, and fail above that.
  const sum = (value: string) => sql.raw(`cast(coalesce(sum(${value}), 0) as bigint)`);
  // One statement sees one state of the database.
  const { rows } = await sql<Record<'entries' | 'input' | 'output' | 'cost', bigint>>`
    select ${sum('entries')} as entries, ${sum('input')} as input, ${sum('output')} as output, ${sum('cost')} as cost
    from (
      select ${sum('case when corrects is null then 1 else 0 end')} as entries, ${sum('input_tokens')} as input,
        ${sum('output_tokens')} as output, ${sum('cost_nano_usd')} as cost
      from ledger ${where}
      union all
      select ${sum('deleted_entries')}, ${sum('deleted_input_tokens')}, ${sum('deleted_output_tokens')},
        ${sum('deleted_cost_nano_usd')}
      from ledger_archives ${where}
    ) sums`.execute(db);
  const { entries, input, output, cost } = rows[0]!;
  return { entries: readNumber(entries), inputTokens: input, outputTokens: output, costNanoUsd: cost };
}

/** Sums slice by slice, so that a week of a busy gateway blocks no request. */
export async function readTraffic(db: Database, sinceMs: number): Promise<TrafficRow[]> {
  const sums = new Map<string, TrafficRow>();
  const since = BigInt(Math.round(sinceMs));
  await walkSlices(db, { sinceMs: since }, async (slice) => {
    const rows = await slice
      .select([
        'task',
        'model',
        answers.as('answers'),
        sql<bigint>`cast(sum(cost_nano_usd) as bigint)`.as('costNanoUsd'),
        sql<bigint>`cast(sum(input_cost_nano_usd) as bigint)`.as('inputCostNanoUsd'),
        sql<bigint>`cast(sum(input_tokens) as bigint)`.as('inputTokens'),
      ])
      .where('created_at_ms', '>=', since)
      .where('model', 'is not', null)
      .where('api_type', 'is', null) // routers weigh the tokens of conversations
      .where('priced', '=', 1n)
      .where('outcome', 'in', ['completed', 'incomplete'])
      // Its responses are free.
      .where((row) => row.or([row('router', 'is', null), row('router', '!=', 'router/bodybuilder')]))
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
