import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { listenOn, listenOnOwnPort } from './free-port.ts';
import { type ScriptedResponse, json } from './scripted-responses.ts';

/** A provider on loopback that follows the test's script and remembers its requests. */
export interface ScriptedUpstream {
  /** The `base_url`: `http://127.0.0.1:PORT/v1`. The same after `down` and `up`. */
  readonly url: string;
  /** Every request with a complete body, oldest first. */
  readonly requests: readonly ScriptedRequest[];
  /** Connections accepted so far: 1 after two requests means that the first connection was reused. */
  readonly connectionCount: number;
  /** Sets the response to one more request. Several calls queue up. Queued responses go before `always`. */
  respond(answer: Script): void;
  /** Sets the response to every request without a queued one. Without it such a request gets a 501. */
  always(answer: Script): void;
  /** The oldest request that `nextRequest` has not returned yet. Waits if there is none. */
  nextRequest(): Promise<ScriptedRequest>;
  /** Refuses new connections and closes the open ones. */
  down(): Promise<void>;
  /** Accepts connections again, on the same port. */
  up(): Promise<void>;
  /** Ends everything at once. Pending calls of `nextRequest` never resolve. */
  close(): Promise<void>;
}

/** A response, or a function that creates one from the request: `(request) => json({ echoed: request.body })`. */
export type Script = ScriptedResponse | ((request: ScriptedRequest) => ScriptedResponse | Promise<ScriptedResponse>);

export interface ScriptedRequest {
  readonly method: string;
  /** With the query, and with the `/v1` of the base URL: `/v1/responses?beta=true`. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON, otherwise the text. Unknown shape: tests declare what they expect. */
  readonly body: unknown;
  /** The body, unchanged. */
  readonly text: string;
  /** Whether the client disconnected before the end of the response. */
  readonly aborted: boolean;
  /** How the exchange ended: the client disconnected, or the upstream responded (or failed as scripted). */
  readonly closed: Promise<'aborted' | 'answered'>;
}

/** Starts an upstream on a free port of 127.0.0.1. Close it when the test ends. */
export async function startUpstream(): Promise<ScriptedUpstream> {
  const upstream = new LoopbackUpstream();
  await upstream.up();
  return upstream;
}

class LoopbackUpstream implements ScriptedUpstream {
  readonly requests: ScriptedRequest[] = [];
  connectionCount = 0;
  private port = 0;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private readonly exchanges = new Set<Exchange>();
  private readonly queue: Script[] = [];
  private fallback: Script = ({ method, path }) =>
    json({ error: { message: `No answer is scripted for ${method} ${path}.` } }, { status: 501 });
  private taken = 0;
  private readonly waiting: ((request: ScriptedRequest) => void)[] = [];

  constructor() {
    // A timeout of the upstream would be a failure that no test requested.
    this.server = createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, (incoming, response) => {
      this.exchange(incoming, response).catch(() => response.socket?.destroy());
    });
    this.server.on('connection', (socket) => {
      this.connectionCount++;
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  respond(answer: Script): void {
    this.queue.push(answer);
  }

  always(answer: Script): void {
    this.fallback = answer;
  }

  nextRequest(): Promise<ScriptedRequest> {
    const request = this.requests[this.taken++];
    return request ? Promise.resolve(request) : new Promise((resolve) => this.waiting.push(resolve));
  }

  down(): Promise<void> {
    if (!this.server.listening) return Promise.resolve();
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      for (const exchange of this.exchanges) exchange.hangUp('close');
      for (const socket of this.sockets) socket.destroy();
    });
  }

  async up(): Promise<void> {
    if (this.port === 0) this.port = await listenOnOwnPort(this.server);
    else await listenOn(this.server, this.port);
  }

  close(): Promise<void> {
    return this.down();
  }

  private async exchange(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readText(incoming);
    const exchange = new Exchange(response);
    this.exchanges.add(exchange);
    void exchange.closed.then(() => this.exchanges.delete(exchange));
    const request: ScriptedRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: parsed(text),
      text,
      closed: exchange.closed,
      get aborted() {
        return exchange.aborted;
      },
    };
    this.requests.push(request);
    this.waiting.shift()?.(request);
    const script = this.queue.shift() ?? this.fallback;
    await exchange.send(typeof script === 'function' ? await answerOf(script, request) : script);
  }
}

/** A script that throws is a mistake in the test. The response reports it, because tests inspect the response. */
async function answerOf(
  script: Exclude<Script, ScriptedResponse>,
  request: ScriptedRequest,
): Promise<ScriptedResponse> {
  try {
    return await script(request);
  } catch (error) {
    return json({ error: { message: `The scripted response threw: ${error}` } }, { status: 500 });
  }
}

/** One response in progress. */
class Exchange {
  aborted = false;
  readonly closed: Promise<'aborted' | 'answered'>;
  private endedByUs = false;
  private readonly left = new AbortController();
  private readonly response: ServerResponse;

  constructor(response: ServerResponse) {
    this.response = response;
    response.on('error', () => {}); // a write to a disconnected client; `close` follows and is counted
    this.closed = new Promise((resolve) => {
      response.once('close', () => {
        this.aborted = !this.endedByUs && !response.writableFinished;
        this.left.abort();
        resolve(this.aborted ? 'aborted' : 'answered');
      });
    });
  }

  async send(answer: ScriptedResponse): Promise<void> {
    const { response } = this;
    if (answer.start === 'silence') return;
    if (answer.start === 'reset') return this.hangUp('reset');
    const length = answer.contentLength === undefined ? {} : { 'content-length': String(answer.contentLength) };
    response.writeHead(answer.status, { ...answer.headers, ...length });
    response.flushHeaders();
    let isFirst = true;
    for await (const piece of answer.pieces()) {
      if (!isFirst) await this.rest(answer.pauseMs);
      if (!(await this.write(piece))) return;
      isFirst = false;
    }
    if (answer.end === 'complete') response.end();
    else if (answer.end !== 'silence') this.hangUp(answer.end);
  }

  /**
   * Resolves when the kernel has the bytes, so that a slow client applies backpressure. False: the client has
   * disconnected.
   */
  private write(piece: Buffer): Promise<boolean> {
    return new Promise((resolve) => {
      this.response.write(piece, (error) => resolve(!error));
    });
  }

  private async rest(pauseMs: number | undefined): Promise<void> {
    if (pauseMs === undefined) return;
    if (pauseMs === 0) await nextTurn();
    else await pause(pauseMs, undefined, { signal: this.left.signal }).catch(() => {});
  }

  /** Closes the connection. `closed` resolves with `answered`. */
  hangUp(how: 'reset' | 'close'): void {
    this.endedByUs = true;
    if (how === 'reset') this.response.socket?.resetAndDestroy();
    else this.response.socket?.end();
  }
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer); // no encoding is set, so pieces are buffers
  return Buffer.concat(pieces).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
