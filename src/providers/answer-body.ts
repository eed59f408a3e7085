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
  if (word === 'identity' || word === '') return createQueue(connection);
  const decoder = createDecoder(word);
  const queue = createQueue({
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
    return { ...queue, push: () => {}, end: () => {} };
  }
  decoder.on('data', (piece: Buffer) => queue.push(piece));
  decoder.on('end', () => queue.end());
  decoder.on('error', broken);
  return {
    ...queue,
    push: (piece) => void decoder.write(piece),
    end: () => void decoder.end(),
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

function createQueue(connection: FlowControl): AnswerBody {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let ended = false;
  let discarding = false;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;

  return {
    push(piece) {
      if (discarding) return;
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > HIGH_WATER_BYTES) connection.pause();
      wake?.();
    },
    end() {
      ended = true;
      wake?.();
    },
    fail(reason) {
      if (ended) return;
      failure ??= reason;
      wake?.();
    },
    discard() {
      discarding = true;
      pieces = [];
      bytes = 0;
    },
    async read() {
      while (pieces.length === 0) {
        if (failure) throw failure;
        if (ended) return undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
      const batch = pieces;
      const wasFull = bytes > HIGH_WATER_BYTES;
      pieces = [];
      bytes = 0;
      if (wasFull) connection.resume();
      return batch;
    },
  };
}
