import type { SQLInputValue } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import {
  type DatabaseConnection,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type QueryResult,
} from 'kysely';
import { moduleUrl } from '../../../domain/module-url.ts';
import { type CallThread, openCalls } from '../../threads/thread-calls.ts';
import type { Tables } from '../tables/database.ts';
import type { SearchFunctions } from './search-thread.ts';

const entry = moduleUrl('./search-thread', import.meta.url);

/** A second connection to the database of a file, for reading outside of the thread that serves requests. */
export interface Searches {
  db: Kysely<Tables>;
  /** Ends searches in flight. Call it before the database is closed. */
  close(): Promise<void>;
}

/** Opens the connection, whose thread starts with the first query. It sees what is committed. */
export function openSearches(path: string): Searches {
  const thread = new SearchThread(path);
  const unsupported = (): Promise<never> => Promise.reject(new Error('the connection for searches only reads'));
  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) {
      // Kysely types parameters as unknown; `columns.ts` makes them numbers, bigints, strings and nulls.
      const { names, rows } = await thread.select(sql, parameters as SQLInputValue[]);
      const objects = rows.map((values) => Object.fromEntries(values.map((value, index) => [names[index]!, value])));
      return { rows: objects } as QueryResult<Row>; // the caller names the columns
    },
    streamQuery: () => {
      throw new Error('the connection for searches has no streams');
    },
  };
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createIntrospector: (on) => new SqliteIntrospector(on),
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => connection,
        releaseConnection: async () => {},
        beginTransaction: unsupported,
        commitTransaction: unsupported,
        rollbackTransaction: unsupported,
        destroy: () => thread.close(),
      }),
    },
  });
  return { db, close: () => thread.close() };
}

interface RunningThread {
  worker: Worker;
  call: CallThread<SearchFunctions>;
  /** Calls in flight. The process lives until they end. */
  calls: number;
}

class SearchThread {
  readonly #path: string;
  #running: RunningThread | undefined;
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
  }

  async select(text: string, parameters: SQLInputValue[]): Promise<ReturnType<SearchFunctions['select']>> {
    if (this.#isClosed) throw new Error('the database is closed');
    this.#running ??= this.#open();
    const thread = this.#running;
    if (thread.calls++ === 0) thread.worker.ref();
    try {
      return await thread.call('select', text, parameters);
    } finally {
      if (--thread.calls === 0) thread.worker.unref();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const running = this.#running;
    this.#running = undefined;
    if (!running) return;
    if (running.calls++ === 0) running.worker.ref();
    await running.call('close').catch(() => {}); // the thread has ended
    await running.worker.terminate();
  }

  #open(): RunningThread {
    const worker = new Worker(entry, { env: {}, execArgv: [], workerData: this.#path });
    const { call, fail } = openCalls<SearchFunctions>(worker);
    const thread = { worker, call, calls: 0 };
    const end = (error: Error): void => {
      if (this.#running === thread) this.#running = undefined; // the next search starts another one
      fail(error);
    };
    worker.on('error', (error) => end(error as Error));
    worker.on('exit', () => end(new Error('The thread of searches has ended.')));
    worker.unref();
    return thread;
  }
}
