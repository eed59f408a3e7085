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

/** Maximum length of cached texts. Longer texts are inserts of many rows, which are rarely used again. */
const maxCachedTextLength = 4000;
const maxCachedStatements = 200;

/**
 * Creates Kysely's SQLite dialect over `node:sqlite`.
 *
 * @param database opened with `readBigInts`; closed with the Kysely instance, which also merges its log into the file
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

/**
 * Makes the migrator use a transaction. It is `immediate`, so processes that migrate concurrently run one after the
 * other.
 */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl() {
    return true;
  }
}

/**
 * Begins every transaction as a write. If one started with a read, it could not wait for a lock, because SQLite rejects
 * it at once.
 */
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
  /** Ignores the error if a full disk has already ended the transaction, because that error would hide the cause. */
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
  const cache = new Map<string, SqliteStatement>(); // SQL text → statement, the most recently used last

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
        // The log stays beside the file, for the next process.
        if (readResultCode(error) !== resultCodes.full) throw error;
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
