import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Texts of files for the search: a queue of files to read, the outcome of each file, its passages, and an index of their
 * words. Nothing references the files, because deleting a large file would otherwise delete all its passages at once:
 * the queue has deleted files, too.
 */
export const passages: Migration = {
  async up(db: Kysely<unknown>) {
    const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
    const id = sql`text collate ${sql.id(isPostgres ? 'C' : 'binary')}`;

    await db.schema
      .createTable('file_queue')
      .addColumn('file_id', id, (column) => column.primaryKey())
      .addColumn('workspace_id', id, (column) => column.notNull())
      .addColumn('tries', 'bigint', (column) => column.notNull())
      .addColumn('next_at_ms', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('file_queue_by_time').on('file_queue').columns(['next_at_ms', 'file_id']).execute();
    await db.schema.createIndex('file_queue_by_workspace').on('file_queue').column('workspace_id').execute();
    // Files of earlier builds are read, too.
    await sql`insert into file_queue (file_id, workspace_id, tries, next_at_ms)
      select id, workspace_id, 0, 0 from files`.execute(db);

    await db.schema
      .createTable('file_texts')
      .addColumn('file_id', id, (column) => column.primaryKey())
      .addColumn('workspace_id', id, (column) => column.notNull())
      .addColumn('state', 'text')
      .addColumn('passages', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('file_texts_by_workspace').on('file_texts').column('workspace_id').execute();

    await db.schema
      .createTable('passages')
      .addColumn('id', isPostgres ? 'bigserial' : 'integer', (column) => column.primaryKey())
      .addColumn('workspace_id', id, (column) => column.notNull())
      .addColumn('file_id', id, (column) => column.notNull())
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('text', 'text', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('passages_by_file').on('passages').columns(['file_id', 'position']).execute();

    if (isPostgres) {
      await sql`alter table passages add column words tsvector not null`.execute(db);
      await sql`create index passages_by_word on passages using gin (words)`.execute(db);
    } else {
      // Words arrive split. The tokenizer only separates them at spaces. The index does not keep them a second time.
      await sql`create virtual table passage_words using fts5(workspace, words, content = '', contentless_delete = 1,
        tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co M*'")`.execute(db);
    }
  },
};
