import { Readable } from 'node:stream';
import { McpError } from '../../domain/mcp.ts';
import { parseJson } from '../../domain/parse-json.ts';
import type { SendExchange } from '../outbound/exchange.ts';
import { checkBody } from './check-json.ts';

export interface SessionFetchParts {
  /** Sends the requests. For URLs of callers it is `Outbound.exchange`. */
  send: SendExchange;
  /** Sent with every request. */
  headers: Readonly<Record<string, string>>;
  /** Maximum bytes of one response. */
  maxBytes: number;
  /** Maximum idle time, before a response begins and within it. */
  idleMs: number;
  /** The same for notifications and for the end of a session, which have no result. */
  acceptMs: number;
  /** Called when the response to a JSON-RPC request has ended, and nothing can resume it. */
  ended: (id: number | string, failure: McpError | undefined) => void;
}

/** Maximum number of interrupted streams that a session resumes between two requests. */
const MAX_RESUMPTIONS = 16;
/** Maximum number of requests of the server, such as pings, to which a session responds. */
const MAX_REPLIES = 256;
/** Maximum number of concurrent requests of a session. */
const MAX_PARALLEL = 64;

const cancelled = new McpError('unavailable', 'The call was cancelled.');

/** Responses whose body is empty by definition. */
const bodiless = new Set([204, 205, 304]);

/**
 * The `fetch` of one session: the only way in which the client library reaches a server. It bounds bytes, time and the
 * number of requests, accepts no compression, and opens no stream on which the server could send unrelated messages.
 */
export class SessionFetch {
  /** Whether the server sends its messages on one event stream, as in the transport before streamable HTTP. */
  takesEvents = false;
  private readonly parts: SessionFetchParts;
  private readonly closing = new AbortController();
  /** Open responses by the id of their request. */
  private readonly open = new Map<number | string, AbortController>();
  /** The latest requests whose response was interrupted and can be resumed. */
  private readonly interrupted = new Set<number | string>();
  private resumptions = 0;
  private replies = 0;
  private parallel = 0;

  constructor(parts: SessionFetchParts) {
    this.parts = parts;
  }

  /** Closes the session: aborts all of its requests. */
  close(): void {
    this.closing.abort(new McpError('unavailable', 'The session with the MCP server was closed.'));
  }

  /** Fails the requests whose responses could not be resumed. */
  giveUp(): void {
    for (const id of this.interrupted) this.parts.ended(id, undefined);
    this.interrupted.clear();
  }

  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { method = 'GET', body } = init;
    if (method === 'GET')
      return this.takesEvents ? await this.exchange(url, init, undefined) : await this.resume(url, init);
    if (method !== 'POST' || typeof body !== 'string') return await this.exchange(url, init, undefined);
    const message = JSON.parse(body) as {
      id?: number | string;
      method?: string;
      params?: { requestId?: number | string };
    };
    if (message.method === undefined && ++this.replies > MAX_REPLIES) {
      throw new McpError('limit', `The MCP server sent more than ${MAX_REPLIES} requests of its own.`);
    }
    const isRequest = message.method !== undefined && message.id !== undefined;
    if (isRequest) this.resumptions = 0;
    try {
      return await this.exchange(url, init, isRequest ? message.id : undefined);
    } finally {
      if (message.method === 'notifications/cancelled') this.abandon(message.params?.requestId);
    }
  };

  /** Stops reading the response to a request that was cancelled. */
  private abandon(id: number | string | undefined): void {
    if (id === undefined) return;
    this.interrupted.delete(id);
    this.open.get(id)?.abort(cancelled);
  }

  /** Reopens a stream that the server interrupted. Rejects streams for unrelated messages. */
  private async resume(url: string | URL, init: RequestInit): Promise<Response> {
    const isResumed = new Headers(init.headers).has('last-event-id');
    if (!isResumed) return new Response(null, { status: 405 });
    if (this.interrupted.size === 0 || ++this.resumptions > MAX_RESUMPTIONS) {
      this.giveUp();
      return new Response(null, { status: 405 });
    }
    return await this.exchange(url, init, undefined);
  }

  private async exchange(url: string | URL, init: RequestInit, id: number | string | undefined): Promise<Response> {
    const { send, headers, idleMs, acceptMs } = this.parts;
    if (this.parallel >= MAX_PARALLEL) {
      throw new McpError('limit', `The session has ${MAX_PARALLEL} requests in flight. Try again later.`);
    }
    const own = new AbortController();
    const signals = [this.closing.signal, own.signal];
    if (init.signal) signals.push(init.signal);
    const signal = AbortSignal.any(signals);
    if (id !== undefined) this.open.set(id, own);
    this.parallel++;
    const release = (): void => {
      this.parallel--;
      if (id !== undefined) this.open.delete(id);
    };
    try {
      const response = await send(String(url), {
        method: (init.method ?? 'GET') as 'GET' | 'POST' | 'DELETE', // the methods of the protocol
        headers: { ...Object.fromEntries(new Headers(init.headers)), ...headers },
        body: typeof init.body === 'string' ? init.body : undefined,
        idleMs: id === undefined && (init.method ?? 'GET') !== 'GET' ? acceptMs : idleMs,
        signal,
      });
      const { status, body } = response;
      body.once('close', release);
      const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
      if (encoding !== 'identity' && encoding !== '') {
        body.destroy();
        throw new McpError('protocol', 'The MCP server sent a compressed response, which the gateway does not accept.');
      }
      if (status < 200 || bodiless.has(status)) {
        body.destroy();
        return new Response(null, { status: status < 200 ? 502 : status, headers: response.headers });
      }
      return new Response(this.bound(body, id, isStream(response.headers)), { status, headers: response.headers });
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Passes the bytes of a response on, up to the limit. */
  private bound(body: Readable, id: number | string | undefined, isEventStream: boolean): ReadableStream<Uint8Array> {
    const { maxBytes, ended } = this.parts;
    let left = maxBytes;
    let tail = '\n';
    let isResumable = false; // whether an event had an id
    const end = (failure: McpError | undefined): void => {
      if (id === undefined || !isEventStream || failure === cancelled) return;
      if (!isResumable || failure?.fault === 'limit') {
        ended(id, failure);
        return;
      }
      const [oldest] = this.interrupted;
      if (this.interrupted.size === MAX_PARALLEL) this.interrupted.delete(oldest!);
      this.interrupted.add(id);
    };
    async function* count(): AsyncGenerator<Buffer> {
      for await (const piece of body as AsyncIterable<Buffer>) {
        left -= piece.length;
        if (left < 0) throw new McpError('limit', `The MCP server sent more than ${maxBytes} bytes.`);
        if (isEventStream && !isResumable) {
          const text = tail + piece.toString('latin1');
          isResumable = /[\r\n]id:/.test(text);
          tail = text.slice(-4);
        }
        yield piece;
      }
    }
    async function* read(): AsyncGenerator<Uint8Array> {
      try {
        for await (const bytes of checkBody(count(), isEventStream))
          yield isEventStream || id === undefined ? bytes : addressError(bytes, id);
        end(undefined);
      } catch (error) {
        end(error instanceof McpError ? error : undefined);
        throw error;
      }
    }
    const bounded = Readable.from(read(), { objectMode: false });
    bounded.once('close', () => body.destroy()); // also if nothing was read
    return Readable.toWeb(bounded) as unknown as ReadableStream<Uint8Array>; // the types are another copy of the standard
  }
}

/** An error without an id is shorter. */
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Gives an error the id of its request. Servers that have not read the request send null, as JSON-RPC demands, and the
 * client library would wait for another response.
 */
function addressError(json: Buffer, id: number | string): Buffer {
  if (json.length > MAX_ERROR_BYTES || !json.includes('"error"')) return json;
  try {
    const message = parseJson(json.toString('utf8')) as { id?: unknown; error?: unknown } | null;
    const isError = typeof message?.error === 'object' && message.error !== null;
    return isError && message.id !== id ? Buffer.from(JSON.stringify({ ...message, id })) : json;
  } catch {
    return json; // the client library reports it
  }
}

const isStream = ({ 'content-type': type = '' }: Readonly<Record<string, string>>): boolean =>
  type.trim().toLowerCase().startsWith('text/event-stream');
