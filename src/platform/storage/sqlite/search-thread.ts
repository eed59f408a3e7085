import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../threads/thread-calls.ts';
import { busyTimeoutMs } from './wait-while-busy.ts';

/*
 * The thread that searches words. A search in a large vocabulary takes hundreds of milliseconds, and SQLite cannot pause
 * it.
 */

const database = new DatabaseSync(workerData as string, {
  readOnly: true,
  readBigInts: true,
  timeout: busyTimeoutMs, // here it blocks only searches
});

const functions = {
  /** Rows are arrays, because the names of columns would be cloned for each row. */
  select(text: string, parameters: SQLInputValue[]): { names: string[]; rows: unknown[][] } {
    const statement = database.prepare(text);
    statement.setReturnArrays(true);
    const rows = statement.all(...parameters) as unknown as unknown[][]; // its type has no arrays
    return { names: statement.columns().map(({ name }) => name), rows };
  },
  /** The last connection to a database removes its log, so this one has to end before. */
  close: (): void => database.close(),
};

export type SearchFunctions = typeof functions;

serveCalls(parentPort!, functions); // this module is the entry of a worker
