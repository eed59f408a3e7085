import { sql } from 'kysely';
import { createTimedId } from '../../../domain/ids.ts';
import type { AuditEntry, AuditEvent, FieldChange } from '../ports/audit.ts';
import type { Listed, Page } from '../ports/page.ts';
import { readNumber, writeNullableText, writeTextColumn } from './columns.ts';
import type { Database } from './database.ts';

/**
 * Appends an entry after all others.
 *
 * @param trx a transaction that has serialized the changes of all processes
 */
export async function appendNextAudit(
  trx: Database,
  { atMs, actorKeyHash }: Pick<AuditEntry, 'atMs' | 'actorKeyHash'>,
  event: AuditEvent,
): Promise<void> {
  const entry = { ...event, id: createTimedId('audit_'), atMs, actorKeyHash };
  const { last } = await trx
    .selectFrom('audit')
    .select(sql<bigint | null>`max(sequence)`.as('last'))
    .executeTakeFirstOrThrow();
  const sequence = (last ?? 0n) + 1n;
  await trx
    .insertInto('audit')
    .values({
      id: entry.id,
      sequence,
      at_ms: entry.atMs,
      actor_key_hash: entry.actorKeyHash,
      action: entry.action,
      object_kind: entry.objectKind,
      object_id: writeTextColumn(entry.objectId),
      workspace_id: writeNullableText(entry.workspaceId),
      changes: writeTextColumn(JSON.stringify(entry.changes)),
    })
    .execute();
}

/** Lists the newest first. */
export async function listAudit(db: Database, { offset, limit }: Page): Promise<Listed<AuditEntry>> {
  const { total } = await db.selectFrom('audit').select(sql<bigint>`count(*)`.as('total')).executeTakeFirstOrThrow();
  const rows = await db
    .selectFrom('audit')
    .selectAll()
    .orderBy('sequence', 'desc')
    .limit(limit)
    .offset(offset)
    .execute();
  return {
    rows: rows.map((row) => ({
      id: row.id,
      atMs: readNumber(row.at_ms),
      actorKeyHash: row.actor_key_hash,
      action: row.action,
      objectKind: row.object_kind,
      objectId: row.object_id,
      workspaceId: row.workspace_id,
      changes: JSON.parse(row.changes) as Record<string, FieldChange>,
    })),
    total: readNumber(total),
  };
}
