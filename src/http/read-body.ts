import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { GatewayError } from '../domain/errors.ts';
import { type BodyBudget, COUNTED_BYTES } from './body-budget.ts';
import { decodeBody, describeDecoding, isUncompressed } from './decode-body.ts';
import { sendContinue } from './expect.ts';
import type { BodyLimit } from './routes.ts';

/** The part of the budget that one request uses. */
export class BodyShare {
  private readonly budget: BodyBudget;
  private bytes = 0;

  constructor(budget: BodyBudget) {
    this.budget = budget;
  }

  /**
   * Raises the share. Small bodies are not counted.
   *
   * @param bytes of the body so far, or of all of it if that is known
   * @throws {GatewayError} `rate_limited` if other bodies take the memory
   */
  raise(bytes: number): void {
    if (bytes <= COUNTED_BYTES) return;
    if (!this.budget.reserve(bytes - this.bytes)) {
      throw new GatewayError(
        'rate_limited',
        `Request bodies in flight use all ${this.budget.limit} bytes of server.body_memory. Retry later, or send smaller bodies.`,
        { retryAfterSeconds: 1 },
      );
    }
    this.bytes = bytes;
  }

  /**
   * Adds bytes that the request uses besides its body, until its response is complete.
   *
   * @throws {GatewayError} `rate_limited` if other requests take the memory
   */
  add(bytes: number): void {
    this.raise(this.bytes + bytes);
  }

  /** Idempotent. */
  free(): void {
    this.budget.release(this.bytes);
    this.bytes = 0;
  }
}

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Reads a body into its own buffer, because the chunks of Node share the read buffer of the socket.
 *
 * @param done called once, with a GatewayError for a body that is too large, too slow, or has no room
 */
export function readBody(raw: IncomingMessage, limit: BodyLimit, share: BodyShare, done: Done): void {
  const { 'content-length': header, 'content-encoding': encoding } = raw.headers;
  try {
    const sent = header === undefined ? undefined : Number(header);
    if (sent !== undefined && sent > limit.bytes) throw tooLarge(limit);
    const length = isUncompressed(encoding) ? sent : undefined;
    if (length !== undefined) share.raise(length);
    const body = decodeBody(raw);
    sendContinue(raw);
    new BodyReader(body, {
      length,
      limit,
      share,
      done(error, whole) {
        if (error && body !== raw) body.destroy();
        done(error && describeDecoding(error, raw), whole);
      },
    });
  } catch (error) {
    done(error as Error);
  }
}

const tooLarge = ({ bytes, source }: BodyLimit): GatewayError =>
  new GatewayError('payload_too_large', `The body is larger than ${bytes} bytes (${source}).`);

const tooSlow = (ms: number): GatewayError =>
  new GatewayError('request_timeout', `The body did not arrive within ${ms / 1000} s.`);

interface ReaderParts {
  /** Undefined if the client does not declare it. */
  length: number | undefined;
  limit: BodyLimit;
  share: BodyShare;
  done: Done;
}

/** A single chunk that is a buffer of its own needs no copy. Chunks of TLS are views of a larger one. */
function joinChunks(chunks: readonly Buffer[], bytes: number): Buffer {
  const [first] = chunks;
  return chunks.length === 1 && first!.buffer.byteLength === bytes ? first! : Buffer.concat(chunks, bytes);
}

class BodyReader {
  private readonly raw: Readable;
  private readonly parts: ReaderParts;
  private readonly chunks: Buffer[] = [];
  /**
   * The buffer of a large body of known length. It is filled as chunks arrive, so the body is never in memory twice.
   */
  private readonly whole: Buffer | undefined;
  private readonly late: NodeJS.Timeout | undefined;
  private received = 0;
  private readonly onData = (chunk: Buffer): void => this.take(chunk);
  private readonly onEnd = (): void => this.settle(null);
  private readonly onError = (error: Error): void => this.settle(error);

  constructor(raw: Readable, parts: ReaderParts) {
    this.raw = raw;
    this.parts = parts;
    const { length, limit } = parts;
    if (length !== undefined && length > COUNTED_BYTES) this.whole = Buffer.allocUnsafeSlow(length);
    raw.on('data', this.onData);
    raw.on('end', this.onEnd);
    raw.on('error', this.onError);
    const { ms } = limit;
    if (ms !== undefined) this.late = setTimeout(() => this.settle(tooSlow(ms)), ms);
  }

  private take(chunk: Buffer): void {
    const at = this.received;
    this.received += chunk.length;
    if (this.whole) {
      chunk.copy(this.whole, at);
      return;
    }
    const { limit, share, length } = this.parts;
    try {
      if (this.received > limit.bytes) throw tooLarge(limit);
      if (length === undefined) share.raise(this.received);
      this.chunks.push(chunk);
    } catch (error) {
      this.settle(error as Error);
    }
  }

  private settle(error: Error | null): void {
    clearTimeout(this.late);
    this.raw.off('data', this.onData);
    this.raw.off('end', this.onEnd);
    this.raw.off('error', this.onError);
    if (error) this.parts.done(error);
    else this.parts.done(null, this.whole ?? joinChunks(this.chunks, this.received));
  }
}
