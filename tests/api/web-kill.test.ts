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

const pricing = { prompt: '0.000001', completion: '0.000002', cache_read: '0.0000001' };
const searches = { body: { model: 'openai-chat/plain', plugins: [{ id: 'web' }] } };

const readRows = (dataDir: string, sql: string): Record<string, unknown>[] => {
  const database = new DatabaseSync(join(dataDir, 'headgate.db'), { readOnly: true, timeout: patient(5000) });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
};

interface KillOptions {
  /** Further fields of the request. */
  body: object;
  /** Dollars for a search. */
  price?: number;
  /** The gateway is killed when the server gets this one of its requests. */
  at?: number;
}

/** Kills a gateway when the server gets a request, starts it again, and returns the entry and its lines. */
async function killAt(
  server: ScriptedUpstream,
  { body: fields, price = 0.007, at = 1 }: KillOptions,
): Promise<[Record<string, unknown>, Record<string, unknown>[]]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-killed-'));
  const config = {
    providers: [
      provider('openai-chat', 'plain', upstream),
      provider('openai-chat', 'priced', upstream, {
        models: [{ model: 'openai-chat/priced', upstream_model: 'm', pricing }],
      }),
    ],
    tools: {
      web_search: {
        engines: { exa: { driver: 'exa', base_url: engine.url, api_key: 'key', price_per_search: price } },
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
    const body = JSON.stringify({ input: 'Hello', ...fields });
    const headers = { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' };
    const asking = fetch(`${url}/api/v1/responses`, { method: 'POST', headers, body }).catch(() => 'gone');
    await expect.poll(() => server.requests.length).toBe(count + at);
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
  const [row, lines] = await killAt(engine, searches);
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
  const [row, lines] = await killAt(upstream, searches);
  expect(row).toMatchObject({ error_type: 'gateway_stopped', provider: 'openai-chat-plain', cost_nano_usd: 7_000_000 });
  expect(lines.map(({ kind }) => kind)).toEqual(['tool', 'attempt']);
});

/** A turn of the model that calls the search. The provider reports 20 tokens, 5 of them cached, and 10 of output. */
const searchCall = json({
  id: 'c',
  object: 'chat.completion',
  model: 'm',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'router_web_search', arguments: '{"query":"news"}' } },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: {
    prompt_tokens: 20,
    completion_tokens: 10,
    total_tokens: 30,
    prompt_tokens_details: { cached_tokens: 5 },
    completion_tokens_details: { reasoning_tokens: 4 },
  },
});
/** 15 × 1000, 5 × 100 and 10 × 2000 nano-dollars. */
const turnCost = 35_500;
const toolRequest = { body: { model: 'openai-chat/priced', tools: [{ type: 'router:web_search' }] }, price: 0 };

it('a turn that has ended is recorded as it was reported while its tools run', async () => {
  upstream.respond(searchCall);
  engine.respond(stallBeforeHeaders());
  const [row, lines] = await killAt(engine, toolRequest);
  expect(row).toMatchObject({
    error_type: 'gateway_stopped',
    model: 'openai-chat/priced',
    input_tokens: 20,
    cached_tokens: 5,
    output_tokens: 10,
    reasoning_tokens: 4,
    cost_nano_usd: turnCost,
    estimated: 0,
  });
  expect(lines).toEqual([]);
});

it('the counts of a killed run are the sums of its lines', async () => {
  upstream.respond(searchCall);
  engine.respond(json({ results: [] }));
  upstream.respond(stallBeforeHeaders());
  const [row, lines] = await killAt(upstream, { ...toolRequest, at: 2 });
  expect(lines).toMatchObject([
    { kind: 'attempt', input_tokens: 20, cached_tokens: 5, estimated: 0 },
    { kind: 'tool' },
    { kind: 'attempt', estimated: 1 },
  ]);
  expect(row).toMatchObject({ error_type: 'gateway_stopped', cached_tokens: 5, reasoning_tokens: 4, estimated: 1 });
  expect(row['input_tokens']).toBe(lines.reduce((sum, line) => sum + Number(line['input_tokens']), 0));
});
