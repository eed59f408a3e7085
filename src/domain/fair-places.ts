import { Cancellation } from './cancellation.ts';
import { GatewayError } from './errors.ts';

export interface PlaceLimits {
  /** Work that runs at the same time. */
  places: number;
  /** Work of one owner that runs at the same time. Absent: all places but one. */
  perOwner?: number;
  /** Work that waits. */
  queue: number;
  /** Time after which work of `run` makes way. Absent: it never does. */
  turnMs?: number;
}

type Watched = Pick<Cancellation, 'reason' | 'add' | 'remove'>;

/** Stops work that makes way. */
const makesWay = new GatewayError('unavailable', 'The work makes way, and is done again later.');

/** Work that waits or runs. */
interface Work {
  owner: string;
  /** Stops its first try, which makes way. */
  stop?: (() => void) | undefined;
  /** Whether it has made way before. */
  isSecondTry: boolean;
}

interface Waiter {
  work: Work;
  enter(): void;
  refuse(error: GatewayError): void;
}

/**
 * Places for work, shared by owners. An owner leaves one place to the others, so that these do not wait for its slow work.
 * Waiting owners take turns: first those with the least running work. If the queue is full, an owner with less waiting
 * work than another one takes the last place of that one in the queue.
 *
 * With `run`, an owner that has no running work waits for at most `turnMs` for each such owner before it: work that has run
 * that long makes way, and is done again later. It makes way once. Second tries have all places but one, so that at least
 * one place has work that can make way.
 */
export class FairPlaces {
  private readonly limits: () => PlaceLimits;
  private readonly refusal: () => GatewayError;
  /** By owner; none is empty. The owners whose turn was longest ago come first. */
  private readonly waiting = new Map<string, Waiter[]>();
  /** The work that runs, with the time at which it began. The oldest comes first. */
  private readonly running = new Map<Work, number>();
  private waitingCount = 0;
  private timer: NodeJS.Timeout | undefined;

  /** @param refusal creates the error of work that the queue has no place for */
  constructor(limits: () => PlaceLimits, refusal: () => GatewayError) {
    this.limits = limits;
    this.refusal = refusal;
  }

  /** Places that one owner can have at the same time. */
  get share(): number {
    const { places, perOwner = places - 1 } = this.limits();
    return Math.max(1, perOwner);
  }

  /**
   * Waits for a place.
   *
   * @returns a function that frees it
   * @throws {GatewayError} the refusal, or the reason of the cancellation
   */
  enter(owner: string, cancellation: Watched): Promise<() => void> {
    return this.begin({ owner, isSecondTry: false }, cancellation);
  }

  /**
   * Does work in a place. Its cancellation also stops the first try if that makes way.
   *
   * @throws {GatewayError} the refusal, or the reason of the cancellation
   * @throws what the work throws
   */
  async run<Result>(
    owner: string,
    cancellation: Watched,
    work: (cancellation: Watched) => Promise<Result>,
  ): Promise<Result> {
    const first = new Cancellation();
    const listener = { cancelled: (reason: GatewayError) => first.cancel(reason) };
    cancellation.add(listener);
    if (cancellation.reason) first.cancel(cancellation.reason);
    const attempt = async (one: Work, watched: Watched): Promise<Result> => {
      const leave = await this.begin(one, watched);
      try {
        return await work(watched);
      } finally {
        leave();
      }
    };
    try {
      return await attempt({ owner, stop: () => first.cancel(makesWay), isSecondTry: false }, first);
    } catch (error) {
      if (error !== makesWay) throw error;
    } finally {
      cancellation.remove(listener);
    }
    return attempt({ owner, isSecondTry: true }, cancellation);
  }

  private async begin(work: Work, cancellation: Watched): Promise<() => void> {
    if (cancellation.reason) throw cancellation.reason;
    if (this.hasPlace(work)) this.running.set(work, performance.now());
    else await this.wait(work, cancellation);
    return () => {
      if (this.running.delete(work)) this.admit();
    };
  }

  private hasPlace({ owner, isSecondTry }: Work): boolean {
    const { places } = this.limits();
    if (this.running.size >= places || this.countRunning(owner) >= this.share) return false;
    return !isSecondTry || places === 1 || this.count((work) => work.isSecondTry) < places - 1;
  }

  private countRunning(owner: string): number {
    return this.count((work) => work.owner === owner);
  }

  private count(matches: (work: Work) => boolean): number {
    let count = 0;
    for (const work of this.running.keys()) if (matches(work)) count++;
    return count;
  }

  /** Gives free places to waiting owners. */
  private admit(): void {
    for (;;) {
      const ready = [...this.waiting.values()].flatMap(
        (waiters) => waiters.find(({ work }) => this.hasPlace(work)) ?? [],
      );
      const [first, ...others] = ready;
      if (first === undefined) {
        if (this.makeWay()) continue;
        return;
      }
      const next = others.reduce(
        (best, waiter) => (this.countRunning(waiter.work.owner) < this.countRunning(best.work.owner) ? waiter : best),
        first,
      );
      const { owner } = next.work;
      const waiters = this.waiting.get(owner)!; // it waits
      this.remove(next);
      if (this.waiting.delete(owner) && waiters.length > 0) this.waiting.set(owner, waiters); // the last one in the order
      this.running.set(next.work, performance.now());
      next.enter();
    }
  }

  /**
   * Stops work that has had its turn, if an owner with none running waits. Otherwise this is repeated when the next work has
   * had it.
   *
   * @returns whether a place is free now
   */
  private makeWay(): boolean {
    clearTimeout(this.timer);
    const { turnMs } = this.limits();
    if (turnMs === undefined || this.running.size < this.limits().places) return false;
    const isNew = ({ work }: Waiter): boolean => !work.isSecondTry && this.countRunning(work.owner) === 0;
    if (![...this.waiting.values()].some((waiters) => waiters.some(isNew))) return false;
    const now = performance.now();
    let newest: Work | undefined;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [work, startedAt] of this.running) {
      if (!work.stop) continue;
      const restMs = startedAt + turnMs - now;
      if (restMs > 0) nextMs = Math.min(nextMs, restMs);
      else if (!newest || this.countRunning(work.owner) >= this.countRunning(newest.owner)) newest = work;
    }
    if (newest) {
      this.running.delete(newest);
      newest.stop!(); // only such work is chosen
      return true;
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.timer = setTimeout(() => this.admit(), Math.ceil(nextMs));
    return false;
  }

  private wait(work: Work, cancellation: Watched): Promise<void> {
    const { owner, isSecondTry } = work;
    const { queue } = this.limits();
    if (!isSecondTry && this.waitingCount >= queue && !this.makeRoom(owner)) return Promise.reject(this.refusal());
    return new Promise((resolve, reject) => {
      const listener = {
        cancelled: (reason: GatewayError) => {
          this.remove(waiter);
          reject(reason);
        },
      };
      const waiter: Waiter = {
        work,
        enter() {
          cancellation.remove(listener);
          resolve();
        },
        refuse(error) {
          cancellation.remove(listener);
          reject(error);
        },
      };
      cancellation.add(listener);
      const waiters = this.waiting.get(owner);
      if (!waiters) this.waiting.set(owner, [waiter]);
      else if (isSecondTry) waiters.unshift(waiter);
      else waiters.push(waiter);
      this.waitingCount++;
      this.admit();
    });
  }

  /** Refuses the newest work of the owner that has most. @returns false: no other owner has more than this one would have */
  private makeRoom(owner: string): boolean {
    const own = this.waiting.get(owner)?.length ?? 0;
    let most: [string, Waiter[]] | undefined;
    for (const entry of this.waiting) if (entry[1].length > (most?.[1].length ?? own + 1)) most = entry;
    if (!most) return false;
    const waiter = most[1].at(-1)!; // no list is empty
    this.remove(waiter);
    waiter.refuse(this.refusal());
    return true;
  }

  private remove(waiter: Waiter): void {
    const { owner } = waiter.work;
    const waiters = this.waiting.get(owner);
    const at = waiters?.indexOf(waiter) ?? -1;
    if (!waiters || at === -1) return;
    waiters.splice(at, 1);
    this.waitingCount--;
    if (waiters.length === 0) this.waiting.delete(owner);
  }
}
