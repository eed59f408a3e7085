import type { Cancellation } from './cancellation.ts';
import type { GatewayError } from './errors.ts';

export interface PlaceLimits {
  /** Work that runs at the same time. */
  places: number;
  /** Work of one owner that runs at the same time. Absent: all places but one. */
  perOwner?: number;
  /** Work that waits. */
  queue: number;
}

type Watched = Pick<Cancellation, 'reason' | 'add' | 'remove'>;

interface Waiter {
  enter(): void;
  refuse(error: GatewayError): void;
}

/**
 * Places for work, shared by owners. An owner leaves one place to the others, so that these do not wait for its slow work.
 * Waiting owners take turns: first those with the least running work. If the queue is full, an owner with less waiting
 * work than another one takes the last place of that one in the queue.
 */
export class FairPlaces {
  private readonly limits: () => PlaceLimits;
  private readonly refusal: () => GatewayError;
  /** By owner; none is empty. The owners whose turn was longest ago come first. */
  private readonly waiting = new Map<string, Waiter[]>();
  private readonly running = new Map<string, number>();
  private runningCount = 0;
  private waitingCount = 0;

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
  async enter(owner: string, cancellation: Watched): Promise<() => void> {
    if (cancellation.reason) throw cancellation.reason;
    if (this.hasPlace(owner)) this.start(owner);
    else await this.wait(owner, cancellation);
    return () => this.leave(owner);
  }

  private hasPlace(owner: string): boolean {
    return this.runningCount < this.limits().places && this.countRunning(owner) < this.share;
  }

  private countRunning(owner: string): number {
    return this.running.get(owner) ?? 0;
  }

  private start(owner: string): void {
    this.runningCount++;
    this.running.set(owner, this.countRunning(owner) + 1);
  }

  private leave(owner: string): void {
    this.runningCount--;
    const left = this.countRunning(owner) - 1;
    if (left === 0) this.running.delete(owner);
    else this.running.set(owner, left);
    this.admit();
  }

  /** Gives free places to waiting owners. */
  private admit(): void {
    for (;;) {
      const ready = [...this.waiting.keys()].filter((owner) => this.hasPlace(owner));
      const [first, ...others] = ready;
      if (first === undefined) return;
      const next = others.reduce(
        (best, owner) => (this.countRunning(owner) < this.countRunning(best) ? owner : best),
        first,
      );
      const waiters = this.waiting.get(next)!; // one of its keys
      const [waiter] = waiters;
      this.remove(next, waiter!); // no list is empty
      if (this.waiting.delete(next) && waiters.length > 0) this.waiting.set(next, waiters); // the last one in the order
      this.start(next);
      waiter!.enter();
    }
  }

  private wait(owner: string, cancellation: Watched): Promise<void> {
    const { queue } = this.limits();
    if (this.waitingCount >= queue && !this.makeRoom(owner)) return Promise.reject(this.refusal());
    return new Promise((resolve, reject) => {
      const listener = {
        cancelled: (reason: GatewayError) => {
          this.remove(owner, waiter);
          reject(reason);
        },
      };
      const waiter: Waiter = {
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
      if (waiters) waiters.push(waiter);
      else this.waiting.set(owner, [waiter]);
      this.waitingCount++;
    });
  }

  /** Refuses the newest work of the owner that has most. @returns false: no other owner has more than this one would have */
  private makeRoom(owner: string): boolean {
    const own = this.waiting.get(owner)?.length ?? 0;
    let most: [string, Waiter[]] | undefined;
    for (const entry of this.waiting) if (entry[1].length > (most?.[1].length ?? own + 1)) most = entry;
    if (!most) return false;
    const waiter = most[1].at(-1)!; // no list is empty
    this.remove(most[0], waiter);
    waiter.refuse(this.refusal());
    return true;
  }

  private remove(owner: string, waiter: Waiter): void {
    const waiters = this.waiting.get(owner);
    const at = waiters?.indexOf(waiter) ?? -1;
    if (!waiters || at === -1) return;
    waiters.splice(at, 1);
    this.waitingCount--;
    if (waiters.length === 0) this.waiting.delete(owner);
  }
}
