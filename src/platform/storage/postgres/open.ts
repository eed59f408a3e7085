import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely';
import type { Pool, PoolConfig } from 'pg';
import { readPostgresSettings } from '../../postgres-settings.ts';
import { findPlace, migrate } from '../migrations/migrate.ts';
import { createSqlStorage } from '../sql-storage.ts';
import type { Storage } from '../storage.ts';
import type { Tables } from '../tables/database.ts';
import { listAppliedGuardrails } from '../tables/guardrails.ts';
import { listKeyRows } from '../tables/keys.ts';
import { listMembers } from '../tables/members.ts';
import { listDesignatedPresets, readPresetSettings } from '../tables/presets.ts';
import { fillUsage } from '../tables/usage.ts';
import { listAppliedSettings } from '../tables/workspaces.ts';
import { RenewablePool } from './renewable-pool.ts';

const int8 = 20; // the type's oid, which is fixed in PostgreSQL's catalog
const forbidden = '42501'; // insufficient_privilege
const oldestVersion = 15;
/** Time limit of a query. Reports that read all of a large ledger take some seconds. */
const LONGEST_QUESTION_MS = 30_000;
/** Time after which the locks of an unresponsive host are released. TCP would take far longer. */
const LONGEST_PAUSE_MS = 20_000;

/**
 * Connects to the store that several hosts share. `migrate()` creates its schema.
 *
 * @param url `postgres://user:password@host:port/database`
 * @param options.poolSize maximum connections of this process, at least 1; 10 by default
 * @param options.limitMs time limit of every query except migrations
 * @throws with the remedy, and never with the password, if the server is unreachable or older than PostgreSQL 15
 */
export async function openPostgresStorage(
  url: string,
  options: { poolSize?: number; limitMs?: number } = {},
): Promise<Storage> {
  const [{ default: pg }, { createTimeoutClient }, { WatchConnection }] = await Promise.all([
    import('pg'),
    import('./timeout-client.ts'),
    import('./watch-connection.ts'),
  ]);
  const limitMs = options.limitMs ?? LONGEST_QUESTION_MS;
  const settings = {
    ...(await readPostgresSettings(url).catch((error: unknown) => {
      throw unusable(url, error);
    })),
    application_name: 'headgate',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    types: {
      getTypeParser: (oid, format) =>
        oid === int8 && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format),
    },
  } satisfies PoolConfig;
  const Client = createTimeoutClient(limitMs);
  const createPool = (max: number) =>
    listenForErrors(
      new pg.Pool({
        ...settings,
        max,
        Client,
        // Sent after connecting, because a pooler in between may not accept the parameter earlier.
        onConnect: async (client) => {
          await client.query(`set idle_in_transaction_session_timeout = ${LONGEST_PAUSE_MS}`);
        },
      }),
    );
  const pool = new RenewablePool(() => createPool(options.poolSize ?? 10), limitMs);
  // Requests with new keys wait for these reads, which therefore wait for no others.
  const keyPool = new RenewablePool(() => createPool(1), limitMs);
  const watch = new WatchConnection({ ...settings, application_name: 'headgate watch' }, () => {
    pool.renew();
    keyPool.renew();
  });

  try {
    const number = await readVersion(pool);
    const version = Math.floor(number / 10_000);
    if (version < oldestVersion) {
      throw new Error(`it is PostgreSQL ${version}, and Headgate needs ${oldestVersion} or newer`);
    }
  } catch (error) {
    await Promise.all([pool.end(), keyPool.end(), watch.close()]);
    throw unusable(url, error);
  }
  const db = openDatabase(pool);
  const keys = openDatabase(keyPool);
  const storage = await createSqlStorage(db);
  return {
    ...storage,
    access: {
      ...storage.access,
      async readRevision() {
        const { value } = await watch.query<{ value: bigint }>(`select value from revisions where name = 'access'`);
        return Number(value);
      },
      listKeys: () => listKeyRows(keys),
      listMembers: () => listMembers(keys),
      listDesignatedPresets: () => listDesignatedPresets(keys),
      readPresetSettings: (versionIds) => readPresetSettings(keys, versionIds),
      listAppliedSettings: () => listAppliedSettings(keys),
      listAppliedGuardrails: () => listAppliedGuardrails(keys),
    },
    async ping() {
      const { rows } = await sql<{
        setting: string;
      }>`select current_setting('transaction_read_only') as setting`.execute(db);
      return rows[0]?.setting === 'on' ? 'read-only' : 'writable';
    },
    async readTime() {
      const question = 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms';
      return (await watch.query<{ now_ms: number }>(question)).now_ms;
    },
    async close() {
      await Promise.all([storage.close(), keyPool.end(), watch.close()]);
    },
    /** Migrations have no time limit. */
    async migrate() {
      const db = openDatabase(listenForErrors(new pg.Pool({ ...settings, max: 1 })));
      try {
        await migrate(db, undefined, await findPlace(db));
        await fillUsage(db);
      } catch (error) {
        throw (error as { code?: string }).code === forbidden ? notPermitted(url, error as Error) : error;
      } finally {
        await db.destroy();
      }
    },
  };
}

const openDatabase = (pool: PostgresPool) => new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });

/** Reads the version, such as 150004 for 15.4. */
async function readVersion(pool: RenewablePool): Promise<number> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ version: string }>(`select current_setting('server_version_num') as version`);
    return Number(rows[0]?.version);
  } finally {
    client.release();
  }
}

/**
 * Listens for errors of idle connections, which would otherwise end the process. The pool removes a connection that the
 * server has ended, and the next query opens another. A query that was interrupted rejects.
 */
function listenForErrors(pool: Pool): Pool {
  pool.on('error', () => {});
  return pool.on('connect', (client) => client.on('error', () => {}));
}

const unusable = (url: string, error: unknown): Error =>
  new Error(
    `PostgreSQL at ${describe(url)} cannot be used: ${reason(error)}. Check storage.url, and that the server runs and admits this user.`,
    { cause: error },
  );

const notPermitted = (url: string, cause: Error): Error =>
  new Error(
    `The tables in PostgreSQL at ${describe(url)} cannot be created or changed: ${cause.message}. For the first start of a version, the user needs CREATE on the schema: grant create on schema public to the user, or make the user the owner of the database.`,
    { cause },
  );

/** Returns host and database, without user and password. */
function describe(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? 'storage.url' : `${parsed.searchParams.get('host') ?? parsed.host}${parsed.pathname}`;
}

/**
 * Returns the reason. Node joins the failures of a host's several addresses in an AggregateError, whose message is
 * empty.
 */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join('; ');
  const message = error instanceof Error ? error.message : String(error);
  if (/no encryption|(ssl|tls|secure).*required/i.test(message)) return `${message} (add sslmode=require to the URL)`;
  if (/certificate/i.test(message))
    return `${message} (sslrootcert names its authority, and sslmode=require does not verify it)`;
  return message;
}
