import { performance } from 'node:perf_hooks'; // the global is a getter
import { Worker } from 'node:worker_threads';
import { moduleUrl } from '../../domain/module-url.ts';
import type { CountJob, CountResult } from './count-worker.ts';

/** The author whose models have a public tokenizer that the library contains. */
const AUTHOR = 'openai/';
const TIMEOUT_MS = 3_000;
/** A tokenizer takes a fifth of a second to load, and many seconds on a busy machine. */
const LOAD_MS = 30_000;
/** How long an unused thread stays. A loaded tokenizer takes about 60 MB. */
const IDLE_MS = 60_000;
/** Counts that wait for the thread. More have no result. */
const MAX_PENDING = 8;
const MAX_HEAP_MIB = 256;

const entry = moduleUrl('./count-worker', import.meta.url);

/**
 * Counts tokens with the tokenizer of a model, in a thread: loading a tokenizer takes 200 ms, and counting a run of one
 * letter takes a time that grows with its square.
 */
export class TokenCounter {
  private worker: Worker | undefined;
  /** In performance.now(). */
  private openedAt = 0;
  /** Whether the thread has counted a text, so that a slow count is due to the text. */
  private hasCounted = false;
  private readonly pending = new Map<number, (tokens: number | undefined) => void>();
  private idle: NodeJS.Timeout | undefined;
  private nextId = 0;
  private readonly timeoutMs: number;

  constructor(timeoutMs = TIMEOUT_MS) {
    this.timeoutMs = timeoutMs;
  }

  /**
   * @param model a slug
   * @returns undefined if the model has no known tokenizer, or there is no result in time
   */
  async count(model: string, texts: readonly string[]): Promise<number | undefined> {
    if (!model.startsWith(AUTHOR) || this.pending.size >= MAX_PENDING) return undefined;
    const worker = this.open();
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const id = this.nextId++;
    this.pending.set(id, resolve);
    const timer = setTimeout(() => {
      // A thread that loads its tokenizer continues, for the texts that follow. A blocked one cannot receive a message to stop.
      if (!this.hasCounted && performance.now() - this.openedAt < LOAD_MS) resolve(undefined);
      else this.end(worker);
    }, this.timeoutMs);
    worker.postMessage({ id, model: nameOf(model), texts } satisfies CountJob);
    const tokens = await promise;
    clearTimeout(timer);
    this.pending.delete(id);
    if (this.pending.size === 0 && this.worker === worker) {
      this.idle = setTimeout(() => this.end(worker), IDLE_MS).unref();
    }
    return tokens;
  }

  private open(): Worker {
    clearTimeout(this.idle);
    if (this.worker) return this.worker;
    const worker = new Worker(entry, {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    });
    worker.unref();
    worker.on('message', ({ id, tokens }: CountResult) => {
      if (this.worker === worker) this.hasCounted = true;
      this.pending.get(id)?.(tokens);
    });
    worker.on('error', () => this.end(worker));
    this.worker = worker;
    this.openedAt = performance.now();
    this.hasCounted = false;
    return worker;
  }

  /** Ends the thread. Its counts have no result. */
  private end(worker: Worker): void {
    if (this.worker !== worker) return;
    this.worker = undefined;
    clearTimeout(this.idle);
    void worker.terminate();
    for (const resolve of this.pending.values()) resolve(undefined);
  }
}

/** The name without its author and its suffixes: `openai/gpt-5-mini:nitro` → `gpt-5-mini`. */
const nameOf = (slug: string): string => slug.slice(AUTHOR.length).replace(/:.*$/, '');
