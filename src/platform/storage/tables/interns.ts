import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Intern, InternStatus } from '../../../domain/intern.ts';
import type {
  InternFields,
  InternInsert,
  InternQuery,
  InternRefusal,
  InternStore,
  InternUpdate,
  NewIntern,
  ProvisionedConfiguration,
} from '../ports/interns.ts';
import type { JobLease } from '../ports/jobs.ts';
import type { Change } from '../ports/management.ts';
import { appendNextAudit } from './audit.ts';
import { readFlag, readNullableNumber, readNumber, writeFlag, writeNullableText, writeTextColumn } from './columns.ts';
import type { Database, InternTable } from './database.ts';
import { lockJobRow, wakeJobRow } from './jobs.ts';
import { serializeChanges } from './revisions.ts';

/** Creates the store of interns over either dialect. */
export const createInternStore = (db: Database): InternStore => ({
  addIntern: (intern) => addIntern(db, intern),
  findIntern: (id) => findInternRow(db, 'id', id),
  findProvisioned: (id) => findProvisioned(db, id),
  findInternByHostname: (hostname) => findInternRow(db, 'hostname', hostname),
  findInternByVault: (vaultId) => findInternRow(db, 'vault_id', vaultId),
  listInterns: (query) => listInterns(db, query),
  countInternStatuses: () => countInternStatuses(db),
  updateIntern: (update) => updateIntern(db, update),
  deleteIntern: (id, lease, change) => deleteIntern(db, id, lease, change),
});

function addIntern(db: Database, { intern, ...given }: NewIntern): Promise<InternInsert> {
  return db.transaction().execute(async (trx): Promise<InternInsert> => {
    await serializeChanges(trx);
    const known = await trx
      .selectFrom('interns')
      .selectAll()
      .where('workspace_id', '=', intern.workspaceId)
      .where('creator_id', '=', writeTextColumn(intern.creatorId))
      .where('request_hash', '=', given.requestHash)
      .executeTakeFirst();
    if (known && known.body_hash !== given.bodyHash) return { refusal: 'body' };
    if (known) return { intern: readIntern(known), isNew: false };
    const refusal = await findRefusal(trx, intern, given);
    if (refusal) return { refusal };
    await trx
      .insertInto('interns')
      .values({
        ...(writeInternFields(intern) as Insertable<InternTable>), // a whole intern has all of them
        id: intern.id,
        workspace_id: intern.workspaceId,
        creator_id: writeTextColumn(intern.creatorId),
        vault_id: intern.vaultId,
        attached_vault_id: intern.attachedVaultId,
        request_hash: given.requestHash,
        body_hash: given.bodyHash,
        created_at_ms: Math.round(intern.createdAtMs),
      })
      .execute();
    const { id: objectId, workspaceId } = intern;
    const changes = { name: { before: null, after: intern.name } };
    const event = { action: 'intern.create', objectKind: 'intern', objectId, workspaceId, changes };
    await appendNextAudit(trx, given.change, event);
    return { intern, isNew: true };
  });
}

async function findRefusal(
  trx: Database,
  intern: Intern,
  { maxPerMember, canAttach }: Omit<NewIntern, 'intern'>,
): Promise<InternRefusal | undefined> {
  const workspace = await trx
    .selectFrom('workspaces')
    .select('id')
    .where('id', '=', writeTextColumn(intern.workspaceId))
    .executeTakeFirst();
  if (!workspace) return 'workspace';
  if (!canAttach) return 'vault';
  if (await hasName(trx, intern)) return 'name';
  const { count } = await trx
    .selectFrom('interns')
    .select(sql<bigint>`count(*)`.as('count'))
    .where('creator_id', '=', writeTextColumn(intern.creatorId))
    .executeTakeFirstOrThrow();
  return readNumber(count) >= maxPerMember ? 'limit' : undefined;
}

/** Whether another intern of the member has the name. */
async function hasName(trx: Database, intern: Pick<Intern, 'id' | 'workspaceId' | 'creatorId' | 'name'>) {
  const found = await trx
    .selectFrom('interns')
    .select('id')
    .where('workspace_id', '=', intern.workspaceId)
    .where('creator_id', '=', writeTextColumn(intern.creatorId))
    .where('name', '=', writeTextColumn(intern.name))
    .where('id', '!=', intern.id)
    .executeTakeFirst();
  return found !== undefined;
}

async function findInternRow(
  db: Database,
  column: 'id' | 'hostname' | 'vault_id',
  value: string,
): Promise<Intern | undefined> {
  const row = await db.selectFrom('interns').selectAll().where(column, '=', writeTextColumn(value)).executeTakeFirst();
  return row && readIntern(row);
}

function findProvisioned(db: Database, id: string): Promise<ProvisionedConfiguration | undefined> {
  return db
    .selectFrom('interns')
    .select(['provisioned_model as model', 'provisioned_instructions as instructions'])
    .where('id', '=', writeTextColumn(id))
    .executeTakeFirst();
}

async function listInterns(
  db: Database,
  { workspaceId, creatorId, statuses, after, limit }: InternQuery,
): Promise<Intern[]> {
  let query = db.selectFrom('interns').selectAll().where('workspace_id', '=', writeTextColumn(workspaceId));
  if (creatorId !== undefined) query = query.where('creator_id', '=', writeTextColumn(creatorId));
  if (statuses) query = query.where('status', 'in', [...statuses]);
  if (after) {
    const time = BigInt(Math.round(after.createdAtMs));
    const id = writeTextColumn(after.id);
    query = query.where((eb) =>
      eb.or([eb('created_at_ms', '<', time), eb.and([eb('created_at_ms', '=', time), eb('id', '<', id)])]),
    );
  }
  const rows = await query.orderBy('created_at_ms', 'desc').orderBy('id', 'desc').limit(limit).execute();
  return rows.map(readIntern);
}

async function countInternStatuses(db: Database): Promise<{ status: InternStatus; count: number }[]> {
  const rows = await db
    .selectFrom('interns')
    .select(['status', sql<bigint>`count(*)`.as('count')])
    .groupBy('status')
    .orderBy('status')
    .execute();
  return rows.map(({ status, count }) => ({ status, count: readNumber(count) }));
}

/** Counts the interns of a workspace. */
export async function countInterns(db: Database, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('interns')
    .select(sql<bigint>`count(*)`.as('count'))
    .where('workspace_id', '=', writeTextColumn(workspaceId))
    .executeTakeFirstOrThrow();
  return readNumber(count);
}

async function updateIntern(db: Database, update: InternUpdate): Promise<Intern | 'name' | undefined> {
  const trx = await db.startTransaction().execute();
  try {
    const result = await applyUpdate(trx, update);
    await (typeof result === 'object' ? trx.commit() : trx.rollback()).execute();
    return result;
  } catch (error) {
    if (!trx.isCommitted && !trx.isRolledBack) await trx.rollback().execute();
    throw error;
  }
}

async function applyUpdate(
  trx: Database,
  { id, from, fields, provisions, lease, job, audit }: InternUpdate,
): Promise<Intern | 'name' | undefined> {
  // Names and audit entries need the changes of all processes to run one at a time.
  if (audit || fields.name !== undefined) await serializeChanges(trx);
  if (lease && !(await lockJobRow(trx, lease))) return undefined;
  if (job) await wakeJobRow(trx, job); // the owner locks the job before the intern, too
  if (fields.name !== undefined) {
    const before = await findInternRow(trx, 'id', id);
    if (before && (await hasName(trx, { ...before, name: fields.name }))) return 'name';
  }
  const row = await trx
    .updateTable('interns')
    .set(writeInternFields(fields))
    .$if(provisions === true, (query) =>
      query.set({ provisioned_model: sql.ref('model'), provisioned_instructions: sql.ref('instructions') }),
    )
    .where('id', '=', id)
    .where('status', 'in', [...from])
    .returningAll()
    .executeTakeFirst();
  if (!row) return undefined;
  if (audit) await appendNextAudit(trx, audit.change, audit.event);
  return readIntern(row);
}

function deleteIntern(db: Database, id: string, lease: JobLease, change: Change): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    if (!(await lockJobRow(trx, lease))) return false;
    const row = await trx
      .deleteFrom('interns')
      .where('id', '=', id)
      .where('status', '=', 'destroying')
      .returning(['workspace_id', 'name'])
      .executeTakeFirst();
    if (!row) return true;
    const changes = { name: { before: row.name, after: null } };
    const event = {
      action: 'intern.remove',
      objectKind: 'intern',
      objectId: id,
      workspaceId: row.workspace_id,
      changes,
    };
    await appendNextAudit(trx, change, event);
    return true;
  });
}

function writeInternFields(fields: InternFields): Updateable<InternTable> {
  const columns = {
    name: fields.name,
    description: fields.description && writeTextColumn(fields.description),
    instructions: fields.instructions && writeTextColumn(fields.instructions),
    model: fields.model,
    status: fields.status,
    hostname: fields.hostname,
    has_vault: fields.hasVault === undefined ? undefined : writeFlag(fields.hasVault),
    step: fields.step,
    last_failure_message:
      fields.lastFailureMessage === undefined ? undefined : writeNullableText(fields.lastFailureMessage),
    failure_reason: fields.failureReason,
    runtime_address: fields.runtimeAddress,
    is_stop_requested: fields.isStopRequested === undefined ? undefined : writeFlag(fields.isStopRequested),
    acknowledges_loss: fields.acknowledgesLoss === undefined ? undefined : writeFlag(fields.acknowledgesLoss),
    updated_at_ms: fields.updatedAtMs === undefined ? undefined : Math.round(fields.updatedAtMs),
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}

const readIntern = (row: Selectable<InternTable>): Intern => ({
  id: row.id,
  workspaceId: row.workspace_id,
  creatorId: row.creator_id,
  name: row.name,
  description: row.description,
  instructions: row.instructions,
  model: row.model,
  status: row.status,
  hostname: row.hostname,
  vaultId: row.vault_id,
  hasVault: readFlag(row.has_vault),
  attachedVaultId: row.attached_vault_id,
  step: readNullableNumber(row.step),
  lastFailureMessage: row.last_failure_message,
  failureReason: row.failure_reason,
  runtimeAddress: row.runtime_address,
  isStopRequested: readFlag(row.is_stop_requested),
  acknowledgesLoss: readFlag(row.acknowledges_loss),
  createdAtMs: readNumber(row.created_at_ms),
  updatedAtMs: readNumber(row.updated_at_ms),
});
