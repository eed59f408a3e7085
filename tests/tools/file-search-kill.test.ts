import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import type { Json } from '../api/manage.ts';
import { bundleSource } from '../setup/bundle-source.ts';
import { patient } from '../../src/testing/patience.ts';

const bundledSource = await bundleSource();

/** A process that is killed while it reads a file leaves nothing half: the next one starts the file over. */
it('a file is completely searchable after a kill -9 in the middle of reading it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-search-'));
  const config = {
    providers: [{ id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/echo', upstream_model: 'echo' }] }],
  };
  const script = join(import.meta.dirname, '../api/serve-until-killed.ts');
  const child = spawn(process.execPath, [script, dataDir, JSON.stringify(config)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: bundledSource },
  });
  const database = () => new DatabaseSync(join(dataDir, 'headgate.db'));
  const count = (): number => {
    using open = database();
    return Number(open.prepare('select count(*) as found from passages').get()?.['found']);
  };
  try {
    await once(child.stdout, 'data');
    child.stdin.write('\n');
    const url = String((await once(child.stdout, 'data'))[0]).trim();
    const lines = Array.from({ length: 20_000 }, (_, line) => `Line ${line} is about tea. ${'x'.repeat(40)}\n\n`);
    const form = new FormData();
    form.append('file', new Blob([...lines, 'The last line is about zebras.']), 'long.txt');
    const headers = { authorization: `Bearer ${testKeys.key}` };
    expect((await fetch(`${url}/api/v1/files`, { method: 'POST', headers, body: form })).status).toBe(200);
    await expect.poll(count, { interval: 5 }).toBeGreaterThan(20);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    const half = count();
    {
      using open = database();
      open.exec('update file_queue set next_at_ms = 0'); // the claim of the killed process is over
    }

    const next = await testGateway(config, dataDir);
    const tools = [{ type: 'router:file_search' }];
    const input = '[[call router:file_search {"queries": ["zebras"]}]]';
    const search = async (): Promise<Json> => {
      const response = await next.post('/responses', { model: 'simulator/echo', tools, input });
      return ((await response.json()) as Json).output[0];
    };
    await expect.poll(async () => (await search()).results.length, { timeout: patient(90_000) }).toBe(1);
    await expect.poll(async () => (await search()).note).toBeUndefined();
    const all = count();
    expect(all).toBeGreaterThanOrEqual(half); // equal: this process was paused until the other one had read the file
    await next.close({ keepData: true });
    using open = database();
    const { positions, words } = open
      .prepare(
        'select count(distinct position) as positions, (select count(*) from passage_words) as words from passages',
      )
      .get() as { positions: number; words: number };
    expect([positions, words]).toEqual([all, all]); // none twice, and none without its words
  } finally {
    child.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
});
