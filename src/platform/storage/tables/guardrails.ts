import { type Selectable, sql } from 'kysely';
import { type GuardrailRules, noRules } from '../../../domain/guardrail.ts';
import type {
  AppliedGuardrails,
  AssignmentQuery,
  AssignmentRecord,
  GuardrailAssignee,
  GuardrailQuery,
  GuardrailRecord,
  ListedAssignment,
} from '../ports/guardrails.ts';
import type { Listed } from '../ports/page.ts';
import { readFlag, readNullableNumber, readNumber, writeFlag, writeNullableText, writeTextColumn } from './columns.ts';
import type { Database, GuardrailAssignmentTable, GuardrailTable } from './database.ts';

/** Reads the assignments first, so that the guardrail of each assignment is found. */
export async function listAppliedGuardrails(db: Database): Promise<AppliedGuardrails> {
  const assignments = await db.selectFrom('guardrail_assignments').selectAll().execute();
  const rows = await selectOldest(db).execute();
  const names = new Map(
    (await db.selectFrom('workspaces').select(['id', 'name']).execute()).map((row) => [row.id, row.name]),
  );
  const guardrails = rows.map(readGuardrail).map((guardrail) => {
    const { workspaceId } = guardrail;
    return { ...guardrail, workspaceName: names.get(workspaceId) ?? workspaceId }; // the workspace may be deleted
  });
  return { guardrails, assignments: assignments.map(readAssignment) };
}

export async function findGuardrail(db: Database, id: string): Promise<GuardrailRecord | undefined> {
  const row = await db.selectFrom('guardrails').selectAll().where('id', '=', writeTextColumn(id)).executeTakeFirst();
  return row && readGuardrail(row);
}

/** Lists the oldest first. */
export async function listGuardrailRows(
  db: Database,
  { workspaceId, offset, limit }: GuardrailQuery,
): Promise<Listed<GuardrailRecord>> {
  let count = db.selectFrom('guardrails').select(sql<bigint>`count(*)`.as('total'));
  let query = selectOldest(db).limit(limit).offset(offset);
  if (workspaceId !== undefined) {
    count = count.where('workspace_id', '=', writeTextColumn(workspaceId));
    query = query.where('workspace_id', '=', writeTextColumn(workspaceId));
  }
  const { total } = await count.executeTakeFirstOrThrow();
  return { rows: (await query.execute()).map(readGuardrail), total: readNumber(total) };
}

const selectOldest = (db: Database) => db.selectFrom('guardrails').selectAll().orderBy('created_at_ms').orderBy('id');

/** Inserts, or replaces all columns except the workspace and `created_at_ms`. */
export async function saveGuardrail(trx: Database, guardrail: GuardrailRecord): Promise<void> {
  const changeable = {
    name: writeTextColumn(guardrail.name),
    description: writeNullableText(guardrail.description),
    rules: writeTextColumn(JSON.stringify(guardrail.rules)),
    limit_nano_usd: guardrail.limitNanoUsd,
    reset_interval: guardrail.resetInterval,
    include_byok_in_budgets: writeFlag(guardrail.includeByokInBudgets),
    updated_at_ms: guardrail.updatedAtMs,
  };
  await trx
    .insertInto('guardrails')
    .values({
      ...changeable,
      id: guardrail.id,
      workspace_id: guardrail.workspaceId,
      created_at_ms: guardrail.createdAtMs,
    })
    .onConflict((oc) => oc.column('id').doUpdateSet(changeable))
    .execute();
}

/** Also deletes its assignments. */
export async function deleteGuardrailRow(trx: Database, id: string): Promise<void> {
  await trx.deleteFrom('guardrails').where('id', '=', id).execute();
}

/** Lists the oldest first. */
export async function listAssignments(
  db: Database,
  { kind, guardrailId, offset, limit }: AssignmentQuery,
): Promise<Listed<ListedAssignment>> {
  let all = db.selectFrom('guardrail_assignments').where('guardrail_assignments.kind', '=', kind);
  if (guardrailId !== undefined) all = all.where('guardrail_id', '=', writeTextColumn(guardrailId));
  const { total } = await all.select(sql<bigint>`count(*)`.as('total')).executeTakeFirstOrThrow();
  const rows = await all
    .leftJoin('keys', 'keys.hash', 'guardrail_assignments.holder')
    .selectAll('guardrail_assignments')
    .select(['keys.name as key_name', 'keys.label as key_label'])
    .orderBy('guardrail_assignments.created_at_ms')
    .orderBy('holder')
    .limit(limit)
    .offset(offset)
    .execute();
  return {
    rows: rows.map((row) => ({ ...readAssignment(row), keyName: row.key_name, keyLabel: row.key_label })),
    total: readNumber(total),
  };
}

/** Returns the id of the guardrail of a key or a member. */
export async function findAssigned(db: Database, { kind, holder }: GuardrailAssignee): Promise<string | undefined> {
  const row = await db
    .selectFrom('guardrail_assignments')
    .select('guardrail_id')
    .where('kind', '=', kind)
    .where('holder', '=', holder)
    .executeTakeFirst();
  return row?.guardrail_id;
}

/** Replaces the assignment of the key or the member. */
export async function assign(trx: Database, assignment: AssignmentRecord): Promise<void> {
  const { kind, holder, guardrailId, createdAtMs } = assignment;
  await trx
    .insertInto('guardrail_assignments')
    .values({ kind, holder, guardrail_id: guardrailId, created_at_ms: createdAtMs })
    .onConflict((oc) =>
      oc.columns(['kind', 'holder']).doUpdateSet({ guardrail_id: guardrailId, created_at_ms: createdAtMs }),
    )
    .execute();
}

export async function unassign(trx: Database, { kind, holder }: GuardrailAssignee): Promise<void> {
  await trx.deleteFrom('guardrail_assignments').where('kind', '=', kind).where('holder', '=', holder).execute();
}

const readGuardrail = (row: Selectable<GuardrailTable>): GuardrailRecord => ({
  id: row.id,
  workspaceId: row.workspace_id,
  name: row.name,
  description: row.description,
  rules: { ...noRules, ...(JSON.parse(row.rules) as Partial<GuardrailRules>) },
  limitNanoUsd: row.limit_nano_usd,
  resetInterval: row.reset_interval,
  includeByokInBudgets: readFlag(row.include_byok_in_budgets),
  createdAtMs: readNumber(row.created_at_ms),
  updatedAtMs: readNullableNumber(row.updated_at_ms),
});

const readAssignment = (row: Selectable<GuardrailAssignmentTable>): AssignmentRecord => ({
  kind: row.kind,
  holder: row.holder,
  guardrailId: row.guardrail_id,
  createdAtMs: readNumber(row.created_at_ms),
});
