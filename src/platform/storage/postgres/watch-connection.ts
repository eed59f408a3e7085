import { performance } from 'node:perf_hooks'; // the global is a getter
import pg from 'pg';

/** Time limit of a first query. A query of one row takes a round trip. */
const MIN_LIMIT_MS = 1000;
/** Maximum time limit. The limit doubles with each failure, because the server may only be slow. */
const MAX_LIMIT_MS = 8000;

/**
 * A connection for short queries that must not wait for others. A network that drops packets does not close a
 * connection. A query without a response after a second is therefore cancelled with its connection and sent once more
 * over a new one.
 */
export class WatchConnection {
  private readonly settings: pg.ClientConfig;
  private readonly onSilence: () => void;
  private client: Promise<pg.Client> | undefined;
  private limitMs = MIN_LIMIT_MS;
  private closed = false;

  /** @param onSilence called when an established connection is closed because it does not respond */
  constructor(settings: pg.ClientConfig, onSilence: () => void) {
    this.settings = settings;
    this.onSilence = onSilence;
  }

  /** @throws the server's or the network's error */
  async query<Row extends object>(statement: string): Promise<Row> {
    const known = this.client;
    if (known) {
      try {
        return await this.ask<Row>(known, statement);
      } catch {} // the next connection reports the error
    }
    this.client ??= this.connect();
    return this.ask<Row>(this.client, statement);
  }

  async close(): Promise<void> {
    this.closed = true;
    const { client } = this;
    this.client = undefined;
    await client?.then((each) => each.end()).catch(() => {});
  }

  private async connect(): Promise<pg.Client> {
    if (this.closed) throw new Error('The store is closed.');
    const client = new pg.Client({ ...this.settings, connectionTimeoutMillis: this.limitMs });
    client.on('error', () => {}); // the query also rejects with it
    await client.connect();
    return client;
  }

  private async ask<Row extends object>(connection: Promise<pg.Client>, statement: string): Promise<Row> {
    const startedAt = performance.now();
    const { limitMs } = this;
    let isLate = false;
    let timer: NodeJS.Timeout | undefined;
    try {
      const client = await connection;
      timer = setTimeout(
        () => {
          isLate = true;
          client.end().catch(() => {}); // closes the connection at once, and the query in flight rejects
        },
        limitMs - (performance.now() - startedAt),
      );
      const { rows } = await client.query<Row>(statement);
      this.limitMs = MIN_LIMIT_MS;
      return rows[0]!; // queries of one row
    } catch (cause) {
      if (this.client === connection) {
        this.client = undefined;
        this.limitMs = Math.min(this.limitMs * 2, MAX_LIMIT_MS);
      }
      connection.then((client) => client.end()).catch(() => {});
      if (!isLate) throw cause;
      this.onSilence();
      throw new Error(`PostgreSQL did not respond within ${limitMs} ms.`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}
