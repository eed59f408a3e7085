import { randomBytes } from 'node:crypto';
import { LeaseKeeper } from '../../containers/leases.ts';
import type { Intern } from '../../domain/intern.ts';
import { deleteContainer } from '../../management/containers/sweep-containers.ts';
import type { InternRuntime } from '../ports.ts';
import { nameHome, openHome } from './intern-home.ts';
import { RunningIntern } from './running-intern.ts';
import type { RuntimeParts } from './runtime-parts.ts';
import { readSavedLog } from './saved-log.ts';
import { InternRuns } from './runs.ts';

/** A running intern of this process, with its runs. */
export interface LiveIntern {
  running: RunningIntern;
  runs: InternRuns;
}

/** The runtime of the interns that this process owns. */
export interface LocalRuntime extends InternRuntime {
  /** @returns undefined if this process does not run the intern */
  find(internId: string): LiveIntern | undefined;
  readonly running: number;
  /** Reads the log of an intern that does not run. @returns undefined if there is none */
  readLog(intern: Intern): Promise<string | undefined>;
  /** Saves and stops all interns of this process. */
  close(): Promise<void>;
}

/** Time between two checks of a driver that did not work. */
const PROBE_RETRY_MS = 10_000;

/** Creates the runtime of a process. @see docs/reference/intern-runtimes.md */
export function createRuntime(parts: RuntimeParts): LocalRuntime {
  const leases = new LeaseKeeper(parts);
  const live = new Map<string, LiveIntern>();
  let probe: Promise<string | undefined> | undefined;
  let probedAt = Number.NEGATIVE_INFINITY;

  async function checkDriver(): Promise<void> {
    const { driver, problem = 'No sandbox can run here (tools.sandbox.driver).' } = parts;
    if (!driver) throw new Error(problem);
    if ((await probe) !== undefined && performance.now() - probedAt > PROBE_RETRY_MS) probe = undefined;
    if (!probe) {
      probedAt = performance.now();
      probe = driver.probe().catch((error: unknown) => `The sandbox driver ${driver.kind} failed: ${String(error)}`);
    }
    const found = await probe;
    if (found !== undefined) throw new Error(found);
  }

  async function end(internId: string, saves: boolean): Promise<void> {
    const found = live.get(internId);
    if (!found) return;
    found.runs.close();
    await found.running.stop(saves);
    if (live.get(internId) === found) live.delete(internId);
  }

  return {
    find: (internId) => live.get(internId),
    get running() {
      return live.size;
    },
    readLog: (intern) => readSavedLog(parts, intern),
    async prepareHome(intern, signal) {
      await checkDriver();
      signal.throwIfAborted(); // the intern may have been removed, and its home with it
      await openHome(parts, intern);
    },
    async start(intern, credentials, signal) {
      await end(intern.id, true);
      const running = new RunningIntern({ ...parts, intern, credentials, leases });
      const runs = new InternRuns(running, parts);
      running.onAgentEnd = () => runs.fail();
      live.set(intern.id, { running, runs });
      try {
        await running.start(signal);
      } catch (error) {
        await end(intern.id, false);
        throw error;
      }
      return { address: `${await parts.findAddress()}#${randomBytes(8).toString('hex')}` }; // of this start alone
    },
    async checkHealth(intern: Intern, signal) {
      const found = live.get(intern.id);
      return found ? found.running.checkHealth(signal) : 'The runtime of the intern is not running.';
    },
    async stop(internId) {
      await live.get(internId)?.running.save(); // without a save, it continues
      await end(internId, false);
    },
    abandon: (internId) => end(internId, false),
    async destroy(internId) {
      await end(internId, false);
      const { store } = parts;
      for (const { key } of await store.findContainers(nameHome(internId))) await deleteContainer(parts, key);
    },
    async close() {
      await Promise.all([...live.keys()].map((internId) => end(internId, true)));
      leases.close();
    },
  };
}
