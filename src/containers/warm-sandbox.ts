import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError } from '../domain/errors.ts';
import type { ContainerRecord, SaveRefusal, StopRequest } from '../platform/storage/ports/containers.ts';
import {
  type CommandResult,
  type Sandbox,
  type SandboxCommand,
  type SandboxEntry,
  SandboxError,
} from '../platform/sandbox/sandbox.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { ToolError } from '../tools/server-tool.ts';
import type { ContainersParts } from './container-parts.ts';
import { type HomeSync, SaveRefusedError } from './home-sync.ts';
import type { LeaseKeeper } from './leases.ts';

export interface WarmParts extends Pick<ContainersParts, 'settings' | 'log' | 'counts' | 'waitForSave'> {
  container: ContainerRecord;
  compute: string;
  token: string;
  /** The network policy. */
  policy: string;
  /** Its running sandboxes are counted together. */
  holder: string;
  sandbox: Sandbox;
  home: HomeSync;
  leases: LeaseKeeper;
  /** Closes the network access. */
  closeEgress: (() => Promise<void>) | undefined;
  /** Called when it can no longer be used. */
  onEnding: (warm: WarmSandbox) => void;
}

/** What is left of a save for the caller. */
interface SaveOutcome {
  changed: SandboxEntry[];
  /** Why changes are not saved yet. The next save tries again. */
  unsaved?: string;
  /** Names a path that is never saved. */
  tooLong?: string;
}

/** Time that a call waits for a save, which processes of the container can make long. */
const SAVE_WAIT_MS = 60_000;
const STILL_SAVING = 'The changes are still being saved.';
const waitLong = (signal: AbortSignal): Promise<void> => pause(SAVE_WAIT_MS, undefined, { signal, ref: false });

/** Time for the last save of a sandbox that is stopped at once. */
const LAST_SAVE_MS = 20_000;

/** A running sandbox of a container, with its lease. */
export class WarmSandbox {
  readonly parts: WarmParts;
  /** Commands and saves in progress. */
  private uses = 0;
  private lastUsedAt = performance.now();
  private readonly startedAt = performance.now();
  private idleTimer: NodeJS.Timeout | undefined;
  private readonly commands = new AbortController();
  private readonly unused: (() => void)[] = [];
  private stopping: Promise<void> | undefined;
  private readonly releasing = Promise.withResolvers<void>();
  /** Whether another sandbox can run the container. */
  isReleased = false;

  constructor(parts: WarmParts) {
    this.parts = parts;
    const { token, leases, sandbox } = parts;
    leases.add(token, { onStop: (stop) => void this.stop(stop) });
    sandbox.ended.addEventListener('abort', () => void this.stop('ended'), { once: true });
    if (sandbox.ended.aborted) void this.stop('ended');
    this.watchIdle();
  }

  get isUsable(): boolean {
    return !this.stopping;
  }

  /** Milliseconds since its last use; 0: it is in use. */
  get idleMs(): number {
    return this.uses > 0 ? 0 : performance.now() - this.lastUsedAt;
  }

  /** Resolves when another sandbox can run the container: its files are saved, and its lease is released. */
  get released(): Promise<void> {
    return this.releasing.promise;
  }

  /** Resolves when its processes have ended, too. */
  get stopped(): Promise<void> {
    return this.stopping ?? Promise.resolve();
  }

  /**
   * Runs a command after it has pulled what other sandboxes saved, and saves afterwards.
   *
   * @returns `notes` for the model: what is not saved
   */
  async run(command: SandboxCommand): Promise<{ result: CommandResult; changed: SandboxEntry[]; notes: string[] }> {
    const release = this.use();
    try {
      const signal = AbortSignal.any([command.signal, this.commands.signal]);
      await this.pull();
      signal.throwIfAborted();
      let result: CommandResult;
      try {
        result = await this.parts.sandbox.exec({ ...command, signal });
      } catch (error) {
        // The earlier changes of the command are saved. Its caller does not wait for that.
        const end = this.use();
        void this.save().then(end, end);
        throw error;
      }
      const { changed, unsaved, tooLong } = await this.save();
      const notes = [...(result.notes ?? []), unsaved, tooLong].filter((note) => note !== undefined);
      return { result, changed, notes };
    } catch (error) {
      throw this.explain(error, command.signal);
    } finally {
      release();
    }
  }

  /**
   * Uses the home folder without a command.
   *
   * @param saves whether changes are saved. @throws {ToolError} if they are not
   */
  async useHome<Result>(
    work: (home: HomeSync, sandbox: Sandbox) => Promise<Result>,
    { signal, saves = false }: { signal: AbortSignal; saves?: boolean },
  ): Promise<Result> {
    const release = this.use();
    try {
      await this.pull();
      signal.throwIfAborted();
      const result = await work(this.parts.home, this.parts.sandbox);
      const { unsaved } = saves ? await this.save() : {};
      if (unsaved !== undefined) throw new ToolError(unsaved);
      return result;
    } catch (error) {
      throw this.explain(error, signal);
    } finally {
      release();
    }
  }

  /**
   * Stops it: `idle`: after its commands; `now`: ends its commands; `ended`: the sandbox has ended; `lost`: another process
   * has the container. Saves before, if it can. Never rejects.
   */
  stop(stop: Exclude<StopRequest, 'none'> | 'ended' | 'lost'): Promise<void> {
    if (stop !== 'idle') this.commands.abort(this.describeEnd(stop));
    if (this.stopping) return this.stopping;
    this.stopping = this.stopNow(stop);
    this.parts.onEnding(this);
    return this.stopping;
  }

  /** Returns the error of the commands that it ends. */
  private describeEnd(stop: keyof typeof endings): unknown {
    const cause: unknown = this.parts.sandbox.ended.reason;
    if (stop === 'ended' && cause instanceof SandboxError) return new ToolError(cause.message, { cause });
    return new ToolError(endings[stop]);
  }

  private async stopNow(stop: Parameters<WarmSandbox['stop']>[0]): Promise<void> {
    const { sandbox, home, leases, token, log, counts, container, closeEgress } = this.parts;
    clearTimeout(this.idleTimer);
    if (this.uses > 0) await new Promise<void>((resolve) => this.unused.push(resolve));
    if (stop === 'idle' || stop === 'now') {
      // Processes in the background can have changed files since the last command: choice 503.
      const saved = stop === 'now' ? withTimeout(LAST_SAVE_MS, home.save()) : home.save();
      await saved.catch((error: unknown) => this.reportSave(error));
    } else {
      counts.failed(stop === 'ended' ? 'crash' : 'lease');
      const err = stop === 'ended' ? sandbox.ended.reason : undefined;
      log('sandbox ended', { container: container.id, workspace_id: container.workspaceId, reason: stop, err });
    }
    await leases.release(token);
    this.isReleased = true;
    this.releasing.resolve();
    const fields = { container: container.id, workspace_id: container.workspaceId };
    await sandbox.stop().catch((error: unknown) => log('sandbox stop failed', { ...fields, err: error }));
    await closeEgress?.().catch((error: unknown) => log('sandbox stop failed', { ...fields, err: error }));
    counts.ended(performance.now() - this.startedAt);
  }

  /** Marks it as used until the returned function is called. */
  private use(): () => void {
    this.uses++;
    clearTimeout(this.idleTimer);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.lastUsedAt = performance.now();
      if (--this.uses > 0) return;
      for (const resolve of this.unused.splice(0)) resolve();
      this.watchIdle();
    };
  }

  private watchIdle(): void {
    if (this.stopping || this.uses > 0) return;
    clearTimeout(this.idleTimer);
    this.idleTimer = setTimeout(() => void this.stop('idle'), this.parts.settings().idleMs).unref();
  }

  /** @throws {ToolError} if an earlier save takes too long */
  private async pull(): Promise<void> {
    const pulling = this.parts.home.pull();
    const isLate = await this.isLate(pulling);
    if (isLate) throw new ToolError('The files of an earlier command are still being saved. Try again later.');
    await pulling;
  }

  /** Saves for a call, which waits for a while. */
  private async save(): Promise<SaveOutcome> {
    const saving = this.saveAll();
    if (!(await this.isLate(saving))) return saving;
    const end = this.use();
    void saving.then(end, end);
    return { changed: [], unsaved: STILL_SAVING };
  }

  /** Whether work takes longer than a call waits. It continues. */
  private async isLate(work: Promise<unknown>): Promise<boolean> {
    const watch = new AbortController();
    const { waitForSave = waitLong } = this.parts;
    const done = (): boolean => false;
    const late = waitForSave(watch.signal).then(() => true, done);
    return Promise.race([work.then(done, done), late]).finally(() => watch.abort());
  }

  /** @throws the reason of its end, or a `ToolError` if the container is lost: the changes can never be saved */
  private async saveAll(): Promise<SaveOutcome> {
    try {
      const { changed, tooLong } = await this.parts.home.save();
      return { changed, ...(tooLong && { tooLong: tooLong.message }) };
    } catch (error) {
      if (this.parts.sandbox.ended.aborted) throw this.parts.sandbox.ended.reason;
      this.reportSave(error);
      const refusal = error instanceof SaveRefusedError ? error.refusal : undefined;
      if (refusal === 'lease' || refusal === 'gone') {
        void this.stop('lost');
        throw new ToolError(losses[refusal], { cause: error });
      }
      return { changed: [], unsaved: this.describeSaveFailure(error, refusal) };
    }
  }

  private reportSave(error: unknown): void {
    const { container, log, counts } = this.parts;
    counts.failed('save');
    log('container save failed', { container: container.id, workspace_id: container.workspaceId, err: error });
  }

  private describeSaveFailure(error: unknown, refusal: SaveRefusal | undefined): string {
    const { diskBytes, diskEntries } = this.parts.settings().limits;
    if (refusal === 'bytes') {
      return `The files of the container would exceed ${diskBytes} bytes (tools.sandbox.disk), so not all changes are saved. Delete files, then run another command.`;
    }
    if (refusal === 'entries') {
      return `The container would have more than ${diskEntries} files, folders and links (tools.sandbox.files), so not all changes are saved. Delete files, then run another command.`;
    }
    const reason = error instanceof GatewayError || error instanceof SandboxError ? ` ${error.message}` : '';
    return `The changes are not saved yet.${reason} They are in the running container, and the next command saves them.`;
  }

  /** Returns the error that the tool gets. Reasons of the call's own signal stay the same. */
  private explain(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted || error instanceof ToolError) return error;
    const { sandbox } = this.parts;
    if (this.commands.signal.aborted && !sandbox.ended.aborted) return this.commands.signal.reason;
    const cause: unknown = sandbox.ended.aborted ? sandbox.ended.reason : error;
    if (cause instanceof SandboxError || cause instanceof GatewayError) return new ToolError(cause.message, { cause });
    return error;
  }
}

const losses = {
  lease:
    'Another process of the gateway runs this container now. The command ran, but its changes are not saved. Run it again.',
  gone: 'The container was removed while the command ran. Its changes are not saved.',
} as const;

const endings = {
  now: 'The container was stopped.',
  ended: 'The container has ended.',
  lost: 'Another process of the gateway runs this container now. Run the command again.',
} as const;
