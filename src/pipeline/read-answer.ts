import type { Chunk } from '../domain/chunks.ts';
import { GatewayError } from '../domain/errors.ts';
import type { Frame, Reader, Wire } from '../providers/provider.ts';
import { createFrameCutter } from '../providers/sse-frames.ts';
import type { UpstreamAnswer } from '../providers/transport.ts';

/** Bytes of an error body that are read. */
const ERROR_BODY_BYTES = 1024 * 1024;

export interface AnswerReading {
  wire: Wire;
  /** What `writeRequest` gave. */
  reading: unknown;
  /** The display name of the provider, for messages. */
  name: string;
  /** The largest whole answer, or single stream event, in bytes. */
  limitBytes: number;
  /** Nothing is shown before the end, so that all is held in memory: then the limit is on the stream as a whole. */
  isHeld: boolean;
}

/**
 * Reads an answer of status 2xx, streamed or whole, whatever was asked for, into chunks: a batch for each network read.
 *
 * @throws {GatewayError} when it makes no sense, is too large, breaks off, or says that the provider failed
 */
export async function readAnswer(
  answer: UpstreamAnswer,
  how: AnswerReading,
): Promise<AsyncIterable<Chunk[]> | Chunk[][]> {
  const { pieces, isStream } = await readStart(answer);
  return isStream ? readStream(answer, pieces, how) : [await readWhole(answer, pieces, how)];
}

/** The body of an answer with another status: parsed JSON, or the text when it is none. */
export async function readErrorBody(answer: UpstreamAnswer): Promise<unknown> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (let batch = await answer.read(); batch !== undefined && bytes <= ERROR_BODY_BYTES; batch = await answer.read()) {
    for (const piece of batch) {
      pieces.push(piece);
      bytes += piece.length;
    }
  }
  const text = textOf(pieces);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Frames that are made inside this process. */
export async function* readInside(
  reader: Reader,
  frames: AsyncIterable<Frame[]>,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<Chunk[]> {
  for await (const batch of frames) {
    if (signal.aborted) throw signal.reason;
    yield* readBatch(reader, batch, name);
  }
  yield reader.end();
}

/** The first pieces of a body, up to its first byte that says something, and what that byte says. */
async function readStart(answer: UpstreamAnswer): Promise<{ pieces: Buffer[]; isStream: boolean }> {
  const type = String(answer.headers['content-type'] ?? '').toLowerCase();
  const isStream = type.startsWith('text/event-stream');
  const pieces: Buffer[] = [];
  for (let batch = await answer.read(); batch !== undefined; batch = await answer.read()) {
    for (const piece of batch) pieces.push(piece);
    for (const piece of batch) {
      const byte = piece.find((each) => !meaningless.has(each));
      if (byte !== undefined) return { pieces, isStream: isStream ? !beginsJson.has(byte) : beginsField.has(byte) };
    }
  }
  return { pieces, isStream };
}

const bytesOf = (text: string) => new Set(Buffer.from(text));
const meaningless = bytesOf(' \t\r\n\ufeff');
// Some servers name one as the other. No JSON that could be an answer begins like a field of an event stream.
const beginsJson = bytesOf('{[');
const beginsField = bytesOf('deir:'); // data, event, id, retry, and the colon of a comment

async function* readStream(answer: UpstreamAnswer, first: Buffer[], how: AnswerReading): AsyncGenerator<Chunk[]> {
  const { wire, reading, name, limitBytes, isHeld } = how;
  const reader = wire.createReader(reading);
  const cutter = createFrameCutter(limitBytes);
  let bytes = 0;
  for (let pieces: Buffer[] | undefined = first; pieces !== undefined; pieces = await answer.read()) {
    for (const piece of pieces) bytes += piece.length;
    if (isHeld && bytes > limitBytes) throw tooLarge(how);
    const frames = cutter.push(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
    if (frames.length > 0) yield* readBatch(reader, frames, name);
  }
  yield* readBatch(reader, cutter.end(), name);
  yield blamingProvider(name, () => reader.end());
}

/** The chunks of one network read. Of a batch that breaks in the middle, what came before is given first. */
function* readBatch(reader: Reader, frames: Frame[], name: string): Generator<Chunk[]> {
  const chunks: Chunk[] = [];
  try {
    for (const frame of frames) {
      for (const chunk of reader.read(frame)) chunks.push(chunk);
    }
  } catch (error) {
    yield chunks;
    throw blameProvider(name, error);
  }
  yield chunks;
}

async function readWhole(answer: UpstreamAnswer, first: Buffer[], how: AnswerReading): Promise<Chunk[]> {
  const { wire, reading, name, limitBytes } = how;
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (let batch: Buffer[] | undefined = first; batch !== undefined; batch = await answer.read()) {
    for (const piece of batch) {
      pieces.push(piece);
      bytes += piece.length;
    }
    if (bytes > limitBytes) throw tooLarge(how);
  }
  const body = parseWhole(textOf(pieces), name);
  return blamingProvider(name, () => wire.readWhole(body, reading));
}

function textOf(pieces: Buffer[]): string {
  const text = (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)).toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function parseWhole(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const what = text === '' ? 'an empty body' : /^\s*</.test(text) ? 'an HTML page' : 'a body that is not JSON';
    throw new GatewayError('upstream_failed', `${name} answered with ${what}.`, { retryable: true, cause });
  }
}

function blamingProvider<Result>(name: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw blameProvider(name, error);
  }
}

/** A reader that stumbles stumbles over what it was given. */
function blameProvider(name: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const text = `${name} gave an answer of a shape that makes no sense.`;
  return new GatewayError('upstream_failed', text, { retryable: true, cause: error });
}

const tooLarge = ({ name, limitBytes }: AnswerReading) =>
  new GatewayError('upstream_failed', `${name} sent more than ${limitBytes} bytes (upstream_body_limit).`, {
    retryable: true,
  });
