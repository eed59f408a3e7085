import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { GatewayError } from '../domain/errors.ts';
import type { Sink } from '../domain/sink.ts';

/** Number of unread bytes of one response at which the connection is paused. */
const HIGH_WATER_BYTES = 256 * 1024;

/** The body of one response on its way from the connection to the pipeline. */
export interface UpstreamBody {
  /** Whether a piece has arrived that is delivered at the end of this event loop turn. */
  readonly isDue: boolean;
  /** Adds a piece of data from the connection. */
  push(piece: Buffer): void;
  /** Ends the body regularly. */
  end(): void;
  /** Ends the body with an error. Data pushed before is still delivered. */
  fail(reason: Error): void;
  /** Ends the body immediately. Drops undelivered data, and does not wait for the sink. */
  cut(reason: Error): void;
  /** @see UpstreamResponse */
  each(sink: Sink<Buffer>): Promise<void>;
  /** Ends the reading. The promise of `each` resolves. */
  discard(): void;
}

export interface FlowControl {
  /** Called if too much is unread. */
  pause(): void;
  /** Called when the unread data has been read. */
  resume(): void;
}

/**
 * Creates the queue of one response. It delivers batches and decodes a `content-encoding`, because some servers
 * compress although the request does not allow it.
 *
 * @param name the provider's name, for messages
 */
export function createUpstreamBody(
  encoding: string | string[] | undefined,
  name: string,
  connection: FlowControl,
): UpstreamBody {
  const word = String(encoding ?? 'identity').toLowerCase();
  if (word === 'identity' || word === '') return new BodyQueue(connection);
  const decoder = createDecoder(word);
  const queue = new BodyQueue({
    pause() {
      connection.pause();
      decoder?.pause();
    },
    resume() {
      decoder?.resume();
      connection.resume();
    },
  });
  const broken = (cause?: unknown) =>
    queue.fail(
      new GatewayError('upstream_failed', `${name} sent a body whose content-encoding (${word}) cannot be read.`, {
        retryable: true,
        cause,
      }),
    );
  if (!decoder) {
    broken();
    return {
      isDue: false,
      push: () => {},
      end: () => {},
      fail: (reason) => queue.fail(reason),
      cut: (reason) => queue.cut(reason),
      each: (sink) => queue.each(sink),
      discard: () => queue.discard(),
    };
  }
  decoder.on('data', (piece: Buffer) => queue.push(piece));
  decoder.on('end', () => queue.end());
  decoder.on('error', broken);
  return {
    isDue: false, // the decoder delivers later
    push: (piece) => void decoder.write(piece),
    end: () => void decoder.end(),
    each: (sink) => queue.each(sink),
    fail(reason) {
      queue.fail(reason);
      decoder.destroy();
    },
    cut(reason) {
      queue.cut(reason);
      decoder.destroy();
    },
    discard() {
      queue.discard();
      decoder.destroy();
    },
  };
}

function createDecoder(word: string) {
  switch (word) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'br':
      return createBrotliDecompress();
    case 'zstd':
      return createZstdDecompress();
    case 'deflate':
      return createInflate();
    default:
      return undefined;
  }
}

/** A class, because each response has one and an instance costs far less than a set of closures. */
class BodyQueue implements UpstreamBody {
  isDue = false;
  private readonly connection: FlowControl;
  private pieces: Buffer[] = [];
  private bytes = 0;
  private isEnded = false;
  private failure: Error | undefined;
  private sink: Sink<Buffer> | undefined;
  private resolve: (() => void) | undefined;
  private reject: ((reason: unknown) => void) | undefined;
  private isHeld = false;
  private isOver = false;

  constructor(connection: FlowControl) {
    this.connection = connection;
  }

  push(piece: Buffer): void {
    if (this.isOver) return;
    this.pieces.push(piece);
    this.bytes += piece.length;
    if (this.bytes > HIGH_WATER_BYTES) this.connection.pause();
    this.schedule();
  }

  end(): void {
    this.isEnded = true;
    this.schedule();
  }

  fail(reason: Error): void {
    if (this.isEnded) return;
    this.failure ??= reason;
    this.schedule();
  }

  /** Without a sink, there is nothing to interrupt, so it is a failure like any other. */
  cut(reason: Error): void {
    if (this.sink) this.stop(reason);
    else this.fail(reason);
  }

  discard(): void {
    const { resolve } = this;
    this.letGo();
    resolve?.();
  }

  each(sink: Sink<Buffer>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.sink = sink;
      this.resolve = resolve;
      this.reject = reject;
      if (this.isEnded) this.deliver();
      else this.schedule();
    });
  }

  /** Delivers at the end of this event loop turn, so that all pieces of one network read form one batch. */
  private schedule(): void {
    if (this.isDue || this.isHeld || !this.sink) return;
    this.isDue = true;
    process.nextTick(deliver, this);
  }

  deliver(): void {
    this.isDue = false;
    if (this.isOver) return;
    try {
      const held = this.pieces.length > 0 ? this.give() : undefined;
      if (this.isOver) return;
      if (held) this.wait(held);
      else if (this.failure) this.stop(this.failure);
      else if (this.isEnded) this.discard();
    } catch (error) {
      this.stop(error);
    }
  }

  private give(): Promise<void> | undefined {
    const batch = this.pieces;
    const wasFull = this.bytes > HIGH_WATER_BYTES;
    this.pieces = [];
    this.bytes = 0;
    const held = this.sink?.write(batch);
    if (wasFull && !this.isOver) this.connection.resume();
    return held;
  }

  /** Delivers nothing until the sink is ready. Pieces that arrive before that are kept, up to `HIGH_WATER_BYTES`. */
  private wait(held: Promise<void>): void {
    this.isHeld = true;
    held.then(
      () => {
        this.isHeld = false;
        this.deliver();
      },
      (error: unknown) => this.stop(error),
    );
  }

  private stop(reason: unknown): void {
    const { reject } = this;
    this.letGo();
    reject?.(reason);
  }

  /**
   * Drops all references. A connection may keep its last response for a long time, and must not keep the run in memory.
   */
  private letGo(): void {
    this.isOver = true;
    this.pieces = [];
    this.bytes = 0;
    this.sink = this.resolve = this.reject = undefined;
  }
}

const deliver = (queue: BodyQueue): void => queue.deliver();
