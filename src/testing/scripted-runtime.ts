import type { Intern } from '../domain/intern.ts';
import type { InternCredentials, InternRuntime, InternVaults } from '../interns/ports.ts';

/** The calls of a runtime that a test can make fail or wait. */
export type RuntimeCall = 'prepareHome' | 'start' | 'checkHealth' | 'stop' | 'destroy';

/**
 * Homes, running agents and vaults in memory, shared by the runtimes of several processes. It throws if two processes run
 * an intern at once, and remembers that.
 */
export class ScriptedHost {
  /** Agents: intern → process. */
  readonly agents = new Map<string, string>();
  readonly homes = new Set<string>();
  readonly vaults = new Map<string, string>();
  readonly credentials = new Map<string, InternCredentials>();
  /** Interns as they were started, in this order. */
  readonly started: Intern[] = [];
  /** All calls, as `<call> <intern>`. */
  readonly calls: string[] = [];
  /** Broken rules. */
  readonly violations: string[] = [];
  private readonly killed = new Set<string>();
  /** Called before each call. A rejection makes it fail. */
  before: (call: RuntimeCall | 'createVault' | 'destroyVault', id: string) => Promise<void> | void = () => {};
  /** Why an agent does not work. */
  problem: (internId: string) => string | undefined = () => undefined;

  readonly internVaults: InternVaults = this.createVaults();

  /** Creates the vaults of a process. */
  createVaults(process = 'one'): InternVaults {
    const enter = async (call: 'createVault' | 'destroyVault', id: string): Promise<void> => {
      await this.before(call, id);
      if (this.killed.has(process)) await new Promise(() => {}); // a killed process does nothing more
    };
    return {
      create: async ({ vaultId, internId }) => {
        await enter('createVault', internId);
        this.vaults.set(vaultId, internId);
      },
      destroy: async (vaultId) => {
        await enter('destroyVault', vaultId);
        this.vaults.delete(vaultId);
      },
    };
  }

  /** Creates the runtime of a process. */
  createRuntime(process = 'one'): InternRuntime {
    const enter = async (call: RuntimeCall, id: string): Promise<void> => {
      this.calls.push(`${call} ${id}`);
      await this.before(call, id);
      if (this.killed.has(process)) await new Promise(() => {}); // a killed process does nothing more
    };
    const end = (id: string): void => {
      if (this.agents.get(id) === process) this.agents.delete(id);
    };
    return {
      prepareHome: async ({ id }, signal) => {
        await enter('prepareHome', id);
        signal.throwIfAborted();
        this.homes.add(id);
      },
      start: async (intern: Intern, credentials, signal) => {
        await enter('start', intern.id);
        signal.throwIfAborted();
        const other = this.agents.get(intern.id);
        if (other !== undefined && other !== process)
          this.violations.push(`${intern.id} runs in ${other} and ${process}`);
        if (!this.homes.has(intern.id)) this.violations.push(`${intern.id} has no home`);
        this.agents.set(intern.id, process);
        this.started.push(intern);
        this.credentials.set(intern.id, credentials);
        return { address: `${process}/${intern.id}` };
      },
      checkHealth: async ({ id }) => {
        await enter('checkHealth', id);
        return this.agents.get(id) === process ? this.problem(id) : 'The agent does not run.';
      },
      stop: async (id) => {
        await enter('stop', id);
        end(id);
      },
      abandon: async (id) => end(id),
      destroy: async (id) => {
        await enter('destroy', id);
        end(id);
        this.homes.delete(id);
      },
    };
  }

  /** Ends a process with its agents, without a chance to do anything. */
  kill(process: string): void {
    this.killed.add(process);
    for (const [id, owner] of this.agents) if (owner === process) this.agents.delete(id);
  }
}
