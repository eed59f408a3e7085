import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { addNotes, describeKilled, KILLED } from '../describe-killed.ts';
import { rejectCommand } from '../reject-command.ts';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type CommandResult,
  type EntryToWrite,
  type Sandbox,
  type SandboxCommand,
  type SandboxEntry,
  SandboxError,
  type SandboxProcess,
  type SandboxProgram,
  type SandboxLimits,
  type SandboxProblem,
} from '../sandbox.ts';
import { pipeNames, scriptName, writeScript } from './agent.ts';
import type { BubblewrapProcess } from './bubblewrap-process.ts';
import { callHost } from './call-host.ts';
import type { HomeFolder } from './home-folder.ts';
import type { NamedPipes } from './named-pipes.ts';
import { NO_SPACE } from './pipe-stock.ts';
import { isRunning, readStartTime, sendSignal } from './process-tree.ts';
import { openProcessPipes } from './process-pipes.ts';
import { PipeReader } from './read-pipe.ts';
import { StatusReader } from './status-reader.ts';
import { Supervisor } from './supervisor.ts';

/** Outputs of ended commands that processes in the background still write. */
const MAX_OPEN_OUTPUTS = 64;
/** Time for a killed command to end, and for the sandbox to end. */
const KILL_GRACE_MS = 5000;
/** First pause before a command is killed again, because its session did not exist yet. It doubles. */
const KILL_RETRY_MS = 10;

const ENDED = 'The sandbox ended unexpectedly.';

export interface SandboxParts {
  name: string;
  limits: SandboxLimits;
  /** It ends with the sandbox. */
  monitor: BubblewrapProcess;
  /** Process 1, by its id on the host. */
  root: number;
  folders: { control: string };
  home: HomeFolder;
  pipes: NamedPipes;
  hasMemoryLimit: boolean;
  /** Why the kernel ended the sandbox, if it exceeded a limit. */
  readProblem: () => SandboxProblem | undefined;
  /** Removes the folders of the sandbox. */
  remove: () => Promise<void>;
}

export class BubblewrapSandbox implements Sandbox {
  readonly name: string;
  readonly #parts: SandboxParts;
  readonly #startTime: string | undefined;
  readonly #ending = new AbortController();
  readonly #supervisor: Supervisor;
  readonly #outputs: PipeReader[] = [];
  #running = 0;
  /** Notes for the next command that ends. */
  readonly #notes = new Set<string>();
  #stopped: Promise<void> | undefined;

  constructor(parts: SandboxParts) {
    this.name = parts.name;
    this.#parts = parts;
    this.#startTime = readStartTime(parts.root);
    void parts.monitor.exited.then(() => {
      const problem = parts.readProblem() ?? 'crashed';
      this.#end(problem, problem === 'memory' ? 'The sandbox used too much memory.' : ENDED);
    });
    this.#supervisor = new Supervisor({
      limits: parts.limits,
      root: parts.root,
      home: parts.home,
      hasMemoryLimit: parts.hasMemoryLimit,
      isBusy: () => this.#running > 0,
      end: (problem, message) => this.#end(problem, message),
      onKilled: () => this.#notes.add(describeKilled(parts.limits)),
    });
  }

  get ended(): AbortSignal {
    return this.#ending.signal;
  }

  async exec(command: SandboxCommand): Promise<CommandResult> {
    this.#check();
    command.signal.throwIfAborted();
    const rejected = rejectCommand(command.command);
    if (rejected) return rejected;
    const number = await this.#parts.pipes.take();
    this.#check();
    command.signal.throwIfAborted();
    this.#running++;
    this.#supervisor.wake();
    try {
      return await this.#run(number, command);
    } finally {
      this.#running--;
      this.#parts.pipes.remove(number);
    }
  }

  async start(program: SandboxProgram): Promise<SandboxProcess> {
    this.#check();
    const { pipes, monitor, folders, limits } = this.#parts;
    const number = await pipes.take();
    await pipes.createInput(number);
    this.#check();
    const status = new StatusReader(join(folders.control, pipeNames(number).status));
    const exited = this.#awaitExit(status).finally(() => {
      status.close();
      pipes.remove(number);
    });
    const settled = exited.catch(() => {}); // its caller may only use the stream
    void status.begun.then(() => pipes.remove(number)); // it has them open, and no other process can open them
    const stream = openProcessPipes(folders.control, number, Promise.race([status.begun, settled]));
    const destroy = (): void => void stream.destroy();
    this.ended.addEventListener('abort', destroy, { once: true });
    stream.once('close', () => this.ended.removeEventListener('abort', destroy)); // a sandbox has many processes
    writeControlFile(join(folders.control, scriptName(number)), writeScript(number, program, limits, true));
    monitor.runScript(number);
    return {
      stream,
      exited,
      kill: async () => {
        await this.#kill(status);
        await exited.catch(() => {}); // the sandbox has ended, and so has the process
      },
    };
  }

  /** @throws {SandboxError} if the sandbox ended */
  async #awaitExit(status: StatusReader): Promise<number> {
    const ended = Promise.withResolvers<'ended'>();
    const stop = (): void => ended.resolve('ended');
    if (this.ended.aborted) stop();
    this.ended.addEventListener('abort', stop, { once: true });
    const end = await Promise.race([status.exitCode, ended.promise]);
    this.ended.removeEventListener('abort', stop);
    if (end === 'ended') throw this.ended.reason;
    return end === 'killed' ? this.#explainKill(status) : end;
  }

  async #run(number: number, command: SandboxCommand): Promise<CommandResult> {
    const { limits, folders } = this.#parts;
    const { control } = folders;
    const names = pipeNames(number);
    const readOutput = (stream: 'stdout' | 'stderr') =>
      new PipeReader(join(control, names[stream]), command.maxOutputBytes, (bytes) =>
        command.onOutput?.(stream, bytes),
      );
    const outputs = { stdout: readOutput('stdout'), stderr: readOutput('stderr') };
    const status = new StatusReader(join(control, names.status));
    try {
      writeControlFile(join(control, scriptName(number)), writeScript(number, command, limits));
      void status.begun.then(() => this.#parts.pipes.removeScript(number));
      this.#parts.monitor.runScript(number);
      const end = await this.#awaitEnd(status, command);
      for (const output of Object.values(outputs)) output.drain();
      if (end === 'cancelled') throw command.signal.reason;
      const result: CommandResult = {
        stdout: outputs.stdout.content,
        stderr: outputs.stderr.content,
        droppedBytes: { stdout: outputs.stdout.droppedBytes, stderr: outputs.stderr.droppedBytes },
        outcome: end === 'timeout' ? { type: 'timeout' } : { type: 'exit', exitCode: end },
      };
      return addNotes(result, this.#notes);
    } finally {
      status.close();
      for (const output of Object.values(outputs)) this.#ignoreRest(output);
    }
  }

  /** @returns the exit code, or why the command was killed. @throws {SandboxError} if the sandbox ended */
  async #awaitEnd(
    status: StatusReader,
    { timeoutMs, signal }: SandboxCommand,
  ): Promise<number | 'timeout' | 'cancelled'> {
    const watch = new AbortController();
    const at = (target: AbortSignal) =>
      new Promise<void>((resolve) => {
        if (target.aborted) resolve();
        else target.addEventListener('abort', () => resolve(), { once: true, signal: watch.signal });
      });
    let timer: NodeJS.Timeout | undefined;
    try {
      const end = await Promise.race([
        status.exitCode,
        at(this.ended).then(() => 'ended' as const),
        at(signal).then(() => 'cancelled' as const),
        new Promise<'timeout'>((resolve) => {
          timer = setTimeout(() => resolve('timeout'), timeoutMs);
        }),
      ]);
      if (end === 'ended') throw this.ended.reason;
      if (end === 'killed') return await this.#explainKill(status);
      if (typeof end === 'string') await this.#kill(status);
      return end;
    } finally {
      clearTimeout(timer);
      watch.abort();
    }
  }

  /** The script of a command was killed: by a command, or because the whole sandbox ends. The command ends, too. */
  async #explainKill(status: StatusReader): Promise<number> {
    if (isRunning(this.#parts.root, this.#startTime)) {
      await this.#killSession(status).catch(() => {}); // the process of the sandboxes has ended, and so will the sandbox
      return KILLED;
    }
    // The kernel ends the other processes first, which can take long on a busy host.
    await Promise.race([this.#parts.monitor.exited, pause(KILL_GRACE_MS, undefined, { ref: false })]);
    this.#end('crashed', ENDED);
    throw this.ended.reason;
  }

  /**
   * Kills a command, choice 596. Ends the sandbox if that is impossible, for example
   * because no process could be created for it, choice 495.
   */
  async #kill(status: StatusReader): Promise<void> {
    const late = pause(KILL_GRACE_MS, 'late' as const, { ref: false });
    const end = status.exitCode.then(() => 'ended' as const);
    const tryOnce = async (pauseMs: number): Promise<'again' | 'failed'> => {
      if (!(await this.#killSession(status))) return 'failed';
      return pause(pauseMs, 'again', { ref: false });
    };
    for (let pauseMs = KILL_RETRY_MS; !this.ended.aborted; pauseMs *= 2) {
      const outcome = await Promise.race([end, late, tryOnce(pauseMs).catch(() => 'failed' as const)]);
      if (outcome === 'ended') return;
      if (outcome !== 'again') break;
    }
    this.#end('crashed', 'A command could not be started or stopped, so the sandbox was ended.');
  }

  /** Kills a command, if it has begun. @returns whether all of its processes were found */
  async #killSession({ leader }: StatusReader): Promise<boolean> {
    return leader === undefined || callHost('killSession', this.#parts.root, leader);
  }

  #ignoreRest(output: PipeReader): void {
    output.ignoreRest();
    if (this.ended.aborted) {
      output.close();
      return;
    }
    this.#outputs.push(output);
    output.onEnd = () => {
      const index = this.#outputs.indexOf(output);
      if (index >= 0) this.#outputs.splice(index, 1);
    };
    if (this.#outputs.length > MAX_OPEN_OUTPUTS) this.#outputs.shift()!.close();
  }

  async *listFiles(): AsyncGenerator<SandboxEntry[]> {
    this.#check();
    try {
      for await (const batch of this.#parts.home.list()) {
        this.#check();
        yield batch;
      }
    } catch (error) {
      throw this.#explain(error);
    }
    this.#check();
  }

  async read(path: Buffer): Promise<Readable | undefined> {
    this.#check();
    return this.#parts.home.read(path);
  }

  async write(entries: AsyncIterable<EntryToWrite>): Promise<void> {
    this.#check();
    try {
      await this.#parts.home.write(entries);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  async remove(paths: readonly Buffer[]): Promise<void> {
    this.#check();
    try {
      await this.#parts.home.remove(paths);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  async stop(): Promise<void> {
    this.#end('stopped', 'The sandbox was stopped.');
    await this.#stopped;
  }

  #check(): void {
    if (this.ended.aborted) throw this.ended.reason;
  }

  #explain(error: unknown): unknown {
    if (this.ended.aborted) return this.ended.reason;
    if (error instanceof RangeError) {
      return new SandboxError('disk', `The home folder of the sandbox cannot be read or written: ${error.message}.`);
    }
    return error;
  }

  #end(problem: SandboxProblem, message: string): void {
    if (this.#stopped) return;
    this.#stopped = this.#stop();
    this.#ending.abort(new SandboxError(problem, message));
  }

  async #stop(): Promise<void> {
    this.#supervisor?.close();
    const { monitor, home, remove, root } = this.#parts;
    // The end of process 1 is the end of all, and the monitor ends after them.
    if (!monitor.hasExited && readStartTime(root) === this.#startTime) sendSignal(root, 'SIGKILL');
    const timer = setTimeout(() => monitor.kill(), KILL_GRACE_MS);
    await monitor.exited;
    clearTimeout(timer);
    for (const output of this.#outputs.splice(0)) output.close();
    home.close();
    await remove();
  }
}

/** @throws {SandboxError} `disk` */
function writeControlFile(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (cause) {
    throw new SandboxError('disk', NO_SPACE, { cause });
  }
}
