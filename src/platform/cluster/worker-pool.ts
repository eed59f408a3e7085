import { setTimeout as delay } from 'node:timers/promises';
import type { WriteLog } from '../telemetry/log-messages.ts';

/** A worker that serves requests. */
export interface PoolMember {
  readonly pid: number;
  /** Resolves when its process has ended: `code 1`, `SIGKILL`. */
  readonly ended: Promise<string>;
}

export interface WorkerPoolParts<M extends PoolMember> {
  size: number;
  /**
   * Resolves when the worker serves requests.
   *
   * @throws the reason why it cannot start, after it has ended
   */
  start: (slot: number) => Promise<M>;
  /** Logs each worker that ended or could not start. */
  log: WriteLog;
  /** Milliseconds since any point in time. */
  now?: () => number;
  /** Resolves after this time. Rejects when the signal is aborted. */
  pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Minimum life of a worker that does not count as short. */
const MIN_LIFE_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
/** Consecutive short lives after which the pool gives up: about 25 seconds. */
const MAX_SHORT_LIVES = 10;

/** Keeps a number of workers running. Replaces a worker that ends, with a delay if its life was short. */
export class WorkerPool<M extends PoolMember> {
  /** Rejects when a worker ends repeatedly. */
  readonly failed: Promise<never>;
  private readonly giveUp: (error: Error) => void;
  private readonly parts: Required<WorkerPoolParts<M>>;
  private readonly serving = new Map<number, M>();
  private readonly keepers: Promise<void>[] = [];
  private readonly closing = new AbortController();
  private starts = 0;

  constructor(parts: WorkerPoolParts<M>) {
    this.parts = {
      now: () => performance.now(),
      pause: (ms, signal) => delay(ms, undefined, { signal }),
      ...parts,
    };
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => {}); // the caller handles it
    this.failed = promise;
    this.giveUp = reject;
  }

  /**
   * Resolves when all workers serve requests.
   *
   * @throws the first failure, after the other workers have ended
   */
  async open(end: (member: M) => Promise<void>): Promise<void> {
    const slots = Array.from({ length: this.parts.size }, (_, slot) => slot);
    const starts = slots.map((slot) => this.parts.start(slot));
    const outcomes = await Promise.allSettled(starts);
    const members = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure) {
      await Promise.all(members.map(end));
      throw failure.reason;
    }
    for (const [slot, member] of members.entries()) this.keepers.push(this.keep(slot, member));
  }

  /** Number of workers that replaced another one. */
  get replaced(): number {
    return this.starts;
  }

  /** Stops replacing workers, and ends all of them. */
  async close(end: (member: M) => Promise<void>): Promise<void> {
    this.closing.abort();
    await Promise.all([...this.serving.values()].map(end));
    await Promise.all(this.keepers);
    await Promise.all([...this.serving.values()].map(end)); // includes workers that started in the meantime
  }

  private async keep(slot: number, first: M): Promise<void> {
    const { signal } = this.closing;
    const { log, now } = this.parts;
    let shortLives = 0;
    for (let member: M | undefined = first; member; ) {
      this.serving.set(slot, member);
      if (signal.aborted) return;
      const since = now();
      const ending: string = await member.ended;
      this.serving.delete(slot);
      if (signal.aborted) return;
      shortLives = now() - since < MIN_LIFE_MS ? shortLives + 1 : 0;
      log('worker ended', { worker: slot, pid: member.pid, ending });
      member = await this.replace(slot, shortLives);
    }
  }

  /** @returns undefined if the pool gives up or closes */
  private async replace(slot: number, failures: number): Promise<M | undefined> {
    const { signal } = this.closing;
    for (let shortLives = failures; ; shortLives++) {
      if (shortLives >= MAX_SHORT_LIVES) {
        this.giveUp(new Error(`Worker ${slot} ended ${shortLives} times in a row. See the log above for the reasons.`));
        return undefined;
      }
      const pause = shortLives === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (shortLives - 1), LONGEST_PAUSE_MS);
      await this.parts.pause(pause, signal).catch(() => {});
      if (signal.aborted) return undefined;
      try {
        this.starts++;
        return await this.parts.start(slot);
      } catch (error) {
        this.parts.log('worker start failed', { worker: slot, err: error });
      }
    }
  }
}
