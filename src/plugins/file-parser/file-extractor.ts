import { Worker } from 'node:worker_threads';
import type { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { moduleUrl } from '../../domain/module-url.ts';
import type { DeclaredType, ExtractedFile, ExtractLimits } from './extract/extract-file.ts';
import { FileFault } from './extract/file-fault.ts';
import type { ExtractJob, ExtractResult } from './extractor-worker.ts';

export interface ExtractorSettings extends ExtractLimits {
  /** Time limit of one file, without the wait in the queue. */
  timeoutMs: number;
  /** Bytes of memory of one thread: of its heap, and of its buffers. */
  memory: number;
  /** Files that are read at the same time. */
  parallel: number;
  /** Files that wait. */
  queue: number;
}

/** How long an unused thread stays. It takes about 40 MB, and 0.2 s to start. */
const IDLE_MS = 10_000;
/** Interval of looking at the buffers of a thread. `resourceLimits` bounds only its heap. */
const WATCH_MS = 25;
const MIB = 1024 * 1024;
const YOUNG_MIB = 32;

const entry = moduleUrl('./extractor-worker', import.meta.url);

type Watched = Pick<Cancellation, 'reason' | 'add' | 'remove'>;

/**
 * Extracts the text of files in worker threads. A file that takes too long or too much memory ends its thread, and not
 * the gateway.
 */
export class FileExtractor {
  private readonly settings: () => ExtractorSettings;
  private readonly report: (detail: string) => void;
  private readonly idle: Thread[] = [];
  private readonly waiting: (() => void)[] = [];
  private running = 0;

  /** @param report called if a parser failed unexpectedly */
  constructor(settings: () => ExtractorSettings, report: (detail: string) => void) {
    this.settings = settings;
    this.report = report;
  }

  /**
   * @param bytes are copied
   * @param only see `extractFile`
   * @throws {FileFault} if the file cannot be read within the limits
   * @throws {GatewayError} `unavailable` if too many files wait, and the reason of the cancellation
   */
  async extract(bytes: Buffer, declared: DeclaredType, cancellation: Watched, only?: 'pages'): Promise<ExtractedFile> {
    await this.enter(cancellation);
    const settings = this.settings();
    let thread: Thread | undefined;
    try {
      thread = this.takeThread(settings);
      const result = await thread.run({ bytes, declared, limits: settings, only }, settings, cancellation);
      if ('file' in result) return result.file;
      if (result.detail !== undefined) this.report(result.detail);
      throw new FileFault(result.fault);
    } finally {
      this.running--;
      this.waiting.shift()?.();
      if (thread?.isUsable) this.keep(thread);
    }
  }

  /** Waits for a place. */
  private enter(cancellation: Watched): Promise<void> {
    if (cancellation.reason) return Promise.reject(cancellation.reason);
    const { parallel, queue } = this.settings();
    if (this.running < parallel) {
      this.running++;
      return Promise.resolve();
    }
    if (this.waiting.length >= queue) {
      const message = 'Too many files are being read (plugins.file_parser.queue). Retry in a moment.';
      return Promise.reject(new GatewayError('unavailable', message, { retryAfterSeconds: 1, retryable: true }));
    }
    return new Promise((resolve, reject) => {
      const listener = {
        cancelled: (reason: GatewayError) => {
          this.waiting.splice(this.waiting.indexOf(enter), 1);
          reject(reason);
        },
      };
      const enter = (): void => {
        cancellation.remove(listener);
        this.running++;
        resolve();
      };
      cancellation.add(listener);
      this.waiting.push(enter);
    });
  }

  private takeThread({ memory }: ExtractorSettings): Thread {
    for (let thread = this.idle.pop(); thread; thread = this.idle.pop()) {
      thread.awake();
      if (thread.isUsable && thread.memory === memory) return thread;
      thread.end();
    }
    return new Thread(memory);
  }

  private keep(thread: Thread): void {
    this.idle.push(thread);
    thread.rest(() => {
      const at = this.idle.indexOf(thread);
      if (at !== -1) this.idle.splice(at, 1);
    });
  }
}

/** A worker thread, which reads one file at a time. */
class Thread {
  readonly memory: number;
  /** False once it has ended. */
  isUsable = true;
  private readonly worker: Worker;
  private timer: NodeJS.Timeout | undefined;

  constructor(memory: number) {
    this.memory = memory;
    this.worker = new Worker(entry, {
      env: {}, // a parser needs no secrets
      stdout: true, // what a parser prints does not belong to the log
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(memory / MIB), maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    this.worker.unref();
    this.worker.stdout.resume();
    this.worker.stderr.resume();
    this.worker.on('error', () => {}); // of a file that is being read, or nothing depends on it
    this.worker.on('exit', () => {
      this.isUsable = false;
    });
  }

  /**
   * @throws {FileFault} if it does not end in time, or takes too much memory
   * @throws the reason of the cancellation
   */
  run(job: ExtractJob, { timeoutMs }: ExtractorSettings, cancellation: Watched): Promise<ExtractResult> {
    const { worker, memory } = this;
    const { promise, resolve, reject } = Promise.withResolvers<ExtractResult>();
    const stop = (error: Error): void => {
      this.end();
      reject(error);
    };
    const listener = { cancelled: stop };
    const ended = (error?: NodeJS.ErrnoException | number): void => {
      const isMemory = typeof error === 'object' && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      stop(isMemory ? tooMuchMemory(memory) : new FileFault('It is damaged: reading it failed.'));
    };
    const timer = setTimeout(() => {
      stop(new FileFault(`It took longer than ${timeoutMs} ms to read (plugins.file_parser.timeout_ms).`));
    }, timeoutMs);
    const watch = setInterval(async () => {
      const used = await worker.getHeapStatistics().catch(() => undefined); // it has ended
      if (used && used.external_memory > memory) stop(tooMuchMemory(memory));
    }, WATCH_MS);
    worker.once('message', resolve);
    worker.once('error', ended);
    worker.once('exit', ended);
    cancellation.add(listener);
    if (cancellation.reason) stop(cancellation.reason);
    const bytes = new Uint8Array(job.bytes);
    worker.postMessage({ ...job, bytes }, [bytes.buffer]);
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

const tooMuchMemory = (memory: number): FileFault =>
  new FileFault(`It takes more than ${memory} bytes of memory to read (plugins.file_parser.memory).`);
