import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { HomeSync } from '../../containers/home-sync.ts';
import type { LeaseKeeper } from '../../containers/leases.ts';
import type { Intern } from '../../domain/intern.ts';
import { connectToPort } from '../../platform/sandbox/connect-port.ts';
import type { Sandbox, SandboxProcess } from '../../platform/sandbox/sandbox.ts';
import { withTimeout } from '../../platform/with-timeout.ts';
import type { InternCredentials } from '../ports.ts';
import { AGENT_PORT, AgentClient, AgentError } from './agent-client.ts';
import { acquireHome, type HomeLease, openHome, syncHome } from './intern-home.ts';
import { ControlSigner } from './control-signer.ts';
import { launchAgent } from './launch-agent.ts';
import { LogRing, readStart } from './log-ring.ts';
import { type InternEgress, type RuntimeParts, type RuntimeTimes, runtimeTimes } from './runtime-parts.ts';
import { LOG_PATH, writeFile } from './write-file.ts';

/** Restarts without a success between them, after which the lifecycle starts everything again. */
const MAX_RESTARTS = 3;
/** Failed health checks in a row after which an agent is started again. */
const MAX_FAILED_CHECKS = 3;
const LAST_SAVE_MS = 30_000;
/** Connections from outside at the same time. Each has processes in the sandbox. */
const MAX_CONNECTIONS = 32;

export interface RunningParts extends RuntimeParts {
  intern: Intern;
  credentials: InternCredentials;
  leases: LeaseKeeper;
}

/** A sandbox with the agent of an intern in it, watched and started again when it ends. */
export class RunningIntern {
  readonly intern: Intern;
  readonly logs: LogRing;
  private readonly parts: RunningParts;
  private readonly times: RuntimeTimes;
  private signer = new ControlSigner();
  private readonly stopping = new AbortController();
  private lease: HomeLease | undefined;
  private sandbox: Sandbox | undefined;
  private home: HomeSync | undefined;
  private egress: InternEgress | undefined;
  private process: SandboxProcess | undefined;
  private starting: Promise<void> = Promise.resolve();
  private ended: Promise<void> | undefined;
  private connections = 0;
  private failures = 0;
  private failedChecks = 0;
  private saving: NodeJS.Timeout | undefined;
  /** Why it is not started again. */
  lostBecause: string | undefined;
  /** Called when the agent has ended, and before it is started again. */
  onAgentEnd: (() => void) | undefined;

  constructor(parts: RunningParts) {
    this.parts = parts;
    this.intern = parts.intern;
    this.logs = new LogRing(parts.now);
    this.times = { ...runtimeTimes, ...parts.times };
  }

  /** Aborted when the intern has been stopped. */
  get stopped(): AbortSignal {
    return this.stopping.signal;
  }

  /** Whether the agent runs. */
  get isReady(): boolean {
    return this.sandbox !== undefined && this.process !== undefined && !this.stopping.signal.aborted;
  }

  /** @throws {AgentError} if the agent is not running */
  get agent(): AgentClient {
    return new AgentClient(this.openSandboxOfAgent(), this.signer);
  }

  /** Connects to the port of the agent. @throws {AgentError} */
  async connect(): Promise<Duplex> {
    if (this.connections >= MAX_CONNECTIONS) {
      throw new AgentError('unreachable', `The intern has ${MAX_CONNECTIONS} connections, and no more are allowed.`);
    }
    this.connections++;
    try {
      const stream = await connectToPort(this.openSandboxOfAgent(), AGENT_PORT);
      return stream.once('close', () => this.connections--);
    } catch (error) {
      this.connections--;
      throw error;
    }
  }

  private openSandboxOfAgent(): Sandbox {
    if (this.isReady) return this.sandbox!;
    throw new AgentError('unreachable', 'The agent of the intern is being started again.');
  }

  /** Starts everything, and waits until the agent accepts requests. @throws {Error} whose message is for the caller */
  start(signal: AbortSignal): Promise<void> {
    const started = this.startAll(AbortSignal.any([signal, this.stopping.signal]));
    this.starting = started.catch(() => {}); // its caller has the error
    return started;
  }

  private async startAll(signal: AbortSignal): Promise<void> {
    const { leases } = this.parts;
    this.lease = await acquireHome(this.parts, leases, this.intern, signal);
    // Without its lease the sandbox must end: another process can run the intern.
    leases.add(this.lease.token, {
      onStop: (stop) => stop === 'lost' && this.lose('Another process of the gateway runs the intern.'),
    });
    await this.openSandbox(signal);
    try {
      await this.startAgent(signal);
    } catch (error) {
      this.logs.note(`the runtime did not start: ${error instanceof Error ? error.message : String(error)}`);
      // With its log, which says why.
      if (!signal.aborted) await withTimeout(LAST_SAVE_MS, this.save()).catch(() => {}); // `save` has reported it
      throw error;
    }
    this.saving = setInterval(() => void this.save().catch(() => {}), this.times.saveMs).unref(); // `save` reports it
  }

  /** Saves the home folder. */
  async save(): Promise<void> {
    const { sandbox } = this;
    const home = this.home;
    if (!home || !sandbox || sandbox.ended.aborted) return;
    try {
      // An agent can replace its log with a folder. Its home is still saved, and it is suspended.
      await writeFile(sandbox, LOG_PATH, Buffer.from(this.logs.text), this.parts.now()).catch((error: unknown) =>
        this.logs.note(`the log was not saved: ${String(error)}`),
      );
      const { tooLong } = await home.save();
      if (tooLong) throw tooLong;
    } catch (error) {
      this.parts.log('intern save failed', { intern: this.intern.id, err: error });
      throw error;
    }
  }

  /** Ends everything. @param saves whether the home is saved before */
  stop(saves: boolean): Promise<void> {
    this.ended ??= this.end(saves);
    return this.ended;
  }

  private async end(saves: boolean): Promise<void> {
    clearInterval(this.saving);
    if (saves) await withTimeout(LAST_SAVE_MS, this.save()).catch(() => {}); // `save` has reported it
    this.stopping.abort(new Error('The intern was stopped.'));
    this.onAgentEnd?.();
    await this.starting;
    const { log, leases } = this.parts;
    const report = (error: unknown): void => log('intern stop failed', { intern: this.intern.id, err: error });
    await this.sandbox?.stop().catch(report);
    await this.egress?.close().catch(report);
    if (this.lease) await leases.release(this.lease.token);
    this.process = undefined;
  }

  private async openSandbox(signal: AbortSignal): Promise<void> {
    const { driver, problem, openEgress, connectGateway, credentials, settings, now } = this.parts;
    if (!driver) throw new Error(problem ?? 'No sandbox can run here (tools.sandbox.driver).');
    const { limits } = settings();
    const name = `intern-${this.intern.id}-${randomBytes(4).toString('hex')}`;
    this.home = undefined; // an incomplete home must not be saved
    await this.egress?.close();
    this.egress = await openEgress({
      intern: this.intern,
      name,
      allowedDomains: () => settings().allowedDomains,
      connectGateway: () => connectGateway(credentials.apiKey),
    });
    this.sandbox = await driver.start({ name, limits, network: this.egress.network, hasNode: true });
    signal.throwIfAborted();
    const home = syncHome(this.parts, this.lease!, this.sandbox);
    const { version } = await openHome({ store: this.parts.store, now }, this.intern);
    await home.restore(version);
    this.home = home;
    const saved = await this.sandbox.read(Buffer.from(LOG_PATH));
    if (saved) this.logs.restore(await readStart(saved));
    signal.throwIfAborted();
  }

  private async startAgent(signal: AbortSignal): Promise<void> {
    const { program } = this.parts.settings();
    this.signer = new ControlSigner(); // a request to an earlier agent is not valid for this one
    const { intern, signer, logs, times } = this;
    const launch = { intern, signer, program, logs, times, sandbox: this.sandbox!, egress: this.egress! };
    const started = await launchAgent(launch, signal);
    this.process = started;
    this.failedChecks = 0;
    logs.note('the runtime is ready');
    started.exited.then(
      (code) => void this.restart(started, `The agent ended with code ${code}.`),
      (error: Error) => void this.restart(started, error.message),
    );
  }

  /**
   * Checks the agent, and starts it again if it does not respond repeatedly.
   *
   * @returns why the intern is lost; undefined: it works, or is being started again
   */
  async checkHealth(signal: AbortSignal): Promise<string | undefined> {
    const current = this.process;
    if (current && !this.ended) await this.check(current, signal);
    return this.lostBecause;
  }

  private async check(current: SandboxProcess, signal: AbortSignal): Promise<void> {
    try {
      await this.agent.checkHealth(AbortSignal.any([signal, AbortSignal.timeout(this.times.checkMs)]));
      this.failedChecks = 0;
      this.failures = 0;
    } catch (error) {
      if (signal.aborted || this.ended || this.process !== current || ++this.failedChecks < MAX_FAILED_CHECKS) return;
      this.logs.note(`the runtime does not respond and is started again: ${String(error)}`);
      await current.kill().catch(() => {}); // its end starts it again
    }
  }

  /**
   * Starts the agent again after it ended, in a new sandbox with the saved home. Processes that commands left in the old one
   * could change the files of the new agent while it starts.
   */
  private async restart(ended: SandboxProcess, firstReason: string): Promise<void> {
    if (this.ended || this.process !== ended) return;
    this.process = undefined;
    this.onAgentEnd?.();
    for (let reason = firstReason; ; ) {
      this.logs.note(`the runtime ended: ${reason}`);
      this.parts.log('intern runtime ended', { intern: this.intern.id, reason, restarts: this.failures });
      if (++this.failures > MAX_RESTARTS) return this.lose(reason);
      const { signal } = this.stopping;
      await pause(this.times.restartMs * 2 ** (this.failures - 1), undefined, { signal, ref: false }).catch(() => {});
      if (this.ended) return;
      try {
        const started = this.replaceSandbox(signal).then(() => this.startAgent(signal));
        this.starting = started.catch(() => {}); // reported below
        await started;
        return;
      } catch (error) {
        if (this.ended) return;
        reason = error instanceof Error ? error.message : String(error);
      }
    }
  }

  private async replaceSandbox(signal: AbortSignal): Promise<void> {
    await withTimeout(LAST_SAVE_MS, this.save()).catch(() => {}); // `save` has reported it
    await this.sandbox?.stop();
    signal.throwIfAborted();
    await this.openSandbox(signal);
  }

  private lose(reason: string): void {
    this.lostBecause ??= reason;
    void this.stop(false);
  }
}
