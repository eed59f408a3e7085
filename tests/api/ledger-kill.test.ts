import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { answer, cases, provider, wires } from './lab.ts';
import { readRows } from './ledger-rows.ts';

const rounds = 4;
const clients = 12;
const price = { prompt: '0.000001', completion: '0.000002' };

let upstream: ScriptedUpstream;
let config: Record<string, unknown>;
let dataDir: string;
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ path, body }) => {
    const { stream } = body as { stream?: boolean };
    const wire = path.endsWith('/responses') ? 'openai-responses' : 'openai-chat';
    return answer({ wire, mode: stream ? 'streamed' : 'buffered' });
  });
  config = {
    providers: wires.map((wire) =>
      provider(wire, 'm', upstream, { models: [{ model: `${wire}/m`, upstream_model: 'm', pricing: price }] }),
    ),
  };
  dataDir = mkdtempSync(join(tmpdir(), 'headgate-kill-'));
});
afterAll(async () => {
  await upstream.close();
  rmSync(dataDir, { recursive: true, force: true });
});

it('has every response that a client received in the ledger, once, when the gateway is killed at any moment', async () => {
  const received = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const server = await serve();
    const before = received.size;
    // The moment is a number of answers, so that it lies elsewhere in each round while the other clients are busy.
    const enough = before + 60 + 37 * round;
    const note = (id: string): void => {
      received.add(id);
      if (received.size === enough) server.process.kill('SIGKILL');
    };
    await Promise.all(Array.from({ length: clients }, (_, index) => askUntilKilled(server.url, index, note)));
    await server.exited;
    expect(received.size).toBeGreaterThanOrEqual(enough);

    const restarted = await testGateway(config, dataDir);
    await restarted.close({ keepData: true });
    const booked = new Map(readRows(dataDir).map((row) => [row.id, row]));
    const lost = [...received].filter((id) => !booked.has(id));
    expect(lost, `round ${round}: ${lost.length} of ${received.size} are lost`).toEqual([]);
    for (const id of received) expect(booked.get(id)).toMatchObject({ outcome: 'completed', cost_nano_usd: 40_000 });
    expect(readdirSync(join(dataDir, 'journal')).filter((name) => name.endsWith('.jsonl'))).toEqual([]);
  }
});

interface Server {
  url: string;
  process: ChildProcess;
  exited: Promise<unknown>;
}

async function serve(): Promise<Server> {
  const script = new URL('serve-until-killed.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, dataDir, JSON.stringify(config)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { url: line.toString().trim(), process: child, exited };
}

/** One client: asks on and on until nobody answers. Notes what it has received to the end. */
async function askUntilKilled(url: string, index: number, note: (id: string) => void): Promise<void> {
  const { wire, mode } = cases[index % cases.length]!;
  const headers = { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: `${wire}/m`, input: 'x', stream: mode === 'streamed' });
  for (;;) {
    let text: string;
    let response: Response;
    try {
      response = await fetch(`${url}/api/v1/responses`, { method: 'POST', headers, body });
      text = await response.text();
    } catch {
      return;
    }
    expect(response.status).toBe(200);
    if (mode === 'buffered' || text.endsWith('data: [DONE]\n\n')) note(response.headers.get('x-generation-id')!);
  }
}
