import { Readable } from 'node:stream';
import { addNotes, describeKilled, KILLED } from '../describe-killed.ts';
import { rejectCommand } from '../reject-command.ts';
import {
  type CommandResult,
  type EntryToWrite,
  type Sandbox,
  type SandboxCommand,
  type SandboxEntry,
  SandboxError,
  type SandboxProcess,
  type SandboxProgram,
  type SandboxProblem,
  type SandboxSpec,
  SANDBOX_HOME,
} from '../sandbox.ts';
import { splitEntryPath } from '../split-entry-path.ts';
import { CappedOutput } from './capped-output.ts';
import { CommandDeadline } from './command-deadline.ts';
import { ListingReader } from './read-listing.ts';
import type { RemoteContainer } from './remote-process.ts';
import { startProgram } from './remote-program.ts';
import { RunnerClosedError, ScriptRunner } from './script-runner.ts';
import { LIST, MEASURE_FILES, MEASURE_SYSTEM, NO_SUCH_FILE, reportErrors, script, writeCommand } from './scripts.ts';
import { SessionKiller } from './session-killer.ts';
import { FileWriter } from './write-files.ts';

const PIECE_BYTES = 1024 * 1024;
const LISTING_BYTES = 256 * 1024;
const REMOVAL_BYTES = 256 * 1024;
const MAX_ERROR_BYTES = 2000;
/** Maximum output of a script of the gateway. Commands can write to it, too. */
const MAX_SCRIPT_BYTES = 2 * PIECE_BYTES;
/** Longest script of the gateway. Commands in the container can stop it, but not for longer. */
const SCRIPT_MS = 30_000;
/** Time in which a killed command ends. */
const KILL_MS = 5000;
/** The part of the limit of processes that ended commands may leave in use. */
const MAX_LEFT_SHARE = 0.9;
/** Time after which work in the container is late, so that such processes can be the reason. It doubles, to a maximum. */
const RELIEF_MS = 1000;
const MAX_RELIEF_MS = 8000;
/** Processes of the gateway that cannot start, one after another, after which the sandbox ends. */
const MAX_FAILED_STARTS = 2;
/** Commands whose processes in the background can write output, which is dropped. */
const MAX_RELEASED = 32;
/** Runners that are tried for a command: processes that are left can be killed with one. The deadline bounds all tries. */
const MAX_TRIES = 10;
/** Time between measurements of the home folder, and the share of time that they take at most, as a divisor. */
const WATCH_MS = 1000;
const WATCH_SHARE = 10;

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface RemoteSandboxOptions {
  /** Whether the home folder is in its own file system, whose size the system limits. */
  isHomeLimited: boolean;
  /** Maximum number of processes that a command sets for its user. Absent: the container has a limit. */
  processes?: number;
  environment?: Readonly<Record<string, string>>;
}

/** A sandbox in a container of a service. Everything happens in processes in the container: choice 531. */
export class RemoteSandbox implements Sandbox {
  readonly name: string;
  readonly ended: AbortSignal;
  private readonly ending = new AbortController();
  private readonly container: RemoteContainer;
  private readonly spec: SandboxSpec;
  private readonly options: RemoteSandboxOptions;
  /** Started before it is needed, because a process takes a while to start. */
  private spare: Promise<ScriptRunner> | undefined;
  private readonly commands = new Set<ScriptRunner>();
  private readonly released = new Set<ScriptRunner>();
  private releasing: Promise<void> = Promise.resolve();
  private readonly killer: SessionKiller;
  private filer: ScriptRunner | undefined;
  private filing: Promise<unknown> = Promise.resolve();
  private handles = 0;
  private watching: NodeJS.Timeout | undefined;
  /** Sessions of running commands and programs. */
  private readonly sessions = new Set<number>();
  /** Notes for the next command that ends. */
  private readonly notes = new Set<string>();
  private relieving: Promise<boolean> | undefined;
  private failedStarts = 0;
  private stopping: Promise<void> | undefined;

  constructor(container: RemoteContainer, spec: SandboxSpec, options: RemoteSandboxOptions) {
    this.name = spec.name;
    this.container = container;
    this.spec = spec;
    this.options = options;
    this.killer = new SessionKiller(container);
    this.ended = this.ending.signal;
  }

  /** Waits until the container runs commands. */
  async open(): Promise<void> {
    await this.useFiler(async (run) => run(Buffer.from(':')));
    void this.killer.prepare();
    this.prepare();
  }

  async exec(command: SandboxCommand): Promise<CommandResult> {
    this.ended.throwIfAborted();
    command.signal.throwIfAborted();
    const rejected = rejectCommand(command.command);
    if (rejected) return rejected;
    using deadline = new CommandDeadline(command.timeoutMs, [command.signal, this.ended]);
    const result = await this.relieved(async () => {
      for (let tries = 1; ; tries++) {
        const ended = await this.tryOnce(command, deadline);
        if (ended) return ended;
        if (tries === MAX_TRIES) {
          this.endSoon('crashed', 'The processes of the sandbox were killed again and again, so it was stopped.');
          throw this.ended.reason;
        }
      }
    });
    return addNotes(result, this.notes);
  }

  /** @returns undefined if the runner was killed before the command began, such as by an earlier command */
  private async tryOnce(command: SandboxCommand, deadline: CommandDeadline): Promise<CommandResult | undefined> {
    const ready = Promise.all([this.takeRunner(), this.killer.prepare()]);
    const first = await Promise.race([ready, deadline.over]);
    if (typeof first === 'string') {
      ready.then(
        ([runner]) => this.release(runner),
        () => {}, // no process can start
      );
      this.ended.throwIfAborted();
      command.signal.throwIfAborted();
      return new CappedOutput(0).describe({ type: 'timeout' });
    }
    const [runner] = first;
    this.commands.add(runner);
    this.watch();
    try {
      return await this.run(runner, command, deadline);
    } finally {
      this.commands.delete(runner);
      this.release(runner);
    }
  }

  async start(program: SandboxProgram): Promise<SandboxProcess> {
    this.ended.throwIfAborted();
    try {
      return await startProgram(program, {
        container: this.container,
        environment: this.environment(),
        sessions: this.sessions,
        killSession: (id) => this.killSession(id),
        checkEnd: () => this.checkEnd(),
      });
    } catch (error) {
      await this.checkEnd();
      throw this.fault('crashed', 'No process could start in the sandbox.', error);
    }
  }

  async *listFiles(): AsyncGenerator<SandboxEntry[]> {
    const name = `list${++this.handles}`;
    await this.useFiler((run) => run(Buffer.from(`exec {${name}}< <(${LIST})`)));
    const reader = new ListingReader();
    let [count, bytes] = [0, 0];
    try {
      while (reader.code === undefined) {
        const batch: SandboxEntry[] = [];
        const { output } = await this.useFiler((run) => run(Buffer.from(`head -c ${LISTING_BYTES} <&$${name}`)));
        if (output.length === 0)
          throw this.fault('crashed', 'The files could not be listed, because a process was killed.');
        for (const entry of reader.push(output)) {
          count++;
          bytes += entry.bytes;
          batch.push(entry);
        }
        await this.checkSize(count, bytes);
        if (batch.length > 0) yield batch;
      }
      if (reader.code !== 0) throw this.fault('crashed', 'The files could not be listed.');
    } finally {
      await this.closeFile(name);
    }
  }

  async read(path: Buffer): Promise<Readable | undefined> {
    splitEntryPath(path);
    const name = `file${++this.handles}`;
    const first = await this.useFiler((run) =>
      run(
        Buffer.concat([
          script`open_file ${path} && `,
          Buffer.from(`${name}=$opened && head -c ${PIECE_BYTES} <&$${name}`),
        ]),
        undefined,
        NO_SUCH_FILE,
      ),
    );
    if (first.code === NO_SUCH_FILE) return undefined;
    const close = (): void => void this.closeFile(name);
    if (first.output.length < PIECE_BYTES) {
      close();
      return Readable.from([first.output]);
    }
    return Readable.from(this.readPieces(name, first.output)).once('close', close);
  }

  async write(entries: AsyncIterable<EntryToWrite>): Promise<void> {
    // Each script is a separate turn, because the content can come from another file of this sandbox. The numbers of
    // open files are variables of the runner, so a new runner, after a crash, cannot continue a file.
    await new FileWriter((commands, input) => this.useFiler((run) => run(commands, input))).write(entries);
  }

  async remove(paths: readonly Buffer[]): Promise<void> {
    let steps: Buffer[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      const commands = Buffer.concat([...steps, Buffer.from(':')]);
      steps = [];
      bytes = 0;
      await this.useFiler((run) => run(commands));
    };
    for (const path of paths) {
      splitEntryPath(path);
      steps.push(script`remove ${path} && `);
      bytes += path.length;
      if (bytes > REMOVAL_BYTES) await flush();
    }
    if (steps.length > 0) await flush();
  }

  stop(): Promise<void> {
    return this.end('stopped', 'The sandbox was stopped.');
  }

  /** Ends the sandbox and removes its container. */
  end(problem: SandboxProblem, message: string): Promise<void> {
    this.stopping ??= this.close(new SandboxError(problem, message));
    return this.stopping;
  }

  /** Ends the sandbox. Its caller does not wait for the removal of the container, which can take long. */
  private endSoon(problem: SandboxProblem, message: string): void {
    this.end(problem, message).catch(() => {}); // the container is a leftover then
  }

  private async close(error: SandboxError): Promise<void> {
    this.ending.abort(error);
    for (const runner of [...this.commands, ...this.released]) runner.close();
    this.filer?.close();
    this.killer.close();
    clearTimeout(this.watching);
    void this.spare?.then(
      (runner) => runner.close(),
      () => {}, // it did not start
    );
    await this.container.remove();
  }

  private async *readPieces(name: string, first: Buffer): AsyncGenerator<Buffer> {
    for (let piece = first; ; ) {
      if (piece.length > 0) yield piece;
      if (piece.length < PIECE_BYTES) return;
      piece = (await this.useFiler((run) => run(Buffer.from(`head -c ${PIECE_BYTES} <&$${name}`)))).output;
    }
  }

  /** Another runner, after a crash, does not have the file. */
  private async closeFile(name: string): Promise<void> {
    await this.useFiler((run) => run(Buffer.from(`exec {${name}}<&-`))).catch(() => {});
  }

  /**
   * Closes runners whose outputs no process in the background can write. The others stay: without them, such a process
   * would be killed when it writes.
   */
  private release(runner: ScriptRunner): void {
    this.released.add(runner);
    const [oldest] = this.released;
    if (this.released.size > MAX_RELEASED) oldest?.close();
    this.releasing = this.releasing.then(() => this.closeReleased());
  }

  private async closeReleased(): Promise<void> {
    for (const each of this.released) {
      const isHeld = !each.isClosed && (await each.run(Buffer.from('is_held')).catch(() => 1)) === 0;
      if (isHeld) continue;
      this.released.delete(each);
      each.close();
    }
  }

  /** Measures the home folder while commands run. */
  private watch(): void {
    if (this.watching) return;
    const { isHomeLimited } = this.options;
    const measure = async (): Promise<void> => {
      const started = Date.now();
      const { output } = await this.useFiler((run) => run(Buffer.from(isHomeLimited ? MEASURE_SYSTEM : MEASURE_FILES)));
      const [entries, bytes] = output.toString().trim().split(' ').map(Number);
      await this.checkSize(entries! || 0, bytes! || 0);
      wait(Date.now() - started);
    };
    const wait = (tookMs: number): void => {
      this.watching = undefined;
      if (this.commands.size === 0 || this.ended.aborted) return;
      // A command that kills the measuring process does not stop the watch.
      const next = () => measure().catch(() => wait(0));
      this.watching = setTimeout(next, Math.max(WATCH_MS, tookMs * WATCH_SHARE));
      this.watching.unref();
    };
    wait(0);
  }

  private async checkSize(count: number, bytes: number): Promise<void> {
    const { diskEntries, diskBytes } = this.spec.limits;
    if (count <= diskEntries && bytes <= diskBytes) return;
    const limit = count > diskEntries ? `${diskEntries} files, folders and links` : `${diskBytes} bytes`;
    this.endSoon('disk', `The home folder had more than ${limit}, so the sandbox was stopped.`);
    throw this.ended.reason;
  }

  /** Runs scripts of the gateway, one after another. */
  private useFiler<Result>(work: (run: RunFileScript) => Promise<Result>): Promise<Result> {
    const turn = this.filing.then(async () => {
      this.ended.throwIfAborted();
      const filer = this.filer ?? (await this.openNeededRunner());
      this.filer = filer;
      try {
        return await this.relieved(() =>
          work((commands, input, expected) => this.runScript(filer, reportErrors(commands), input, expected)),
        );
      } catch (error) {
        // It may have read only a part of its input.
        filer.close();
        this.filer = undefined;
        throw await this.explain(error);
      }
    });
    this.filing = turn.catch(() => {}); // its caller has the error
    return turn;
  }

  private async runScript(runner: ScriptRunner, commands: Buffer, input?: Uint8Array, expected = 0) {
    const output: Buffer[] = [];
    let outputBytes = 0;
    let errors = '';
    const timer = setTimeout(() => {
      // A running command may use all processes. Those that ended commands have left may not.
      if (this.commands.size > 0) runner.close();
      else this.endSoon('crashed', 'The processes of the sandbox did not respond, so it was stopped.');
    }, SCRIPT_MS);
    const listener = {
      output: (stream: 'stdout' | 'stderr', bytes: Buffer): void => {
        if (stream === 'stdout') {
          outputBytes += bytes.length;
          if (outputBytes > MAX_SCRIPT_BYTES) runner.close();
          else output.push(bytes);
        } else if (errors.length < MAX_ERROR_BYTES) errors += bytes;
      },
    };
    try {
      const code = await runner.run(commands, listener, input);
      if (code !== 0 && code !== expected) throw readFailure(errors);
      return { code, output: Buffer.concat(output) };
    } finally {
      clearTimeout(timer);
    }
  }

  private async run(
    runner: ScriptRunner,
    { command, maxOutputBytes, onOutput, ...settings }: SandboxCommand,
    deadline: CommandDeadline,
  ): Promise<CommandResult | undefined> {
    const output = new CappedOutput(maxOutputBytes, onOutput);
    let session: number | undefined;
    const marked = Promise.withResolvers<number>();
    const environment = { ...this.environment(), ...settings.environment };
    const running = runner
      .run(writeCommand(runner.marker, command, environment, this.options.processes ?? 0), {
        output: (stream, bytes) => output.add(stream, bytes),
        mark: ({ kind, value }) => {
          if (kind !== 's') return;
          if (session !== undefined) return;
          session = value;
          this.sessions.add(value);
          marked.resolve(value);
        },
      })
      .catch(async (error) => {
        if (!(error instanceof RunnerClosedError)) throw error;
        await this.checkEnd();
        return KILLED; // the command has killed everything it could
      });
    try {
      const first = await Promise.race([running, deadline.over]);
      this.ended.throwIfAborted();
      if (first === KILLED && session === undefined) return undefined;
      if (typeof first === 'number') return output.describe({ type: 'exit', exitCode: first });
      await this.kill(running, marked.promise);
      if (first === 'cancelled') throw settings.signal.reason;
      return output.describe({ type: 'timeout' });
    } finally {
      if (session !== undefined) this.sessions.delete(session);
    }
  }

  /** @param session arrives apart from the output of the command, so it can be later */
  private async kill(running: Promise<unknown>, session: Promise<number>): Promise<void> {
    const ended = running.then(() => 'ended' as const);
    const late = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => late.resolve('late'), KILL_MS);
    try {
      const id = await Promise.race([session, ended, late.promise]);
      if (typeof id === 'number') await this.killSession(id);
      if ((await Promise.race([ended, late.promise])) === 'ended') return;
    } finally {
      clearTimeout(timer);
    }
    this.endSoon('crashed', 'A command could not be stopped, so the sandbox was stopped.');
    throw this.ended.reason;
  }

  private async killSession(id: number): Promise<void> {
    try {
      await this.killer.kill(id, KILL_MS);
    } catch {
      await this.checkEnd(); // no process can start: the command is stopped with the sandbox
    }
  }

  /** Does work in the container. If it is late, kills what ended commands have left, if that uses up the limit of processes. */
  private async relieved<Result>(work: () => Promise<Result>): Promise<Result> {
    let timer: NodeJS.Timeout | undefined;
    const repeat = (delayMs: number): void => {
      timer = setTimeout(() => {
        void this.relieve();
        repeat(Math.min(2 * delayMs, MAX_RELIEF_MS));
      }, delayMs).unref();
    };
    repeat(RELIEF_MS);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  }

  /** @returns whether processes were killed */
  private relieve(): Promise<boolean> {
    this.relieving ??= this.killLeftovers().finally(() => {
      this.relieving = undefined;
    });
    return this.relieving;
  }

  private async killLeftovers(): Promise<boolean> {
    const { limits } = this.spec;
    const isKilled = await this.killer.killLeftovers(Math.floor(limits.processes * MAX_LEFT_SHARE), this.sessions);
    if (isKilled) this.notes.add(describeKilled(limits));
    return isKilled;
  }

  private environment(): Record<string, string> {
    const base = { PATH, HOME: SANDBOX_HOME, USER: 'user', LANG: 'C.UTF-8', PWD: SANDBOX_HOME };
    return { ...base, ...this.options.environment };
  }

  private async takeRunner(): Promise<ScriptRunner> {
    const prepared = this.spare;
    this.spare = undefined;
    const spare = await prepared?.catch(() => undefined); // it did not start
    const runner = spare && !spare.isClosed ? spare : await this.openNeededRunner();
    if (!this.spare) this.prepare();
    return runner;
  }

  private prepare(): void {
    if (this.ended.aborted) return;
    this.spare = this.openRunner();
    this.spare.catch(() => {}); // the next command tries again
  }

  /** Ends the sandbox if it fails again: no later command could run. */
  private async openNeededRunner(): Promise<ScriptRunner> {
    try {
      const runner = await this.openRunner();
      this.failedStarts = 0;
      return runner;
    } catch (error) {
      if (await this.relieve()) return this.openNeededRunner();
      if (this.commands.size === 0 && ++this.failedStarts >= MAX_FAILED_STARTS) {
        this.endSoon('crashed', 'No process could start in the sandbox, so it was stopped.');
      }
      throw error;
    }
  }

  private async openRunner(): Promise<ScriptRunner> {
    let runner: ScriptRunner;
    try {
      runner = await ScriptRunner.open(this.container);
    } catch (error) {
      await this.checkEnd();
      throw this.fault('crashed', 'No process could start in the sandbox.', error);
    }
    if (this.ended.aborted) runner.close();
    return runner;
  }

  /** Why something failed: the end of the sandbox, if it has ended. */
  private async explain(error: unknown): Promise<unknown> {
    await this.checkEnd();
    if (!(error instanceof RunnerClosedError)) return error;
    return this.fault('crashed', 'The processes of the sandbox could not be used.', error);
  }

  /** @throws {SandboxError} if the container has ended */
  private async checkEnd(): Promise<void> {
    this.ended.throwIfAborted();
    const end = await this.container.findEnd();
    if (end) this.endSoon(end.problem, end.message);
    this.ended.throwIfAborted();
  }

  private fault(problem: SandboxProblem, message: string, cause?: unknown): SandboxError {
    return new SandboxError(problem, message, { cause });
  }
}

type RunFileScript = (
  commands: Buffer,
  input?: Uint8Array,
  /** Another exit code than 0 that is not a failure. */
  expected?: number,
) => Promise<{ code: number; output: Buffer }>;

function readFailure(errors: string): Error {
  if (/No space left on device|Disk quota exceeded/.test(errors)) {
    return new SandboxError('disk', 'The home folder is full.');
  }
  const reason = errors.trim() || 'a process was killed';
  return Object.assign(new Error(`The files could not be used: ${reason}.`), { code: 'EIO' }); // commands change them
}
