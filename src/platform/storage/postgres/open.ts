import { Kysely, PostgresDialect } from 'kysely';
import { createSqlStorage } from '../sql-storage.ts';
import type { Storage } from '../storage.ts';
import type { Tables } from '../tables/database.ts';

const int8 = 20; // the type's oid, fixed in PostgreSQL's catalogue
const oldestVersion = 15;

/**
 * Connects to the store that several hosts share. Its schema comes with `migrate()`.
 *
 * @param url `postgres://user:password@host:port/database`
 * @param options.poolSize connections of this process at most, 1 or more; 10 by default
 * @throws when the server cannot be reached or is older than PostgreSQL 15, with what to do; never with the password
 */
export async function openPostgresStorage(url: string, options: { poolSize?: number } = {}): Promise<Storage> {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize ?? 10,
    application_name: 'headgate',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    types: {
      getTypeParser: (oid, format) =>
        oid === int8 && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format),
    },
  });
  // A connection that the server ended leaves the pool by itself, and the next query opens another; a query that it cut
  // rejects. Without listeners the event would end the process, while the connection is idle or between two queries.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));

  try {
    const { rows } = await pool.query<{ version: string }>(`select current_setting('server_version_num') as version`);
    const version = Math.floor(Number(rows[0]?.version) / 10_000);
    if (version < oldestVersion) {
      throw new Error(`it is PostgreSQL ${version}, and Headgate needs ${oldestVersion} or newer`);
    }
  } catch (error) {
    await pool.end();
    throw new Error(
      `PostgreSQL at ${describe(url)} cannot be used: ${reason(error)}. Check storage.url, and that the server runs and admits this user.`,
      { cause: error },
    );
  }
  return createSqlStorage(new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }));
}

/** Host and database, without user and password. */
function describe(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? 'storage.url' : `${parsed.host}${parsed.pathname}`;
}

/** Node joins the failures of a host's several addresses in an AggregateError, whose own message is empty. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join('; ');
  return error instanceof Error ? error.message : String(error);
}
