import { sql } from 'kysely';
import type { ActivityGroup, ActivityQuery, ActivityRow } from '../ports/activity.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database } from './database.ts';
import { walkSlices } from './slices.ts';
import { answers } from './traffic.ts';
import { selectUsage } from './usage.ts';

/** Sums by day, model and provider. */
export function readActivity(db: Database, query: ActivityQuery): Promise<ActivityRow[]> {
  const hasEndUsers = query.endUser !== undefined || query.groupBy === 'endUser';
  return hasEndUsers ? sumEntries(db, query) : sumUsage(db, query);
}

async function sumUsage(db: Database, query: ActivityQuery): Promise<ActivityRow[]> {
  const { fromMs, toMs, workspaceId, keyHash, memberId, maxRows } = query;
  const group = query.groupBy as Exclude<ActivityGroup, 'endUser'> | undefined;
  const first = Math.floor(fromMs / DAY_MS);
  const days = Math.ceil(toMs / DAY_MS) - first;
  const rows = await selectUsage(db, {
    boundsMs: Array.from({ length: days + 1 }, (_, day) => (first + day) * DAY_MS),
    groupBy: ['model', 'provider', ...(group ? [group] : [])],
    only: { workspace: workspaceId, key: keyHash, member: memberId },
    ...(maxRows !== undefined && { maxRows: maxRows + 1 }),
  });
  return rows.flatMap(({ of: { model, provider, ...others }, interval, ...row }) => {
    if (!model || !provider) return []; // there was no response
    const { requests, costNanoUsd, byokNanoUsd, inputTokens, outputTokens, reasoningTokens } = row;
    const money = { costNanoUsd, byokNanoUsd };
    const tokens = { inputTokens, outputTokens, reasoningTokens };
    return {
      day: first + interval,
      group: group ? (others[group] ?? null) : null,
      model,
      provider,
      requests,
      ...money,
      ...tokens,
    };
  });
}

/** The sums by time have no end users. Sums slice by slice, so that a report over weeks blocks no request. */
async function sumEntries(db: Database, query: ActivityQuery): Promise<ActivityRow[]> {
  const from = BigInt(Math.round(query.fromMs));
  const to = BigInt(Math.round(query.toMs));
  const sums = new Map<string, ActivityRow>();
  const put = (row: ActivityRow): void => {
    const key = JSON.stringify([row.day, row.group, row.model, row.provider]);
    const sum = sums.get(key);
    sums.set(key, sum ? add(sum, row) : row);
  };
  const day = sql<bigint>`ledger.created_at_ms / 86400000`;
  const { groupBy, maxRows = Number.POSITIVE_INFINITY } = query;
  const group = groupBy
    ? sql<string | null>`${sql.ref(`ledger.${groupColumns[groupBy]}`)}`
    : sql<null>`cast(null as text)`;

  await walkSlices(db, { sinceMs: from }, async (slice) => {
    let asked = slice
      .select([
        day.as('day'),
        group.as('group'),
        'ledger.model',
        sql<string>`coalesce(ledger.provider, '')`.as('provider'),
      ])
      .where('created_at_ms', '>=', from)
      .where('created_at_ms', '<', to)
      .where('ledger.model', 'is not', null)
      .groupBy([day, 'ledger.model', 'ledger.provider'])
      .$narrowType<{ model: string }>();
    if (groupBy) asked = asked.groupBy(groupColumns[groupBy]);
    if (query.workspaceId !== undefined) asked = asked.where('workspace_id', '=', writeTextColumn(query.workspaceId));
    if (query.keyHash !== undefined) asked = asked.where('key_hash', '=', writeTextColumn(query.keyHash));
    if (query.endUser !== undefined) asked = asked.where('end_user', '=', writeTextColumn(query.endUser));
    if (query.memberId !== undefined) asked = asked.where('member_id', '=', writeTextColumn(query.memberId));
    const found = await asked
      .select([
        answers.as('requests'),
        sql<bigint>`cast(sum(case when is_byok = 0 then cost_nano_usd else 0 end) as bigint)`.as('costNanoUsd'),
        sql<bigint>`cast(sum(case when is_byok = 0 then 0 else cost_nano_usd end) as bigint)`.as('byokNanoUsd'),
        sql<bigint>`cast(sum(input_tokens) as bigint)`.as('inputTokens'),
        sql<bigint>`cast(sum(output_tokens) as bigint)`.as('outputTokens'),
        sql<bigint>`cast(sum(reasoning_tokens) as bigint)`.as('reasoningTokens'),
      ])
      .execute();
    for (const row of found) put({ ...row, day: readNumber(row.day), requests: readNumber(row.requests) });

    // The whole cost of an entry counts for its kind of key. The cost of lines of the other kind of key is moved.
    const others = await asked
      .innerJoin('ledger_lines as line', 'line.entry_id', 'ledger.id')
      .whereRef('line.is_byok', '<>', 'ledger.is_byok')
      .select(
        sql<bigint>`cast(sum(case when line.is_byok = 0 then line.cost_nano_usd else -line.cost_nano_usd end) as bigint)`.as(
          'toShared',
        ),
      )
      .execute();
    for (const { toShared, ...row } of others) {
      const nothing = { requests: 0, inputTokens: 0n, outputTokens: 0n, reasoningTokens: 0n };
      put({ ...row, ...nothing, day: readNumber(row.day), costNanoUsd: toShared, byokNanoUsd: -toShared });
    }
    return sums.size <= maxRows;
  });
  return [...sums.values()];
}

const DAY_MS = 86_400_000;
const groupColumns = {
  workspace: 'workspace_id',
  key: 'key_hash',
  member: 'member_id',
  endUser: 'end_user',
} as const satisfies Record<ActivityGroup, string>;

const add = (a: ActivityRow, b: ActivityRow): ActivityRow => ({
  ...a,
  requests: a.requests + b.requests,
  costNanoUsd: a.costNanoUsd + b.costNanoUsd,
  byokNanoUsd: a.byokNanoUsd + b.byokNanoUsd,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  reasoningTokens: a.reasoningTokens + b.reasoningTokens,
});
