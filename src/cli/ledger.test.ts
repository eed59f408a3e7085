import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTimedId, timedPrefix } from '../domain/ids.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { lockDataFolder } from '../platform/data-folder/data-folder.ts';
import { createTestEntry, readSpent, readByokSpent } from '../platform/storage/contract/samples.ts';
import { openPostgresStorage } from '../platform/storage/postgres/open.ts';
import { openSqliteStorage } from '../platform/storage/sqlite/open.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { startPostgres } from '../testing/postgres.ts';
import { runCli } from './program.ts';

const server = await startPostgres();
afterAll(async () => {
  if (!('skipped' in server)) await server.stop();
});

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-ledger-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function call(args: string[]) {
  const printed = { stdout: '', stderr: '' };
  const write = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const code = await runCli(args, { stdout: write('stdout'), stderr: write('stderr'), env: {}, cwd });
  return { code, ...printed };
}

/** A list of prices by model; `acme` alone serves. */
function configure(url: string, models: object[], more: object[] = []): void {
  const entry = { wire: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', models };
  const config = { storage: { url }, catalog: { builtin: false }, providers: [{ id: 'acme', ...entry }, ...more] };
  writeFileSync(join(cwd, 'headgate.yaml'), JSON.stringify(config));
}
const model = (name: string, prompt: string, completion = '0', more: object = {}) => ({
  model: `acme/${name}`,
  pricing: { prompt, completion },
  ...more,
});

const day = (date: string) => Date.parse(date);
let count = 0;
/** A thousand tokens of input and a hundred of output of `acme/small`, at a dollar a million, recorded on 2026-11-10. */
const entryOf = (fields: Partial<LedgerEntry> = {}): LedgerEntry =>
  createTestEntry({
    id: `${createTimedId('gen-')}${count++}`,
    createdAtMs: day('2026-11-10T12:00:00Z'),
    workspaceId: 'w',
    keyHash: 'k',
    inputTokens: 1000,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 100,
    reasoningTokens: 0,
    costNanoUsd: 1_000_000n,
    inputCostNanoUsd: 1_000_000n,
    provider: 'acme',
    ...fields,
  });

interface Store {
  url: string;
  open: () => Promise<Storage>;
  /** Runs a statement in the database. */
  spoil: (statement: string) => Promise<unknown>;
}

function testRecompute(makeStore: () => Promise<Store>): void {
  let store: Store;
  const use = async <Result>(work: (storage: Storage) => Promise<Result>): Promise<Result> => {
    const storage = await store.open();
    await storage.migrate();
    try {
      return await work(storage);
    } finally {
      await storage.close();
    }
  };
  const book = (...entries: LedgerEntry[]) => use(({ ledger }) => ledger.append(entries));
  const find = (id: string) => use(({ ledger }) => ledger.find('w', id));
  beforeEach(async () => {
    store = await makeStore();
  });

  it('prints the recorded and the current cost of each model, and changes nothing without --apply', async () => {
    const [one, two] = [entryOf(), entryOf()];
    const other = entryOf({ model: 'acme/large', costNanoUsd: 5_000_000n, endpointId: 'acme/large@acme' });
    const agrees = entryOf({ model: 'acme/same', endpointId: 'acme/same@acme' });
    const nobody = entryOf({ model: null, provider: null, providerId: null, endpointId: null, costNanoUsd: 0n });
    await book(one, two, other, agrees, nobody);
    const models = [model('small', '0.0000015'), model('large', '0.000003', '0.00001'), model('same', '0.000001')];
    configure(store.url, models);

    const printed = await call(['ledger', 'recompute']);
    expect(printed).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        'MODEL       ENTRIES  TO CORRECT  OLD USD  NEW USD  DIFFERENCE',
        'acme/large        1           1    0.005    0.004      -0.001',
        'acme/same         1           0    0.001    0.001           0',
        'acme/small        2           2    0.002    0.003      +0.001',
        'all               4           3    0.008    0.008           0',
        'Nothing was changed. --apply records the difference as 3 corrections.',
        '',
      ].join('\n'),
    });
    expect(await find(one.id)).toEqual(one);
    expect(await use(({ ledger }) => readSpent(ledger, { keyHash: 'k' }, 0))).toEqual([8_000_000n]);
  });

  it('records corrections once, however often it runs, and corrects a corrected entry by its sum', async () => {
    const entry = entryOf();
    await book(entry, entryOf({ isByok: true }));
    const spent = () =>
      use(async ({ ledger }) => [
        ...(await readSpent(ledger, { keyHash: 'k' }, 0, day('2026-11-10'), day('2026-11-11'))),
        ...(await readByokSpent(ledger, { workspaceId: 'w' }, 0)),
      ]);
    configure(store.url, [model('small', '0.0000015')]);
    expect((await call(['ledger', 'recompute', '--apply'])).stdout).toMatch(/\nRecorded 2 corrections\.\n$/);
    expect(await find(entry.id)).toEqual({
      ...entry,
      correction: { costNanoUsd: 500_000n, inputCostNanoUsd: 500_000n, count: 1 },
    });
    expect(await spent()).toEqual([1_500_000n, 1_500_000n, 0n, 1_500_000n]);

    const again = await call(['ledger', 'recompute', '--apply']);
    expect(again.stdout).toMatch(/0\.003 +0\.003 +0\nEvery entry with a current price agrees with it\.\n$/);
    configure(store.url, [model('small', '0.0000002')]);
    expect((await call(['ledger', 'recompute', '--apply'])).stdout).toMatch(/0\.003 +0\.0004 +-0\.0026$/m);
    expect(await find(entry.id)).toMatchObject({ correction: { costNanoUsd: -800_000n, count: 2 } });
    expect(await spent()).toEqual([200_000n, 200_000n, 0n, 200_000n]);
    expect(await use(({ ledger }) => ledger.readTotals('w'))).toMatchObject({ entries: 2, costNanoUsd: 400_000n });
  });

  it('verifies and repairs the sums of reports', async () => {
    const times = [day('2026-11-10T12:00:00Z'), day('2026-11-11T12:00:00Z')];
    await book(...times.map((createdAtMs) => entryOf({ id: `${timedPrefix('gen-', createdAtMs)}1`, createdAtMs })));
    configure(store.url, [model('small', '0.000001')]);
    expect(await call(['ledger', 'verify'])).toEqual({
      code: 0,
      stderr: '',
      stdout: 'Compared 2 days. All sums equal the ledger.\n',
    });
    await store.spoil('update rollups set requests = 5 where slot % 96 = 0');
    const wrong = await call(['ledger', 'verify', '--until', '2026-11-10']);
    expect(wrong).toEqual({
      code: 1,
      stderr: 'headgate: The sums of 1 day differ from the ledger. --repair replaces them.\n',
      stdout: '2026-11-10  4 sums differed\nCompared 1 day.\n',
    });
    const repaired = await call(['ledger', 'verify', '--repair', '--json']);
    expect([repaired.code, JSON.parse(repaired.stdout)]).toEqual([
      0,
      {
        days: 2,
        wrong: [
          { date: '2026-11-10', sums: 4 },
          { date: '2026-11-11', sums: 4 },
        ],
        repaired: true,
      },
    ]);
    expect((await call(['ledger', 'verify'])).stdout).toBe('Compared 2 days. All sums equal the ledger.\n');
    const early = await call(['ledger', 'verify', '--since', '2026-11-12', '--until', '2026-11-10']);
    expect(early.stderr).toBe('headgate: --since 2026-11-12 is after --until 2026-11-10.\n');
  });

  it('prices entries without a price, and leaves those without a current price', async () => {
    const unpriced = entryOf({ priced: false, costNanoUsd: 0n, inputCostNanoUsd: 0n });
    const free = entryOf({ model: 'acme/free', endpointId: 'x', priced: false, costNanoUsd: 0n, inputCostNanoUsd: 0n });
    const gone = entryOf({ model: 'acme/gone' });
    const silent = entryOf({ model: 'acme/silent' });
    const wrote = entryOf({ router: 'router/bodybuilder', costNanoUsd: 0n });
    await book(unpriced, free, gone, silent, wrote);
    configure(store.url, [model('small', '0.000001', '0.000001'), model('free', '0'), { model: 'acme/silent' }]);

    const { stdout } = await call(['ledger', 'recompute', '--apply']);
    expect(stdout).toMatch(/^acme\/free +1 +1 +0 +0 +0$/m);
    expect(stdout).toMatch(/^acme\/small +2 +1 +0 +0\.0011 +\+0\.0011$/m);
    expect(stdout).toContain('Unchanged, because the model has no current price: acme/gone (1), acme/silent (1).\n');
    expect(stdout).toContain('Recorded 2 corrections.');
    expect(await find(free.id)).toMatchObject({ priced: false, correction: { costNanoUsd: 0n, count: 1 } });
    expect(await find(wrote.id)).toEqual(wrote);
    expect((await call(['ledger', 'recompute', '--apply'])).stdout).toContain(
      'Every entry with a current price agrees',
    );
  });

  it('prices everything that an entry counts, at its tier and the length of its prompt', async () => {
    const special = { cacheWrite1hTokens: 100, webSearches: 3, inputImages: 2, outputAudioTokens: 10 };
    const counts = { cachedTokens: 200, cacheWriteTokens: 300, reasoningTokens: 40, special, costNanoUsd: 1n };
    const [usual, flex] = [entryOf(counts), entryOf({ ...counts, tier: 'flex' })];
    await book(usual, flex);
    const pricing = {
      prompt: '0.000001',
      completion: '0.000002',
      cache_read: '0.0000001',
      cache_write: '0.00000125',
      cache_write_1h: '0.000002',
      reasoning: '0.000003',
      audio_output: '0.00001',
      image: '0.001',
      web_search: '0.01',
      request: '0.0001',
      above: [{ prompt_tokens: 1000, prompt: '1' }],
    };
    const cheap = { prompt: '0.0000005', completion: '0.000001' };
    configure(store.url, [
      { model: 'acme/small', pricing },
      { model: 'acme/small', pricing: cheap, tier: 'flex' },
    ]);
    await call(['ledger', 'recompute', '--apply']);
    // 500 × 1000 + 200 × 100 + 200 × 1250 + 100 × 2000 + two pictures and the request
    const input = 500_000n + 20_000n + 250_000n + 200_000n + 2_000_000n + 100_000n;
    const output = 50n * 2000n + 40n * 3000n + 10n * 10_000n;
    expect((await find(usual.id))?.correction?.costNanoUsd).toBe(input + output + 30_000_000n - 1n);
    expect((await find(flex.id))?.correction?.costNanoUsd).toBe(500_000n + 100_000n - 1n);
  });

  it('prices counted images again, of generations and of responses, and reports the others', async () => {
    const painter = { endpointId: 'acme/painter@acme', model: 'acme/painter', costNanoUsd: 80_000_000n };
    const images = { made: 2, madePixels: 2_000_000, references: 0, referencePixels: 0, variant: '1k' };
    const none = { inputTokens: 0, outputTokens: 0, inputCostNanoUsd: 0n };
    const generation = entryOf({ ...painter, ...none, apiType: 'image', pictures: images });
    const answer = entryOf({ ...painter, pictures: images });
    const words = entryOf({ ...painter, costNanoUsd: 1n, pictures: { made: 0, references: 0 } });
    const older = entryOf(painter);
    await book(generation, answer, words, older);
    const price = (cost_usd: number) => ({
      ...model('painter', '0.000001'),
      capabilities: { output: ['text', 'image'] },
      image: { pricing: [{ billable: 'output_image', unit: 'image', cost_usd }] },
    });
    configure(store.url, [price(0.05)]);
    const { stdout } = await call(['ledger', 'recompute', '--apply']);
    expect(stdout).toContain('Unchanged, because their images were not counted or measured: 1.\n');
    expect(stdout).toContain('Recorded 3 corrections.');
    expect((await find(generation.id))?.correction).toMatchObject({ costNanoUsd: 20_000_000n, inputCostNanoUsd: 0n });
    expect((await find(answer.id))?.correction?.costNanoUsd).toBe(21_000_000n);
    expect((await find(words.id))?.correction?.costNanoUsd).toBe(999_999n);
    expect(await find(generation.id)).toMatchObject({ pictures: images }); // a correction counts nothing again
    configure(store.url, [price(0.04)]);
    await call(['ledger', 'recompute', '--apply']);
    expect((await find(generation.id))?.correction).toMatchObject({ costNanoUsd: 0n, count: 2 });
  });

  it('prices interrupted attempts at the prices of their endpoints, and failures without output at nothing', async () => {
    const { id: _, workspaceId: __, ...part } = entryOf();
    const broken = {
      ...part,
      kind: 'attempt' as const,
      status: 502,
      model: 'acme/large',
      endpointId: 'acme/large@acme',
    };
    const answered = { ...part, kind: 'attempt' as const };
    const both = entryOf({ lines: [broken, answered], inputTokens: 2000, outputTokens: 200, costNanoUsd: 2_000_000n });
    const nothing = { inputTokens: 0, outputTokens: 0, costNanoUsd: 0n, inputCostNanoUsd: 0n };
    const failed = entryOf({ ...nothing, outcome: 'failed', status: 502 });
    const killed = entryOf({ outcome: 'failed', status: 503, errorType: 'gateway_stopped', estimated: true });
    await book(both, failed, killed);
    const priced = { prompt: '0.000001', completion: '0.00001', request: '0.0001' };
    configure(store.url, [{ model: 'acme/small', pricing: priced }, model('large', '0.000003')]);
    expect((await call(['ledger', 'recompute', '--apply'])).stdout).toContain('Recorded 1 correction.');
    // 1000 × $3; 1000 × $1 + 100 × $10 + 100,000
    const cost = 3_000_000n + 1_000_000n + 1_000_000n + 100_000n;
    const { correction } = (await find(both.id))!;
    expect(correction).toEqual({ costNanoUsd: cost - 2_000_000n, inputCostNanoUsd: 3_100_000n, count: 1 });
    configure(store.url, [{ model: 'acme/small', pricing: priced }]);
    expect((await call(['ledger', 'recompute'])).stdout).toContain(
      'because the model has no current price: acme/small (1).',
    );
  });

  it('corrects BYOK and other costs separately if an entry has lines of both', async () => {
    const { id: _, workspaceId: __, ...part } = entryOf();
    const broken = {
      ...part,
      kind: 'attempt' as const,
      status: 502,
      isByok: true,
      costNanoUsd: 2_000_000n,
      model: 'acme/own',
      endpointId: 'acme/own@acme',
    };
    const answered = { ...part, kind: 'attempt' as const };
    const lines = [broken, answered];
    const entry = entryOf({ lines, inputTokens: 2000, outputTokens: 200, costNanoUsd: 3_000_000n });
    await book(entry);
    const spent = () =>
      use(async ({ ledger }) => [
        ...(await readSpent(ledger, { keyHash: 'k' }, 0)),
        ...(await readByokSpent(ledger, { keyHash: 'k' }, 0)),
      ]);
    expect(await spent()).toEqual([1_000_000n, 2_000_000n]);
    configure(store.url, [model('small', '0.000001'), model('own', '0.000005')]);
    expect((await call(['ledger', 'recompute', '--apply'])).stdout).toContain('Recorded 1 correction.');
    expect(await spent()).toEqual([1_000_000n, 5_000_000n]);
    configure(store.url, [model('small', '0.000004'), model('own', '0.000001')]);
    expect((await call(['ledger', 'recompute', '--apply'])).stdout).toContain('-0.001');
    expect(await spent()).toEqual([4_000_000n, 1_000_000n]);
    expect((await call(['ledger', 'recompute', '--apply'])).stdout).toContain('agrees with it.');
    // As a build before this one recorded it: all on the side of the entry.
    const [stored] = await use(({ ledger }) => ledger.list({ limit: 1 }));
    await use(({ ledger }) => ledger.correct([{ entry: stored!, costNanoUsd: 9n, inputCostNanoUsd: 0n }], 1));
    configure(store.url, [
      model('small', '0.000004'),
      { ...model('own', '0.000001'), pricing: { prompt: '0.000001', completion: '0', request: '0.000000009' } },
    ]);
    await call(['ledger', 'recompute', '--apply']);
    expect(await spent()).toEqual([4_000_000n, 1_000_009n]);
  });

  it('filters by days, model and provider', async () => {
    const at = (time: string, fields: Partial<LedgerEntry> = {}) => entryOf({ createdAtMs: day(time), ...fields });
    await book(
      at('2026-11-09T23:59:59.999Z'),
      at('2026-11-10T00:00:00Z'),
      at('2026-11-11T23:59:59.999Z'),
      at('2026-11-12T00:00:00Z'),
      at('2026-11-10T00:00:00Z', { model: 'acme/large', endpointId: null }),
      at('2026-11-10T00:00:00Z', { provider: 'Bolt', providerId: null, endpointId: null }), // of an earlier build
    );
    const bolt = { id: 'bolt', name: 'Bolt', wire: 'openai-chat', base_url: 'http://127.0.0.1:9/v1' };
    const models = [model('small', '0.000002')];
    configure(store.url, [...models, model('large', '0.000002')], [{ ...bolt, models }]);
    const countOf = async (...args: string[]) => {
      const { stdout } = await call(['ledger', 'recompute', ...args]);
      return Number(/^all +(\d+)/m.exec(stdout)?.[1] ?? 0);
    };
    expect(await countOf()).toBe(6);
    expect(await countOf('--since', '2026-11-10', '--until', '2026-11-11')).toBe(4);
    expect(await countOf('--since', '2026-11-10T00:00:00.001Z', '--until', '2026-11-12T00:00:00Z')).toBe(1);
    expect(await countOf('--model', 'Acme/Large')).toBe(1);
    expect(await countOf('--provider', 'bolt')).toBe(1);
    expect(await countOf('--provider', 'acme', '--until', '2026-11-10')).toBe(3);
    expect((await call(['ledger', 'recompute', '--model', 'acme/none'])).stdout).toMatch(/^No entry matches\./);
  });

  it('reads page by page', async () => {
    await book(...Array.from({ length: 1203 }, () => entryOf()));
    configure(store.url, [model('small', '0.000002')]);
    expect((await call(['ledger', 'recompute', '--apply'])).stdout).toMatch(/Recorded 1203 corrections\.\n$/);
    expect(await use(({ ledger }) => readSpent(ledger, { keyHash: 'k' }, 0))).toEqual([1203n * 2_000_000n]);
  });

  it('shows an entry with its corrections', async () => {
    const entry = entryOf({ special: { cacheWrite1hTokens: 5, webSearches: 1 } });
    await book(entry);
    configure(store.url, [model('small', '0.000002')]);
    await call(['ledger', 'recompute', '--apply']);
    const { code, stdout } = await call(['ledger', 'show', entry.id, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      id: entry.id,
      model: 'acme/small',
      endpoint_id: 'acme/small@acme',
      total_cost: 0.002,
      booked_cost: 0.001,
      cache_write_1h_tokens: 5,
      web_searches: 1,
      corrections: { count: 1, cost: 0.001 },
    });
    const missing = await call(['ledger', 'show', `${entry.id}.1`]);
    expect(missing).toEqual({ code: 1, stdout: '', stderr: `headgate: The ledger has no entry ${entry.id}.1.\n` });
  });
}

describe('headgate ledger, on SQLite', () => {
  const makeStore = async (): Promise<Store> => {
    const path = join(cwd, 'store.db');
    const spoil = async (statement: string) => {
      const database = new DatabaseSync(path);
      database.exec(statement);
      database.close();
    };
    return { url: `file:${path}`, open: () => openSqliteStorage(path), spoil };
  };
  testRecompute(makeStore);

  it('corrects nothing while a gateway has the store, reports it, and still prints the differences', async () => {
    const { url, open } = await makeStore();
    const storage = await open();
    await storage.migrate();
    const entry = entryOf();
    await storage.ledger.append([entry]);
    configure(url, [model('small', '0.000002')]);
    const unlock = lockDataFolder(join(cwd, 'data'));
    const printed = await call(['ledger', 'recompute', '--apply']);
    expect(printed).toMatchObject({ code: 1, stdout: '' });
    expect(printed.stderr).toMatch(
      /^headgate: Stop the gateway to correct a ledger in SQLite\. With PostgreSQL it may run\. The data folder .* is in use by the process/,
    );
    expect((await call(['ledger', 'recompute'])).stdout).toContain('--apply records the difference as 1 correction.');
    expect(await storage.ledger.find('w', entry.id)).toEqual(entry);
    unlock();
    expect((await call(['ledger', 'recompute', '--apply'])).stdout).toContain('Recorded 1 correction.');
    lockDataFolder(join(cwd, 'data'))(); // given back
    await storage.close();
  });

  it.each([
    [['--since', 'yesterday'], '--since yesterday: give a date like 2026-10-31, or a time like 2026-10-31T12:00:00Z.'],
    [['--until', '2026-02-30'], '--until 2026-02-30: give a date'],
    [['--since', '2026-11-02', '--until', '2026-11-01'], '--since 2026-11-02 is after --until 2026-11-01.'],
  ])('rejects %j', async (args, message) => {
    configure((await makeStore()).url, [model('small', '0')]);
    const { code, stdout, stderr } = await call(['ledger', 'recompute', ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
  });
});

const skipped = 'skipped' in server ? ` (skipped: ${server.skipped})` : '';
describe.skipIf(skipped !== '')(`headgate ledger, on PostgreSQL${skipped}`, () => {
  let databases = 0;
  const makeStore = async (): Promise<Store> => {
    if ('skipped' in server) throw new Error(server.skipped);
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    const name = `ledger_${++databases}`;
    await client.query(`create database ${name}`);
    await client.end();
    const url = new URL(`/${name}`, server.url).href;
    const spoil = async (statement: string) => {
      const spoiler = new pg.Client({ connectionString: url });
      await spoiler.connect();
      await spoiler.query(statement);
      await spoiler.end();
    };
    return { url, open: () => openPostgresStorage(url, { poolSize: 1 }), spoil };
  };
  testRecompute(makeStore);

  it('corrects while a gateway has its data folder, and two at once record each correction once', async () => {
    const { url, open } = await makeStore();
    const storage = await open();
    await storage.migrate();
    const entries = Array.from({ length: 700 }, () => entryOf());
    await storage.ledger.append(entries);
    configure(url, [model('small', '0.000002')]);
    const unlock = lockDataFolder(join(cwd, 'data'));
    const printed = await Promise.all([0, 1].map(() => call(['ledger', 'recompute', '--apply'])));
    unlock();
    const recorded = printed.map(({ stdout }) => Number(/Recorded (\d+) correction/.exec(stdout)?.[1] ?? 0));
    expect(recorded[0]! + recorded[1]!).toBe(700);
    expect(await storage.ledger.readTotals('w')).toMatchObject({ entries: 700, costNanoUsd: 700n * 2_000_000n });
    await storage.close();
  });
});
