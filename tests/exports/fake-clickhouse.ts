import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { writeTableStatement } from '../../src/exports/clickhouse/ledger-table.ts';

/**
 * How a fake responds to the next insert. `die`: it stores nothing and closes the connection. `commit-and-die`: it stores the
 * rows before that. `commit-late`: it stores them only after the client has given up. `refuse`: status 500.
 */
export type Fault = 'die' | 'commit-and-die' | 'commit-late' | 'refuse';

/** A ClickHouse with one table, that rejects everything but what the export may send. */
export interface FakeClickHouse {
  url: string;
  /** The rows of the table, in the order of their inserts. */
  rows: Record<string, unknown>[];
  /** Faults of the next inserts, the first one first. */
  faults: Fault[];
  /** Whether it closes every connection. */
  isDown: boolean;
  inserts: number;
  close(): Promise<void>;
}

const ids = /^insert into `(\w+)`\.`(\w+)` format JSONEachRow$/;
const columns = new Map(
  [...writeTableStatement('t').matchAll(/^ {2}(\w+) (.+?),?$/gm)].map(([, name, type]) => [name!, type!]),
);
const shapes: Record<string, (value: unknown) => boolean> = {
  String: (value) => typeof value === 'string',
  "DateTime('UTC')": (value) => Number.isInteger(value) && (value as number) > 0 && (value as number) < 2 ** 32,
  Int64: (value) => typeof value === 'string' && /^-?\d{1,19}$/.test(value),
  'Nullable(Int64)': (value) => value === null || /^-?\d{1,19}$/.test(value as string),
  UInt8: (value) => value === 0 || value === 1,
  UInt16: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 65_536,
  'Array(String)': (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
};

class Rejection extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(`Code: ${code}, e.displayText() = DB::Exception: ${message}`);
    this.code = code;
  }
}

/** @param knowsTokens whether it is a version from 22.2 on */
export async function startFakeClickHouse({ knowsTokens = true } = {}): Promise<FakeClickHouse> {
  const tokens = new Set<string>();
  const running = new Set<string>();
  const known = new Set([
    'query',
    'query_id',
    'wait_end_of_query',
    'input_format_skip_unknown_fields',
    'insert_deduplicate',
  ]);
  if (knowsTokens) for (const name of ['insert_deduplication_token', 'async_insert']) known.add(name);

  function store(body: string, token: string | null): void {
    const parsed = body
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const row of parsed) {
      for (const [name, type] of columns) {
        if (!shapes[type]!(row[name])) throw new Rejection(27, `Cannot parse ${name}: ${JSON.stringify(row[name])}`);
      }
    }
    if (token !== null) {
      if (tokens.has(token)) return;
      tokens.add(token);
    }
    fake.rows.push(...parsed);
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { searchParams } = new URL(request.url!, 'http://fake');
    const body = await readText(request);
    if (fake.isDown) return void request.socket.destroy();
    if (request.headers['x-clickhouse-user'] !== 'writer' || request.headers['x-clickhouse-key'] !== 'a "pass" word?') {
      throw new Rejection(516, 'writer: Authentication failed');
    }
    for (const name of searchParams.keys()) if (!known.has(name)) throw new Rejection(115, `Unknown setting ${name}`);
    const query = searchParams.get('query') || body;
    if (ids.test(query)) return await insert(searchParams, body, request, response);
    if (query.includes('system.settings')) return void response.end(knowsTokens ? '1\n' : '0\n');
    const asked = /system\.processes where query_id = '(.*)'/.exec(query)?.[1];
    if (asked !== undefined) return void response.end(running.has(asked) ? '1\n' : '0\n');
    const list =
      /^select distinct id from `default`\.`headgate_ledger` where .* id in \((.*)\) format TabSeparated$/s.exec(query);
    if (!list) throw new Rejection(62, `Syntax error: ${query.slice(0, 100)}`);
    const wanted = new Set([...list[1]!.matchAll(/'([^']+)'/g)].map(([, id]) => id));
    response.end(fake.rows.flatMap(({ id }) => (wanted.has(id as string) ? [`${id}\n`] : [])).join(''));
  }

  async function insert(
    searchParams: URLSearchParams,
    body: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    fake.inserts++;
    const [, database, table] = ids.exec(searchParams.get('query')!)!;
    if (database !== 'default' || table !== 'headgate_ledger') throw new Rejection(60, `Table ${table} doesn't exist`);
    const id = searchParams.get('query_id')!;
    const token = searchParams.get('insert_deduplication_token');
    if (running.has(id)) throw new Rejection(216, `Query with id = ${id} is already running`);
    const fault = fake.faults.shift();
    if (fault === 'refuse') throw new Rejection(241, 'Memory limit exceeded');
    if (fault === 'die') return void request.socket.destroy();
    if (fault === 'commit-late') {
      running.add(id);
      await new Promise((resolve) => request.socket.once('close', resolve));
      setTimeout(() => {
        store(body, token);
        running.delete(id);
      }, 20);
      return;
    }
    store(body, token);
    if (fault === 'commit-and-die') return void request.socket.destroy();
    response.end();
  }

  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => {
      const code = error instanceof Rejection ? error.code : 1001;
      response.writeHead(500, { 'x-clickhouse-exception-code': String(code) }).end((error as Error).message);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const fake: FakeClickHouse = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    rows: [],
    faults: [],
    isDown: false,
    inserts: 0,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return fake;
}
