import { PostgresAdapter, type RawBuilder, sql } from 'kysely';
import type { PassageQuery, SearchWord } from '../../../domain/file-search.ts';
import type { IndexClaim, Passage } from '../ports/passages.ts';
import { writeTextColumn } from './columns.ts';
import type { Database } from './database.ts';

/** The word index of passages, which differs between the dialects: it stores words, and finds passages by them. */
export interface WordIndex {
  /** The table with the words, and its column with the id of the passage. */
  readonly from: RawBuilder<unknown>;
  readonly id: RawBuilder<unknown>;
  /** Adds passages and their words. */
  add(trx: Database, claim: IndexClaim, passages: readonly Passage[]): Promise<void>;
  /** Removes the words of passages. */
  remove(trx: Database, ids: readonly bigint[]): Promise<void>;
  /** Counts the passages of a workspace that have a word, up to `max`. */
  count(db: Database, workspaceId: string, word: Pick<SearchWord, 'text' | 'isPrefix'>, max: number): Promise<number>;
  /** Returns a condition for the passages of a workspace with one of the words, and their rank: less is better. */
  match(query: Pick<PassageQuery, 'workspaceId' | 'words'>): { match: RawBuilder<boolean>; rank: RawBuilder<unknown> };
}

/** Opens the index of words of a dialect. */
export function openWordIndex(db: Database): WordIndex {
  const index = db.getExecutor().adapter instanceof PostgresAdapter ? postgresIndex : sqliteIndex;
  const cleanWords = <W extends Word>(words: readonly W[]): W[] =>
    words.map((word) => ({ ...word, text: clean(word.text) })).filter(({ text }) => text !== '');
  return {
    ...index,
    add: (trx, claim, passages) =>
      index.add(
        trx,
        claim,
        passages.map((passage) => ({ ...passage, words: passage.words.map(clean).filter((word) => word !== '') })),
      ),
    async count(on, workspaceId, word, max) {
      const [cleaned] = cleanWords([word]);
      return cleaned ? index.count(on, workspaceId, cleaned, max) : 0;
    },
    match({ workspaceId, words }) {
      const cleaned = cleanWords(words);
      if (cleaned.length === 0) return { match: sql<boolean>`1 = 0`, rank: index.id };
      return index.match({ workspaceId, words: cleaned });
    },
  };
}

type Word = Pick<SearchWord, 'text' | 'isPrefix'>;

/** Words consist of letters, digits and marks, so that none of them has a meaning in a query. */
const clean = (text: string): string => writeTextColumn(text.replaceAll(/["'\\\s:*]/g, ''));

/** FTS5, which ranks by bm25. The first column limits a search to a workspace. */
const sqliteIndex: WordIndex = {
  from: sql`passage_words`,
  id: sql`passage_words.rowid`,
  async add(trx, { fileId, workspaceId }, passages) {
    for (const { position, text, words } of passages) {
      const row = await trx
        .insertInto('passages')
        .values({ workspace_id: workspaceId, file_id: fileId, position, text })
        .returning('id')
        .executeTakeFirstOrThrow();
      await sql`insert into passage_words (rowid, workspace, words)
        values (${row.id}, ${writeScope(workspaceId)}, ${words.join(' ')})`.execute(trx);
    }
  },
  async remove(trx, ids) {
    await sql`delete from passage_words where rowid in (${sql.join(ids)})`.execute(trx);
  },
  async count(db, workspaceId, word, max) {
    const { rows } = await sql<{ found: bigint }>`select count(*) as found from
      (select 1 from passage_words where passage_words match ${writeMatch(workspaceId, [word])} limit ${max}) as matches`.execute(
      db,
    );
    return Number(rows[0]?.found ?? 0);
  },
  match: ({ workspaceId, words }) => ({
    match: sql`passage_words match ${writeMatch(workspaceId, words)}`,
    rank: sql`bm25(passage_words, 0.0, 1.0)`,
  }),
};

/** One word for the tokenizer, which would split an id at its hyphens. */
const writeScope = (workspaceId: string): string => `w${Buffer.from(workspaceId).toString('hex')}`;

function writeMatch(workspaceId: string, words: readonly Word[]): string {
  const terms = words.map(({ text, isPrefix }) => `"${text}"${isPrefix ? ' *' : ''}`);
  return `workspace : "${writeScope(workspaceId)}" AND words : (${terms.join(' OR ')})`;
}

/** A GIN index over `tsvector`. The values are written and not parsed, because the parser depends on the locale. */
const postgresIndex: WordIndex = {
  from: sql`passages`,
  id: sql`passages.id`,
  async add(trx, { fileId, workspaceId }, passages) {
    for (const { position, text, words } of passages) {
      await sql`insert into passages (workspace_id, file_id, position, text, words)
        values (${workspaceId}, ${fileId}, ${position}, ${text}, cast(${writeVector(workspaceId, words)} as tsvector))`.execute(
        trx,
      );
    }
  },
  async remove() {}, // they are in the rows of the passages
  async count(db, workspaceId, word, max) {
    const { rows } = await sql<{ found: bigint }>`select count(*) as found from
      (select 1 from passages where words @@ ${writeQuery(workspaceId, [word])} limit ${max}) as matches`.execute(db);
    return Number(rows[0]?.found ?? 0);
  },
  match: ({ workspaceId, words }) => ({
    match: sql`passages.words @@ ${writeQuery(workspaceId, words)}`,
    rank: sql`-(${sql.join(
      words.map((word) => sql`${word.weight}::float8 * ts_rank(passages.words, ${writeQuery(undefined, [word])})`),
      sql` + `,
    )})`,
  }),
};

/** The greatest position of a `tsvector`. */
const MAX_POSITION = 16_383;
/** A word of the workspace. Words of texts do not begin with it. */
const SCOPE = '@';

function writeVector(workspaceId: string, words: readonly string[]): string {
  const places = new Map<string, number[]>();
  for (const [index, text] of words.entries()) {
    const known = places.get(text);
    if (known) known.push(index + 1);
    else places.set(text, [index + 1]);
  }
  const lexemes = [...places].map(
    ([text, at]) => `'${text}':${at.filter((place) => place <= MAX_POSITION).slice(0, 255)}`,
  );
  return [`'${SCOPE}${clean(workspaceId)}'`, ...lexemes].join(' ');
}

function writeQuery(workspaceId: string | undefined, words: readonly Word[]): RawBuilder<unknown> {
  const terms = words.map(({ text, isPrefix }) => `'${text}'${isPrefix ? ':*' : ''}`).join(' | ');
  const query = workspaceId === undefined ? terms : `'${SCOPE}${clean(workspaceId)}' & (${terms})`;
  return sql`cast(${query} as tsquery)`;
}
