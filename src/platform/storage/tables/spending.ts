import { sql } from 'kysely';
import type { LedgerLine } from '../../../domain/ledger-entry.ts';
import type { SpendingScope } from '../storage.ts';
import { type Integer, writeFlag, writeText } from './columns.ts';
import type { Database } from './database.ts';

/**
 * What was spent day by day (UTC): the sums of the ledger, raised in the transaction that books an entry. An index by key
 * over the ledger would give the same sums, and costs every insert twice what it takes without (13 against 4 µs).
 */
export interface SpendingTable {
  key_hash: string;
  /** Days since 1970-01-01. */
  day: Integer;
  workspace_id: string;
  /** Empty: of no member. */
  member_id: string;
  /** Without what own provider keys have cost. */
  cost_nano_usd: Integer;
  /** What these have cost. */
  byok_nano_usd: Integer;
}

const DAY_MS = 86_400_000;
const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/** The columns of a booked entry that spending is made of. */
export interface BookedCost {
  workspace_id: string;
  key_hash: string;
  member_id: string | null;
  created_at_ms: number | bigint;
  cost_nano_usd: bigint;
  is_byok: number | bigint;
}

/** Gathers what a batch has spent, so that each row of the table is touched once. */
export function createSpendingSum() {
  const rows = new Map<
    string,
    { [Column in keyof SpendingTable]: SpendingTable[Column] extends string ? string : bigint }
  >();
  return {
    /** @param lines what the cost is made of, where that is several things: each may be of another provider key */
    add(booked: BookedCost, lines?: readonly LedgerLine[]): void {
      if (lines) {
        for (const { costNanoUsd, isByok } of lines) {
          this.add({ ...booked, cost_nano_usd: costNanoUsd, is_byok: writeFlag(isByok) });
        }
        return;
      }
      const { workspace_id, key_hash, member_id, created_at_ms, cost_nano_usd, is_byok } = booked;
      if (cost_nano_usd === 0n) return;
      const day = dayOf(Number(created_at_ms));
      const name = `${key_hash}\0${day}\0${workspace_id}\0${member_id}`;
      let row = rows.get(name);
      if (!row) {
        const none = { cost_nano_usd: 0n, byok_nano_usd: 0n };
        row = { key_hash, day: BigInt(day), workspace_id, member_id: member_id ?? '', ...none };
        rows.set(name, row);
      }
      row[Number(is_byok) === 0 ? 'cost_nano_usd' : 'byok_nano_usd'] += cost_nano_usd;
    },
    /** In one order for all: two hosts that wait for each other's rows would deadlock otherwise. */
    rows: () => [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row),
  };
}

/** Raises the sums. */
export async function addSpending(trx: Database, rows: ReturnType<ReturnType<typeof createSpendingSum>['rows']>) {
  for (let start = 0; start < rows.length; start += 1000) {
    await trx
      .insertInto('spending')
      .values(rows.slice(start, start + 1000))
      .onConflict((oc) =>
        oc.columns(['key_hash', 'day', 'workspace_id', 'member_id']).doUpdateSet((eb) => ({
          cost_nano_usd: eb('spending.cost_nano_usd', '+', eb.ref('excluded.cost_nano_usd')),
          byok_nano_usd: eb('spending.byok_nano_usd', '+', eb.ref('excluded.byok_nano_usd')),
        })),
      )
      .execute();
  }
}

/**
 * @param part what was spent without own provider keys, or with these alone
 * @param sinceMs at least one; of each the day counts in which it lies, from its midnight (UTC) on
 * @returns nano-dollars, in the order of `sinceMs`
 */
export async function readSpending(
  db: Database,
  scope: SpendingScope,
  part: 'cost_nano_usd' | 'byok_nano_usd',
  sinceMs: readonly number[],
): Promise<bigint[]> {
  const days = sinceMs.map(dayOf);
  const columns = days.map((day, index) =>
    // PostgreSQL adds bigints up to a numeric; both dialects cast back to 64 bits, and fail above.
    sql<bigint>`cast(coalesce(sum(case when day >= ${BigInt(day)} then ${sql.ref(part)} else 0 end), 0) as bigint)`.as(
      `since${index}`,
    ),
  );
  let query = db
    .selectFrom('spending')
    .select(columns)
    .where('day', '>=', BigInt(Math.min(...days)));
  if (scope !== 'everything') {
    const [column, value] = columnOf(scope);
    query = query.where(column, '=', writeText(value));
  }
  const sums: Record<string, bigint> = await query.executeTakeFirstOrThrow();
  return days.map((_, index) => sums[`since${index}`]!);
}

function columnOf(scope: Exclude<SpendingScope, 'everything'>): ['key_hash' | 'member_id' | 'workspace_id', string] {
  if ('keyHash' in scope) return ['key_hash', scope.keyHash];
  return 'memberId' in scope ? ['member_id', scope.memberId] : ['workspace_id', scope.workspaceId];
}
