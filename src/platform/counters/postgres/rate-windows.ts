import { RateWindow } from '../rates.ts';
import type { Transaction } from './transactions.ts';

/**
 * A row of the table `rate_windows`: the counts of a scope in the last minute, as bytes of `RollingCounts`, and its
 * requests in flight as JSON (`streams`), admission → when it counts as ended.
 */
export interface LockedWindows {
  windows: Map<string, RateWindow>;
  /** By the clock of the server, because the clocks of hosts may differ. */
  nowMs: number;
}

/** Age after which a row has no counts, unless a request is in flight. */
const FORGOTTEN_MS = 3_600_000;

/** Locks the rows of these scopes until the end of the transaction. Inserts missing ones. */
export async function lockWindows(client: Transaction, ids: Iterable<string>): Promise<LockedWindows> {
  const { rows } = await client.query<{ id: string; counts: Buffer; streams: string; now_ms: string }>({
    name: 'lock-rate-windows',
    // All hosts lock in the same order, which prevents deadlocks.
    text: `
      insert into rate_windows (id, counts, streams, touched_at_ms)
      select id, '', '{}', 0 from unnest($1::text[]) as wanted (id) order by id collate "C"
      on conflict (id) do update set touched_at_ms = rate_windows.touched_at_ms
      returning id, counts, streams, (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now_ms`,
    values: [[...ids]],
  });
  const windows = new Map<string, RateWindow>();
  let nowMs = 0;
  for (const row of rows) {
    const window = new RateWindow();
    if (row.counts.length > 0) window.counts.restore(row.counts);
    for (const [id, endsAtMs] of Object.entries(JSON.parse(row.streams) as Record<string, number>)) {
      window.open.set(id, endsAtMs);
    }
    windows.set(row.id, window);
    nowMs = Math.max(nowMs, Number(row.now_ms));
  }
  return { windows, nowMs };
}

/** Writes locked rows. */
export async function writeWindows(client: Transaction, { windows, nowMs }: LockedWindows): Promise<void> {
  const rows = [...windows];
  await client.query({
    name: 'write-rate-windows',
    text: `
      update rate_windows set counts = written.counts, streams = written.streams, touched_at_ms = $4
      from unnest($1::text[], $2::bytea[], $3::text[]) as written (id, counts, streams)
      where rate_windows.id = written.id`,
    values: [
      rows.map(([id]) => id),
      rows.map(([, { counts }]) => Buffer.from(counts.save())),
      rows.map(([, { open }]) => JSON.stringify(Object.fromEntries(open))),
      nowMs,
    ],
  });
}

/** Removes rows of keys and models that are no longer used. */
export async function forgetWindows(client: Transaction): Promise<void> {
  await client.query({
    text: `
    delete from rate_windows where id in (
      select id from rate_windows
      where streams = '{}' and touched_at_ms < extract(epoch from clock_timestamp()) * 1000 - ${FORGOTTEN_MS}
      for update skip locked)`,
  });
}
