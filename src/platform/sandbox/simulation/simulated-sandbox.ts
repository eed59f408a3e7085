import { Readable } from 'node:stream';
import { MessageChannel, Worker } from 'node:worker_threads';
import { rejectCommand } from '../reject-command.ts';
import {
  type CommandResult,
  type EntryToWrite,
  SANDBOX_HOME,
  type Sandbox,
  type SandboxCommand,
  type SandboxEntry,
  SandboxError,
  type SandboxSpec,
} from '../sandbox.ts';
import type { DriverFiles } from './files-thread.ts';
import type { ShellData, ShellFunctions, ShellResult } from './shell-thread.ts';
import { moduleUrl } from '../../../domain/module-url.ts';
import { type CallThread, openCalls } from '../../threads/thread-calls.ts';

const MIB = 1024 * 1024;
const PIECE_BYTES = MIB;
/** Memory of a command, with just-bash, below which it does not start. */
const MIN_SHELL_BYTES = 96 * MIB;
const MAX_SHELLS = 4;
const WATCH_MS = 250;
/** Output of a command that is kept in memory. A command that writes more fails. */
const MAX_OUTPUT_BYTES = 16 * MIB;
/** The exit code of a process that was killed because memory was exhausted. */
const KILLED = 137;

/** choice 675 */
const NO_PROCESSES =
  'The simulation has no processes that run by themselves. Set tools.sandbox.driver to bubblewrap, docker or kubernetes.';

const filesThread = moduleUrl('./files-thread', import.meta.url);
const shellThread = moduleUrl('./shell-thread', import.meta.url);

/** A shell in a thread, which runs one command at a time. */
interface Shell {
  readonly worker: Worker;
  readonly call: CallThread<ShellFunctions>;
}

/** Files in one thread, and each command that runs in another: choice 533. */
export class SimulatedSandbox implements Sandbox {
  readonly name: string;
  readonly ended: AbortSignal;
  private readonly ending = new AbortController();
  private readonly files: Worker;
  private readonly call: CallThread<DriverFiles>;
  private readonly failCalls: (error: Error) => void;
  private readonly shells = new Set<Shell>();
  private readonly idle: Shell[] = [];
  private readonly maxShells: number;
  private readonly shellBytes: number;
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor({ name, limits }: SandboxSpec) {
    this.name = name;
    this.ended = this.ending.signal;
    this.maxShells = Math.max(
      1,
      Math.min(MAX_SHELLS, limits.processes, Math.floor(limits.memoryBytes / MIN_SHELL_BYTES)),
    );
    this.shellBytes = Math.max(MIN_SHELL_BYTES, Math.floor(limits.memoryBytes / this.maxShells));
    this.files = startThread(filesThread, limits, MIN_SHELL_BYTES * 4);
    const { call, fail } = openCalls<DriverFiles>(this.files);
    this.call = call;
    this.failCalls = fail;
    const crashed = (): void => this.end(new SandboxError('crashed', 'The simulated sandbox has crashed.'));
    this.files.once('error', crashed);
    this.files.once('exit', crashed);
  }

  async exec(command: SandboxCommand): Promise<CommandResult> {
    const { timeoutMs, signal } = command;
    this.ended.throwIfAborted();
    signal.throwIfAborted();
    const rejected = rejectCommand(command.command);
    if (rejected) return rejected;
    const cancellation = AbortSignal.any([signal, this.ended]);
    const deadline = Date.now() + timeoutMs;
    const hasTurn = await this.takeTurn(timeoutMs, cancellation);
    try {
      if (!hasTurn) return describeResult(undefined, command);
      return describeResult(await this.run(command, deadline - Date.now(), cancellation), command);
    } finally {
      if (hasTurn) this.giveTurn();
    }
  }

  async start(): Promise<never> {
    this.ended.throwIfAborted();
    throw new SandboxError('unavailable', NO_PROCESSES);
  }

  async *listFiles(): AsyncGenerator<SandboxEntry[]> {
    const handle = await this.call('startList');
    for (;;) {
      const batch = await this.call('continueList', handle);
      if (batch.length === 0) return;
      // Buffers become arrays of bytes when they cross threads.
      yield batch.map(({ path, target, ...entry }) => ({
        ...entry,
        path: Buffer.from(path),
        ...(target && { target: Buffer.from(target) }),
      }));
    }
  }

  async read(path: Buffer): Promise<Readable | undefined> {
    const handle = await this.call('openRead', path);
    return handle === undefined ? undefined : Readable.from(this.readPieces(handle));
  }

  async write(entries: AsyncIterable<EntryToWrite>): Promise<void> {
    for await (const { content, ...entry } of entries) await this.writeEntry(entry, content);
  }

  async remove(paths: readonly Buffer[]): Promise<void> {
    for (const path of paths) await this.call('remove', path);
  }

  async stop(): Promise<void> {
    this.end(new SandboxError('stopped', 'The sandbox was stopped.'));
    await Promise.all([this.files.terminate(), ...Array.from(this.shells, ({ worker }) => worker.terminate())]);
  }

  private end(error: SandboxError): void {
    if (this.ended.aborted) return;
    this.ending.abort(error);
    this.failCalls(error);
    void this.stop();
  }

  private async *readPieces(handle: number): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = await this.call('read', handle, PIECE_BYTES);
      if (piece.length === 0) return;
      yield piece;
    }
  }

  private async writeEntry(entry: Omit<EntryToWrite, 'content'>, content: EntryToWrite['content']): Promise<void> {
    try {
      const handle = await this.call('openWrite', entry);
      if (handle === undefined) return;
      for await (const piece of content ?? []) {
        for (let at = 0; at < piece.length; at += PIECE_BYTES) {
          await this.call('write', handle, Uint8Array.from(piece.subarray(at, at + PIECE_BYTES)));
        }
      }
      await this.call('closeWrite', handle);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      throw new SandboxError('disk', 'The home folder is full.', { cause: error });
    }
  }

  /** Waits until fewer commands run. @returns false if it takes too long */
  private async takeTurn(timeoutMs: number, cancellation: AbortSignal): Promise<boolean> {
    cancellation.throwIfAborted();
    if (this.running < this.maxShells) {
      this.running++;
      return true;
    }
    const turn = Promise.withResolvers<boolean>();
    const take = (): void => turn.resolve(true);
    const leave = (outcome: () => void) => (): void => {
      const at = this.waiting.indexOf(take);
      if (at === -1) return; // it has its turn
      this.waiting.splice(at, 1);
      outcome();
    };
    this.waiting.push(take);
    const timer = setTimeout(
      leave(() => turn.resolve(false)),
      timeoutMs,
    );
    const cancel = leave(() => turn.reject(cancellation.reason));
    cancellation.addEventListener('abort', cancel, { once: true });
    try {
      return await turn.promise;
    } finally {
      clearTimeout(timer);
      cancellation.removeEventListener('abort', cancel);
    }
  }

  private giveTurn(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.running--;
  }

  /** @returns undefined if the time is over */
  private async run(
    { command, environment }: SandboxCommand,
    timeoutMs: number,
    cancellation: AbortSignal,
  ): Promise<ShellResult | undefined> {
    const shell = this.idle.pop() ?? this.startShell();
    const result = Promise.withResolvers<ShellResult | undefined>();
    const timer = setTimeout(() => result.resolve(undefined), timeoutMs);
    const watch = setInterval(async () => {
      const used = await shell.worker.getHeapStatistics().catch(() => undefined); // it has ended
      if (used && used.external_memory > this.shellBytes) result.resolve(outOfMemory);
    }, WATCH_MS);
    const cancel = (): void => result.reject(cancellation.reason);
    cancellation.addEventListener('abort', cancel, { once: true });
    if (cancellation.aborted) cancel();
    shell.worker.once('error', () => result.resolve(outOfMemory));
    const home = { HOME: SANDBOX_HOME, USER: 'user', LANG: 'C.UTF-8', ...environment };
    const job = { command, environment: home, timeoutMs: timeoutMs + 1000, maxOutputBytes: MAX_OUTPUT_BYTES };
    let isReusable = false;
    shell.call('run', job).then((ended) => {
      isReusable = true;
      result.resolve(ended);
    }, result.reject);
    try {
      return await result.promise;
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
      cancellation.removeEventListener('abort', cancel);
      shell.worker.removeAllListeners('error');
      shell.worker.on('error', () => {});
      if (isReusable && this.idle.length === 0 && !this.ended.aborted) this.idle.push(shell);
      else await this.endShell(shell);
    }
  }

  private startShell(): Shell {
    const { port1, port2 } = new MessageChannel();
    this.call('connect', port1).catch(() => {}); // the sandbox has ended
    const data: ShellData = { files: port2, memoryBytes: this.shellBytes };
    const worker = startThread(shellThread, data, this.shellBytes, [port2]);
    const shell = { worker, call: openCalls<ShellFunctions>(worker).call };
    worker.once('exit', () => this.shells.delete(shell));
    this.shells.add(shell);
    return shell;
  }

  private async endShell(shell: Shell): Promise<void> {
    await shell.worker.terminate();
  }
}

const outOfMemory: ShellResult = { stdout: '', stderr: 'bash: out of memory\n', exitCode: KILLED };

function startThread(
  entry: URL,
  data: unknown,
  memoryBytes: number,
  transferList: MessageChannel['port1'][] = [],
): Worker {
  const worker = new Worker(entry, {
    workerData: data,
    transferList,
    env: {}, // the shell needs no secrets
    stdout: true, // what a thread prints does not belong to the log
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: Math.ceil(memoryBytes / MIB), maxYoungGenerationSizeMb: 16 },
  });
  worker.unref();
  worker.stdout.resume();
  worker.stderr.resume();
  return worker;
}

/** @param result undefined: the time was over */
function describeResult(result: ShellResult | undefined, { maxOutputBytes, onOutput }: SandboxCommand): CommandResult {
  const [stdout, stderr] = [Buffer.from(result?.stdout ?? ''), Buffer.from(result?.stderr ?? '')];
  const kept = { stdout: stdout.subarray(0, maxOutputBytes), stderr: stderr.subarray(0, maxOutputBytes) };
  if (kept.stdout.length > 0) onOutput?.('stdout', kept.stdout);
  if (kept.stderr.length > 0) onOutput?.('stderr', kept.stderr);
  const droppedBytes = { stdout: stdout.length - kept.stdout.length, stderr: stderr.length - kept.stderr.length };
  const outcome = result ? ({ type: 'exit', exitCode: result.exitCode } as const) : ({ type: 'timeout' } as const);
  return { ...kept, droppedBytes, outcome };
}
