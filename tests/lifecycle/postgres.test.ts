import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, vi } from 'vitest';
import { hashKey } from '../../src/access/key-text.ts';
import { runCli } from '../../src/cli/program.ts';
import { long, quick } from '../../src/testing/full.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { patient } from '../../src/testing/patience.ts';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { cleanUp, run, startGateway } from './gateway-process.ts';
import { openRelay, type Relay } from './relay.ts';

const main = '00000000-0000-4000-8000-0000000000a1';
const server = await startPostgres();
const skipped = 'skipped' in server ? ` (skipped: ${server.skipped})` : '';

describe.skipIf(skipped !== '')(`gateways on PostgreSQL${skipped}`, () => {
  const { url, createDatabase, stop } = server as TestPostgres;
  const admin = new pg.Client({ connectionString: url });
  const gateways: TestGateway[] = [];
  const relays: Relay[] = [];

  beforeAll(() => admin.connect());
  afterEach(async () => {
    for (const gateway of gateways.splice(0)) await gateway.close();
    await cleanUp();
    for (const relay of relays.splice(0)) await relay.down();
  });
  afterAll(async () => {
    await admin.end();
    await stop();
  });

  async function open(database: string, parts: Record<string, unknown> = {}): Promise<TestGateway> {
    const gateway = await testGateway({ storage: { url: database }, ...parts });
    gateways.push(gateway);
    return gateway;
  }
  async function openWithRelay() {
    const relay = await openRelay(await createDatabase());
    relays.push(relay);
    return { relay, gateway: await open(relay.url) };
  }
  const ask = async (gateway: TestGateway, key?: string) => {
    const response = await gateway.post('/responses', { model: 'simulator/echo', input: 'hi' }, key ? { key } : {});
    const { error } = (await response.json()) as { error?: { message: string } };
    return {
      status: response.status,
      id: response.headers.get('x-generation-id')!,
      retryAfter: response.headers.get('retry-after'),
      message: error?.message,
    };
  };
  const countEntries = async (gateway: TestGateway) => (await gateway.gateway.storage.ledger.readTotals(main)).entries;

  quick('a gateway process serves, and its ledger can be read', async () => {
    const gateway = await startGateway({ config: null, env: { DATABASE_URL: await createDatabase() } });
    const key = /sk-rt-v1-[0-9a-f]{64}/.exec(gateway.running.stdout)![0];
    const answer = await gateway.post({ input: 'Hello' }, key);
    expect(await answer.json()).toMatchObject({ status: 'completed' });
    const id = answer.headers.get('x-generation-id');
    const entry = await gateway.get(`/api/v1/generation?id=${id}`, key);
    expect(await entry.json()).toMatchObject({ data: { id, model: 'simulator/echo', finish_reason: 'stop' } });
    expect((await gateway.get('/ready')).status).toBe(200);
    expect(await gateway.end()).toBe(0);
    expect(gateway.running.stderr).toBe('');
  });

  quick('one that runs shows corrections made on the command line', async () => {
    const storage = { url: await createDatabase() };
    const models = (prompt: string) => [{ model: 'acme/m', pricing: { prompt, completion: prompt } }];
    const provider = (prompt: string) => ({
      id: 'acme',
      wire: 'simulator',
      models: [{ ...models(prompt)[0], upstream_model: 'echo' }],
    });
    const gateway = await open(storage.url, { providers: [provider('0.001')] });
    const response = await gateway.post('/responses', { model: 'acme/m', input: 'hi' });
    const { usage } = (await response.json()) as { usage: { cost: number } };
    const id = response.headers.get('x-generation-id');
    const costOf = async () =>
      ((await (await gateway.get(`/generation?id=${id}`)).json()) as { data: { total_cost: number } }).data.total_cost;
    await expect.poll(() => countEntries(gateway)).toBe(1);
    expect(await costOf()).toBe(usage.cost);

    const folder = mkdtempSync(join(tmpdir(), 'headgate-recompute-'));
    writeFileSync(join(folder, 'headgate.yaml'), JSON.stringify({ storage, providers: [provider('0.0005')] }));
    const told = { text: '', write: (text: string) => (told.text += text) };
    const code = await runCli(['ledger', 'recompute', '--apply'], { stdout: told, stderr: told, env: {}, cwd: folder });
    rmSync(folder, { recursive: true });
    expect(told.text).toContain('Recorded 1 correction.');
    expect(code).toBe(0);
    expect(await costOf()).toBe(usage.cost / 2);
  });

  quick('two that start at once create the schema, the workspace and the keys once, and share them', async () => {
    const database = await createDatabase();
    const parts = {
      bootstrap: { keys: [{ key: 'shared-test-key', name: 'shared', workspace: 'main', member: 'ada' }] },
    };
    const [one, two] = await Promise.all([open(database, parts), open(database, parts)]);
    const names = (await one.gateway.storage.access.listWorkspaces()).map(({ name }) => name);
    expect(names.sort()).toEqual(['main', 'other']); // either of them may have created each
    expect((await ask(one, 'shared-test-key')).status).toBe(200);
    expect((await ask(two, 'shared-test-key')).status).toBe(200);

    await one.gateway.storage.access.setKeyDisabled(hashKey('shared-test-key'), true);
    await expect.poll(async () => (await ask(two, 'shared-test-key')).status).toBe(401);
    expect((await ask(two)).status).toBe(200);
  });

  long('two that start at once without ids for their workspaces agree on them', async () => {
    const database = await createDatabase();
    const bootstrap = {
      workspaces: [{ name: 'team' }],
      keys: [{ key: 'shared-test-key', name: 'shared', workspace: 'team', acts_as: 'organization' }],
    };
    const env = { DATABASE_URL: database };
    const [one, two] = await Promise.all([
      startGateway({ config: { bootstrap }, env }),
      startGateway({ config: { bootstrap }, env }),
    ]);
    const answer = await one.post({ input: 'hi' }, 'shared-test-key');
    await answer.text();
    const path = `/api/v1/generation?id=${answer.headers.get('x-generation-id')}`;
    await expect.poll(async () => (await two.get(path, 'shared-test-key')).status).toBe(200);
    const client = new pg.Client({ connectionString: database });
    await client.connect();
    expect((await client.query('select name from workspaces')).rows).toEqual([{ name: 'team' }]);
    await client.end();
  });

  quick('one whose store stops continues to serve, and records each entry once when it is back', async () => {
    const { relay, gateway } = await openWithRelay();
    const ids = [(await ask(gateway)).id];
    await expect.poll(() => countEntries(gateway)).toBe(1);
    const running = gateway.stream({ model: 'simulator/echo', input: '[[slow 10]] [[words 30]]' });
    running.catch(() => {}); // it is awaited later

    await relay.down();
    for (let at = 0; at < 20; at++) {
      const { status, id } = await ask(gateway);
      expect(status).toBe(200);
      ids.push(id);
    }
    const streamed = await running;
    expect(streamed.done).toBe(true);
    ids.push(streamed.headers.get('x-generation-id')!);
    expect((await gateway.get('/ready')).status).toBe(200); // while requests are served
    await expect
      .poll(async () => (await gateway.get('/ready')).json())
      .toMatchObject({
        status: 'ready',
        store: expect.stringMatching(/^unreachable since 2\d{3}-/),
        ledger: expect.stringMatching(/^waits in the journal since 2\d{3}-/),
      });
    const { access } = (await expect
      .poll(async () => (await gateway.get('/ready')).json())
      .toHaveProperty('access')
      .then(async () => (await gateway.get('/ready')).json())) as { access: string };
    expect(access).toMatch(/^not read since 2\d{3}-/);
    expect((await gateway.get('/health')).status).toBe(200);
    expect((await gateway.get(`/generation?id=${ids.at(-1)}`)).status).toBe(200); // still in the journal
    const gone = await gateway.get('/generation?id=gen-unknown');
    expect(gone.status).toBe(503);
    expect(gone.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);

    await relay.up();
    await expect.poll(async () => (await gateway.get('/ready')).json()).toEqual({ status: 'ready' });
    await expect.poll(() => countEntries(gateway)).toBe(ids.length);
    for (const id of ids) expect((await gateway.get(`/generation?id=${id}`)).status).toBe(200);
    expect((await ask(gateway)).status).toBe(200);
  });

  long(
    'one whose store stays unreachable returns 503 after a while, finishes open requests and loses nothing',
    async () => {
      const relay = await openRelay(await createDatabase());
      relays.push(relay);
      const graceMs = patient(3000); // many refreshes of the keys fail before it ends
      const gateway = await open(relay.url, { storage: { url: relay.url, grace_ms: graceMs } });
      const running = gateway.stream({ model: 'simulator/echo', input: '[[slow 20]] [[words 100]]' });
      running.catch(() => {}); // it is awaited later
      const readMetrics = async () => (await fetch(`${gateway.url}/metrics`)).text();
      await expect.poll(readMetrics, { interval: 5 }).toMatch(/^headgate_open_streams 1$/m); // it has been accepted
      await relay.down();
      const ids: string[] = [];
      const refused = await vi.waitFor(
        async () => {
          const outcome = await ask(gateway);
          if (outcome.status === 200) ids.push(outcome.id);
          expect(outcome.status).toBe(503);
          return outcome;
        },
        { interval: 100 },
      );
      expect(refused.retryAfter).toBe('5');
      expect((await gateway.get('/ready')).status).toBe(503);
      expect(refused.message).toContain(`for more than ${graceMs / 1000} s (storage.grace_ms)`);
      const { done, headers } = await running;
      expect(done).toBe(true);
      ids.push(headers.get('x-generation-id')!);

      await relay.up();
      await expect.poll(async () => (await ask(gateway)).status).toBe(200);
      await expect.poll(() => countEntries(gateway)).toBe(ids.length + 1);
      for (const id of ids) expect((await gateway.get(`/generation?id=${id}`)).status).toBe(200);
    },
  );

  quick('one that is stopped while its store is unreachable leaves its entries to the next start', async () => {
    const { relay, gateway } = await openWithRelay();
    await relay.down();
    const { id } = await ask(gateway);
    gateways.length = 0;
    await gateway.close({ keepData: true });
    await relay.up();
    const again = await testGateway({ storage: { url: relay.url } }, gateway.dataDir);
    gateways.push(again);
    expect((await again.get(`/generation?id=${id}`)).status).toBe(200);
    expect(await countEntries(again)).toBe(1);
  });

  long('one whose store stops responding continues to serve, and reports it', async () => {
    const { relay, gateway } = await openWithRelay();
    expect((await ask(gateway)).status).toBe(200);
    relay.freeze();
    for (let at = 0; at < 3; at++) expect((await ask(gateway)).status).toBe(200);
    expect(await (await gateway.get('/ready')).text()).toContain('unreachable since');
    expect((await ask(gateway)).status).toBe(200);
    relay.thaw();
    await expect.poll(async () => (await gateway.get('/ready')).json()).toEqual({ status: 'ready' });
    await expect.poll(() => countEntries(gateway)).toBe(5);
  });

  long('reject a key that another one disabled after their connections to the store stopped responding', async () => {
    const database = await createDatabase();
    const relay = await openRelay(database);
    relays.push(relay);
    const parts = {
      bootstrap: { keys: [{ key: 'shared-test-key', name: 'shared', workspace: 'main', member: 'ada' }] },
    };
    const one = await open(database, parts);
    const two = await open(relay.url, parts);
    const status = async () => (await ask(two, 'shared-test-key')).status;
    expect(await status()).toBe(200);
    relay.strand();
    await one.gateway.storage.access.setKeyDisabled(hashKey('shared-test-key'), true);
    // Long before the timeout of other queries (30 s).
    await expect.poll(status).toBe(401);
    // Management over new connections works, too.
    await expect.poll(async () => (await two.gateway.storage.access.listKeys()).length).toBeGreaterThan(0);
  });

  long('one whose database is read-only continues to serve, and reports it', async () => {
    const database = await createDatabase();
    const gateway = await open(database);
    const setReadOnly = async (setting: 'on' | 'off') => {
      await admin.query(`alter system set default_transaction_read_only = ${setting}`);
      await admin.query('select pg_reload_conf()');
    };
    const ready = async () => (await gateway.get('/ready')).json();
    await setReadOnly('on');
    try {
      await expect.poll(ready).toHaveProperty('store', expect.stringMatching(/^read-only since 2\d{3}-/));
      expect((await ask(gateway)).status).toBe(200);
      await expect.poll(ready).toHaveProperty('ledger', expect.stringMatching(/^waits in the journal since 2\d{3}-/));
      expect((await gateway.get('/ready')).status).toBe(200);
      const folder = mkdtempSync(join(tmpdir(), 'headgate-read-only-'));
      writeFileSync(join(folder, 'headgate.yaml'), JSON.stringify({ storage: { url: database } }));
      const told = { text: '', write: (text: string) => (told.text += text) };
      expect(await runCli(['doctor', '--data', folder], { stdout: told, stderr: told, env: {}, cwd: folder })).toBe(1);
      rmSync(folder, { recursive: true });
      expect(told.text).toMatch(/fail +storage +PostgreSQL .* is read-only/);
    } finally {
      await setReadOnly('off');
    }
    await expect.poll(ready).toEqual({ status: 'ready' });
    await expect.poll(() => countEntries(gateway)).toBe(1);
  });

  long('one that is stopped while its store does not respond waits for it only briefly', async () => {
    const relay = await openRelay(await createDatabase());
    relays.push(relay);
    const gateway = await startGateway({ env: { DATABASE_URL: relay.url } });
    relay.freeze();
    const answer = await gateway.post({ input: 'hi' });
    await answer.text();
    expect(await gateway.end()).toBe(0);
    expect(gateway.running.stderr).toContain('"msg":"ledger flush failed"');
    relay.thaw();
    const again = await startGateway({ folder: gateway.folder, env: { DATABASE_URL: relay.url } });
    const path = `/api/v1/generation?id=${answer.headers.get('x-generation-id')}`;
    expect((await again.get(path)).status).toBe(200);
  });

  quick('one that cannot reach its store at the start reports it without the password, and exits with 1', async () => {
    const relay = await openRelay(url);
    await relay.down();
    const address = new URL(relay.url);
    address.password = 'geheim';
    const running = run({ env: { DATABASE_URL: address.href } });
    expect(await running.ended).toBe(1);
    expect(running.stderr).toMatch(
      /^headgate: PostgreSQL at 127\.0\.0\.1:\d+\/postgres cannot be used: .*ECONNREFUSED.*\n$/,
    );
    expect(running.stderr).not.toContain('geheim');
  });
});
