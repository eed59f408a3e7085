import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { testKeys } from '../../src/testing/index.ts';
import { cleanUp, makeFolder, startGateway } from '../lifecycle/gateway-process.ts';
import { probeBubblewrap } from './probe-bubblewrap.ts';
import { listProcesses } from './search-machine.ts';
import { patient } from '../../src/testing/patience.ts';

const problem = await probeBubblewrap();
const IDLE = 8;
const SUSPENDED = 1000;
const MAX_BYTES = 60 * 1024 * 1024;
const workspace_id = '00000000-0000-4000-8000-0000000000a1';

afterEach(cleanUp);

/**
 * Returns the memory of a process in bytes, with its share of the pages that it has in common with others. A process that
 * has ended has none: the gateway starts short ones, such as `taskset`.
 */
function readMemory(pid: number): number {
  try {
    const kib = /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0;
    return Number(kib) * 1024;
  } catch (error) {
    // Without the permission to read it, the test fails: it must not pass unmeasured.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code!)) return 0;
    throw error;
  }
}

const send = (url: string, body: object): Promise<Response> =>
  fetch(`${url}/api/v1/interns`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe.skipIf(problem !== undefined)('interns that have nothing to do', () => {
  it(
    'take at most 60 MB each while they run, and no process while they are suspended',
    { timeout: patient(300_000) },
    async () => {
      const folder = makeFolder();
      const config = { interns: { max_per_member: 2 * SUSPENDED } };
      const first = await startGateway({ folder, config });
      const create = async (gate: typeof first, name: string, provision: boolean) =>
        expect((await send(gate.url, { name, workspace_id, provision })).status).toBe(201);
      const count = async (gate: typeof first, status: string) => {
        const page = (await (await gate.get(`/api/v1/interns?limit=500&status=${status}`)).json()) as {
          data: unknown[];
        };
        return page.data.length;
      };
      for (let at = 0; at < IDLE; at++) await create(first, `idle${at}`, true);
      await vi.waitFor(async () => expect(await count(first, 'running')).toBe(IDLE), {
        timeout: patient(120_000),
        interval: 100,
      });
      const memory = listProcesses(first.running.child.pid!).map(({ pid }) => readMemory(pid));
      expect(memory.filter((bytes) => bytes > 1_000_000).length).toBeGreaterThanOrEqual(IDLE); // it was measured
      expect(memory.reduce((sum, bytes) => sum + bytes, 0) / IDLE).toBeLessThan(MAX_BYTES);
      for (let at = 0; at < SUSPENDED; at++) await create(first, `rest${at}`, false);
      await first.end();
      {
        using database = new DatabaseSync(join(folder, 'data', 'headgate.db'));
        database.exec("update interns set status = 'stopped' where status = 'awaiting_chat_install'");
        database.exec("update interns set status = 'stopped' where status = 'running'");
      }
      const second = await startGateway({ folder, config });
      expect(await count(second, 'stopped')).toBe(500); // a page of them
      await vi.waitFor(() => expect(listProcesses(second.running.child.pid!)).toEqual([]));
      await second.end();
    },
  );
});
