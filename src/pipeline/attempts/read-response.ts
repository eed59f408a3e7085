import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { JsonExcessError, parseJson } from '../../domain/parse-json.ts';
import type { Sink } from '../../domain/sink.ts';
import { TURN_LENGTH } from '../../domain/turn-length.ts';
import type { Usage } from '../../domain/usage.ts';
import type { Frame, Reader } from '../../providers/wire.ts';
import { LineSearch } from '../../providers/line-search.ts';
import { FrameCutter } from '../../providers/sse-frames.ts';
import type { UpstreamResponse } from '../../providers/transport.ts';

/** Maximum bytes of an error body that are read. */
const ERROR_BODY_BYTES = 1024 * 1024;

/** Chunks of a large text that are passed on in one turn of the event loop. */
const TURN_CHUNKS = 1000;

/** How a wire reads a response, streamed and whole. */
export interface ResponseReader<C> {
  createReader(readerContext: unknown): Reader<C>;
  readWhole(body: unknown, readerContext: unknown): C[];
  countWhole?(body: unknown): Usage | undefined;
}

interface ResponseLimit {
  /** The display name of the provider, for messages. */
  name: string;
  /** Maximum size of a whole response, of a stream event, and of the retained parts of a stream, in bytes. */
  limitBytes: number;
  /** Name of its setting; absent: `upstream_body_limit`. */
  limitName?: string;
}

/** Measures the retained parts of a response while it is read. */
export interface SizeMeter<C> {
  /** @param length of the frame or body that the chunks were read from, in UTF-16 units */
  add(chunks: readonly C[], length: number): void;
  isMoreThan(limit: number): boolean;
}

export interface ReadResponseOptions<C> extends ResponseLimit {
  wire: ResponseReader<C>;
  /** The context that `writeRequest` returned. */
  readerContext: unknown;
  /**
   * Whether the client gets a buffered response. All of it is in memory, so the limit applies to the stream as a whole.
   */
  isBuffered: boolean;
  /** Absent: another part bounds the retained data. */
  kept?: SizeMeter<C>;
  /** Called with the number of buffered bytes. A returned promise pauses reading. */
  onBuffered?: (bytes: number) => Promise<void> | undefined;
  /** Called with the provider's counts so far if the response is interrupted. */
  onInterrupted?: (counted: Usage | undefined) => void;
  /** Reduces the size of a whole response before it is parsed. */
  lift?: (pieces: readonly Buffer[]) => Buffer;
  /** Called when the buffered frames have been passed on. */
  onPassed?: () => void;
}

/**
 * Reads a response of status 2xx into chunks, a batch for each network read, and releases it. It may be streamed or
 * whole, whichever was requested.
 *
 * @param out receives chunks up to the first `finish`, which precedes the fulfillment of the promise
 * @throws {GatewayError} if the response is invalid, too large, interrupted, or reports a failure of the provider
 */
export async function readResponse<C extends { type: string }>(
  response: UpstreamResponse,
  how: ReadResponseOptions<C>,
  out: Sink<C>,
): Promise<void> {
  const pass = new ChunkPass(out, how);
  const reading = new BodyReading(response, how, pass);
  try {
    await response.each(reading);
    const ended = pass.isFinished ? undefined : reading.end();
    if (ended) await ended;
    pass.end();
  } catch (error) {
    if (isOfProvider(error) && (await reading.endEarly())) return;
    how.onInterrupted?.(reading.counted());
    throw error;
  } finally {
    pass.close();
    response.release();
  }
}

const isOfProvider = (error: unknown): boolean =>
  error instanceof GatewayError && (error.kind === 'upstream_failed' || error.kind === 'upstream_timeout');

/**
 * Collects the pieces of a body.
 *
 * @param onSize called after each batch with the bytes so far; may release the response, or throw
 */
export async function readPieces(response: UpstreamResponse, onSize: (bytes: number) => void): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  await response.each({
    write(batch) {
      for (const piece of batch) {
        pieces.push(piece);
        bytes += piece.length;
      }
      onSize(bytes);
      return undefined;
    },
  });
  return pieces;
}

/** Reads the body of a response with another status: parsed JSON, or the text if it is not JSON. */
export async function readErrorBody(response: UpstreamResponse): Promise<unknown> {
  const pieces = await readPieces(response, (bytes) => {
    if (bytes > ERROR_BODY_BYTES) response.release();
  });
  const text = textOf(joinPieces(pieces));
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** Reads frames that this process creates. @see readResponse */
export async function readLocalFrames<C extends { type: string }>(
  reader: Reader<C>,
  frames: AsyncIterable<Frame[]>,
  how: ResponseLimit & Pick<ReadResponseOptions<C>, 'onInterrupted' | 'kept'> & { cancellation: Cancellation },
  out: Sink<C>,
): Promise<void> {
  const pass = new ChunkPass(out, how);
  try {
    for await (const batch of frames) {
      if (how.cancellation.reason) throw how.cancellation.reason;
      await pass.readFrames(reader, batch);
      if (pass.isFinished) return;
    }
    await pass.readEnd(reader);
    pass.end();
  } catch (error) {
    how.onInterrupted?.(reader.counted?.());
    throw error;
  }
}

/** Passes chunks on up to the first `finish`, and ignores the rest. */
class ChunkPass<C extends { type: string }> {
  isFinished = false;
  /** Whether the chunks of a large frame are being passed on, in several turns. */
  isApart = false;
  private isClosed = false;
  private readonly out: Sink<C>;
  private readonly how: ResponseLimit & Pick<ReadResponseOptions<C>, 'kept'>;

  constructor(out: Sink<C>, how: ResponseLimit & Pick<ReadResponseOptions<C>, 'kept'>) {
    this.out = out;
    this.how = how;
  }

  /** Passes nothing more on: the attempt has ended. */
  close(): void {
    this.isClosed = true;
  }

  /** @param isLarge whether the chunks are passed on in several turns of the event loop */
  private passOn(chunks: C[], isLarge = false): Promise<void> | undefined {
    if (this.isFinished) return undefined;
    for (let index = 0; index < chunks.length; index++) {
      if (chunks[index]!.type !== 'finish') continue;
      this.isFinished = true;
      chunks.length = index + 1;
    }
    if (isLarge) return this.passPieces(chunks);
    return chunks.length > 0 ? this.out.write(chunks) : undefined;
  }

  private async passPieces(chunks: readonly C[]): Promise<void> {
    for (const batch of cutChunks(chunks)) {
      if (this.isClosed) return;
      await this.out.write(batch);
      await nextTurn();
    }
  }

  /** Passes on the chunks of one network read. If a frame is invalid, the chunks before it are passed on first. */
  readFrames(reader: Reader<C>, frames: readonly Frame[]): Promise<void> | undefined {
    return frames.some(isLarge) ? this.readApart(reader, frames) : this.readTogether(reader, frames);
  }

  private async readApart(reader: Reader<C>, frames: readonly Frame[]): Promise<void> {
    this.isApart = true;
    try {
      for (const frame of frames) {
        if (isLarge(frame)) await nextTurn();
        if (this.isClosed) return;
        await this.readTogether(reader, [frame], isLarge(frame));
      }
    } finally {
      this.isApart = false;
    }
  }

  private readTogether(reader: Reader<C>, frames: readonly Frame[], isLarge = false): Promise<void> | undefined {
    const { kept, name } = this.how;
    const chunks: C[] = [];
    try {
      for (const frame of frames) {
        const read = reader.read(frame);
        kept?.add(read, frame.data.length);
        for (const chunk of read) chunks.push(chunk);
      }
    } catch (error) {
      this.checkKept(reader);
      const passing = this.passOn(chunks, isLarge);
      if (this.isFinished) return passing;
      const failure = blameProvider(name, error);
      if (!passing) throw failure;
      return passing.then(() => {
        throw failure; // after the earlier chunks, because the failure starts another attempt
      });
    }
    this.checkKept(reader);
    return this.passOn(chunks, isLarge);
  }

  /** @param length of the body, in UTF-16 units; absent for the chunks that the end of a stream releases */
  readWhole(read: () => C[], length = 0): Promise<void> | undefined {
    const chunks = blamingProvider(this.how.name, read);
    this.how.kept?.add(chunks, length);
    this.checkKept();
    return this.passOn(chunks, length > TURN_LENGTH);
  }

  readEnd(reader: Reader<C>): Promise<void> | undefined {
    return this.isFinished ? undefined : this.readWhole(() => reader.end());
  }

  /** @throws {GatewayError} if the retained data exceeds the limit */
  private checkKept(reader?: Reader<C>): void {
    const { kept, limitBytes } = this.how;
    if (!kept) return;
    if (kept.isMoreThan(limitBytes - (reader?.keptLength?.() ?? 0))) throw tooMuchOutput(this.how);
  }

  /** @throws {GatewayError} if there was no `finish`: an incomplete response must not look complete */
  end(): void {
    if (this.isFinished) return;
    throw new GatewayError('upstream_failed', `${this.how.name} ended its response in the middle.`, {
      retryable: true,
      isTransient: true,
    });
  }
}

/** The body of one response on its way through decoder and reader. */
class BodyReading<C extends { type: string }> implements Sink<Buffer> {
  private readonly response: UpstreamResponse;
  private readonly how: ReadResponseOptions<C>;
  private readonly pass: ChunkPass<C>;
  private readonly hasStreamType: boolean;
  /** Pieces of a whole response, or of a stream without a frame so far. */
  private pieces: Buffer[] = [];
  private bytes = 0;
  private kind: 'unknown' | 'stream' | 'whole' = 'unknown';
  private reader: Reader<C> | undefined;
  private cutter: FrameCutter | undefined;
  private readonly lines = new LineSearch();
  /** A whole response. */
  private body: unknown;
  /** Whether an error is about the content and not about the connection. */
  private isProcessing = false;

  constructor(response: UpstreamResponse, how: ReadResponseOptions<C>, pass: ChunkPass<C>) {
    this.response = response;
    this.how = how;
    this.pass = pass;
    const type = String(response.headers['content-type'] ?? '').toLowerCase();
    this.hasStreamType = type.startsWith('text/event-stream');
  }

  write(batch: Buffer[]): Promise<void> | undefined {
    this.isProcessing = true;
    const passing = this.addBatch(batch);
    if (!passing) {
      this.isProcessing = false;
      return undefined;
    }
    return passing.then(() => {
      this.isProcessing = false;
    });
  }

  private addBatch(batch: Buffer[]): Promise<void> | undefined {
    for (const piece of batch) this.bytes += piece.length;
    if (this.isStream) return this.passFrames(batch);
    for (const piece of batch) this.pieces.push(piece);
    if (this.kind === 'unknown') this.decide(batch);
    if (this.kind === 'whole' && this.lines.isFoundIn(batch)) this.begin(true);
    if (this.isStream) {
      const { pieces } = this;
      this.pieces = [];
      return this.passFrames(pieces);
    }
    if (this.bytes > this.how.limitBytes) throw tooLarge(this.how);
    return this.how.onBuffered?.(this.bytes);
  }

  /** The body has ended regularly. */
  end(): Promise<void> | undefined {
    this.isProcessing = true;
    const { lift } = this.how;
    if (this.kind === 'unknown') this.begin(this.hasStreamType);
    const { reader, cutter, pass } = this;
    if (reader && cutter) {
      const passing = pass.readFrames(reader, cutter.end());
      return passing ? passing.then(() => pass.readEnd(reader)) : pass.readEnd(reader);
    }
    const bytes = lift ? lift(this.pieces) : joinPieces(this.pieces);
    this.pieces = [];
    const text = textOf(bytes);
    if (text.length > TURN_LENGTH) return this.readApart(text, bytes);
    return this.readBody(text, bytes);
  }

  private readBody(text: string, bytes: Buffer): Promise<void> | undefined {
    const { wire, readerContext, name } = this.how;
    const body = parseWhole(text, bytes, name);
    this.body = body;
    return this.pass.readWhole(() => wire.readWhole(body, readerContext), text.length);
  }

  private async readApart(text: string, bytes: Buffer): Promise<void> {
    await nextTurn();
    await this.readBody(text, bytes);
  }

  /**
   * Ends a response whose connection broke or became idle. If the provider had sent its finish reason, only its counts
   * are missing.
   *
   * @returns whether it had sent the finish reason
   */
  async endEarly(): Promise<boolean> {
    if (this.isProcessing || !this.reader) return false;
    await this.pass.readEnd(this.reader);
    return this.pass.isFinished;
  }

  /** The provider's counts so far. */
  counted(): Usage | undefined {
    return this.reader ? this.reader.counted?.() : this.how.wire.countWhole?.(this.body);
  }

  /** Decides by the first significant byte whether the body is a stream, and by the header if both are possible. */
  private decide(batch: readonly Buffer[]): void {
    for (const piece of batch) {
      const byte = piece.find((each) => !insignificant.has(each));
      if (byte === undefined) continue;
      this.begin(this.hasStreamType ? !jsonStarts.has(byte) : fieldStarts.has(byte));
      break;
    }
  }

  private get isStream(): boolean {
    return this.kind === 'stream';
  }

  private begin(isStream: boolean): void {
    this.kind = isStream ? 'stream' : 'whole';
    if (!isStream) return;
    this.reader = this.how.wire.createReader(this.how.readerContext);
    this.cutter = new FrameCutter(this.how.limitBytes);
  }

  private passFrames(pieces: Buffer[]): Promise<void> | undefined {
    if (this.how.isBuffered && this.bytes > this.how.limitBytes) throw tooLarge(this.how);
    const frames = this.cutter!.push(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)); // created by `begin`
    if (frames.length === 0) return this.how.onBuffered?.(this.cutter!.heldBytes);
    const passing = this.pass.readFrames(this.reader!, frames);
    const { onPassed } = this.how;
    if (passing && this.pass.isApart) {
      return passing.then(() => {
        if (this.pass.isFinished) this.response.release();
        onPassed?.();
      });
    }
    if (this.pass.isFinished) {
      this.response.release(); // not awaited: a slow sink keeps its own promise
      if (!passing) onPassed?.();
      else void passing.then(onPassed, () => undefined);
      return undefined;
    }
    if (onPassed && passing) return passing.then(onPassed);
    onPassed?.();
    return passing;
  }
}

const isLarge = ({ data }: Frame): boolean => data.length > TURN_LENGTH;

/** Cuts chunks into batches of one turn each. A long delta becomes several. */
function* cutChunks<C extends { type: string }>(chunks: readonly C[]): Generator<C[]> {
  let batch: C[] = [];
  for (const chunk of chunks) {
    const { delta, logprobs } = chunk as { delta?: unknown; logprobs?: unknown }; // a chunk of text
    const isLong = typeof delta === 'string' && delta.length > TURN_LENGTH && !logprobs;
    if (!isLong) batch.push(chunk);
    if (batch.length > 0 && (isLong || batch.length === TURN_CHUNKS)) {
      yield batch;
      batch = [];
    }
    if (isLong) for (const piece of cutText(delta)) yield [{ ...chunk, delta: piece }];
  }
  if (batch.length > 0) yield batch;
}

/** Cuts a text into pieces, and never a surrogate pair. */
function* cutText(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = from + TURN_LENGTH;
    const unit = text.charCodeAt(to - 1);
    if (unit >= 0xd800 && unit < 0xdc00) to--;
    yield text.slice(from, to);
    from = to;
  }
}

const bytesOf = (text: string) => new Set(Buffer.from(text));
const insignificant = bytesOf(' \t\r\n\ufeff');
// Some servers send the wrong content type. A JSON response never begins like a field of an event stream.
const jsonStarts = bytesOf('{[');
const fieldStarts = bytesOf('deir:'); // data, event, id, retry, and the colon of a comment

const joinPieces = (pieces: Buffer[]): Buffer => (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));

function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function parseWhole(text: string, bytes: Buffer, name: string): unknown {
  try {
    return parseJson(text, bytes);
  } catch (cause) {
    throw new GatewayError('upstream_failed', `${name} returned ${describeInvalid(text, cause)}.`, {
      retryable: true,
      cause,
    });
  }
}

function describeInvalid(text: string, error: unknown): string {
  if (error instanceof JsonExcessError) return `JSON that ${error.says}`;
  if (text === '') return 'an empty body';
  return /^\s*</.test(text) ? 'an HTML page' : 'a body that is not JSON';
}

function blamingProvider<Result>(name: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw blameProvider(name, error);
  }
}

/** An exception of a reader is caused by the data it read. */
function blameProvider(name: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const text = `${name} returned a response of an invalid shape.`;
  return new GatewayError('upstream_failed', text, { retryable: true, cause: error });
}

const tooLarge = ({ name, limitBytes, limitName = 'upstream_body_limit' }: ResponseLimit) =>
  new GatewayError('upstream_failed', `${name} sent more than ${limitBytes} bytes (${limitName}).`, {
    retryable: true,
  });

const tooMuchOutput = ({ name, limitBytes, limitName = 'upstream_body_limit' }: ResponseLimit) =>
  new GatewayError('upstream_failed', `${name} sent more output than ${limitBytes} bytes (${limitName}).`, {
    retryable: true,
  });
