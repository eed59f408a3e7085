import { type Transferable, Worker } from 'node:worker_threads';
import type { Cancellation } from '../domain/cancellation.ts';

export interface TaskLimits {
  /** Milliseconds of one task. */
  timeoutMs: number;
  /** Bytes of memory of one thread: its heap and its buffers together. */
  memory: number;
}

/** A task that ended with its thread: it took too long or too much memory, or the thread failed. */
export class TaskFault extends Error {
  override readonly name = 'TaskFault';
  readonly reason: 'time' | 'memory' | 'failure';

  constructor(reason: TaskFault['reason']) {
    super(`The thread of a task has ended (${reason}).`);
    this.reason = reason;
  }
}

/** How long an unused thread stays. It takes about 40 MB, and 0.2 s to start. */
const IDLE_MS = 10_000;
/** Interval of looking at the memory of a thread. `resourceLimits` bounds only its heap. */
const WATCH_MS = 25;
const MIB = 1024 * 1024;
const YOUNG_MIB = 16;
/** Part of the memory that the heap may have. The rest is for buffers. */
const HEAP_SHARE = 0.75;

type Watched = Pick<Cancellation, 'reason' | 'add' | 'remove'>;

/**
 * Runs tasks in worker threads, one task in each. A task that takes too long or too much memory ends its thread, and not
 * the gateway. The caller bounds the number of tasks.
 */
export class TaskThreads<Job, Result> {
  private readonly entry: URL;
  private readonly idle: TaskThread<Job, Result>[] = [];

  /** @param entry a module that posts one message for each that it receives */
  constructor(entry: URL) {
    this.entry = entry;
  }

  /**
   * @param transfer buffers of the job, which the caller gives away
   * @throws {TaskFault}; the reason of the cancellation
   */
  async run(job: Job, limits: TaskLimits, cancellation: Watched, transfer: Transferable[] = []): Promise<Result> {
    const thread = this.take(limits);
    try {
      return await thread.run(job, limits, cancellation, transfer);
    } finally {
      if (thread.isUsable) this.keep(thread);
    }
  }

  private take({ memory }: TaskLimits): TaskThread<Job, Result> {
    for (let thread = this.idle.pop(); thread; thread = this.idle.pop()) {
      thread.awake();
      if (thread.isUsable && thread.memory === memory) return thread;
      thread.end();
    }
    return new TaskThread(this.entry, memory);
  }

  private keep(thread: TaskThread<Job, Result>): void {
    this.idle.push(thread);
    thread.rest(() => {
      const at = this.idle.indexOf(thread);
      if (at !== -1) this.idle.splice(at, 1);
    });
  }
}

/** A worker thread, which does one task at a time. */
class TaskThread<Job, Result> {
  readonly memory: number;
  /** False once it has ended. */
  isUsable = true;
  private readonly worker: Worker;
  private timer: NodeJS.Timeout | undefined;

  constructor(entry: URL, memory: number) {
    this.memory = memory;
    this.worker = new Worker(entry, {
      env: {}, // a task needs no secrets
      stdout: true, // what a task prints does not belong to the log
      stderr: true,
      resourceLimits: {
        maxOldGenerationSizeMb: Math.ceil((memory * HEAP_SHARE) / MIB),
        maxYoungGenerationSizeMb: YOUNG_MIB,
      },
    });
    this.worker.unref();
    this.worker.stdout.resume();
    this.worker.stderr.resume();
    this.worker.on('error', () => {}); // of a task that is running, or nothing depends on it
    this.worker.on('exit', () => {
      this.isUsable = false;
    });
  }

  run(job: Job, { timeoutMs }: TaskLimits, cancellation: Watched, transfer: Transferable[]): Promise<Result> {
    const { worker, memory } = this;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const stop = (error: Error): void => {
      this.end();
      reject(error);
    };
    const listener = { cancelled: stop };
    const ended = (error?: NodeJS.ErrnoException | number): void => {
      const isMemory = typeof error === 'object' && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      stop(new TaskFault(isMemory ? 'memory' : 'failure'));
    };
    const timer = setTimeout(() => stop(new TaskFault('time')), timeoutMs);
    let isAsked = false;
    const watch = setInterval(async () => {
      if (isAsked) return; // the thread is in a long call
      isAsked = true;
      const used = await worker.getHeapStatistics().catch(() => undefined); // it has ended
      isAsked = false;
      if (!used) return;
      const { total_heap_size: heap, external_memory: buffers, malloced_memory: other } = used;
      if (heap + buffers + other > memory) stop(new TaskFault('memory'));
    }, WATCH_MS);
    worker.once('message', resolve);
    worker.once('error', ended);
    worker.once('exit', ended);
    cancellation.add(listener);
    try {
      if (cancellation.reason) stop(cancellation.reason);
      else worker.postMessage(job, transfer);
    } catch (error) {
      reject(error); // the job cannot be cloned
    }
    return promise.finally(() => {
      clearTimeout(timer);
      clearInterval(watch);
      worker.off('message', resolve);
      worker.off('error', ended);
      worker.off('exit', ended);
      cancellation.remove(listener);
    });
  }

  /** Ends it after a while without work. */
  rest(ended: () => void): void {
    this.timer = setTimeout(() => {
      ended();
      this.end();
    }, IDLE_MS);
    this.timer.unref();
  }

  awake(): void {
    clearTimeout(this.timer);
  }

  end(): void {
    this.isUsable = false;
    void this.worker.terminate();
  }
}
