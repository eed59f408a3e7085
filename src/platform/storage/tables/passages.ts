import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { FoundPassage, PassageQuery } from '../../../domain/file-search.ts';
import type { FileRecord } from '../ports/files.ts';
import type { IndexClaim, IndexState, Passage, PassageStore } from '../ports/passages.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database } from './database.ts';
import { selectFiles } from './select-files.ts';
import { openWordIndex } from './word-index.ts';

/** Puts a new or deleted file into the queue, and ends the claim of a process that reads it. */
export async function queueFile(trx: Database, { id, workspaceId }: Pick<FileRecord, 'id' | 'workspaceId'>) {
  await trx
    .insertInto('file_queue')
    .values({ file_id: id, workspace_id: workspaceId, tries: 0, next_at_ms: 0 })
    .onConflict((oc) =>
      oc.column('file_id').doUpdateSet((eb) => ({ tries: eb('file_queue.tries', '+', 1n), next_at_ms: 0n })),
    )
    .execute();
}

/** Puts all files of a workspace into the queue. Call it before they are deleted. */
export async function queueFilesOf(trx: Database, workspaceId: string): Promise<void> {
  await sql`insert into file_queue (file_id, workspace_id, tries, next_at_ms)
    select id, workspace_id, 0, 0 from files where workspace_id = ${workspaceId}
    on conflict (file_id) do update set tries = file_queue.tries + 1, next_at_ms = 0`.execute(trx);
}

/**
 * Creates the store of passages over either dialect.
 *
 * @param searches a connection that reads outside of the main thread, if there is one
 */
export function createPassageStore(db: Database, searches = db): PassageStore {
  const index = openWordIndex(db);
  return {
    claimFile: async (nowMs, untilMs, lastWorkspaceId) =>
      (lastWorkspaceId === undefined ? undefined : await claimFile(db, nowMs, untilMs, lastWorkspaceId)) ??
      (await claimFile(db, nowMs, untilMs)),
    clearPassages: (claim, max) =>
      withClaim(db, claim, 0, async (trx) => {
        const rows = await trx
          .selectFrom('passages')
          .select('id')
          .where('file_id', '=', claim.fileId)
          .orderBy('position')
          .limit(max)
          .execute();
        await putText(trx, claim, null, 0); // its outcome is unknown until the end
        if (rows.length === 0) return 0;
        const ids = rows.map(({ id }) => id);
        await index.remove(trx, ids);
        await trx.deleteFrom('passages').where('id', 'in', ids).execute();
        return rows.length;
      }),
    addPassages: (claim, passages, untilMs) =>
      withClaim(db, claim, false, async (trx) => {
        await trx.updateTable('file_queue').set({ next_at_ms: untilMs }).where('file_id', '=', claim.fileId).execute();
        await index.add(trx, claim, passages.map(writePassage));
        await trx
          .updateTable('file_texts')
          .set((eb) => ({ passages: eb('passages', '+', BigInt(passages.length)) }))
          .where('file_id', '=', claim.fileId)
          .execute();
        return true;
      }),
    finishFile: (claim, state) =>
      withClaim(db, claim, undefined, async (trx) => {
        if (state === null) await trx.deleteFrom('file_texts').where('file_id', '=', claim.fileId).execute();
        else await putText(trx, claim, state, undefined);
        await trx.deleteFrom('file_queue').where('file_id', '=', claim.fileId).execute();
      }),
    async releaseFile({ fileId, tries }, nextAtMs) {
      const values = { next_at_ms: nextAtMs };
      await db
        .updateTable('file_queue')
        .set(values)
        .where('file_id', '=', fileId)
        .where('tries', '=', BigInt(tries))
        .execute();
    },
    readIndexState: (workspaceId) => readIndexState(db, workspaceId),
    async countWords(workspaceId, words, max) {
      const row = await searches
        .selectFrom('file_texts')
        .select(sql<bigint>`cast(coalesce(sum(passages), 0) as bigint)`.as('passages'))
        .where('workspace_id', '=', writeTextColumn(workspaceId))
        .executeTakeFirstOrThrow();
      const counts: number[] = [];
      for (const word of words) {
        counts.push(await index.count(searches, workspaceId, word, max));
        await nextTurn(); // a database in memory runs on the main thread
      }
      return { passages: readNumber(row.passages), counts };
    },
    findPassages: (query) => findPassages(searches, query),
  };

  async function findPassages(on: Database, query: PassageQuery): Promise<FoundPassage[]> {
    const { match, rank } = index.match(query);
    const condition = selectFiles(query);
    // Texts are read only for the passages of the result.
    const { rows } = await sql<FoundRow>`
      select files.id, files.filename, files.mime_type, files.bytes, files.created_at_ms, passages.position, passages.text
      from (
        select id, rank from (
          select ${index.id} as id, ${rank} as rank from ${index.from}
          ${condition ? joinFiles(index.id) : nothing}
          where ${match} ${condition ? sql`and ${condition}` : nothing}
          order by ${index.id} desc limit ${MAX_MATCHES}
        ) as matches order by rank limit ${query.limit}
      ) as best
      join passages on passages.id = best.id
      join files on files.id = passages.file_id and files.workspace_id = ${writeTextColumn(query.workspaceId)}
      order by best.rank, files.id, passages.position`.execute(on);
    return rows.map(readFound);
  }
}

/** Passages that are ranked: the newest ones if more have a word. */
const MAX_MATCHES = 5000;

const nothing = sql``;

const joinFiles = (id: RawBuilder<unknown>) =>
  sql`join passages as found on found.id = ${id} join files on files.id = found.file_id`;

interface FoundRow {
  id: string;
  filename: string;
  mime_type: string;
  bytes: bigint;
  created_at_ms: bigint;
  position: bigint;
  text: string;
}

/** @param excludedWorkspaceId whose files are not claimed */
async function claimFile(
  db: Database,
  nowMs: number,
  untilMs: number,
  excludedWorkspaceId?: string,
): Promise<IndexClaim | undefined> {
  // The second condition is checked again if another process claims the file at the same time.
  const row = await db
    .updateTable('file_queue')
    .set((eb) => ({ next_at_ms: BigInt(Math.round(untilMs)), tries: eb('tries', '+', 1n) }))
    .where('file_id', '=', (eb) => {
      const due = eb
        .selectFrom('file_queue')
        .select('file_id')
        .where('next_at_ms', '<=', BigInt(Math.round(nowMs)));
      const others =
        excludedWorkspaceId === undefined ? due : due.where('workspace_id', '!=', writeTextColumn(excludedWorkspaceId));
      return others.orderBy('next_at_ms').orderBy('file_id').limit(1);
    })
    .where('next_at_ms', '<=', BigInt(Math.round(nowMs)))
    .returning(['file_id', 'workspace_id', 'tries'])
    .executeTakeFirst();
  return row && { fileId: row.file_id, workspaceId: row.workspace_id, tries: readNumber(row.tries) };
}

/** Runs a change of a claimed file in a transaction. @param otherwise the result if the claim is void */
function withClaim<Result>(
  db: Database,
  { fileId, tries }: IndexClaim,
  otherwise: Result,
  change: (trx: Database) => Promise<Result>,
): Promise<Result> {
  return db.transaction().execute(async (trx) => {
    // A write, so that a process with a later claim waits.
    const { numUpdatedRows } = await trx
      .updateTable('file_queue')
      .set({ tries: BigInt(tries) })
      .where('file_id', '=', fileId)
      .where('tries', '=', BigInt(tries))
      .executeTakeFirstOrThrow();
    return numUpdatedRows === 0n ? otherwise : change(trx);
  });
}

async function putText(
  trx: Database,
  { fileId, workspaceId }: IndexClaim,
  state: IndexState | null,
  passages: number | undefined,
): Promise<void> {
  const counted = passages === undefined ? {} : { passages };
  await trx
    .insertInto('file_texts')
    .values({ file_id: fileId, workspace_id: workspaceId, state, passages: passages ?? 0 })
    .onConflict((oc) => oc.column('file_id').doUpdateSet({ state, ...counted }))
    .execute();
}

async function readIndexState(db: Database, workspaceId: string) {
  const waiting = await db
    .selectFrom('file_queue')
    .innerJoin('files', 'files.id', 'file_queue.file_id') // not those that were deleted
    .select([
      sql<bigint>`count(*)`.as('waiting'),
      sql<bigint>`cast(coalesce(sum(case when file_queue.tries <= 1 then 1 else 0 end), 0) as bigint)`.as('fresh'),
    ])
    .where('file_queue.workspace_id', '=', writeTextColumn(workspaceId))
    .executeTakeFirstOrThrow();
  const rows = await db
    .selectFrom('file_texts')
    .select(['state', sql<bigint>`count(*)`.as('files')])
    .where('workspace_id', '=', writeTextColumn(workspaceId))
    .where('state', 'is not', null)
    .groupBy('state')
    .execute();
  const states = Object.fromEntries(rows.map(({ state, files }) => [state, readNumber(files)]));
  return { waiting: readNumber(waiting.waiting), fresh: readNumber(waiting.fresh), states };
}

const writePassage = ({ position, text, words }: Passage): Passage => ({
  position,
  text: writeTextColumn(text),
  words,
});

const readFound = (row: FoundRow): FoundPassage => ({
  fileId: row.id,
  filename: row.filename,
  mimeType: row.mime_type,
  bytes: readNumber(row.bytes),
  createdAtMs: readNumber(row.created_at_ms),
  position: readNumber(row.position),
  text: row.text,
});
