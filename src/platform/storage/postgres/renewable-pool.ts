import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Pool, PoolClient, PoolOptions } from 'pg';

/** A pool that can replace all its connections at once. A network that drops packets does not close them. */
export class RenewablePool {
  private readonly create: () => Pool;
  private readonly pauseMs: number;
  private pool: Pool;
  private renewedAt = Number.NEGATIVE_INFINITY;
  /** Replaced pools that still have queries in flight. */
  private readonly old = new Set<Promise<void>>();

  /** @param pauseMs minimum time between two renewals, which bounds the number of connections */
  constructor(create: () => Pool, pauseMs: number) {
    this.create = create;
    this.pauseMs = pauseMs;
    this.pool = create();
  }

  /** For Kysely. */
  get options(): PoolOptions {
    return this.pool.options;
  }

  connect(): Promise<PoolClient> {
    return this.pool.connect();
  }

  /** Replaces the pool. Queries in flight keep their connections until they end. */
  renew(): void {
    if (performance.now() - this.renewedAt < this.pauseMs) return;
    this.renewedAt = performance.now();
    const ended = this.pool.end();
    this.pool = this.create();
    this.old.add(ended);
    void ended.then(() => this.old.delete(ended));
  }

  async end(): Promise<void> {
    await Promise.all([this.pool.end(), ...this.old]);
  }
}
