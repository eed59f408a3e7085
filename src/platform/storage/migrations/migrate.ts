import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { SchemaProblem, SchemaState } from '../storage.ts';
import { first } from './0001-first.ts';
import { routerColumns } from './0002-routers.ts';
import { management } from './0003-management.ts';
import { money } from './0004-money.ts';
import { ledgerLines } from './0005-ledger-lines.ts';
import { counters } from './0006-counters.ts';
import { guardrails } from './0007-guardrails.ts';
import { contents } from './0008-contents.ts';
import { images } from './0009-images.ts';
import { credits } from './0010-credits.ts';
import { pictures } from './0011-pictures.ts';
import { bootstrapKeys } from './0012-bootstrap-keys.ts';
import { counterEpochs } from './0013-counter-epochs.ts';
import { rateLimits } from './0014-rate-limits.ts';
import { parents } from './0015-parents.ts';
import { presets } from './0016-presets.ts';
import { files } from './0017-files.ts';
import { containers } from './0018-containers.ts';
import { passages } from './0019-passages.ts';
import { vaults } from './0020-vaults.ts';
import { interns } from './0021-interns.ts';
import { internSchedules } from './0023-intern-schedules.ts';
import { provisionedInterns } from './0024-provisioned-interns.ts';
import { secretLocationColumn } from './0025-secret-locations.ts';
import { concurrentRequests } from './0026-concurrent-requests.ts';
import { attempts } from './0027-attempts.ts';
import { tagsColumn } from './0028-tags.ts';
import { rollups } from './0029-rollups.ts';
import { alerts } from './0031-alerts.ts';
import { alertSettings } from './0036-alert-settings.ts';
import { archives } from './0032-archives.ts';
import { consoleSessions } from './0035-console.ts';
import { feed } from './0030-feed.ts';

/** All migrations, in the order of their names. A released migration never changes; add a new one instead. */
const migrations: Record<string, Migration> = {
  '0001-first': first,
  '0002-routers': routerColumns,
  '0003-management': management,
  '0004-money': money,
  '0005-ledger-lines': ledgerLines,
  '0006-counters': counters,
  '0007-guardrails': guardrails,
  '0008-contents': contents,
  '0009-images': images,
  '0010-credits': credits,
  '0011-pictures': pictures,
  '0012-bootstrap-keys': bootstrapKeys,
  '0013-counter-epochs': counterEpochs,
  '0014-rate-limits': rateLimits,
  '0015-parents': parents,
  '0016-presets': presets,
  '0017-files': files,
  '0018-containers': containers,
  '0019-passages': passages,
  '0020-vaults': vaults,
  '0021-interns': interns,
  '0023-intern-schedules': internSchedules,
  '0024-provisioned-interns': provisionedInterns,
  '0025-secret-locations': secretLocationColumn,
  '0026-concurrent-requests': concurrentRequests,
  '0027-attempts': attempts,
  '0028-tags': tagsColumn,
  '0029-rollups': rollups,
  '0030-feed': feed,
  '0031-alerts': alerts,
  '0032-archives': archives,
  '0035-console': consoleSessions,
  '0036-alert-settings': alertSettings,
};

const migrationTable = 'headgate_migrations';

/**
 * Runs the missing migrations. Several processes can do so concurrently: each dialect takes a lock, and the later
 * processes find nothing missing.
 *
 * @param last the name of the last one to run; absent: all
 * @param place the schema of PostgreSQL that has the tables; absent: the default one
 * @throws with the remedy if another build made the schema and it cannot be brought up to date
 */
export async function migrate<T>(db: Kysely<T>, last?: string, place?: string): Promise<void> {
  // Kysely reads the columns of every table before it compares. That takes a tenth of the time of a start.
  if (last === undefined && isCurrent(await listDone(db))) return;
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableName: migrationTable,
    migrationLockTableName: `${migrationTable}_lock`,
    ...(place !== undefined && { migrationTableSchema: place }),
  });
  const { error } = await (last === undefined ? migrator.migrateToLatest() : migrator.migrateTo(last));
  if (error === undefined) return;
  // If the schema cannot be read, the first error is the reason.
  const problem = await compareSchema(db).then(
    (state) => state.problem,
    () => undefined,
  );
  if (problem === undefined) throw error;
  throw new Error(`The database ${problem.says}. ${problem.remedy}`, { cause: error });
}

/**
 * Finds the schema that has the tables or gets them. The search path names it, because several gateways can share a
 * database.
 */
export async function findPlace<T>(db: Kysely<T>): Promise<string | undefined> {
  const { rows } = await sql<{ name: string | null }>`
    select coalesce(
      (select nspname from pg_class join pg_namespace on pg_namespace.oid = relnamespace
       where pg_class.oid = to_regclass(${migrationTable})),
      current_schema()) as name`.execute(db);
  return rows[0]?.name ?? undefined;
}

/** Compares the schema with that of this build. Changes nothing. @throws the database's error */
export async function compareSchema<T>(db: Kysely<T>): Promise<SchemaState> {
  const done = await listDone(db);
  return {
    isEmpty: done.length === 0,
    isOlder: Object.keys(migrations).some((name) => !done.includes(name)),
    problem: findProblem(done),
  };
}

/** @param done names of migrations, sorted */
const isCurrent = (done: readonly string[]): boolean => done.join() === Object.keys(migrations).join();

/** @param done names of migrations, sorted */
function findProblem(done: readonly string[]): SchemaProblem | undefined {
  const known = Object.keys(migrations);
  const unknown = done.find((name) => migrations[name] === undefined);
  if (unknown !== undefined) {
    const isNewer = unknown > known.at(-1)!;
    return {
      says: `has the schema of ${isNewer ? 'a newer' : 'another build of'} Headgate: migration '${unknown}' is not known to this one`,
      remedy: isNewer
        ? 'Start that version or a later one, or restore a backup from before the upgrade.'
        : 'Start the build that made it, restore a backup that a released version made, or use another database (storage.url).',
    };
  }
  const skipped = known.find((name) => !done.includes(name) && name < (done.at(-1) ?? ''));
  if (skipped === undefined) return undefined;
  return {
    says: `has the schema of an unreleased build of Headgate: migration '${skipped}' was not run, but '${done.at(-1)}' was`,
    remedy: 'Restore a backup that a released version made, or use another database (storage.url).',
  };
}

async function listDone<T>(db: Kysely<T>): Promise<string[]> {
  try {
    const { rows } = await sql<{ name: string }>`select name from ${sql.table(migrationTable)}`.execute(db);
    return rows.map(({ name }) => name).sort();
  } catch (error) {
    // The messages of SQLite and PostgreSQL for a missing table.
    if (error instanceof Error && /no such table|does not exist/.test(error.message)) return [];
    throw error;
  }
}
