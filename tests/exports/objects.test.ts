import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { createObjectTarget } from '../../src/exports/object-target.ts';
import { createExportState, runExport } from '../../src/exports/run-export.ts';
import type { OwnedJob } from '../../src/platform/jobs/run-jobs.ts';
import { createTestEntry } from '../../src/platform/storage/contract/samples.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type Json, main, manage } from '../api/manage.ts';

let gateway: TestGateway;
afterEach(() => gateway.close());

const prefix = 'exports/ledger';

/** Reads the lines of all objects, in the order of their names. */
function readLines(folder: string): Json[] {
  const names = globSync(`files/objects/${prefix}/**/*.jsonl%`, { cwd: folder }).toSorted();
  return names.flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Json),
  );
}

it('writes each entry and each correction once, with the contents that are kept and redacted', async () => {
  const rules = { content_filter_builtins: [{ slug: 'email', action: 'redact' }] };
  const guardrails = [{ name: 'no addresses', workspace: 'main', rules, keys: ['app'] }];
  gateway = await testGateway({ ledger: { files: { contents: true } }, bootstrap: { guardrails } }, undefined, {
    exportMs: 200,
    gatherMs: 1,
  });
  const ask = manage(() => gateway);
  await ask('PATCH', '/workspaces/main', { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1 });
  const response = await gateway.post('/responses', { model: 'simulator/echo', input: 'I am ada@example.com.' });
  expect(response.status, await response.clone().text()).toBe(200);
  const id = response.headers.get('x-generation-id')!;
  const { ledger } = gateway.gateway.storage;
  await expect.poll(() => ledger.find(undefined, id)).toBeDefined();
  const other = createTestEntry({ workspaceId: main });
  await ledger.append([other]);
  await ledger.correct([{ entry: other, costNanoUsd: -5n, inputCostNanoUsd: 0n }], 1_790_000_000_000);

  await expect.poll(() => readLines(gateway.dataDir).length).toBeGreaterThanOrEqual(3);
  const lines = readLines(gateway.dataDir);
  expect(lines.map((line) => line.id).toSorted()).toEqual([id, other.id, `${other.id}.1`].toSorted());
  const line = lines.find((each) => each.id === id);
  expect(line).toMatchObject({
    workspace_id: main,
    requested_model: 'simulator/echo',
    outcome: 'completed',
    content: { error: null, truncated: false },
  });
  expect(JSON.stringify(line.content.input)).toContain('I am');
  expect(JSON.stringify(lines)).not.toContain('ada@example.com');
  expect(lines.find((each) => each.id === other.id)).toMatchObject({ content: null });
  expect(lines.find((each) => each.corrects === other.id)).toMatchObject({ total_cost: -5e-9, workspace_id: main });
});

it('replaces an object that was cut, and writes no row twice after a crash', async () => {
  gateway = await testGateway();
  const { ledger } = gateway.gateway.storage;
  const { objects } = openDisk();
  const entries = Array.from({ length: 5 }, () => createTestEntry({ workspaceId: main })).sort((a, b) =>
    a.id < b.id ? -1 : 1,
  );
  await ledger.append(entries);
  let checkpoint: string | null = null;
  /** A process that dies at a checkpoint. */
  async function work(dieAt: number) {
    const ending = new AbortController();
    let saves = 0;
    const job = {
      id: 'j',
      payload: '{}',
      checkpoint,
      signal: ending.signal,
      async waitForWake() {
        ending.abort();
      },
      async saveCheckpoint(next: string) {
        if (++saves > dieAt) throw new Error('killed');
        checkpoint = next;
      },
    } as unknown as OwnedJob;
    const target = { ...createObjectTarget({ objects, prefix, contents: undefined, everyMs: 3_600_000 }), maxRows: 2 };
    const state = createExportState('files');
    await runExport(job, { target, ledger, state, now: () => 1_790_000_000_000, log: () => {}, retryMs: 1 }).catch(
      () => {},
    );
  }
  for (const dieAt of [0, 1, 1, 1, 2, 1, 9]) await work(dieAt);
  const written = [...stored].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, text]) => text.trim().split('\n'));
  expect(written.map((line) => (JSON.parse(line) as Json).id)).toEqual(entries.map(({ id }) => id));
  expect([...stored.keys()]).toEqual([1, 3, 4].map((at) => `${prefix}/2026/09/21/14/${entries[at]!.id}.jsonl`));
});

const stored = new Map<string, string>();
/** Objects in memory, of which every second write fails in the middle. */
function openDisk() {
  let puts = 0;
  stored.clear();
  return {
    objects: {
      async put(key: string, content: AsyncIterable<Uint8Array>) {
        let text = '';
        for await (const piece of content) text += Buffer.from(piece).toString();
        if (++puts % 2 === 1) throw new Error('the bucket is unavailable');
        stored.set(key, text);
        return text.length;
      },
    },
  };
}
