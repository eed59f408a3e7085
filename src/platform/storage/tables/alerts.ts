import { sql } from 'kysely';
import type { AlertStore } from '../ports/alerts.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database } from './database.ts';
import { wakeJobRow } from './jobs.ts';

/** Creates the store of alerts over either dialect. */
export const createAlertStore = (db: Database): AlertStore => ({
  raiseAlert: (alert, quietMs, jobs) =>
    db.transaction().execute(async (trx) => {
      const { id, kind, message, data, atMs } = alert;
      const row = {
        id: writeTextColumn(id),
        kind,
        message: writeTextColumn(message),
        data: writeTextColumn(data),
        at_ms: BigInt(Math.round(atMs)),
      };
      const isDue =
        quietMs === Number.POSITIVE_INFINITY
          ? sql<boolean>`alerts.kind <> ${kind}`
          : sql<boolean>`(alerts.kind <> ${kind} or alerts.at_ms <= ${BigInt(Math.round(atMs - quietMs))})`;
      const raised = await trx
        .insertInto('alerts')
        .values({ ...row, count: 1n })
        .onConflict((oc) =>
          oc
            .column('id')
            .doUpdateSet((eb) => ({
              kind,
              message: row.message,
              data: row.data,
              at_ms: row.at_ms,
              count: eb('alerts.count', '+', 1n),
            }))
            .where(isDue),
        )
        .returning('id')
        .executeTakeFirst();
      if (!raised) return false;
      for (const job of jobs) await wakeJobRow(trx, job);
      return true;
    }),
  async listAlerts({ offset, limit }) {
    const { total } = await db.selectFrom('alerts').select(sql<bigint>`count(*)`.as('total')).executeTakeFirstOrThrow();
    const rows = await db
      .selectFrom('alerts')
      .selectAll()
      .orderBy('at_ms', 'desc')
      .orderBy('id')
      .limit(limit)
      .offset(offset)
      .execute();
    return {
      rows: rows.map(({ at_ms, count, ...row }) => ({ ...row, atMs: readNumber(at_ms), count: readNumber(count) })),
      total: readNumber(total),
    };
  },
  deleteAlertsBefore: async (beforeMs) =>
    void (await db
      .deleteFrom('alerts')
      .where('at_ms', '<', BigInt(Math.round(beforeMs)))
      .execute()),
});
