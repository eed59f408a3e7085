import { IncomingMessage, type IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { ErrorDialect } from './error-dialect.ts';

/** A body that was read already. */
export interface MessageBody {
  bytes: Buffer;
  /** The parsed bytes. The request may change it. */
  value: unknown;
}

export interface SocketRequestParts {
  /** The connection, of which many requests are made. */
  socket: Socket;
  url: string;
  headers: IncomingHttpHeaders;
  errors: ErrorDialect;
  /** Returns the body. @throws {GatewayError} */
  readBody: (request: FastifyRequest) => MessageBody;
}

/** A request that a message of a WebSocket makes. The server routes it like a `POST`, with all checks. */
export class SocketRequest extends IncomingMessage {
  readonly errors: ErrorDialect;
  readonly readBody: SocketRequestParts['readBody'];

  constructor({ socket, url, headers, errors, readBody }: SocketRequestParts) {
    super(socket);
    this.method = 'POST';
    this.url = url;
    this.httpVersion = '1.1';
    this.httpVersionMajor = 1;
    this.httpVersionMinor = 1;
    this.headers = headers;
    this.complete = true;
    this.errors = errors;
    this.readBody = readBody;
  }
}

/** The WebSocket that responses are written to. */
export interface MessageOutlet {
  /** Whether the client must read first. */
  readonly isFull: boolean;
  /** Sends one message. */
  send(message: string | Buffer): void;
  /** Combines the writes of the messages that `write` sends. */
  together(write: () => void): void;
}

const NEWLINE = 0x0a;

/**
 * The response to a request of a WebSocket. Each line of its body becomes a message. Its status and headers are not sent:
 * the messages of errors repeat them.
 */
export class SocketResponse extends ServerResponse {
  private readonly outlet: MessageOutlet;
  private hasClosed = false;
  /** Whether the response was sent to its end. */
  isComplete = false;

  constructor(request: SocketRequest, outlet: MessageOutlet) {
    super(request);
    this.outlet = outlet;
    this.useChunkedEncodingByDefault = false;
    this.sendDate = false;
  }

  override write(chunk: string | Uint8Array): boolean {
    if (!this.hasClosed) this.deliver(chunk);
    return !this.outlet.isFull;
  }

  override end(chunk?: unknown): this {
    if (this.finished) return this;
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) this.write(chunk);
    this.finished = true;
    process.nextTick(finish, this);
    return this;
  }

  /** The response is complete, or the client has disconnected. */
  close(isComplete: boolean): void {
    if (this.hasClosed) return;
    this.hasClosed = true;
    this.isComplete = isComplete;
    if (isComplete) this.emit('finish');
    this.destroyed = true;
    this.emit('close');
  }

  private deliver(chunk: string | Uint8Array): void {
    const { outlet } = this;
    outlet.together(() => {
      if (typeof chunk === 'string') {
        for (let at = 0; at < chunk.length; ) {
          const end = endOf(chunk.indexOf('\n', at), chunk.length);
          if (end > at) outlet.send(chunk.slice(at, end));
          at = end + 1;
        }
        return;
      }
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      for (let at = 0; at < bytes.length; ) {
        const end = endOf(bytes.indexOf(NEWLINE, at), bytes.length);
        if (end > at) outlet.send(bytes.subarray(at, end));
        at = end + 1;
      }
    });
  }
}

const endOf = (found: number, length: number): number => (found === -1 ? length : found);

const finish = (response: SocketResponse): void => response.close(true);

// Properties in the types of Node, so a class cannot override them.
Object.defineProperties(SocketResponse.prototype, {
  closed: {
    get(this: SocketResponse) {
      return this['hasClosed'];
    },
  },
  writableFinished: {
    get(this: SocketResponse) {
      return this.isComplete;
    },
  },
  writableNeedDrain: {
    get(this: SocketResponse) {
      return !this['hasClosed'] && this['outlet'].isFull;
    },
  },
});
