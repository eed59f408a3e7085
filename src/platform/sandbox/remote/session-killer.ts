import type { RemoteContainer, RemoteProcess } from './remote-process.ts';
import { KILL_SESSION, KILLER, KILLER_READY } from './scripts.ts';

/** Time in which the process starts. */
const START_MS = 10_000;

/**
 * Kills sessions with a process that exists before it is needed: a command that uses all processes of a container leaves
 * none for a new one. // choice 690
 */
export class SessionKiller {
  private readonly container: RemoteContainer;
  private starting: Promise<void> | undefined;
  private process: KillerProcess | undefined;
  private isClosed = false;

  constructor(container: RemoteContainer) {
    this.container = container;
  }

  /** Starts the process, unless it runs. Commands can kill it. Never rejects: without it, `kill` starts a process. */
  async prepare(): Promise<void> {
    if (this.process && !this.process.isClosed) return;
    this.starting ??= this.start().finally(() => {
      this.starting = undefined;
    });
    await this.starting;
  }

  /** Kills a session. Resolves when it has ended, or after the given time. @throws if no process can start */
  async kill(session: number, timeoutMs: number): Promise<void> {
    const late = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => late.resolve('late'), timeoutMs);
    try {
      await Promise.race([this.starting, late.promise]);
      const end = await Promise.race([this.process?.call(`kill_session ${session}`) ?? 'closed', late.promise]);
      if (end === 'closed') await Promise.race([this.killWithProcess(session), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Kills the processes that ended commands have left, if they have more threads than `max`.
   *
   * @param running sessions of processes that run
   * @returns whether there were more; false without the process
   */
  async killLeftovers(max: number, running: Iterable<number>): Promise<boolean> {
    return (await this.process?.call(['kill_left', max, ...running].join(' '))) === 0;
  }

  close(): void {
    this.isClosed = true;
    this.process?.close();
  }

  private async start(): Promise<void> {
    this.process = await KillerProcess.open(this.container).catch(() => undefined); // no process can start
    if (this.isClosed) this.process?.close();
  }

  private async killWithProcess(session: number): Promise<void> {
    const closed = Promise.withResolvers<void>();
    const command = ['bash', '-c', KILL_SESSION, 'headgate', String(session)];
    const process = await this.container.start(command, { output() {}, closed: () => closed.resolve() });
    await closed.promise;
    process.close();
  }
}

/** A number of a call, and its exit code. */
const answerShape = /^(\d{1,9}) (\d{1,3})$/;

/** Longest line of the process. */
const MAX_LINE = 20;

class KillerProcess {
  isClosed = false;
  private process: RemoteProcess | undefined;
  private text = '';
  private last = 0;
  private readonly ready = Promise.withResolvers<'ready' | 'closed'>();
  private readonly running = new Map<number, (code: number | 'closed') => void>();

  private constructor() {}

  /** @throws if it does not start */
  static async open(container: RemoteContainer): Promise<KillerProcess> {
    const killer = new KillerProcess();
    killer.process = await container.start(['bash', '-c', KILLER], {
      output: (_, bytes) => killer.read(bytes),
      closed: () => killer.end(),
    });
    const timer = setTimeout(() => killer.close(), START_MS);
    const state = await killer.ready.promise;
    clearTimeout(timer);
    if (state === 'closed') throw new Error('the process that kills sessions did not start');
    return killer;
  }

  /** Calls a function. @returns its exit code; `closed`: the process has ended */
  call(words: string): Promise<number | 'closed'> {
    if (this.isClosed) return Promise.resolve('closed');
    const number = ++this.last;
    return new Promise((resolve) => {
      this.running.set(number, resolve);
      this.process!.write(Buffer.from(`${number} ${words}\n`)).catch(() => this.end());
    });
  }

  close(): void {
    this.process?.close();
    this.end();
  }

  private read(bytes: Buffer): void {
    const lines = (this.text + bytes.toString('latin1')).split('\n');
    this.text = lines.pop()!.slice(0, MAX_LINE); // commands can write to it, so it can be anything
    for (const line of lines) {
      if (`${line}\n` === KILLER_READY) this.ready.resolve('ready');
      const [, number, code] = answerShape.exec(line) ?? [];
      if (number !== undefined) this.finish(Number(number), Number(code));
    }
  }

  private finish(number: number, code: number | 'closed'): void {
    this.running.get(number)?.(code);
    this.running.delete(number);
  }

  private end(): void {
    this.isClosed = true;
    this.ready.resolve('closed');
    for (const number of [...this.running.keys()]) this.finish(number, 'closed');
  }
}
