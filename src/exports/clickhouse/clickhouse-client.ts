import type { Agent, Dispatcher } from 'undici';

/** A table of ClickHouse and the right to use it. */
export interface ClickHousePlace {
  /** URL of the HTTP interface, such as `https://clickhouse.internal:8443`. */
  url: string;
  database: string;
  table: string;
  user: string;
  password?: string | undefined;
  /** Time limit of one request. */
  timeoutMs: number;
}

/** An error of ClickHouse, or of the connection to it. Its message has no data of rows. */
export class ClickHouseError extends Error {
  override readonly name = 'ClickHouseError';
  /** The code of ClickHouse. Undefined: it sent none. */
  readonly code: number | undefined;

  constructor(message: string, code?: number) {
    super(message);
    this.code = code;
  }
}

const CONNECT_MS = 5000;
/** Longest response that is read: the ids of a batch. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
/**
 * Codes whose messages are about names and rights, so that operators can read them: unknown setting, table and database, bad
 * arguments, read-only, unknown user, wrong password, too many parts, not enough rights. Other messages can quote rows.
 */
const explainedCodes = new Set([16, 36, 60, 81, 115, 164, 192, 193, 194, 252, 291, 497, 516]);

/** Sends statements to ClickHouse, one after the other over one connection. */
export class ClickHouseClient {
  private readonly place: ClickHousePlace;
  private agent: Agent | undefined;

  constructor(place: ClickHousePlace) {
    this.place = place;
  }

  /** `database.table`, quoted. */
  get table(): string {
    const { database, table } = this.place;
    return `\`${database}\`.\`${table}\``;
  }

  /** @returns the text of the response. @throws {ClickHouseError} */
  async send(query: string, body: string, settings: Readonly<Record<string, string>>, signal: AbortSignal) {
    const { url, user, password, timeoutMs } = this.place;
    const { Agent, request } = await import('undici'); // most gateways have no ClickHouse
    this.agent ??= new Agent({
      connect: { timeout: CONNECT_MS },
      connections: 1,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      keepAliveTimeout: 2000, // shorter than that of ClickHouse
      allowH2: false,
    });
    const target = new URL(url);
    // `wait_end_of_query`: an error has a status, also if it comes late.
    for (const [name, value] of Object.entries({ query, wait_end_of_query: '1', ...settings })) {
      target.searchParams.set(name, value);
    }
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      const response = await request(target, {
        dispatcher: this.agent,
        method: 'POST',
        body,
        signal: AbortSignal.any([signal, limit]),
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          'accept-encoding': 'identity',
          'user-agent': 'headgate',
          'x-clickhouse-user': user,
          ...(password !== undefined && { 'x-clickhouse-key': password }),
        },
      });
      const text = await readText(response.body);
      const { 'x-clickhouse-exception-code': thrown } = response.headers;
      if (response.statusCode !== 200 || thrown !== undefined) throw createError(response.statusCode, text, thrown);
      return text;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ClickHouseError) throw error;
      if (limit.aborted) throw new ClickHouseError(`ClickHouse did not respond within ${timeoutMs} ms.`);
      const { code } = error as NodeJS.ErrnoException; // both undici and sockets have one
      throw new ClickHouseError(`ClickHouse cannot be reached (${code ?? 'no connection'}).`);
    }
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    await this.agent?.destroy();
  }
}

function createError(status: number, text: string, header: string | string[] | undefined): ClickHouseError {
  const code = Number(/^\d{1,9}$/.exec(String(header ?? ''))?.[0] ?? /^Code: (\d{1,9})[.,]/.exec(text)?.[1]);
  if (Number.isNaN(code)) return new ClickHouseError(`ClickHouse responded with status ${status}.`);
  const explained = explainedCodes.has(code) ? `: ${text.trim().split('\n', 1)[0]!.slice(0, 300)}` : '';
  return new ClickHouseError(`ClickHouse responded with status ${status} and code ${code}${explained}.`, code);
}

/** @throws {ClickHouseError} if it is too long */
async function readText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_RESPONSE_BYTES) throw new ClickHouseError('ClickHouse sent a response that is too long.');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
