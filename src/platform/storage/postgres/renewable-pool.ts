import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Client, Pool, PoolClient, PoolOptions } from 'pg';

/** Time that queries in flight have after a renewal. */
const GRACE_MS = 2000;

/** A pool that can replace all its connections at once. A network that drops packets does not close them. */
export class RenewablePool {
  private readonly create: () => Pool;
  private readonly pauseMs: number;
  private pool: Pool;
  /** The connections of the pool. */
  private clients = new Set<Client>();
  private renewedAt = Number.NEGATIVE_INFINITY;
  /** Replaced pools that still have queries in flight. */
  private readonly old = new Set<Promise<void>>();
  private ending: Promise<unknown> | undefined;

  /** @param pauseMs minimum time between two renewals, which bounds the number of connections */
  constructor(create: () => Pool, pauseMs: number) {
    this.create = create;
    this.pauseMs = pauseMs;
    this.pool = this.open();
  }

  /** For Kysely. */
  get options(): PoolOptions {
    return this.pool.options;
  }

  connect(): Promise<PoolClient> {
    return this.pool.connect();
  }

  /**
   * Replaces the pool. Queries in flight have two seconds more, and then reject: others may wait for them, as the limits of
   * a new key wait for the ledger.
   */
  renew(): void {
    if (performance.now() - this.renewedAt < this.pauseMs) return;
    this.renewedAt = performance.now();
    const old = this.clients;
    const ended = this.pool.end();
    this.pool = this.open();
    setTimeout(() => {
      for (const client of old) client.end().catch(() => {}); // closes the connection at once if a query is in flight
    }, GRACE_MS).unref();
    this.old.add(ended);
    void ended.then(() => this.old.delete(ended));
  }

  private open(): Pool {
    const clients = new Set<Client>();
    this.clients = clients;
    const pool = this.create();
    pool.on('connect', (client) => clients.add(client as Client)); // the types have only the methods for queries
    return pool.on('remove', (client) => clients.delete(client as Client));
  }

  async end(): Promise<void> {
    this.ending ??= Promise.all([this.pool.end(), ...this.old]);
    await this.ending;
  }
}
