import type { Topic } from '../platform/bus/bus.ts';
import type { ContainerStore, StopRequest } from '../platform/storage/ports/containers.ts';
import type { ContainersParts } from './container-parts.ts';

/** @see docs/reference/containers.md#lifetime */
export const defaultLeaseTimes = { renewMs: 5000, validMs: 15_000 };

/** A request to stop a sandbox soon. The lease has it, too: messages can be lost. */
interface StopMessage {
  token: string;
  stop: Exclude<StopRequest, 'none'>;
}

export const stopTopic: Topic<StopMessage> = {
  name: 'container-stop',
  read(message) {
    const { token, stop } = (message ?? {}) as Partial<StopMessage>;
    return typeof token === 'string' && (stop === 'idle' || stop === 'now') ? { token, stop } : undefined;
  },
};

/** The holder of leases that needs one more than it may have. */
export const yieldTopic: Topic<string> = {
  name: 'container-yield',
  read: (message) => (typeof message === 'string' ? message : undefined),
};

/** The token of a lease that was released. */
export const freeTopic: Topic<string> = {
  name: 'container-free',
  read: (message) => (typeof message === 'string' ? message : undefined),
};

/** The holder of a lease. */
export interface LeaseHolder {
  /** The sandbox must stop; `lost`: another process may run the container now. */
  onStop(stop: StopMessage['stop'] | 'lost'): void;
}

/** Renews the leases of this process, and passes requests to stop on. */
export class LeaseKeeper {
  private readonly parts: Pick<ContainersParts, 'store' | 'bus' | 'now' | 'log' | 'leaseTimes'>;
  private readonly holders = new Map<string, LeaseHolder>();
  private readonly unsubscribe: () => void;
  private timer: NodeJS.Timeout | undefined;
  private isFailing = false;

  constructor(parts: LeaseKeeper['parts']) {
    this.parts = parts;
    this.unsubscribe = parts.bus.subscribe(stopTopic, ({ token, stop }) => this.holders.get(token)?.onStop(stop));
  }

  add(token: string, holder: LeaseHolder): void {
    this.holders.set(token, holder);
    this.schedule();
  }

  /** Whether a lease is of this process. */
  has(token: string): boolean {
    return this.holders.has(token);
  }

  /** Releases a lease. If that fails, it expires. */
  async release(token: string): Promise<void> {
    this.holders.delete(token);
    await this.parts.store.releaseLease(token, this.parts.now()).catch(() => {});
    this.parts.bus.publish(freeTopic, token);
  }

  private get times() {
    return this.parts.leaseTimes ?? defaultLeaseTimes;
  }

  close(): void {
    this.unsubscribe();
    clearTimeout(this.timer);
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.renew().then(() => this.holders.size > 0 && this.schedule());
    }, this.times.renewMs).unref();
  }

  /** Renews all leases at once. */
  async renew(): Promise<void> {
    const { store, now, log } = this.parts;
    const tokens = [...this.holders.keys()];
    let renewed: Awaited<ReturnType<ContainerStore['renewLeases']>>;
    try {
      renewed = await store.renewLeases(tokens, now() + this.times.validMs);
    } catch (error) {
      if (!this.isFailing) log('container leases not renewed', { err: error });
      this.isFailing = true;
      return; // the store refuses saves of a lease that has been replaced
    }
    this.isFailing = false;
    const stops = new Map(renewed.map(({ token, stop }) => [token, stop]));
    for (const token of tokens) {
      const stop = stops.get(token) ?? 'lost';
      if (stop !== 'none') this.holders.get(token)?.onStop(stop);
    }
  }
}
