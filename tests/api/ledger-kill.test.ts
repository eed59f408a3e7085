import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectSums } from '../../src/platform/storage/contract/usage.ts';
import { type ScriptedResponse, json } from '../../src/testing/scripted-responses.ts';
import { isFull } from '../../src/testing/full.ts';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { testSeed } from '../../src/testing/seed.ts';
import { testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { bundleSource } from '../setup/bundle-source.ts';
import { chatChunk, provider, responseObject, stream, streamFrames, type WireName, wholeBody, wires } from './lab.ts';
import { patient } from '../../src/testing/patience.ts';

/*
 * Many clients send requests to a gateway that is killed repeatedly, each time at another moment. The provider remembers what it
 * reported for which request, the clients what they received, and in the end the ledger must agree. Every request
 * has a mark, in its text for the provider and as its session for the ledger.
 */

const kills = Number(process.env['HEADGATE_TEST_KILLS'] ?? (isFull ? 8 : 2));
const bundledSource = await bundleSource();
const clients = 12;
const loadMs = { min: 20, max: 200 };
const random = createRandom(testSeed);
const between = (min: number, max: number): number => min + Math.floor(random() * (max - min + 1));

/** Nano-dollars per uncached input token, cached input token, output token and request. */
const price = { input: 1_000n, cached: 100n, output: 2_000n, request: 50_000n };
const pricing = { prompt: '0.000001', cache_read: '0.0000001', completion: '0.000002', request: '0.00005' };

/** The report of the provider for one request. */
interface Report {
  input: number;
  cached: number;
  output: number;
}
const costOf = ({ input, cached, output }: Report): bigint =>
  BigInt(input - cached) * price.input + BigInt(cached) * price.cached + BigInt(output) * price.output + price.request;

/** The ledger row of one request. */
interface Row {
  id: string;
  session_id: string;
  outcome: string;
  error_type: string | null;
  estimated: bigint;
  input_tokens: bigint;
  cached_tokens: bigint;
  output_tokens: bigint;
  cost_nano_usd: bigint;
}

interface Store {
  /** `storage.url`. Default: the embedded store. */
  url?: string;
  query: <Result>(dataDir: string, sql: string) => Promise<Result[]>;
  close: () => Promise<void>;
}

let upstream: ScriptedUpstream;
/** Mark → the reports of the provider for its attempts. */
const reports = new Map<string, Report[]>();
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(answerMarked);
});
afterAll(() => upstream.close());

const postgres = await startPostgres();
const skipped = 'skipped' in postgres ? ` (skipped: ${postgres.skipped})` : '';
afterAll(() => (skipped === '' ? (postgres as TestPostgres).stop() : undefined));

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
});

describe(`the ledger of a gateway that is killed ${kills} times under load (HEADGATE_TEST_SEED=${testSeed})`, () => {
  it('on SQLite has each request once, and as the provider reported it', { timeout: patient(300_000) }, () =>
    killAgainAndAgain({
      query: async (dataDir, sql) => querySqlite(join(dataDir, 'headgate.db'), sql),
      close: async () => {},
    }),
  );

  it.skipIf(skipped !== '')(
    `on PostgreSQL has each request once, and as the provider reported it${skipped}`,
    { timeout: patient(300_000) },
    async () => killAgainAndAgain(await openPostgres((postgres as TestPostgres).url)),
  );
});

async function killAgainAndAgain(store: Store): Promise<void> {
  reports.clear();
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-kill-'));
  const config = {
    catalog: { builtin: false },
    ...(store.url === undefined ? undefined : { storage: { url: store.url } }),
    providers: wires.flatMap((wire) =>
      ['m', 'broken'].map((name) =>
        provider(wire, name, upstream, { models: [{ model: `${wire}/${name}`, upstream_model: name, pricing }] }),
      ),
    ),
  };
  const received = new Set<string>();
  const cutOff = new Set<string>();
  let next = prepareServer(dataDir, config);
  for (let round = 0; round < kills; round++) {
    const server = next;
    const url = await server.start();
    next = prepareServer(dataDir, config); // loads while this one serves
    const busy = Promise.withResolvers<void>();
    const asking = Array.from({ length: clients }, (_, client) =>
      askUntilKilled(url, `${round}-${client}`, {
        received(mark) {
          received.add(mark);
          busy.resolve();
        },
        cutOff: (mark) => void cutOff.add(mark),
      }),
    );
    await Promise.race([busy.promise, Promise.all(asking)]); // the clients end first if one of them fails
    await pause(between(loadMs.min, loadMs.max));
    server.process.kill('SIGKILL');
    await server.exited;
    await Promise.all(asking);
  }
  next.process.kill('SIGKILL');
  const last = await testGateway(config, dataDir);
  const { ledger } = last.gateway.storage;
  await expectSums(ledger, (await ledger.readTotals()).entries);
  await last.close({ keepData: true });

  expect(readdirSync(join(dataDir, 'journal'))).toEqual([]);
  const rows = await store.query<Row>(dataDir, 'select * from ledger');
  checkRows(rows, received, cutOff);
  const [sums] = await store.query<Record<string, unknown>>(
    dataDir,
    `select cast((select sum(cost_nano_usd) from ledger) as bigint) as ledger,
       cast((select sum(cost_nano_usd + byok_nano_usd) from spending) as bigint) as spending`,
  );
  const sum = rows.reduce((total, row) => total + row.cost_nano_usd, 0n);
  expect(sums).toEqual({ ledger: sum, spending: sum });
  const split = await store.query(
    dataDir,
    `select id from ledger join ledger_lines on entry_id = id group by id, ledger.cost_nano_usd, ledger.input_tokens
     having ledger.cost_nano_usd <> sum(ledger_lines.cost_nano_usd) or ledger.input_tokens <> sum(ledger_lines.input_tokens)
       or count(*) <> 2`,
  );
  expect(split).toEqual([]);
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
}

function checkRows(rows: readonly Row[], received: ReadonlySet<string>, cutOff: ReadonlySet<string>): void {
  const byMark = new Map(rows.map((row) => [row.session_id, row]));
  expect(byMark.size, 'no entry twice').toBe(rows.length);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);

  const lost = [...received, ...reports.keys()].filter((mark) => !byMark.has(mark));
  expect(lost, 'no entry lost, of what a client received or the provider was asked').toEqual([]);
  expect(received.size, 'each round had answers').toBeGreaterThanOrEqual(kills);

  for (const [mark, row] of byMark) {
    const reported = reports.get(mark) ?? [];
    if (row.estimated === 0n) {
      expect(row, mark).toMatchObject({ outcome: 'completed', ...sumOf(reported) });
      continue;
    }
    expect(received.has(mark), `${mark} was received, so it is no estimate`).toBe(false);
    expect(cutOff.has(mark), `${mark} is an estimate, so it was under way at a kill`).toBe(true);
    expect(row, mark).toMatchObject({ outcome: 'failed', error_type: 'gateway_stopped' });
    expect(row.cost_nano_usd, mark).toBeGreaterThan(0n);
  }
  const [settled, estimates] = [0n, 1n].map((flag) => rows.filter(({ estimated }) => estimated === flag)) as [
    Row[],
    Row[],
  ];
  expect(estimates.length, 'some were under way').toBeGreaterThan(0);
  const settledSum = settled.reduce((sum, row) => sum + row.cost_nano_usd, 0n);
  const reportedSum = settled
    .flatMap(({ session_id: mark }) => reports.get(mark)!)
    .reduce((sum, each) => sum + costOf(each), 0n);
  expect(settledSum, 'the ledger is what the provider reported').toBe(reportedSum);
}

const sumOf = (reported: readonly Report[]) => ({
  input_tokens: reported.reduce((sum, { input }) => sum + BigInt(input), 0n),
  cached_tokens: reported.reduce((sum, { cached }) => sum + BigInt(cached), 0n),
  output_tokens: reported.reduce((sum, { output }) => sum + BigInt(output), 0n),
  cost_nano_usd: reported.reduce((sum, each) => sum + costOf(each), 0n),
});

// --- the gateway ---

interface Server {
  process: ChildProcess;
  exited: Promise<unknown>;
  /** @returns its URL */
  start: () => Promise<string>;
}

function prepareServer(dataDir: string, config: object): Server {
  const script = new URL('serve-until-killed.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, dataDir, JSON.stringify(config)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: bundledSource },
  });
  children.add(child);
  child.stdin.on('error', () => {}); // it has ended, as its output shows
  const exited = once(child, 'exit').then(() => children.delete(child));
  const lines = child.stdout.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>;
  const readLine = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error('The gateway ended before it served.');
    return value.trim();
  };
  const ready = readLine();
  ready.catch(() => {}); // the one that is never needed is killed before
  return {
    process: child,
    exited,
    async start() {
      await ready;
      child.stdin.write('go\n');
      return readLine();
    },
  };
}

// --- the clients ---

/** One client: asks on and on until no server responds. Notes what it received to the end, and what broke off. */
async function askUntilKilled(
  url: string,
  name: string,
  { received, cutOff }: Record<'received' | 'cutOff', (mark: string) => void>,
): Promise<void> {
  const headers = { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' };
  for (let turn = 0; ; turn++) {
    const mark = `mark-${name}-${turn}`;
    const wire = wires[between(0, wires.length - 1)]!;
    const isStreamed = random() < 0.5;
    const body = JSON.stringify({
      ...(random() < 0.2 ? { models: [`${wire}/broken`, `${wire}/m`] } : { model: `${wire}/m` }),
      input: `${mark} ${'word '.repeat(random() < 0.1 ? 5_000 : 10)}`,
      session_id: mark,
      stream: isStreamed,
    });
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${url}/api/v1/responses`, { method: 'POST', headers, body });
      text = await response.text();
    } catch {
      return cutOff(mark);
    }
    expect(response.status, text).toBe(200);
    if (isStreamed ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}')) received(mark);
    else cutOff(mark);
  }
}

// --- the provider ---

/** Responds with random counts, and remembers them. The model `broken` is interrupted, but reports counts. */
async function answerMarked({ path, text, body }: ScriptedRequest): Promise<ScriptedResponse> {
  const [mark] = /mark-\d+-\d+-\d+/.exec(text) as RegExpExecArray;
  const { model, stream: isStreamed } = body as { model: string; stream?: boolean };
  const wire = path.endsWith('/responses') ? 'openai-responses' : 'openai-chat';
  const input = between(1, 5_000);
  const report = { input, cached: between(0, input), output: between(1, 2_000) };
  const isReported = reports.get(mark);
  if (isReported) isReported.push(report);
  else reports.set(mark, [report]);
  await pause(between(0, 5));
  if (model === 'broken') return breakOff(wire, isStreamed === true, report);
  if (!isStreamed) return json(withUsage(wholeBody(wire), wire, report));
  return stream(wire, slowly(streamFrames(wire, ['Hello', ' ', 'there', '.']), wire, report));
}

/** Adds pauses, so that a kill hits streams in every state. */
async function* slowly(frames: object[], wire: WireName, report: Report): AsyncGenerator<object> {
  for (const frame of frames) {
    if (random() < 0.3) await pause(between(0, 5));
    yield withUsage(frame, wire, report);
  }
}

function breakOff(wire: WireName, isStreamed: boolean, report: Report): ScriptedResponse {
  if (wire === 'openai-chat') {
    const choice = { index: 0, finish_reason: 'error', [isStreamed ? 'delta' : 'message']: { content: '' } };
    const body = withUsage(
      { ...(isStreamed ? chatChunk({}) : wholeBody(wire)), choices: [choice], usage: {} },
      wire,
      report,
    );
    return isStreamed ? stream(wire, [body]) : json(body);
  }
  const failed = { ...responseObject('failed', []), error: { code: 'server_error', message: 'No.' } };
  const response = withUsage(failed, wire, report);
  return isStreamed ? stream(wire, [{ type: 'response.failed', response }]) : json(response);
}

/** Replaces the counts of the lab. */
function withUsage(value: object, wire: WireName, { input, cached, output }: Report): object {
  const usage =
    wire === 'openai-chat'
      ? { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: { cached_tokens: cached } }
      : { input_tokens: input, output_tokens: output, input_tokens_details: { cached_tokens: cached } };
  return JSON.parse(JSON.stringify(value), (key, member) => (key === 'usage' && member ? usage : member)) as object;
}

// --- the stores ---

function querySqlite<Result>(path: string, sql: string): Result[] {
  const database = new DatabaseSync(path, { readOnly: true, readBigInts: true });
  const rows = database.prepare(sql).all() as Result[];
  database.close();
  return rows.map((row) => ({ ...row }));
}

async function openPostgres(server: string): Promise<Store> {
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query('create database killed');
  await admin.end();
  const url = new URL('/killed', server).href;
  const client = new pg.Client({
    connectionString: url,
    types: { getTypeParser: (oid, format) => (oid === 20 ? BigInt : pg.types.getTypeParser(oid, format)) },
  });
  await client.connect();
  return {
    url,
    query: async <Result>(_: string, sql: string) => (await client.query(sql)).rows as Result[],
    close: () => client.end(),
  };
}

/** The same numbers for the same seed, as far as the order of events allows. */
function createRandom(from: number): () => number {
  let state = from >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
