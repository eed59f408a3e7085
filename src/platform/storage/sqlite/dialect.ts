import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely';
import { readResultCode, resultCodes } from './result-codes.ts';
import { waitWhileBusy } from './wait-while-busy.ts';

/** Longer texts are inserts of many rows, a new text for each number of rows: they would only fill the cache. */
const maxCachedTextLength = 4000;
const maxCachedStatements = 200;

/**
 * Kysely's SQLite dialect over `node:sqlite`.
 *
 * @param database opened with `readBigInts`; closed, and its log folded back into the file, with the Kysely instance
 */
export function createSqliteDialect(database: DatabaseSync): SqliteDialect {
  return new NodeSqliteDialect(adapt(database), () => database.isTransaction);
}

class NodeSqliteDialect extends SqliteDialect {
  readonly #database: SqliteDatabase;
  readonly #isInTransaction: () => boolean;
  constructor(database: SqliteDatabase, isInTransaction: () => boolean) {
    super({ database });
    this.#database = database;
    this.#isInTransaction = isInTransaction;
  }
  override createAdapter() {
    return new TransactionalDdlAdapter();
  }
  override createDriver() {
    return new ImmediateDriver(this.#database, this.#isInTransaction);
  }
}

/** Tells the migrator to run in a transaction; as that is `immediate`, processes that migrate at once wait in a line. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl() {
    return true;
  }
}

/** All our transactions write. One that starts by reading cannot wait for another's lock; SQLite fails it at once. */
class ImmediateDriver extends SqliteDriver {
  readonly #isInTransaction: () => boolean;
  constructor(database: SqliteDatabase, isInTransaction: () => boolean) {
    super({ database });
    this.#isInTransaction = isInTransaction;
  }
  override async acquireConnection() {
    return makePatient(await super.acquireConnection());
  }
  override async beginTransaction(connection: DatabaseConnection) {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }
  /** A full disk has ended it already; a complaint about that would hide the reason. */
  override async rollbackTransaction(connection: DatabaseConnection) {
    if (this.#isInTransaction()) await super.rollbackTransaction(connection);
  }
}

function makePatient(connection: DatabaseConnection): DatabaseConnection {
  return {
    executeQuery: <R>(query: CompiledQuery) => waitWhileBusy(() => connection.executeQuery<R>(query)),
    streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
  };
}

function adapt(database: DatabaseSync): SqliteDatabase {
  const cache = new Map<string, SqliteStatement>(); // SQL text → statement, the one used last at the end

  return {
    prepare(text) {
      const cached = cache.get(text);
      if (cached !== undefined) {
        cache.delete(text);
        cache.set(text, cached);
        return cached;
      }
      const statement = adaptStatement(database.prepare(text));
      if (text.length <= maxCachedTextLength) {
        if (cache.size === maxCachedStatements) cache.delete(cache.keys().next().value!);
        cache.set(text, statement);
      }
      return statement;
    },
    close() {
      cache.clear();
      try {
        database.exec('pragma wal_checkpoint(truncate)');
      } catch (error) {
        if (readResultCode(error) !== resultCodes.full) throw error; // the log stays beside the file, for the next one
      } finally {
        database.close();
      }
    },
  };
}

function adaptStatement(statement: StatementSync): SqliteStatement {
  // Kysely types parameters as unknown; `columns.ts` makes them numbers, bigints, strings and nulls.
  const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...values(parameters)),
    run: (parameters) => statement.run(...values(parameters)),
    iterate: (parameters) => statement.iterate(...values(parameters)),
  };
}
