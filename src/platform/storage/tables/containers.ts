import { type Selectable, sql } from 'kysely';
import {
  type ContainerLease,
  type ContainerRecord,
  INTERN_CONTAINER_PREFIX,
  type LeaseRefusal,
  type NewLease,
  type StopRequest,
} from '../ports/containers.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database, ContainerLeaseTable, ContainerTable } from './database.ts';
import { serializeChanges } from './revisions.ts';

const stops: readonly StopRequest[] = ['none', 'idle', 'now'];

/** Finds or creates a container, and notes that it is used. */
export function useContainer(
  db: Database,
  workspaceId: string,
  id: string,
  newKey: string,
  atMs: number,
): Promise<ContainerRecord | undefined> {
  return db.transaction().execute(async (trx) => {
    const workspace = await trx
      .selectFrom('workspaces')
      .select('id')
      .where('id', '=', writeTextColumn(workspaceId))
      .executeTakeFirst();
    if (!workspace) return undefined;
    const time = Math.round(atMs);
    const row = await trx
      .insertInto('containers')
      .values({
        key: newKey,
        workspace_id: workspaceId,
        id,
        created_at_ms: time,
        used_at_ms: time,
        version: 0,
        bytes: 0,
        entries: 0,
      })
      .onConflict((oc) => oc.columns(['workspace_id', 'id']).doUpdateSet({ used_at_ms: time }))
      .returningAll()
      .executeTakeFirstOrThrow();
    return readContainer(row);
  });
}

export async function findContainerRow(
  db: Database,
  workspaceId: string,
  id: string,
): Promise<ContainerRecord | undefined> {
  const row = await db
    .selectFrom('containers')
    .selectAll()
    .where('workspace_id', '=', writeTextColumn(workspaceId))
    .where('id', '=', writeTextColumn(id))
    .executeTakeFirst();
  return row && readContainer(row);
}

export async function findContainerRows(db: Database, id: string): Promise<ContainerRecord[]> {
  const rows = await db.selectFrom('containers').selectAll().where('id', '=', writeTextColumn(id)).execute();
  return rows.map(readContainer);
}

/** Lists by id. */
export async function listContainerRows(
  db: Database,
  { workspaceId, after, limit }: { workspaceId: string; after?: string | undefined; limit: number },
): Promise<ContainerRecord[]> {
  let query = db.selectFrom('containers').selectAll().where('workspace_id', '=', writeTextColumn(workspaceId));
  if (after !== undefined) query = query.where('id', '>', writeTextColumn(after));
  return (await query.orderBy('id').limit(limit).execute()).map(readContainer);
}

/** Lists the longest unused first. */
export async function listUnusedContainers(
  db: Database,
  { beforeMs, nowMs, limit }: { beforeMs: number; nowMs: number; limit: number },
): Promise<ContainerRecord[]> {
  const rows = await db
    .selectFrom('containers')
    .selectAll()
    .where('used_at_ms', '<', BigInt(Math.round(beforeMs)))
    .where('id', 'not like', `${INTERN_CONTAINER_PREFIX}%`)
    .where((eb) => eb.not(hasLease('containers.key', nowMs)))
    .orderBy('used_at_ms')
    .limit(limit)
    .execute();
  return rows.map(readContainer);
}

/** Deletes a container and its leases. @returns whether it was deleted */
export async function deleteContainerRow(
  db: Database,
  key: string,
  unused?: { beforeMs: number; nowMs: number },
): Promise<boolean> {
  let query = db.deleteFrom('containers').where('key', '=', key);
  if (unused) {
    query = query
      .where('used_at_ms', '<', BigInt(Math.round(unused.beforeMs)))
      .where((eb) => eb.not(hasLease('containers.key', unused.nowMs)));
  }
  const { numDeletedRows } = await query.executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** Returns those of the keys that exist. */
export async function listExistingContainers(db: Database, keys: readonly string[]): Promise<string[]> {
  if (keys.length === 0) return [];
  const rows = await db.selectFrom('containers').select('key').where('key', 'in', keys.map(writeTextColumn)).execute();
  return rows.map(({ key }) => key);
}

/** Inserts a lease, unless another sandbox has it or a limit forbids it. */
export function acquireLease(db: Database, { maxHeld, ...lease }: NewLease): Promise<LeaseRefusal | undefined> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx); // so that the limit of a holder counts the leases of all processes
    const found = await trx
      .selectFrom('containers')
      .select('key')
      .where('key', '=', lease.containerKey)
      .executeTakeFirst();
    if (!found) return { reason: 'gone' };
    const current = await trx
      .selectFrom('container_leases')
      .selectAll()
      .where('container_key', '=', lease.containerKey)
      .where('compute', '=', lease.compute)
      .executeTakeFirst();
    if (current && readNumber(current.until_ms) > lease.startedAtMs && current.token !== lease.token) {
      return { reason: 'held', lease: readLease(current) };
    }
    const held = await trx
      .selectFrom('container_leases')
      .selectAll()
      .where('holder', '=', writeTextColumn(lease.holder))
      .where('until_ms', '>', BigInt(Math.round(lease.startedAtMs)))
      .where('token', '!=', lease.token)
      .execute();
    if (held.length >= maxHeld) return { reason: 'limit', leases: held.map(readLease) };
    if (current) await trx.deleteFrom('container_leases').where('token', '=', current.token).execute();
    await trx
      .insertInto('container_leases')
      .values({
        token: lease.token,
        container_key: lease.containerKey,
        compute: lease.compute,
        holder: writeTextColumn(lease.holder),
        policy: writeTextColumn(lease.policy),
        started_at_ms: Math.round(lease.startedAtMs),
        until_ms: Math.round(lease.untilMs),
        stop: 0,
      })
      .execute();
    return undefined;
  });
}

/** @returns those that exist */
export async function renewLeases(
  db: Database,
  tokens: readonly string[],
  untilMs: number,
): Promise<Pick<ContainerLease, 'token' | 'stop'>[]> {
  if (tokens.length === 0) return [];
  const rows = await db
    .updateTable('container_leases')
    .set({ until_ms: Math.round(untilMs) })
    .where('token', 'in', [...tokens])
    .returning(['token', 'stop'])
    .execute();
  return rows.map(({ token, stop }) => ({ token, stop: readStop(stop) }));
}

/** Ends a lease, and notes that its container was used until then. */
export async function releaseLease(db: Database, token: string, atMs: number): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const row = await trx
      .deleteFrom('container_leases')
      .where('token', '=', token)
      .returning('container_key')
      .executeTakeFirst();
    const time = BigInt(Math.round(atMs));
    if (!row) return;
    await trx
      .updateTable('containers')
      .set({ used_at_ms: time })
      .where('key', '=', row.container_key)
      .where('used_at_ms', '<', time)
      .execute();
  });
}

export async function releaseAllLeases(db: Database): Promise<void> {
  await db.deleteFrom('container_leases').execute();
}

/** Lists the leases of a container that have not expired. */
export async function listLeases(db: Database, containerKey: string, nowMs: number): Promise<ContainerLease[]> {
  const rows = await db
    .selectFrom('container_leases')
    .selectAll()
    .where('container_key', '=', containerKey)
    .where('until_ms', '>', BigInt(Math.round(nowMs)))
    .orderBy('compute')
    .execute();
  return rows.map(readLease);
}

/** Does not weaken an earlier request. */
export async function requestStop(db: Database, token: string, stop: StopRequest): Promise<void> {
  const value = stops.indexOf(stop);
  await db
    .updateTable('container_leases')
    .set({ stop: value })
    .where('token', '=', token)
    .where('stop', '<', BigInt(value))
    .execute();
}

/** Whether a container has a lease that has not expired. @param containerKey a column */
export const hasLease = (containerKey: string, nowMs: number) =>
  sql<boolean>`exists (select 1 from container_leases l where l.container_key = ${sql.ref(containerKey)} and l.until_ms > ${BigInt(Math.round(nowMs))})`;

const readStop = (stop: bigint): StopRequest => stops[Number(stop)] ?? 'now';

const readContainer = (row: Selectable<ContainerTable>): ContainerRecord => ({
  key: row.key,
  workspaceId: row.workspace_id,
  id: row.id,
  createdAtMs: readNumber(row.created_at_ms),
  usedAtMs: readNumber(row.used_at_ms),
  version: readNumber(row.version),
  bytes: readNumber(row.bytes),
  entries: readNumber(row.entries),
});

const readLease = (row: Selectable<ContainerLeaseTable>): ContainerLease => ({
  token: row.token,
  containerKey: row.container_key,
  compute: row.compute,
  holder: row.holder,
  policy: row.policy,
  startedAtMs: readNumber(row.started_at_ms),
  untilMs: readNumber(row.until_ms),
  stop: readStop(row.stop),
});
