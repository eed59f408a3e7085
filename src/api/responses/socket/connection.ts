import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks'; // the global is a getter
import type { FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { GatewayError } from '../../../domain/errors.ts';
import type { ResponseObject } from '../../../domain/response.ts';
import type { BodyBudget } from '../../../http/body-budget.ts';
import { BodyShare } from '../../../http/read-body.ts';
import type { BodyLimit } from '../../../http/routes.ts';
import { type MessageOutlet, type MessageBody, SocketRequest, SocketResponse } from '../../../http/socket-exchange.ts';
import { type Chain, type ChainStore, continueChain, previousNotFound } from './chain.ts';
import { writeSocketError } from './errors.ts';
import { type CreateMessage, readCreateMessage } from './read-message.ts';
import type { SocketTurn } from './writer.ts';

/** Responses in flight of one WebSocket, in all lanes. */
const MAX_RUNNING = 16;
/** Different values of `stream_id` of one WebSocket. */
const MAX_NAMED_LANES = 32;
/** Messages that wait for their lane. */
const MAX_WAITING = 64;
/** Bytes of messages that the client has not read, beyond which it gets no further error. */
const MAX_UNREAD_BYTES = 1024 * 1024;

export const closeCodes = {
  normal: 1000,
  goingAway: 1001,
  unsupported: 1003,
  policy: 1008,
  tooBig: 1009,
  tryLater: 1013,
} as const;

export interface ConnectionParts {
  /** Routes a request. */
  route: (request: IncomingMessage, response: ServerResponse) => void;
  chains: ChainStore;
  /** The memory for messages that have not arrived completely, as for bodies of other requests. */
  bodies: BodyBudget;
  bodyLimit: BodyLimit;
  /** Whether the WebSocket closes after its current responses. */
  isDraining: () => boolean;
}

/** A WebSocket as its HTTP request opened it. */
export interface OpenedSocket {
  webSocket: WebSocket;
  socket: Socket;
  url: string;
  /** The headers of each request. */
  headers: IncomingHttpHeaders;
}

/** The responses of one `stream_id`, one after the other. */
interface Lane {
  isBusy: boolean;
  /** Absent: its last response cannot be continued. */
  chain?: Chain | undefined;
}

interface Waiting {
  streamId: string;
  bytes: Buffer;
}

/** Turns that the requests of WebSockets belong to. */
const turns = new WeakMap<IncomingMessage, SocketTurn & { isWarmUp: boolean }>();

/** @returns undefined for a request that no WebSocket makes */
export const findTurn = (request: IncomingMessage) => turns.get(request);

/**
 * A WebSocket of a client. Each message that requests a response becomes a request, which the server routes like a POST.
 *
 * @see docs/reference/responses-websocket.md
 */
export class Connection implements MessageOutlet {
  private readonly parts: ConnectionParts;
  private readonly opened: OpenedSocket;
  private readonly lanes = new Map<string, Lane>();
  private readonly running = new Map<SocketResponse, string>();
  private waiting: Waiting[] = [];
  private waitingBytes = 0;
  /** Why no further response begins. */
  private ending: GatewayError | undefined;
  readonly openedAt = performance.now();
  /** When the last response ended. */
  idleSince = this.openedAt;
  /** When the client was last known to be there. */
  private seenAt = this.openedAt;
  private sentBytes = 0;
  /** The bytes of a message that has not arrived completely. */
  private receivedBytes = 0;
  private readonly arriving: BodyShare;
  /** The memory of the messages that wait. */
  private readonly queued: BodyShare;

  constructor(parts: ConnectionParts, opened: OpenedSocket) {
    this.parts = parts;
    this.opened = opened;
    this.arriving = new BodyShare(parts.bodies);
    this.queued = new BodyShare(parts.bodies);
    const { webSocket, socket } = opened;
    webSocket.on('message', (data, isBinary) => {
      this.receivedBytes = 0;
      this.arriving.free();
      this.receive(data as Buffer, isBinary); // the default of `binaryType`
    });
    socket.prependListener('data', ({ length }: Buffer) => this.count(length));
    webSocket.on('pong', () => this.see());
    webSocket.on('ping', () => {
      this.see();
      if (this.isStuck) webSocket.terminate();
    });
    webSocket.on('error', () => {}); // it closes next
    webSocket.on('close', () => this.stop());
    socket.on('drain', () => {
      for (const response of this.running.keys()) response.emit('drain');
    });
  }

  get isFull(): boolean {
    return this.opened.socket.writableNeedDrain;
  }

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  send(message: string | Buffer): void {
    this.opened.webSocket.send(message, { binary: false });
  }

  together(write: () => void): void {
    const { socket } = this.opened;
    socket.cork();
    write();
    socket.uncork();
  }

  /** Sends an error that belongs to no response. */
  tell(error: unknown, streamId = ''): void {
    if (this.isStuck) this.opened.webSocket.terminate();
    else this.send(withStream(JSON.stringify(writeSocketError(error).body), streamId));
  }

  /** Closes the WebSocket after its current responses. Further requests get the error. */
  end(reason: GatewayError, code: number): void {
    this.ending ??= reason;
    const { waiting } = this;
    this.forgetWaiting();
    for (const { streamId } of waiting) this.tell(reason, streamId);
    if (this.isIdle) this.close(reason, code);
  }

  /** Pings the client, unless it has been silent since `silentSince`. */
  check(silentSince: number): void {
    const { webSocket, socket } = this.opened;
    const sent = socket.bytesWritten - socket.writableLength;
    if (sent > this.sentBytes && socket.writableLength > 0) this.see(); // it reads slowly
    this.sentBytes = sent;
    if (this.seenAt < silentSince) webSocket.terminate();
    else if (webSocket.readyState === webSocket.OPEN) webSocket.ping();
  }

  terminate(): void {
    this.opened.webSocket.terminate();
  }

  private get isStuck(): boolean {
    return this.opened.webSocket.bufferedAmount > MAX_UNREAD_BYTES;
  }

  private see(): void {
    this.seenAt = performance.now();
  }

  /** Counts bytes that have arrived. The parser keeps them until the message is complete. */
  private count(bytes: number): void {
    this.receivedBytes += bytes;
    try {
      this.arriving.raise(this.receivedBytes);
    } catch (error) {
      this.tell(error);
      this.opened.webSocket.close(closeCodes.tryLater, 'too many bodies');
      this.opened.socket.destroySoon();
    }
  }

  private close(reason: GatewayError, code: number): void {
    this.tell(reason);
    this.opened.webSocket.close(code, closeReason(reason));
  }

  private receive(data: Buffer, isBinary: boolean): void {
    this.see();
    if (this.opened.webSocket.readyState !== this.opened.webSocket.OPEN) return;
    if (isBinary) {
      this.tell(new GatewayError('invalid_request', 'The message is binary. Send each event as a text message.'));
      this.opened.webSocket.close(closeCodes.unsupported, 'binary message');
      return;
    }
    try {
      // The chunks of Node share the read buffer of the socket.
      const bytes = data.buffer.byteLength === data.length ? data : Buffer.from(data);
      const message = readCreateMessage(bytes);
      if (message) this.take(message, bytes);
    } catch (error) {
      this.tell(error);
    }
  }

  private take(message: CreateMessage, bytes: Buffer): void {
    const { streamId } = message;
    const lane = this.ending ? this.refuse(this.ending, streamId) : this.openLane(streamId);
    if (!lane) return;
    if (!lane.isBusy && this.running.size < MAX_RUNNING) {
      this.start(message, bytes, lane);
    } else if (this.waiting.length >= MAX_WAITING || this.waitingBytes + bytes.length > this.parts.bodyLimit.bytes) {
      const says = 'Too many messages of this WebSocket wait for a response to end. Send the next one later.';
      this.tell(new GatewayError('rate_limited', says, { retryAfterSeconds: 1 }), streamId);
    } else {
      try {
        this.queued.raise(this.waitingBytes + bytes.length);
      } catch (error) {
        this.tell(error, streamId);
        return;
      }
      this.waiting.push({ streamId, bytes });
      this.waitingBytes += bytes.length;
    }
  }

  private forgetWaiting(): void {
    this.waiting = [];
    this.waitingBytes = 0;
    this.queued.free();
  }

  private refuse(reason: GatewayError, streamId: string): undefined {
    this.tell(reason, streamId);
  }

  private openLane(streamId: string): Lane | undefined {
    const known = this.lanes.get(streamId);
    if (known) return known;
    const named = this.lanes.size - (this.lanes.has('') ? 1 : 0);
    if (streamId !== '' && named >= MAX_NAMED_LANES) {
      const says = `This WebSocket has used ${MAX_NAMED_LANES} different values of \`stream_id\`. Use one of them, or open another WebSocket.`;
      const issues = [{ path: 'stream_id', message: 'too many different values' }];
      return this.refuse(new GatewayError('stream_limit_reached', says, { metadata: { issues } }), streamId);
    }
    const lane = { isBusy: false };
    this.lanes.set(streamId, lane);
    return lane;
  }

  /** Requests a response. */
  private start(message: CreateMessage, bytes: Buffer, lane: Lane): void {
    const { streamId, previousResponseId, isWarmUp, value } = message;
    const { socket, url, headers } = this.opened;
    let keyHash = '';
    let body = bytes;
    let kept = false;
    const readBody = ({ caller }: FastifyRequest): MessageBody => {
      keyHash = caller!.keyHash; // the route needs a key
      if (previousResponseId === undefined) return { bytes, value };
      const chain = this.findChain(previousResponseId, keyHash);
      if (!chain) throw previousNotFound(previousResponseId);
      const read = continueChain(chain, value, this.parts.bodyLimit);
      body = read.bytes;
      return read;
    };
    const request = new SocketRequest({ socket, url, headers, errors: writeSocketError, readBody });
    const response = new SocketResponse(request, streamId === '' ? this : new LaneOutlet(this, streamId));
    turns.set(request, {
      previousResponseId,
      isWarmUp,
      keep: (made: ResponseObject) => {
        kept = true;
        this.parts.chains.drop(lane.chain);
        lane.chain = this.parts.chains.add(made, keyHash, body);
      },
    });
    lane.isBusy = true;
    this.running.set(response, streamId);
    response.on('close', () => {
      const isOwn = lane.chain?.responseId === previousResponseId;
      if (!kept && isOwn) this.parts.chains.drop(lane.chain); // a failed continuation ends its conversation
      lane.isBusy = false;
      this.finish(response);
    });
    this.parts.route(request, response);
  }

  private findChain(responseId: string, keyHash: string): Chain | undefined {
    for (const { chain } of this.lanes.values()) {
      if (chain?.body && chain.responseId === responseId && chain.keyHash === keyHash) return chain;
    }
    return undefined;
  }

  /** Begins the next response that waits, or closes the WebSocket. */
  private finish(response: SocketResponse): void {
    const { webSocket } = this.opened;
    this.running.delete(response);
    this.idleSince = performance.now();
    if (webSocket.readyState !== webSocket.OPEN) return;
    if (response.statusCode === 401) {
      webSocket.close(closeCodes.policy, 'the key was rejected');
      return;
    }
    if (!this.ending && this.parts.isDraining()) this.end(shuttingDown(), closeCodes.goingAway);
    else if (this.ending && this.isIdle) this.close(this.ending, closeCodes.goingAway);
    else this.startNext();
  }

  private startNext(): void {
    const at = this.waiting.findIndex(({ streamId }) => !this.lanes.get(streamId)!.isBusy); // it was opened
    if (at === -1 || this.running.size >= MAX_RUNNING) return;
    const [{ streamId, bytes }] = this.waiting.splice(at, 1) as [Waiting];
    this.waitingBytes -= bytes.length;
    if (this.waiting.length === 0) this.queued.free();
    this.start(readCreateMessage(bytes)!, bytes, this.lanes.get(streamId)!); // it was read before
  }

  private stop(): void {
    this.ending ??= shuttingDown();
    this.forgetWaiting();
    this.arriving.free();
    for (const response of this.running.keys()) response.close(false);
    for (const { chain } of this.lanes.values()) this.parts.chains.drop(chain);
  }
}

/** The messages of a named lane. */
class LaneOutlet implements MessageOutlet {
  private readonly connection: Connection;
  private readonly streamId: string;

  constructor(connection: Connection, streamId: string) {
    this.connection = connection;
    this.streamId = streamId;
  }

  get isFull(): boolean {
    return this.connection.isFull;
  }

  send(message: string | Buffer): void {
    this.connection.send(withStream(message, this.streamId));
  }

  together(write: () => void): void {
    this.connection.together(write);
  }
}

/** Adds the `stream_id` to an event. */
function withStream(message: string | Buffer, streamId: string): string | Buffer {
  if (streamId === '') return message;
  const last = `,"stream_id":"${streamId}"}`; // the shape of ids needs no escapes
  return typeof message === 'string'
    ? message.slice(0, -1) + last
    : Buffer.concat([message.subarray(0, -1), Buffer.from(last)]);
}

/** The reason of a close frame has at most 123 bytes. */
const closeReason = ({ message }: GatewayError): string => message.slice(0, 100);

export const shuttingDown = (): GatewayError =>
  new GatewayError('connection_limit_reached', 'The gateway shuts down. Open a new WebSocket to continue.');
