import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { testKeys } from '../../src/testing/index.ts';
import { cleanUp, type GatewayProcess, makeFolder, startGateway } from '../lifecycle/gateway-process.ts';
import { probeBubblewrap } from './probe-bubblewrap.ts';
import { listProcesses } from './search-machine.ts';
import { patient } from '../../src/testing/patience.ts';

const problem = await probeBubblewrap();
const body = { name: 'scout', workspace_id: '00000000-0000-4000-8000-0000000000a1', provision: true };
/** Writes of a creation with a start that succeed without a crash: `kill-at.ts` counts them. */
const WRITES = 17;
/** A gateway is killed before each of them, and after the last one. */
const points = [...Array.from({ length: WRITES }, (_, at) => `before ${at + 1}`), `after ${WRITES}`];
/** Scenarios at the same time: most of one is the wait until the work of the killed process is taken over. */
const PARALLEL = 9;

afterEach(cleanUp);

const create = (gate: GatewayProcess): Promise<Response> =>
  fetch(`${gate.url}/api/v1/interns`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json', 'idempotency-key': 'once' },
    body: JSON.stringify(body),
  });

/** Kills a gateway at a point, sends the same request to the next one, and counts what exists when the intern runs. */
async function killAndRetry(point: string): Promise<unknown> {
  const folder = makeFolder();
  const config = { interns: { health_ms: 500 } };
  const preload = `--import ${join(import.meta.dirname, 'kill-at.ts')}`;
  const first = await startGateway({ folder, config, env: { NODE_OPTIONS: preload, HEADGATE_TEST_KILL_AT: point } });
  await create(first).catch(() => {}); // the process ends, perhaps before it responds
  expect(await first.running.ended, point).toBe('SIGKILL');

  const second = await startGateway({ folder, config });
  const retry = await create(second);
  const { id } = (await retry.json()) as { id: string };
  const find = async () => (await (await second.get(`/api/v1/interns/${id}`)).json()) as { status: string };
  await vi.waitFor(async () => expect(await find(), point).toMatchObject({ status: 'running' }), {
    timeout: patient(150_000),
    interval: 100,
  });
  using database = new DatabaseSync(join(folder, 'data', 'headgate.db'), { readOnly: true, timeout: patient(5000) });
  const count = (from: string) => Number(database.prepare(`select count(*) as found from ${from}`).get()?.['found']);
  const countAgents = () => listProcesses(1).filter(({ pid, command }) => isAgentOf(id, pid, command)).length;
  await vi.waitFor(() => expect(countAgents(), point).toBe(1)); // that of the killed gateway ends with it, but not at once
  const counts = {
    interns: count('interns'),
    vaults: count('vaults'),
    vaultKeys: count('vault_keys'),
    containers: count('containers'),
    keys: count('keys where intern_id is not null'),
    agents: countAgents(),
  };
  await second.end();
  return { point, status: retry.status === 200 || retry.status === 201, ...counts };
}

/** Whether a process is the agent of an intern, below any gateway. */
function isAgentOf(id: string, pid: number, command: string): boolean {
  if (!/^\S*(?:loader \S*)?node .*agent\/main\.js/.test(command)) return false;
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`HEADGATE_INTERN_ID=${id}`);
  } catch {
    return false; // it has ended
  }
}

describe.skipIf(problem !== undefined)('a gateway that is killed', () => {
  it(
    'at any write of a creation: a retry completes the work and doubles nothing',
    { timeout: patient(600_000) },
    async () => {
      const waiting = [...points];
      const results: unknown[] = [];
      const work = async (): Promise<void> => {
        for (let point = waiting.shift(); point !== undefined; point = waiting.shift())
          results.push(await killAndRetry(point));
      };
      await Promise.all(Array.from({ length: PARALLEL }, work));
      expect(results).toHaveLength(points.length);
      for (const result of results) {
        expect(result).toEqual({
          point: expect.any(String),
          status: true,
          interns: 1,
          vaults: 1,
          vaultKeys: 1,
          containers: 1,
          keys: 1,
          agents: 1,
        });
      }
    },
  );
});
