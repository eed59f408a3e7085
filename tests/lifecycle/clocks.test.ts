import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { testKeys } from '../../src/testing/index.ts';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { main } from '../api/manage.ts';
import { centProviders, centRequest, centResponse } from './cents.ts';
import { bootstrap, cleanUp, type GatewayProcess, startGateway } from './gateway-process.ts';

const server = await startPostgres();
afterAll(() => 'stop' in server && server.stop());
if ('skipped' in server) process.stderr.write(`clocks: ${server.skipped}\n`);

const hour = 3_600_000;
/** Makes the clock of a process wrong. Runs before anything else. */
const wrongClock = `
const right = Date.now;
Date.now = () => right() + Number(process.env.WRONG_BY_MS);
globalThis.Date = class extends Date {
  constructor(...values) {
    super(...(values.length > 0 ? values : [Date.now()]));
  }
};`;

describe.skipIf('skipped' in server)('two hosts, one of which has a wrong clock', () => {
  let upstream: ScriptedUpstream;
  let database: string;
  beforeEach(async () => {
    upstream = await startUpstream();
    upstream.always(centResponse());
    database = await (server as TestPostgres).createDatabase();
  });
  afterEach(async () => {
    await cleanUp();
    await upstream.close();
    vi.useRealTimers();
  });

  const start = (env: Record<string, string> = {}) =>
    startGateway({
      env,
      config: {
        storage: { url: database },
        counters: { timeout_ms: 20_000 },
        catalog: { builtin: false },
        providers: centProviders(upstream),
        bootstrap,
      },
    });
  const startWrong = (aheadMs: number) =>
    start({
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(wrongClock)}`,
      WRONG_BY_MS: String(aheadMs),
    });
  const ask = async (gateway: GatewayProcess, key: string) => {
    const answer = await gateway.post(centRequest, key);
    await answer.arrayBuffer();
    return { status: answer.status, id: answer.headers.get('x-generation-id') };
  };

  // Both differ by more than a day, so that each window of a budget starts at another time.
  it.each([
    [30 * hour, '30 h ahead of the store'],
    [-26 * hour, '26 h behind the store'],
  ])('do not exceed a daily budget, and record the time of the store: %i ms', async (aheadMs, skew) => {
    const [right, wrong] = [await start(), await startWrong(aheadMs)];
    const made = await fetch(`${right.url}/api/v1/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKeys.managementKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'daily', limit: 0.2, limit_reset: 'daily', workspace_id: main }),
    });
    const { key } = (await made.json()) as { key: string };
    await expect.poll(async () => (await ask(wrong, key)).status).not.toBe(401);
    let last: string | null = null;
    let answered = 1;
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => ask(at % 2 === 0 ? right : wrong, key)));
      answered += answers.filter(({ status }) => status === 200).length;
      last = answers.findLast(({ status }, at) => status === 200 && at % 2 === 1)?.id ?? last;
    }
    expect(answered).toBe(20);

    await expect.poll(async () => (await wrong.get(`/api/v1/generation?id=${last}`, key)).status).toBe(200);
    const { data } = (await (await wrong.get(`/api/v1/generation?id=${last}`, key)).json()) as {
      data: { created_at: string };
    };
    expect(Math.abs(Date.parse(data.created_at) - Date.now())).toBeLessThan(hour);

    expect(await (await wrong.get('/ready')).json()).toEqual({ status: 'ready', clock: skew });
    expect(await (await right.get('/ready')).json()).toEqual({ status: 'ready' });
    expect(wrong.running.stderr).toMatch(/"ahead_ms":-?\d+.*"clock skew detected"/);
    expect(right.running.stderr).not.toContain('clock skew');
  });

  it('are compared by headgate doctor', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-clocks-'));
    writeFileSync(join(folder, 'headgate.yaml'), JSON.stringify({ storage: { url: database } }));
    const told = { text: '', write: (text: string) => (told.text += text) };
    const doctor = () => runCli(['doctor', '--data', folder], { stdout: told, stderr: told, env: {}, cwd: folder });
    await doctor();
    expect(told.text).toMatch(/ok +clock +this host agrees with PostgreSQL\n/);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 13 * hour });
    await doctor();
    expect(told.text).toMatch(/warn +clock +this host is 13 h ahead of PostgreSQL, whose clock all hosts follow\n/);
    rmSync(folder, { recursive: true });
  });
});
