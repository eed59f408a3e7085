import { sql } from 'kysely';
import type { ConsoleSession, ConsoleStore, LiveSessions } from '../ports/console.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { ConsoleSessionTable, Database } from './database.ts';

const whole = (ms: number): bigint => BigInt(Math.round(ms));

/** Sessions of a key that one statement deletes. There are more only if several processes add some at the same time. */
const MAX_DELETED = 100;

/** Creates the store of the console's sessions over either dialect. */
export const createConsoleStore = (db: Database): ConsoleStore => ({
  addSession: ({ id, tokenHash, keyHash, client, createdAtMs, seenAtMs }, live, max) =>
    db.transaction().execute(async (trx) => {
      await trx
        .deleteFrom('console_sessions')
        .where((eb) =>
          eb.or([eb('seen_at_ms', '<', whole(live.seenSinceMs)), eb('created_at_ms', '<', whole(live.createdSinceMs))]),
        )
        .execute();
      const excess = await trx
        .selectFrom('console_sessions')
        .select('id')
        .where('key_hash', '=', keyHash)
        .orderBy('seen_at_ms', 'desc')
        .orderBy('id', 'desc')
        .limit(MAX_DELETED)
        .offset(max - 1)
        .execute();
      if (excess.length > 0) {
        const ids = excess.map((row) => row.id);
        await trx.deleteFrom('console_sessions').where('id', 'in', ids).execute();
      }
      await trx
        .insertInto('console_sessions')
        .values({
          id,
          token_hash: tokenHash,
          key_hash: keyHash,
          client: writeTextColumn(client),
          created_at_ms: whole(createdAtMs),
          seen_at_ms: whole(seenAtMs),
        })
        .execute();
    }),
  async findSession(tokenHash, live) {
    const row = await selectLive(db, live).selectAll().where('token_hash', '=', tokenHash).executeTakeFirst();
    return row && readSession(row);
  },
  touchSession: async (id, atMs) =>
    void (await db
      .updateTable('console_sessions')
      .set({ seen_at_ms: whole(atMs) })
      .where('id', '=', id)
      .execute()),
  async listSessions({ keyHash, offset, limit, ...live }) {
    const those = keyHash === undefined ? selectLive(db, live) : selectLive(db, live).where('key_hash', '=', keyHash);
    const { total } = await those.select(sql<bigint>`count(*)`.as('total')).executeTakeFirstOrThrow();
    const rows = await those
      .selectAll()
      .orderBy('created_at_ms', 'desc')
      .orderBy('id')
      .limit(limit)
      .offset(offset)
      .execute();
    return { rows: rows.map(readSession), total: readNumber(total) };
  },
  async deleteSession(id, keyHash) {
    const one = db.deleteFrom('console_sessions').where('id', '=', writeTextColumn(id));
    const meant = keyHash === undefined ? one : one.where('key_hash', '=', keyHash);
    return (await meant.returning('id').executeTakeFirst()) !== undefined;
  },
  addLink: ({ tokenHash, keyHash, expiresAtMs }, nowMs) =>
    db.transaction().execute(async (trx) => {
      await trx.deleteFrom('console_links').where('expires_at_ms', '<=', whole(nowMs)).execute();
      await trx
        .insertInto('console_links')
        .values({ token_hash: tokenHash, key_hash: keyHash, expires_at_ms: whole(expiresAtMs) })
        .execute();
    }),
  async takeLink(tokenHash, nowMs) {
    const row = await db
      .deleteFrom('console_links')
      .where('token_hash', '=', tokenHash)
      .returning(['key_hash', 'expires_at_ms'])
      .executeTakeFirst();
    return row && readNumber(row.expires_at_ms) > nowMs ? row.key_hash : undefined;
  },
});

const selectLive = (db: Database, { seenSinceMs, createdSinceMs }: LiveSessions) =>
  db
    .selectFrom('console_sessions')
    .where('seen_at_ms', '>=', whole(seenSinceMs))
    .where('created_at_ms', '>=', whole(createdSinceMs));

type Row = { [Column in keyof ConsoleSessionTable]: ConsoleSessionTable[Column] extends string ? string : bigint };

const readSession = (row: Row): ConsoleSession => ({
  id: row.id,
  tokenHash: row.token_hash,
  keyHash: row.key_hash,
  client: row.client,
  createdAtMs: readNumber(row.created_at_ms),
  seenAtMs: readNumber(row.seen_at_ms),
});
