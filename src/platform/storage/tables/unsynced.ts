import { sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './rollups.ts';

/**
 * Runs a transaction that a power failure may undo, and that the caller then repeats. The embedded store need not wait for
 * the disk.
 */
export function runUnsynced<Result>(db: Database, work: (trx: Database) => Promise<Result>): Promise<Result> {
  const isSqlite = !isPostgres(db);
  return db.connection().execute(async (connection) => {
    if (isSqlite) await sql`pragma synchronous = normal`.execute(connection);
    try {
      return await connection.transaction().execute(work);
    } finally {
      if (isSqlite) await sql`pragma synchronous = full`.execute(connection);
    }
  });
}
