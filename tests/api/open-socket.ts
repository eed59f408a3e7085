import { type ClientOptions, WebSocket } from 'ws';

export interface SocketEvent {
  type: string;
  stream_id?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read events of every kind
  [field: string]: any;
}

/** A WebSocket to `/responses`, as a client uses it. */
export interface TestSocket {
  readonly webSocket: WebSocket;
  /** The headers of the 101. */
  readonly headers: Record<string, string | string[] | undefined>;
  /** Everything that has arrived. */
  readonly events: SocketEvent[];
  /** Resolves when it is closed. */
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Sends an event, or a text or bytes unchanged. */
  send(event: object | string | Buffer): void;
  /** Returns the next event that was not returned yet. */
  next(): Promise<SocketEvent>;
  /** Requests a response, and returns its events up to the last one. */
  respond(body: object): Promise<SocketEvent[]>;
  /** Returns the events up to the end of a response. */
  readResponse(): Promise<SocketEvent[]>;
  /** Disconnects without a closing handshake. */
  leave(): void;
}

/** The text of the output. */
export const textOf = (events: readonly SocketEvent[]): string =>
  events
    .filter(({ type }) => type === 'response.output_text.delta')
    .map(({ delta }) => delta)
    .join('');

const last = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error']);

/** The refusal of an upgrade. */
export class UpgradeRefused extends Error {
  readonly status: number;
  readonly body: string;
  readonly headers: Record<string, string | string[] | undefined>;

  constructor(status: number, body: string, headers: UpgradeRefused['headers']) {
    super(`The upgrade was refused with ${status}: ${body}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/**
 * Opens a WebSocket.
 *
 * @param url of the gateway, with `http`
 * @throws {UpgradeRefused} if the response is not a 101
 */
export async function openSocket(url: string, key: string | null, options: ClientOptions = {}): Promise<TestSocket> {
  const headers = { ...(key !== null && { authorization: `Bearer ${key}` }), ...options.headers };
  const webSocket = new WebSocket(url.replace(/^http/, 'ws'), { ...options, headers });
  const events: SocketEvent[] = [];
  let read = 0;
  let notify = (): void => {};
  let isClosed = false;
  let upgraded: TestSocket['headers'] = {};
  webSocket.on('message', (data: Buffer) => {
    events.push(JSON.parse(data.toString()) as SocketEvent);
    notify();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    webSocket.on('close', (code, reason) => {
      isClosed = true;
      notify();
      resolve({ code, reason: reason.toString() });
    });
  });
  await new Promise<void>((resolve, reject) => {
    webSocket.on('upgrade', (response) => {
      upgraded = response.headers;
    });
    webSocket.on('open', resolve);
    webSocket.on('error', reject);
    webSocket.on('unexpected-response', (_request, response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => reject(new UpgradeRefused(response.statusCode!, body, response.headers)));
    });
  });
  async function next(): Promise<SocketEvent> {
    while (read >= events.length) {
      if (isClosed) throw new Error(`The WebSocket is closed. It sent ${JSON.stringify(events.at(-1))}`);
      await new Promise<void>((resolve) => {
        notify = resolve;
      });
    }
    return events[read++]!;
  }
  async function readResponse(): Promise<SocketEvent[]> {
    const found: SocketEvent[] = [];
    for (;;) {
      const event = await next();
      found.push(event);
      if (last.has(event.type)) return found;
    }
  }
  function send(event: object | string | Buffer): void {
    webSocket.send(typeof event === 'string' || Buffer.isBuffer(event) ? event : JSON.stringify(event));
  }
  return {
    webSocket,
    headers: upgraded,
    events,
    closed,
    send,
    next,
    readResponse,
    respond(body) {
      send({ type: 'response.create', ...body });
      return readResponse();
    },
    leave: () => webSocket.terminate(),
  };
}
