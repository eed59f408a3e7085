/**
 * Measures lists of a container with 100,000 files over HTTP, in pages of 1,000, with each store. The first page of each
 * walk is left out.
 *
 *     node bench/container-pages.ts
 *     node bench/container-pages.ts --files 20000 --walks 5
 */
import { randomUUID } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { startPostgres } from '../src/testing/postgres.ts';
import { type TestGateway, testGateway } from '../src/testing/test-gateway.ts';

const { values: options } = parseArgs({
  options: { files: { type: 'string', default: '100000' }, walks: { type: 'string', default: '5' } },
});
/** That of the key of the test gateway. */
const workspaceId = '00000000-0000-4000-8000-0000000000a1';
const SAVED_AT_ONCE = 1000;

async function saveFiles({ gateway }: TestGateway): Promise<void> {
  const { containers } = gateway.storage;
  const { key } = (await containers.useContainer(workspaceId, 'many', randomUUID(), Date.now()))!;
  const token = randomUUID();
  await containers.acquireLease({
    token,
    containerKey: key,
    compute: 'bash',
    holder: 'bench',
    policy: '',
    maxHeld: 1,
    startedAtMs: Date.now(),
    untilMs: Date.now() + 3_600_000,
  });
  const file = { kind: 'file', bytes: 100, mode: 0o644, modifiedAtMs: 1, target: null, content: null } as const;
  for (let at = 0; at < Number(options.files); at += SAVED_AT_ONCE) {
    await containers.saveEntries({
      containerKey: key,
      token,
      deleted: [],
      atMs: Date.now(),
      entries: Array.from({ length: SAVED_AT_ONCE }, (_, index) => ({
        ...file,
        path: `dir-${(at + index) % 97}/file-${at + index}`,
      })),
      limits: { bytes: Number.MAX_SAFE_INTEGER, entries: Number.MAX_SAFE_INTEGER },
    });
  }
}

/** @returns the milliseconds of each page but the first */
async function walk(gateway: TestGateway): Promise<number[]> {
  const times: number[] = [];
  for (let after = ''; ; ) {
    const startedMs = performance.now();
    const response = await gateway.get(`/containers/many/files?limit=1000${after}`);
    const text = await response.text();
    times.push(performance.now() - startedMs);
    const page = JSON.parse(text) as { has_more: boolean; last_id: string };
    if (!page.has_more) return times.slice(1);
    after = `&after=${page.last_id}`;
  }
}

async function measure(name: string, parts: Record<string, unknown>): Promise<void> {
  const gateway = await testGateway(parts);
  try {
    await saveFiles(gateway);
    await walk(gateway);
    for (let round = 0; round < Number(options.walks); round++) {
      const times = (await walk(gateway)).sort((a, b) => a - b);
      const at = (part: number): string => (times[Math.floor(part * times.length)] ?? 0).toFixed(1);
      console.log(`${name}: page p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, of ${times.length}`);
    }
  } finally {
    await gateway.close();
  }
}

console.log(`load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`);
await measure('SQLite', {});
const postgres = await startPostgres();
if ('skipped' in postgres) console.log(`PostgreSQL: ${postgres.skipped}`);
else {
  await measure('PostgreSQL', { storage: { url: await postgres.createDatabase() } });
  await postgres.stop();
}
