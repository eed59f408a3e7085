import { isUtf8 } from 'node:buffer';
import { PostgresAdapter, type Selectable, sql } from 'kysely';
import type {
  ByteText,
  ContainerEntry,
  ContainerFilePage,
  ContainerListQuery,
  ContainerSave,
  ContentQuery,
  ContainerEntryQuery,
  ListedContainerFile,
  MovedContent,
  ObjectUse,
  SavedEntry,
  SaveResult,
} from '../ports/containers.ts';
import { readFlag, readNumber, writeFlag } from './columns.ts';
import { hasLease } from './containers.ts';
import type { Database, ContainerEntryTable } from './database.ts';

const kinds = ['file', 'folder', 'link'] as const;

/** Rows of one statement: the embedded store blocks the event loop for about a millisecond. */
const ROWS_PER_STATEMENT = 100;
/** Rows of one read of a list. */
const ROWS_PER_READ = 1001;

/** Saves entries and deletions. The row of the container serializes the saves of all processes. */
export function saveEntries(db: Database, save: ContainerSave): Promise<SaveResult> {
  return db
    .transaction()
    .execute(async (trx): Promise<SaveResult> => {
      const { containerKey } = save;
      const container = await trx
        .updateTable('containers')
        .set((eb) => ({ version: eb('version', '+', 1n) }))
        .where('key', '=', containerKey)
        .returning(['version', 'bytes', 'entries'])
        .executeTakeFirst();
      if (!container) return { refusal: 'gone' };
      const lease = await trx
        .selectFrom('container_leases')
        .select('token')
        .where('token', '=', save.token)
        .where('container_key', '=', containerKey)
        .executeTakeFirst();
      if (!lease) return { refusal: 'lease' };

      const version = readNumber(container.version);
      const rows = [
        ...save.entries.map((entry) => writeEntry(save, version, entry)),
        ...save.deleted.map((path) => writeDeletion(save, version, path)),
      ];
      const before = { bytes: readNumber(container.bytes), entries: readNumber(container.entries) };
      const after = { ...before };
      const released = new Set<string>();
      for (const part of cut(rows)) {
        const paths = part.map(({ path }) => path);
        const replaced = await trx
          .selectFrom('container_entries')
          .select(['bytes', 'deleted', 'object'])
          .where('container_key', '=', containerKey)
          .where('path', 'in', paths)
          .execute();
        for (const { bytes, deleted, object } of replaced) {
          if (object !== null) released.add(object);
          if (readFlag(deleted)) continue;
          after.entries--;
          after.bytes -= readNumber(bytes);
        }
        await insertRows(trx, part);
      }
      after.entries += save.entries.length;
      for (const { bytes } of save.entries) after.bytes += bytes;
      for (const each of ['bytes', 'entries'] as const) {
        // A container above a limit that was lowered can still become smaller.
        if (after[each] > save.limits[each] && after[each] > before[each]) throw new LimitExceeded(each);
      }
      await trx.updateTable('containers').set(after).where('key', '=', containerKey).execute();
      for (const { content } of save.entries) if (content) released.delete(content.object);
      return { version, released: [...released] };
    })
    .catch((error: unknown): SaveResult => {
      if (error instanceof LimitExceeded) return { refusal: error.limit };
      throw error;
    });
}

/** Rolls a save back. */
class LimitExceeded extends Error {
  override readonly name = 'LimitExceeded';
  readonly limit: 'bytes' | 'entries';
  constructor(limit: 'bytes' | 'entries') {
    super(`The container has too many ${limit}.`);
    this.limit = limit;
  }
}

type NewRow = ReturnType<typeof writeEntry>;

async function insertRows(trx: Database, rows: NewRow[]): Promise<void> {
  await trx
    .insertInto('container_entries')
    .values(rows)
    .onConflict((oc) =>
      oc.columns(['container_key', 'path']).doUpdateSet((eb) => ({
        kind: eb.ref('excluded.kind'),
        hidden: eb.ref('excluded.hidden'),
        deleted: eb.ref('excluded.deleted'),
        bytes: eb.ref('excluded.bytes'),
        mode: eb.ref('excluded.mode'),
        modified_at_ms: eb.ref('excluded.modified_at_ms'),
        saved_at_ms: eb.ref('excluded.saved_at_ms'),
        version: eb.ref('excluded.version'),
        target: eb.ref('excluded.target'),
        object: eb.ref('excluded.object'),
        place: eb.ref('excluded.place'),
      })),
    )
    .execute();
}

function* cut<Row>(rows: readonly Row[]): Generator<Row[]> {
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) yield rows.slice(at, at + ROWS_PER_STATEMENT);
}

/**
 * Runs queries that read a page of a container in the order of an index. PostgreSQL expects few entries in a container
 * that is newer than its statistics, and would read and sort all of its entries for each page: 20 ms of 100,000.
 */
function readInIndexOrder<Result>(db: Database, read: (trx: Database) => Promise<Result>): Promise<Result> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return read(db);
  return db
    .transaction()
    .setAccessMode('read only')
    .execute(async (trx) => {
      await sql`set local enable_sort = off`.execute(trx);
      return read(trx);
    });
}

/** Lists the files that callers see. Stops after `maxScanned` rows, whatever it has found. */
export const listContainerFileRows = (db: Database, query: ContainerListQuery): Promise<ContainerFilePage> =>
  readInIndexOrder(db, (trx) => scanFiles(trx, query));

async function scanFiles(
  db: Database,
  { containerKey, after, limit, maxScanned }: ContainerListQuery,
): Promise<ContainerFilePage> {
  const files: ListedContainerFile[] = [];
  let position = after;
  for (let scanned = 0; scanned < maxScanned; ) {
    const count = Math.min(ROWS_PER_READ, maxScanned - scanned, scanned === 0 ? limit + 1 : ROWS_PER_READ);
    let query = db
      .selectFrom('container_entries')
      .select(['path', 'bytes', 'saved_at_ms', 'hidden'])
      .where('container_key', '=', containerKey);
    if (position !== undefined) query = query.where('path', '>', toBytes(position));
    const rows = await query.orderBy('path').limit(count).execute();
    for (const row of rows) {
      if (!readFlag(row.hidden)) {
        if (files.length === limit) return { files, next: files.at(-1)!.path };
        files.push({
          path: toText(row.path),
          bytes: readNumber(row.bytes),
          savedAtMs: readNumber(row.saved_at_ms),
        });
      }
      position = toText(row.path);
    }
    if (rows.length < count) return { files, next: undefined };
    scanned += rows.length;
  }
  return { files, next: position };
}

/** Finds an entry that is not deleted. */
export async function findEntryRow(
  db: Database,
  containerKey: string,
  path: ByteText,
): Promise<SavedEntry | undefined> {
  const row = await db
    .selectFrom('container_entries')
    .selectAll()
    .where('container_key', '=', containerKey)
    .where('path', '=', toBytes(path))
    .where('deleted', '=', 0n)
    .executeTakeFirst();
  return row && readEntry(row);
}

/** Lists entries, also deleted ones, by version and path. */
export async function listEntryRows(
  db: Database,
  { containerKey, after, limit }: ContainerEntryQuery,
): Promise<SavedEntry[]> {
  const { version, path } = after;
  const query = db.selectFrom('container_entries').selectAll().where('container_key', '=', containerKey);
  const rest =
    path === undefined
      ? query.where('version', '>', BigInt(version))
      : query.where(sql<boolean>`(version, path) > (${BigInt(version)}, ${toBytes(path)})`);
  const page = rest.orderBy('version').orderBy('path').limit(limit);
  return (await readInIndexOrder(db, (trx) => trx.executeQuery(page))).rows.map(readEntry);
}

/** Lists files with content by object and offset. */
export async function listContentRows(
  db: Database,
  { containerKey, after, limit }: ContentQuery,
): Promise<SavedEntry[]> {
  let query = db
    .selectFrom('container_entries')
    .selectAll()
    .where('container_key', '=', containerKey)
    .where('object', 'is not', null);
  if (after) {
    const { object, offset, path } = after;
    query = query.where(sql<boolean>`(object, place, path) > (${object}, ${BigInt(offset)}, ${toBytes(path)})`);
  }
  const page = query.orderBy('object').orderBy('place').orderBy('path').limit(limit);
  return (await readInIndexOrder(db, (trx) => trx.executeQuery(page))).rows.map(readEntry);
}

export async function readObjectUse(
  db: Database,
  containerKey: string,
  objects: readonly string[],
): Promise<ObjectUse[]> {
  if (objects.length === 0) return [];
  const rows = await db
    .selectFrom('container_entries')
    .select([
      'object',
      sql<bigint>`count(*)`.as('files'),
      sql<bigint>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes'),
    ])
    .where('container_key', '=', containerKey)
    .where('object', 'in', [...objects])
    .groupBy('object')
    .execute();
  return rows.map(({ object, files, bytes }) => ({
    object: object!, // selected by its value
    files: readNumber(files),
    bytes: readNumber(bytes),
  }));
}

/** Changes the place of contents that are still where they were. Does not change the version: nothing else changes. */
export function moveContents(db: Database, containerKey: string, moves: readonly MovedContent[]): Promise<void> {
  return db.transaction().execute(async (trx) => {
    for (const { path, from, to } of moves) {
      await trx
        .updateTable('container_entries')
        .set({ object: to.object, place: to.offset })
        .where('container_key', '=', containerKey)
        .where('path', '=', toBytes(path))
        .where('object', '=', from.object)
        .where('place', '=', BigInt(from.offset))
        .execute();
    }
  });
}

/** Deletes entries of deleted containers. @returns how many, at most `limit` */
export async function deleteOrphans(db: Database, limit: number): Promise<number> {
  let deleted = 0;
  for (let key = ''; deleted < limit; ) {
    // One index seek for each container, however many entries it has.
    const next = await db
      .selectFrom('container_entries')
      .select('container_key')
      .where('container_key', '>', key)
      .orderBy('container_key')
      .limit(1)
      .executeTakeFirst();
    if (!next) break;
    key = next.container_key;
    const exists = await db.selectFrom('containers').select('key').where('key', '=', key).executeTakeFirst();
    if (!exists) deleted += await deletePaths(db, key, limit - deleted, sql`1 = 1`);
  }
  return deleted;
}

/** Deletes what is left of deleted entries of containers without a lease. @returns how many, at most `limit` */
export async function deleteTombstones(db: Database, nowMs: number, limit: number): Promise<number> {
  let deleted = 0;
  for (let key = ''; deleted < limit; ) {
    const next = await db
      .selectFrom('container_entries')
      .select('container_key')
      .where(sql<boolean>`deleted = 1`) // a literal, so that the partial index is used
      .where('container_key', '>', key)
      .orderBy('container_key')
      .limit(1)
      .executeTakeFirst();
    if (!next) break;
    key = next.container_key;
    const condition = sql`deleted = 1 and not ${hasLease('container_entries.container_key', nowMs)}`;
    deleted += await deletePaths(db, key, limit - deleted, condition);
  }
  return deleted;
}

async function deletePaths(
  db: Database,
  containerKey: string,
  limit: number,
  condition: ReturnType<typeof sql>,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from container_entries where container_key = ${containerKey} and path in (
      select path from container_entries where container_key = ${containerKey} and ${condition} limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}

function writeEntry({ containerKey, atMs }: ContainerSave, version: number, entry: ContainerEntry) {
  const path = toBytes(entry.path);
  return {
    container_key: containerKey,
    path,
    kind: kinds.indexOf(entry.kind),
    hidden: writeFlag(entry.kind !== 'file' || !isUtf8(path)),
    deleted: 0,
    bytes: entry.bytes,
    mode: entry.mode,
    modified_at_ms: Math.round(entry.modifiedAtMs),
    saved_at_ms: Math.round(atMs),
    version,
    target: entry.target === null ? null : toBytes(entry.target),
    object: entry.content?.object ?? null,
    place: entry.content?.offset ?? 0,
  };
}

const writeDeletion = (save: ContainerSave, version: number, path: ByteText): NewRow => {
  const entry = { path, kind: 'file', bytes: 0, mode: 0, modifiedAtMs: 0, target: null, content: null } as const;
  return { ...writeEntry(save, version, entry), hidden: 1, deleted: 1 };
};

const readEntry = (row: Selectable<ContainerEntryTable>): SavedEntry => ({
  path: toText(row.path),
  kind: kinds[Number(row.kind)] ?? 'file',
  bytes: readNumber(row.bytes),
  mode: readNumber(row.mode),
  modifiedAtMs: readNumber(row.modified_at_ms),
  target: row.target === null ? null : toText(row.target),
  content: row.object === null ? null : { object: row.object, offset: readNumber(row.place) },
  savedAtMs: readNumber(row.saved_at_ms),
  version: readNumber(row.version),
  isDeleted: readFlag(row.deleted),
});

const toBytes = (text: ByteText): Buffer => Buffer.from(text, 'latin1');
const toText = (bytes: Uint8Array): ByteText =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
