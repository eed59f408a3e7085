import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { json, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { provider } from './lab.ts';
import { bundleSource } from '../setup/bundle-source.ts';
import { patient } from '../../src/testing/patience.ts';

const bundledSource = await bundleSource();

let engine: ScriptedUpstream;
let upstream: ScriptedUpstream;
beforeAll(async () => {
  engine = await startUpstream();
  upstream = await startUpstream();
});
afterAll(() => Promise.all([engine.close(), upstream.close()]));

const readRows = (dataDir: string, sql: string): Record<string, unknown>[] => {
  const database = new DatabaseSync(join(dataDir, 'headgate.db'), { readOnly: true, timeout: patient(5000) });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
};

/** Kills a gateway when the server gets the request, starts it again, and returns the entry and its lines. */
async function killAt(server: ScriptedUpstream): Promise<[Record<string, unknown>, Record<string, unknown>[]]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-killed-'));
  const config = {
    providers: [provider('openai-chat', 'plain', upstream)],
    tools: {
      web_search: {
        engines: { exa: { driver: 'exa', base_url: engine.url, api_key: 'key', price_per_search: 0.007 } },
      },
    },
  };
  const script = join(import.meta.dirname, 'serve-until-killed.ts');
  const child = spawn(process.execPath, [script, dataDir, JSON.stringify(config)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: bundledSource },
  });
  try {
    await once(child.stdout, 'data');
    child.stdin.write('\n');
    const url = String((await once(child.stdout, 'data'))[0]).trim();
    const count = server.requests.length;
    const body = JSON.stringify({ model: 'openai-chat/plain', input: 'Hello', plugins: [{ id: 'web' }] });
    const headers = { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' };
    const asking = fetch(`${url}/api/v1/responses`, { method: 'POST', headers, body }).catch(() => 'gone');
    await expect.poll(() => server.requests.length).toBe(count + 1);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    expect(await asking).toBe('gone');
    await exited;
    const next = await testGateway(config, dataDir);
    await next.gateway.flush();
    await next.close({ keepData: true });
    const rows = readRows(dataDir, 'select * from ledger');
    expect(rows).toHaveLength(1);
    return [rows[0]!, readRows(dataDir, 'select * from ledger_lines order by position')];
  } finally {
    child.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
}

it('a search that is in progress when the gateway is killed is in the ledger', async () => {
  engine.respond(stallBeforeHeaders());
  const [row, lines] = await killAt(engine);
  expect(row).toMatchObject({
    error_type: 'gateway_stopped',
    outcome: 'failed',
    cost_nano_usd: 7_000_000,
    estimated: 1,
  });
  expect(lines).toMatchObject([{ kind: 'tool', model: 'web_search', provider: 'exa', cost_nano_usd: 7_000_000 }]);
});

it('a search before the model call that is in progress then is there, too, once', async () => {
  engine.respond(json({ results: [] }));
  upstream.respond(stallBeforeHeaders());
  const [row, lines] = await killAt(upstream);
  expect(row).toMatchObject({ error_type: 'gateway_stopped', provider: 'openai-chat-plain', cost_nano_usd: 7_000_000 });
  expect(lines.map(({ kind }) => kind)).toEqual(['tool', 'attempt']);
});
