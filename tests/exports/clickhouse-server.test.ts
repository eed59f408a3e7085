import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { writeTableStatement } from '../../src/exports/clickhouse/ledger-table.ts';
import { createTestEntry } from '../../src/platform/storage/contract/samples.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite/open.ts';
import { startClickHouse, type TestClickHouse } from '../../src/testing/clickhouse.ts';
import { long, quick } from '../../src/testing/full.ts';
import { json, startUpstream, testGateway } from '../../src/testing/index.ts';
import { patient } from '../../src/testing/patience.ts';
import { cleanUp, makeFolder, startGateway } from '../lifecycle/gateway-process.ts';
import { type Json, main } from '../api/manage.ts';

const started = await startClickHouse();
const skipped = 'skipped' in started ? ` (skipped: ${started.skipped})` : '';
const server = started as TestClickHouse;
afterAll(() => (skipped === '' ? server.stop() : undefined));
afterEach(cleanUp);

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/exports.md'), 'utf8');
const queries = [...guide.matchAll(/^```sql\n(select[\s\S]*?)^```$/gm)].map(([, sql]) => sql!);

it('the guide has the table', () => {
  expect(guide).toContain(writeTableStatement('headgate_ledger'));
  expect(queries).toHaveLength(5);
});

/** Creates an empty table. @returns the settings that fill it */
async function createTable(table: string) {
  await server.query(`drop table if exists ${table}`);
  const [version] = await server.query('select version()');
  const knowsTokens = Number(version!.split('.')[0]) >= 22;
  await server.query(writeTableStatement(table, knowsTokens));
  return { url: server.url, password: server.password, table, user: 'default' };
}

describe.skipIf(skipped !== '')(`a real ClickHouse${skipped}`, () => {
  quick('answers the five queries of the guide about a request with a fallback', async () => {
    const clickhouse = await createTable('headgate_ledger');
    const upstream = await startUpstream();
    upstream.respond(json({ error: { message: 'overloaded' } }, { status: 503 }));
    upstream.always(
      json({
        choices: [{ message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 2 },
      }),
    );
    const entry = (id: string) => ({
      id,
      wire: 'openai-chat',
      base_url: upstream.url,
      models: [{ model: 'acme/small', pricing: { prompt: '0.000001', completion: '0.00001' } }],
    });
    const config = { ledger: { clickhouse }, tags: ['team'], providers: [entry('one'), entry('two')] };
    const gateway = await testGateway(config, undefined, { exportMs: 10, gatherMs: 1 });
    const response = await gateway.post('/responses', {
      model: 'acme/small',
      input: 'Hello!',
      metadata: { team: 'search' },
      provider: { order: ['one', 'two'] },
    });
    const id = response.headers.get('x-generation-id')!;
    expect(response.status).toBe(200);
    await expect.poll(() => server.query('select id from headgate_ledger')).toEqual([id]);
    const found = (await gateway.gateway.storage.ledger.find(undefined, id))!;
    await gateway.gateway.storage.ledger.correct([{ entry: found, costNanoUsd: -1_000n, inputCostNanoUsd: 0n }], 7);
    await expect.poll(() => server.query('select id from headgate_ledger order by id')).toEqual([id, `${id}.1`]);

    const results: unknown[][] = [];
    for (const sql of queries) {
      results.push((await server.query(`${sql} format JSONEachRow`)).map((line) => JSON.parse(line) as unknown));
    }
    const [models, teams, fallbacks, providers, callers] = results;
    const usd = 0.000029; // 10 and 2 tokens, corrected
    const [model] = models as Json[];
    expect([model.model, model.usd, ...[model.requests, model.input, model.output].map(Number)]).toEqual([
      'acme/small',
      usd,
      1,
      10,
      2,
    ]);
    expect(teams).toEqual([{ team: 'search', usd }]);
    expect(fallbacks).toMatchObject([
      { id, provider: 'two', first_provider: 'one', first_error: expect.stringMatching(/./) },
    ]);
    expect(providers).toMatchObject([{ provider: 'two', errors: 0 }]);
    expect(callers).toMatchObject([{ workspace_id: main, usd, byok_usd: 0 }]);
    await gateway.close();
    await upstream.close();
  });

  long(
    'has each row once after 20 kills of the gateway and 5 of ClickHouse',
    { timeout: patient(600_000) },
    async () => {
      const config = { ledger: { clickhouse: await createTable('killed') } };
      const folder = makeFolder();
      const count = async () => Number((await server.query('select count() from killed'))[0]);
      let recorded = 0;
      for (let round = 0; round < 20; round++) {
        recorded += await fill(join(folder, 'data', 'headgate.db'), 6_000);
        const before = await count();
        const gateway = await startGateway({ folder, config });
        await expect.poll(count, { interval: 5 }).toBeGreaterThan(before); // the export has begun
        const killsServer = round % 4 === 3;
        if (killsServer) await server.kill();
        await pause(Math.floor(Math.random() * 60));
        await gateway.end('SIGKILL');
        if (killsServer) await server.start();
      }
      await startGateway({ folder, config });
      await expect.poll(count).toBe(recorded);
      expect(await server.query('select uniqExact(id), sum(cost_nano_usd) from killed')).toEqual([
        `${recorded}\t${recorded * 3}`,
      ]);
    },
  );
});

/** Records entries while no gateway runs. @returns their number */
async function fill(path: string, count: number): Promise<number> {
  mkdirSync(dirname(path), { recursive: true });
  const storage = await openSqliteStorage(path);
  await storage.migrate();
  await storage.ledger.append(
    Array.from({ length: count }, () => createTestEntry({ workspaceId: main, costNanoUsd: 3n })),
  );
  await storage.close();
  return count;
}
