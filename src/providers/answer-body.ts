import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { GatewayError } from '../domain/errors.ts';

/** Unread bytes of one answer at which the connection is paused. */
const HIGH_WATER_BYTES = 256 * 1024;

/** The body of one answer on its way from the connection, which pushes, to the pipeline, which pulls. */
export interface AnswerBody {
  /** As it comes from the connection. */
  push(piece: Buffer): void;
  /** The regular end. */
  end(): void;
  /** Anything but the regular end; what was pushed before can still be read. */
  fail(reason: Error): void;
  /** @see UpstreamAnswer */
  read(): Promise<Buffer[] | undefined>;
  /** Nobody reads any more. */
  discard(): void;
}

export interface FlowControl {
  /** Too much is unread. */
  pause(): void;
  /** It has been read. */
  resume(): void;
}

/**
 * Makes the queue of one answer. It gives whole batches, and undoes a `content-encoding`: we ask for none, and some
 * servers compress all the same.
 *
 * @param name of the provider, for messages
 */
export function createAnswerBody(
  encoding: string | string[] | undefined,
  name: string,
  connection: FlowControl,
): AnswerBody {
  const word = String(encoding ?? 'identity').toLowerCase();
  if (word === 'identity' || word === '') return new AnswerQueue(connection);
  const decoder = createDecoder(word);
  const queue = new AnswerQueue({
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
      push: () => {},
      end: () => {},
      fail: (reason) => queue.fail(reason),
      read: () => queue.read(),
      discard: () => queue.discard(),
    };
  }
  decoder.on('data', (piece: Buffer) => queue.push(piece));
  decoder.on('end', () => queue.end());
  decoder.on('error', broken);
  return {
    push: (piece) => void decoder.write(piece),
    end: () => void decoder.end(),
    read: () => queue.read(),
    fail(reason) {
      queue.fail(reason);
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
    case 'deflate':
      return createInflate();
    default:
      return undefined;
  }
}

/** One for each answer, so a class: the engine makes and frees an instance for far less than a bundle of closures. */
class AnswerQueue implements AnswerBody {
  private readonly connection: FlowControl;
  private pieces: Buffer[] = [];
  private bytes = 0;
  private ended = false;
  private discarding = false;
  private failure: Error | undefined;
  private wake: (() => void) | undefined;

  constructor(connection: FlowControl) {
    this.connection = connection;
  }

  push(piece: Buffer): void {
    if (this.discarding) return;
    this.pieces.push(piece);
    this.bytes += piece.length;
    if (this.bytes > HIGH_WATER_BYTES) this.connection.pause();
    this.wake?.();
  }

  end(): void {
    this.ended = true;
    this.wake?.();
  }

  fail(reason: Error): void {
    if (this.ended) return;
    this.failure ??= reason;
    this.wake?.();
  }

  discard(): void {
    this.discarding = true;
    this.pieces = [];
    this.bytes = 0;
  }

  async read(): Promise<Buffer[] | undefined> {
    while (this.pieces.length === 0) {
      if (this.failure) throw this.failure;
      if (this.ended) return undefined;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      this.wake = undefined;
    }
    const batch = this.pieces;
    const wasFull = this.bytes > HIGH_WATER_BYTES;
    this.pieces = [];
    this.bytes = 0;
    if (wasFull) this.connection.resume();
    return batch;
  }
}
