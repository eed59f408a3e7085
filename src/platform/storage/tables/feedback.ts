import { sql } from 'kysely';
import type { FeedbackQuery, FeedbackRecord } from '../ports/feedback.ts';
import type { Listed } from '../ports/page.ts';
import { readNumber, writeNullableText, writeTextColumn } from './columns.ts';
import type { Database } from './database.ts';

/** @returns false if the ledger has no such generation */
export async function addFeedback(db: Database, feedback: FeedbackRecord): Promise<boolean> {
  const found = await db
    .selectFrom('ledger')
    .select('workspace_id')
    .where('id', '=', writeTextColumn(feedback.generationId))
    .executeTakeFirst();
  if (!found) return false; // ledger entries are never deleted
  await db
    .insertInto('feedback')
    .values({
      id: feedback.id,
      generation_id: writeTextColumn(feedback.generationId),
      workspace_id: found.workspace_id,
      category: writeTextColumn(feedback.category),
      comment: writeNullableText(feedback.comment),
      actor_key_hash: feedback.actorKeyHash,
      created_at_ms: feedback.createdAtMs,
    })
    .execute();
  return true;
}

/** Lists the newest first. */
export async function listFeedback(
  db: Database,
  { generationId, offset, limit }: FeedbackQuery,
): Promise<Listed<FeedbackRecord & { workspaceId: string }>> {
  const meant = generationId === undefined ? undefined : writeTextColumn(generationId);
  let [all, page] = [
    db.selectFrom('feedback').select(sql<bigint>`count(*)`.as('total')),
    db.selectFrom('feedback').selectAll().orderBy('id', 'desc').limit(limit).offset(offset),
  ];
  if (meant !== undefined) {
    all = all.where('generation_id', '=', meant);
    page = page.where('generation_id', '=', meant);
  }
  const { total } = await all.executeTakeFirstOrThrow();
  const rows = await page.execute();
  return {
    rows: rows.map((row) => ({
      id: row.id,
      generationId: row.generation_id,
      workspaceId: row.workspace_id,
      category: row.category,
      comment: row.comment,
      actorKeyHash: row.actor_key_hash,
      createdAtMs: readNumber(row.created_at_ms),
    })),
    total: readNumber(total),
  };
}
