import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Caller } from '../../domain/caller.ts';
import { GatewayError } from '../../domain/errors.ts';
import { createInternJob, internTransitions } from '../../domain/intern.ts';
import {
  requestDeletion,
  requestProvision,
  suspendIntern,
  updateIntern,
} from '../../management/interns/change-intern.ts';
import { createIntern } from '../../management/interns/create-intern.ts';
import { issueInternKey, revokeInternKeys } from '../../management/interns/intern-keys.ts';
import { checkCreateIntern } from '../../management/interns/schema.ts';
import type { ManagementParts } from '../../management/parts.ts';
import { JobLostError, type JobRunner, runJobs } from '../../platform/jobs/run-jobs.ts';
import type { InternStore, InternUpdate } from '../../platform/storage/ports/interns.ts';
import type { JobStore } from '../../platform/storage/ports/jobs.ts';
import type { VaultStore } from '../../platform/storage/ports/vaults.ts';
import { openSqliteStorage } from '../../platform/storage/sqlite/open.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import { InternNumbers } from '../../platform/telemetry/intern-numbers.ts';
import { ScriptedHost } from '../../testing/scripted-runtime.ts';
import { sweepVaults } from '../../vault/sweep-vaults.ts';
import type { InternVaults } from '../ports.ts';
import { ownIntern } from './own-intern.ts';

const workspaceId = '00000000-0000-4000-8000-0000000000a1';
const names = ['ab', 'cd', 'ef'];
const caller: Caller = { keyHash: 'k', keyName: 'k', kind: 'member', workspaceId, memberId: 'ada' };
const settings = {
  domain: 'test',
  maxRunning: 5,
  provisionMs: 20_000,
  healthMs: 1000,
  checkMs: 500,
  stopMs: 2000,
  restartMs: 200,
  maxRestarts: 2,
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A process of the gateway. When it is killed, all that it waits for never happens. */
interface Process {
  name: string;
  isDead: boolean;
  runner: JobRunner;
  interns: InternStore;
  vaults: InternVaults;
}

class World {
  readonly host = new ScriptedHost();
  readonly processes: Process[] = [];
  readonly created = new Set<string>();
  readonly deleted = new Set<string>();
  readonly pending: Promise<unknown>[] = [];
  readonly unknownTransitions: string[] = [];
  readonly storage: Storage;
  skewMs = 0;
  private started = 0;

  constructor(storage: Storage) {
    this.storage = storage;
  }

  now = (): number => Date.now() + this.skewMs;

  /** A store whose calls never return to a killed process. */
  private guard<Store extends object>(store: Store, self: { isDead: boolean }): Store {
    return new Proxy(store, {
      get: (target, name) =>
        typeof Reflect.get(target, name) !== 'function'
          ? Reflect.get(target, name)
          : async (...args: unknown[]) => {
              if (self.isDead) await new Promise(() => {});
              const result = await (Reflect.get(target, name) as (...given: unknown[]) => unknown)(...args);
              if (self.isDead) await new Promise(() => {});
              return result;
            },
    });
  }

  /** Notes changes of the status that the table of states does not have. */
  private watch(store: InternStore): InternStore {
    return {
      ...store,
      updateIntern: (update: InternUpdate) => {
        const { status } = update.fields;
        for (const from of status === undefined ? [] : update.from) {
          const known = Object.values(internTransitions[from]);
          if (!known.includes(status!)) this.unknownTransitions.push(`${from} → ${status}`);
        }
        return store.updateIntern(update);
      },
    };
  }

  start(): void {
    const name = `process-${++this.started}`;
    const self = { isDead: false };
    const interns = this.guard(this.watch(this.storage.interns), self);
    const management = this.manage(this.guard(this.storage.management, self));
    const runtime = this.host.createRuntime(name);
    const vaults = this.host.createVaults(name);
    const lifecycle = {
      interns,
      runtime,
      vaults,
      numbers: new InternNumbers(),
      now: this.now,
      settings: () => settings,
      log: () => {},
      credentials: {
        async issue(intern: Parameters<typeof issueInternKey>[1], lease: Parameters<typeof issueInternKey>[2]) {
          const issued = await issueInternKey(management, intern, lease);
          if (!issued) throw new JobLostError();
          return issued;
        },
        async revoke(internId: string, lease: Parameters<typeof issueInternKey>[2]) {
          if (!(await revokeInternKeys(management, internId, lease))) throw new JobLostError();
        },
      },
    };
    const runner = runJobs({
      store: this.guard<JobStore>(this.storage.jobs, self),
      holder: name,
      now: this.now,
      leaseMs: 1000,
      pollMs: 400,
      retryMs: 100,
      elapsed: () => Date.now(),
      onTrouble: () => {},
      kinds: [{ kind: 'intern', work: (job) => ownIntern(lifecycle, job), maxOwned: () => 10 }],
    });
    this.processes.push(Object.assign(self, { name, runner, interns, vaults }));
  }

  private manage(management: Storage['management']): ManagementParts {
    const { access, ledger } = this.storage;
    return { management, access, ledger, now: this.now, contentFilters: {} as never, onChange: async () => {} };
  }

  kill(index: number): void {
    const [process] = this.processes.splice(index % this.processes.length, 1);
    process!.isDead = true;
    this.host.kill(process!.name);
    this.start();
  }

  /** Calls a use case in one of the processes. An expected refusal is no failure. */
  private call(index: number, work: (parts: Parameters<typeof createIntern>[0]) => Promise<unknown>): void {
    const process = this.processes[index % this.processes.length]!;
    const parts = {
      interns: process.interns,
      vaults: process.vaults,
      now: this.now,
      maxPerMember: () => 10,
      notify: (id: string) => {
        for (const each of this.processes) each.runner.notify(createInternJob(id, 0).id);
      },
    };
    const done = work(parts).catch((error: unknown) => {
      if (!(error instanceof GatewayError) && !(error instanceof Error && error.name === 'AbortError')) throw error;
    });
    // All times here are those of the test's clock.
    this.pending.push(Promise.race([done, new Promise((resolve) => setTimeout(resolve, 60_000))]));
  }

  create(index: number, name: string, provision: boolean): void {
    const body = checkCreateIntern({ name, workspace_id: workspaceId, provision });
    this.call(index, async (parts) => {
      const { intern } = await createIntern(parts, caller, { body, key: undefined });
      this.created.add(intern.id);
    });
  }

  async change(index: number, name: string, operation: 'provision' | 'suspend' | 'delete' | 'update'): Promise<void> {
    const found = (await this.list()).find((each) => each.name === name);
    if (!found) return;
    this.call(index, async (parts) => {
      if (operation === 'provision') await requestProvision(parts, caller, found.id);
      else if (operation === 'suspend') await suspendIntern(parts, caller, found.id, this.abortAfter(5000));
      else if (operation === 'update')
        await updateIntern(parts, caller, found.id, { description: String(index) } as never);
      else {
        this.deleted.add(found.id);
        await requestDeletion(parts, caller, found.id, true);
      }
    });
  }

  /** Like `AbortSignal.timeout`, by the clock of the test. */
  private abortAfter(ms: number): AbortSignal {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new DOMException('Too late.', 'TimeoutError')), ms);
    return controller.signal;
  }

  list = () => this.storage.interns.listInterns({ workspaceId, limit: 100 });

  async check(): Promise<void> {
    expect(this.host.violations).toEqual([]);
    expect(this.unknownTransitions).toEqual([]);
    for (const { status } of await this.list()) expect(Object.keys(internTransitions)).toContain(status);
  }

  /** Deletes the vaults of deleted interns, as the gateway does now and then. */
  private async sweep(): Promise<void> {
    const vaults = {
      listVaults: async () => [...this.host.vaults.keys()].map((id) => ({ id, kind: 'intern' })),
      deleteVault: async (id: string) => this.host.vaults.delete(id),
    };
    await sweepVaults(
      { vaults: vaults as unknown as VaultStore, interns: this.storage.interns },
      this.abortAfter(60_000),
    );
  }

  /**
   * Without further faults every intern settles, and nothing is left of others.
   *
   * @param leavesVaults whether a vault may be left until it is swept
   */
  async settle(leavesVaults = false): Promise<void> {
    this.host.before = () => {};
    this.host.problem = () => undefined;
    await vi.advanceTimersByTimeAsync(60_000);
    await Promise.all(this.pending);
    if (leavesVaults) await this.sweep();
    await this.check();
    const interns = await this.list();
    const ids = new Set(interns.map(({ id }) => id));
    for (const id of this.created) if (!this.deleted.has(id)) expect(ids).toContain(id);
    const running = interns.filter(({ status }) => status === 'running').map(({ id }) => id);
    expect([...this.host.agents.keys()].sort()).toEqual([...running].sort());
    for (const { status } of interns) {
      expect(['awaiting_chat_install', 'running', 'failed', 'stopped', 'destroy_failed']).toContain(status);
    }
    const keys = (await this.storage.access.listKeys()).flatMap(({ internId }) => internId ?? []);
    expect(keys.sort()).toEqual([...running].sort());
    for (const id of [...this.host.vaults.values(), ...this.host.homes]) expect(ids).toContain(id);
    const beats = await this.storage.jobs.listBeats(['intern'], 100);
    expect(beats.map(({ id }) => id)).toEqual(running.map((id) => createInternJob(id, 0).id).sort());
  }

  async close(): Promise<void> {
    const closed = Promise.all(this.processes.map(({ runner }) => runner.close()));
    await vi.advanceTimersByTimeAsync(5000);
    await closed;
    expect(this.host.agents.size).toBe(0);
    await this.storage.close();
  }
}

const index = fc.nat({ max: 7 });
const name = fc.constantFrom(...names);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('create' as const), index, name, provision: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant('change' as const),
      index,
      name,
      operation: fc.constantFrom('provision', 'provision', 'suspend', 'delete', 'update'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('kill' as const), index }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('jump' as const), ms: fc.integer({ min: -9e6, max: 9e6 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('fault' as const),
      call: fc.constantFrom('prepareHome', 'start', 'checkHealth', 'stop', 'destroy', 'createVault', 'destroyVault'),
      kind: fc.constantFrom('fail', 'wait', 'sick', 'none'),
    }),
  },
  { weight: 6, arbitrary: fc.record({ does: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 4000 }) }) },
);

it('interns only make transitions of the table, run once, settle, and are never lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const storage = await openSqliteStorage(':memory:');
      await storage.migrate();
      await storage.access.putWorkspace({ id: workspaceId, name: 'main', createdAtMs: 1 });
      const world = new World(storage);
      world.start();
      world.start();
      for (const each of steps) {
        if (each.does === 'create') world.create(each.index, each.name, each.provision);
        else if (each.does === 'change') await world.change(each.index, each.name, each.operation as 'provision');
        else if (each.does === 'kill') world.kill(each.index);
        else if (each.does === 'jump') world.skewMs = each.ms;
        else if (each.does === 'fault') {
          world.host.before = async (call) => {
            if (call !== each.call || each.kind === 'none' || each.kind === 'sick') return;
            await new Promise((resolve) => setTimeout(resolve, 1500));
            if (each.kind === 'fail') throw new Error('no');
          };
          world.host.problem = () => (each.kind === 'sick' ? 'sick' : undefined);
        } else await vi.advanceTimersByTimeAsync(each.ms);
        await vi.advanceTimersByTimeAsync(1);
        await world.check();
      }
      // A vault that is created late is deleted at once, unless that fails or its process ends.
      await world.settle(
        steps.some(({ does, ...more }) => does === 'kill' || ('call' in more && more.call === 'destroyVault')),
      );
      await world.close();
    }),
    { numRuns: 6, endOnFailure: true }, // shrinking takes longer than the test may, which would hide the failure
  );
});

it('deletes a vault whose creation ends after the removal of its intern', async () => {
  const storage = await openSqliteStorage(':memory:');
  await storage.migrate();
  await storage.access.putWorkspace({ id: workspaceId, name: 'main', createdAtMs: 1 });
  const world = new World(storage);
  world.start();
  const slow = Promise.withResolvers<void>();
  world.host.before = (call) => (call === 'createVault' ? slow.promise : undefined);
  world.create(0, 'ab', true);
  await vi.advanceTimersByTimeAsync(10);
  await world.change(0, 'ab', 'delete');
  await vi.advanceTimersByTimeAsync(5000);
  expect(await world.list()).toEqual([]);
  slow.resolve();
  await world.settle();
  expect([...world.host.vaults]).toEqual([]);
  await world.close();
});
