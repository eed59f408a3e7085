import { randomBytes } from 'node:crypto';
import { MarkedOutput, type OutputMark } from './marked-output.ts';
import type { ProcessListener, RemoteContainer, RemoteProcess } from './remote-process.ts';
import { RUNNER } from './scripts.ts';

/** A runner that reads this instead of a length ends. */
const LAST = Buffer.from('0\n');

/** The connection to a runner has ended, so its process was killed or its container has ended. */
export class RunnerClosedError extends Error {
  override readonly name = 'RunnerClosedError';
}

export interface ScriptListener {
  output?(stream: 'stdout' | 'stderr', bytes: Buffer): void;
  /** A mark that does not end the script. */
  mark?(mark: OutputMark): void;
}

interface RunningScript {
  listener: ScriptListener;
  open: Set<'stdout' | 'stderr'>;
  code: number;
  ended: PromiseWithResolvers<number>;
}

/** A process in a container that runs scripts, one after another. */
export class ScriptRunner {
  readonly marker = `<${randomBytes(16).toString('hex')}>`;
  private process: RemoteProcess | undefined;
  private running: RunningScript | undefined;
  private closed: RunnerClosedError | undefined;

  private constructor() {}

  static async open(container: RemoteContainer): Promise<ScriptRunner> {
    const runner = new ScriptRunner();
    const command = ['bash', '-c', RUNNER, 'headgate', runner.marker];
    runner.process = await container.start(command, runner.listen());
    return runner;
  }

  get isClosed(): boolean {
    return this.closed !== undefined;
  }

  /** @returns its exit code @throws {RunnerClosedError} */
  async run(script: Uint8Array, listener: ScriptListener = {}, input?: Uint8Array): Promise<number> {
    if (this.closed) throw this.closed;
    const ended = Promise.withResolvers<number>();
    this.running = { listener, open: new Set(['stdout', 'stderr']), code: 0, ended };
    const sent = this.process!.write(
      Buffer.concat([Buffer.from(`${script.length}\n`), script, ...(input ? [input] : [])]),
    );
    sent.catch((error: Error) => this.end(error));
    return await ended.promise;
  }

  close(): void {
    this.process?.write(LAST).catch(() => {}); // it has ended
    this.process?.close();
    this.end();
  }

  private listen(): ProcessListener {
    const create = (stream: 'stdout' | 'stderr') =>
      new MarkedOutput(this.marker, {
        bytes: (piece) => this.running?.listener.output?.(stream, piece),
        mark: (mark) => this.mark(stream, mark),
      });
    const outputs = { stdout: create('stdout'), stderr: create('stderr') };
    return {
      output: (stream, bytes) => outputs[stream].push(bytes),
      closed: (error) => this.end(error),
    };
  }

  private mark(stream: 'stdout' | 'stderr', mark: OutputMark): void {
    const { running } = this;
    if (mark.kind !== 'e') {
      running?.listener.mark?.(mark);
      return;
    }
    if (!running?.open.delete(stream)) return;
    running.code = mark.value;
    if (running.open.size > 0) return;
    this.running = undefined;
    running.ended.resolve(running.code);
  }

  private end(cause?: Error): void {
    if (this.closed) return;
    this.closed = new RunnerClosedError('The process in the container has ended.', { cause });
    this.running?.ended.reject(this.closed);
    this.running = undefined;
  }
}
