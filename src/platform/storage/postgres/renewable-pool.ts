import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Pool, PoolClient, PoolOptions } from 'pg';

/** A pool that can drop all its connections at once. A network that drops packets closes none of them. */
export class RenewablePool {
  private readonly create: () => Pool;
  private readonly pauseMs: number;
  private pool: Pool;
  private renewedAt = Number.NEGATIVE_INFINITY;
  /** Pools that were given up and still have queries in flight. */
  private readonly old = new Set<Promise<void>>();

  /** @param pauseMs after a renewal no other one follows for so long, which bounds the number of connections */
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

  /** Opens new connections from here on. Queries in flight keep theirs until they are answered or given up. */
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
