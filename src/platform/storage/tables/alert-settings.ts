import type { AlertSetting } from '../ports/alert-settings.ts';
import { writeTextColumn } from './columns.ts';
import type { Database } from './database.ts';

/** Lists all, by name. */
export const listAlertSettings = (db: Database): Promise<AlertSetting[]> =>
  db.selectFrom('alert_settings').selectAll().orderBy('name').execute();

/** Creates or replaces it. */
export async function putAlertSetting(trx: Database, { name, value }: AlertSetting): Promise<void> {
  const row = { name, value: writeTextColumn(value) };
  await trx
    .insertInto('alert_settings')
    .values(row)
    .onConflict((oc) => oc.column('name').doUpdateSet({ value: row.value }))
    .execute();
}

export async function deleteAlertSetting(trx: Database, name: string): Promise<void> {
  await trx.deleteFrom('alert_settings').where('name', '=', name).execute();
}
