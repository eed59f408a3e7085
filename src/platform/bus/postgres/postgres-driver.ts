import { createHash, randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { type PostgresSettings, readPostgresSettings } from '../../postgres-settings.ts';
import type { BusDriver, MessageReceiver } from '../bus.ts';

export interface PostgresDriverOptions {
  /** Called when the connection is lost or cannot be established, once per streak. */
  onTrouble: (error: unknown) => void;
  /** Called when the connection is restored. */
  onRecovery?: () => void;
  /** Interval of the connection checks. */
  heartbeatMs?: number;
}

/** PostgreSQL accepts 7,999 bytes in one notification. */
const MAX_BYTES = 7900;
/** Maximum messages that wait for the server. Further messages are lost. */
const MAX_WAITING = 5000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
const HEARTBEAT_MS = 15_000;
/** Time limit of each query. */
const QUERY_MS = 5000;

/**
 * Opens the driver between hosts on one PostgreSQL: LISTEN and NOTIFY over a dedicated connection. Reconnects after a
 * lost connection. Messages are lost until then.
 *
 * @param url as for the store
 * @returns before it is connected: it connects in the background
 * @throws if the TLS settings of the URL are invalid
 */
export async function openPostgresDriver(url: string, options: PostgresDriverOptions): Promise<PostgresDriver> {
  return new PostgresDriver(await readPostgresSettings(url), options);
}

class PostgresDriver implements BusDriver {
  /** Resolves when it listens for the first time. */
  readonly connected: Promise<void>;
  private readonly reportConnected: () => void;
  private readonly self = randomUUID();
  private readonly settings: PostgresSettings;
  private readonly options: PostgresDriverOptions;
  private readonly heartbeat: NodeJS.Timeout;
  private receiver: MessageReceiver | undefined;
  private client: Client | undefined;
  /** The channel of the schema. */
  private channel = '';
  /** JSON of topic and message. */
  private waiting: string[] = [];
  private sending: Promise<void> | undefined;
  private isScheduled = false;
  private failures = 0;
  private retry: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(settings: PostgresSettings, options: PostgresDriverOptions) {
    this.settings = settings;
    this.options = options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.connected = promise;
    this.reportConnected = resolve;
    // A network that drops packets does not close the connection.
    this.heartbeat = setInterval(() => void this.query('select 1'), options.heartbeatMs ?? HEARTBEAT_MS).unref();
    void this.connect();
  }

  send(topic: string, message: unknown): void {
    if (!this.client || this.closed || this.waiting.length >= MAX_WAITING) return;
    this.waiting.push(JSON.stringify([topic, message]));
    if (this.isScheduled || this.sending) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.sending = this.flush();
    });
  }

  receive(receiver: MessageReceiver): void {
    this.receiver = receiver;
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.heartbeat);
    clearTimeout(this.retry);
    await this.sending;
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => {}); // it is already closed
  }

  /** Sends all waiting messages in as few statements and notifications as possible. */
  private async flush(): Promise<void> {
    while (this.waiting.length > 0 && this.client) {
      const payloads = pack(this.self, this.waiting);
      this.waiting = [];
      await this.query('select pg_notify($1, payload) from unnest($2::text[]) as payload', [this.channel, payloads]);
    }
    this.waiting = [];
    this.sending = undefined;
  }

  private async query(statement: string, values: unknown[] = []): Promise<void> {
    const { client } = this;
    try {
      await client?.query(statement, values);
    } catch (error) {
      if (client) this.lose(client, error);
    }
  }

  private async connect(): Promise<void> {
    const { default: pg } = await import('pg');
    if (this.closed) return;
    const client = new pg.Client({
      ...this.settings,
      application_name: 'headgate bus',
      connectionTimeoutMillis: QUERY_MS,
      query_timeout: QUERY_MS,
      keepAlive: true,
    });
    client.on('error', (error) => this.lose(client, error));
    client.on('end', () => this.lose(client, new Error('The server ended the connection.')));
    client.on('notification', ({ payload }) => this.deliver(payload));
    try {
      await client.connect();
      const { rows } = await client.query<{ schema: string | null }>('select current_schema() as schema');
      this.channel = channelOf(rows[0]?.schema ?? 'public');
      await client.query(`listen ${this.channel}`);
      if (this.closed) return void client.end().catch(() => {});
      this.client = client;
      if (this.failures > 0) this.options.onRecovery?.();
      this.failures = 0;
      this.reportConnected();
    } catch (error) {
      this.client = client;
      this.lose(client, error);
    }
  }

  /** Handles the loss of a connection. Idempotent, because several events report it. */
  private lose(client: Client, error: unknown): void {
    if (this.client !== client) return;
    this.client = undefined;
    this.waiting = [];
    client.end().catch(() => {});
    if (this.closed) return;
    if (this.failures === 0) this.options.onTrouble(error);
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.failures++, LONGEST_PAUSE_MS);
    this.retry = setTimeout(() => void this.connect(), pauseMs).unref();
  }

  private deliver(payload: string | undefined): void {
    const read = readPayload(payload);
    if (!read || read.sender === this.self || this.closed) return;
    for (const [topic, message] of read.messages) this.receiver?.(topic, message);
  }
}

/** Returns the channel of the gateways whose tables are in a schema: a database has one namespace of channels for all. */
const channelOf = (schema: string): string =>
  schema === 'public' ? 'headgate' : `headgate_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`;

/** Joins messages to payloads that PostgreSQL accepts. Drops a message that is too long. */
function pack(sender: string, messages: readonly string[]): string[] {
  const payloads: string[] = [];
  const head = `[${JSON.stringify(sender)}`;
  let text = head;
  let bytes = head.length;
  const finish = (): void => {
    if (bytes > head.length) payloads.push(`${text}]`);
    text = head;
    bytes = head.length;
  };
  for (const message of messages) {
    const more = Buffer.byteLength(message) + 1;
    if (head.length + more > MAX_BYTES) continue;
    if (bytes + more > MAX_BYTES) finish();
    text += `,${message}`;
    bytes += more;
  }
  finish();
  return payloads;
}

/** @returns undefined for a notification of another application */
function readPayload(payload: string | undefined): { sender: unknown; messages: [string, unknown][] } | undefined {
  try {
    const [sender, ...messages] = JSON.parse(payload ?? '') as unknown[];
    const isMessage = (each: unknown): each is [string, unknown] => Array.isArray(each) && typeof each[0] === 'string';
    return { sender, messages: messages.filter(isMessage) };
  } catch {
    return undefined;
  }
}
