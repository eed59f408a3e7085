import type { Pool, PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg';

/** The part of a connection that the statements of a transaction need. */
export interface Transaction {
  query<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>>;
}

/** A prepared statement that the connection does not know, and one that another client has prepared. */
const foreignStatement = new Set(['26000', '42P05']);

/**
 * Returns a function that runs statements in a transaction. It works behind a pooler that gives each transaction another
 * connection: settings are those of the transaction, and after the first error about a prepared statement none has a name.
 *
 * @param limitMs time after which the server ends a statement, so that it releases the locks of an unreachable host
 * @see https://github.com/logto-io/logto/issues/8065
 */
export function createTransactions(pool: Pool, limitMs: number) {
  const begin = `begin; set local statement_timeout = ${limitMs}; set local idle_in_transaction_session_timeout = ${limitMs}`;
  let hasNames = true;
  return async function transact<Answer>(work: (client: Transaction) => Promise<Answer>): Promise<Answer> {
    const isNamed = hasNames;
    try {
      return await run(pool, begin, isNamed, work);
    } catch (error) {
      if (!isNamed || !foreignStatement.has((error as { code?: string }).code ?? '')) throw error;
      hasNames = false;
      return run(pool, begin, false, work);
    }
  };
}

/** Closes a connection after a failure, because a late result could be mistaken for that of the next query. */
async function run<Answer>(
  pool: Pool,
  begin: string,
  isNamed: boolean,
  work: (client: Transaction) => Promise<Answer>,
): Promise<Answer> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query(begin);
    const answer = await work(isNamed ? client : withoutNames(client));
    await client.query('commit');
    return answer;
  } catch (error) {
    failure = error as Error; // the driver throws nothing else
    throw error;
  } finally {
    client.release(failure);
  }
}

const withoutNames = (client: PoolClient): Transaction => ({
  query: ({ name: _, ...statement }) => client.query(statement),
});
