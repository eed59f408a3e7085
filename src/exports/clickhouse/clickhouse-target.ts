import type { LedgerRow } from '../../platform/storage/ports/entries.ts';
import type { ExportBatch, ExportTarget } from '../run-export.ts';
import { ClickHouseClient, ClickHouseError, type ClickHousePlace } from './clickhouse-client.ts';
import { writeClickHouseRow } from './ledger-table.ts';

/** Rows of one insert. All are one block, so that ClickHouse stores all of them or none. */
const MAX_ROWS = 2000;
const EVERY_MS = 1000;

/**
 * Creates the target that inserts rows into a table of ClickHouse.
 *
 * An insert has a token. A server that knows tokens ignores a repeated one. Older servers do not, and a table may have no
 * window of tokens. Before a batch is repeated, the target therefore reads the ids that the table has, and inserts the others.
 * An older server could still run the earlier insert, so the target waits until it has ended: the insert has the token as the
 * id of its query.
 */
export function createClickHouseTarget(
  place: ClickHousePlace,
  everyMs = EVERY_MS,
): ExportTarget & { close(): Promise<void> } {
  const client = new ClickHouseClient(place);
  let knowsTokens: boolean | undefined;

  async function findTokens(signal: AbortSignal): Promise<boolean> {
    const query = "select count() from system.settings where name = 'insert_deduplication_token'";
    return (await client.send(query, '', {}, signal)).trim() !== '0';
  }

  /** @throws {ClickHouseError} if the earlier insert still runs */
  async function checkEnded(token: string, signal: AbortSignal): Promise<void> {
    const query = `select count() from system.processes where query_id = ${quote(token)}`;
    const running = (await client.send(query, '', {}, signal)).trim();
    if (running !== '0') throw new ClickHouseError('ClickHouse still runs the insert of an earlier attempt.');
  }

  /** Reads the ids of a batch that the table has. */
  async function readIds(rows: readonly WrittenRow[], signal: AbortSignal): Promise<Set<string>> {
    const times = rows.map(({ seconds }) => seconds);
    const list = rows.map(({ id }) => quote(id)).join(', ');
    const from = Math.min(...times);
    const to = Math.max(...times);
    // In the body, because a URL has a limit.
    const query = `select distinct id from ${client.table} where toDate(created_at) >= toDate(toDateTime(${from}, 'UTC'))
      and toDate(created_at) <= toDate(toDateTime(${to}, 'UTC')) and id in (${list}) format TabSeparated`;
    const text = await client.send('', query, {}, signal);
    return new Set(text.split('\n').filter((id) => id !== ''));
  }

  async function insert(rows: readonly WrittenRow[], token: string, signal: AbortSignal): Promise<void> {
    const body = rows.map(({ line }) => line).join('');
    await client.send(
      `insert into ${client.table} format JSONEachRow`,
      body,
      {
        query_id: token,
        input_format_skip_unknown_fields: '1',
        ...(knowsTokens && { insert_deduplication_token: token, insert_deduplicate: '1', async_insert: '0' }),
      },
      signal,
    );
  }

  return {
    sink: 'clickhouse',
    maxRows: MAX_ROWS,
    everyMs,
    async write({ token, isRetry, read }: ExportBatch, signal) {
      const rows: WrittenRow[] = [];
      for await (const page of read()) rows.push(...page.map(writeRow));
      if (rows.length === 0) return; // they were deleted
      if (isRetry) knowsTokens = undefined; // another version may run now
      knowsTokens ??= await findTokens(signal);
      if (!isRetry) return insert(rows, token, signal);
      if (!knowsTokens) await checkEnded(token, signal);
      const stored = await readIds(rows, signal);
      const missing = rows.filter(({ id }) => !stored.has(id));
      if (missing.length > 0) await insert(missing, token, signal);
    },
    close: () => client.close(),
  };
}

/** A row as a line, and what finds it in the table. */
interface WrittenRow {
  id: string;
  /** Unix time. */
  seconds: number;
  line: string;
}

const writeRow = (row: LedgerRow): WrittenRow => ({
  id: row.entry.id,
  seconds: Math.floor(row.entry.createdAtMs / 1000),
  line: `${writeClickHouseRow(row)}\n`,
});

/** Quotes a text. Ids of the ledger have no special characters, but a plugin could have written others. */
const quote = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
