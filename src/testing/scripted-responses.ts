import { pipeline, Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { readRecording } from './replay.ts';

/**
 * The response of a scripted upstream to one request. A plain value: create one with `json`, `sse`, `recording` or
 * `bytes`, then wrap it in failures: `resetAfter(20, gzip(json({ … })))`. Wrappers apply from the inside to the
 * outside.
 */
export interface ScriptedResponse {
  readonly status: number;
  /** Without content-length and transfer-encoding: those are derived from `contentLength`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The value of `content-length`, correct or not. Absent: the body is chunked. */
  readonly contentLength?: number;
  /** The body, in the pieces in which it is written. Called once per request. */
  readonly pieces: () => AsyncIterable<Buffer>;
  /** Before the headers: continue, reset the connection, or stay silent until the client disconnects. */
  readonly start: 'headers' | 'reset' | 'silence';
  /** After the last piece: end regularly, close without the end, reset the connection, or stay silent. */
  readonly end: 'complete' | 'close' | 'reset' | 'silence';
  /** Between two pieces. 0 yields to the event loop, so that pieces are rarely merged. Absent: no pause. */
  readonly pauseMs?: number;
}

/** Options of every helper that creates a body. Header names are lower case and override the helper's. */
export interface ResponseHead {
  status?: number;
  headers?: Record<string, string>;
}

const inOrder = { start: 'headers', end: 'complete' } as const;

async function* one(body: Buffer): AsyncIterable<Buffer> {
  if (body.length > 0) yield body;
}

/** A body as it is, with its correct content-length. Set the `content-type` in the headers. */
export function bytes(body: Buffer | string, { status = 200, headers = {} }: ResponseHead = {}): ScriptedResponse {
  const content = Buffer.from(body);
  return { ...inOrder, status, headers, contentLength: content.length, pieces: () => one(content) };
}

/** A JSON body. */
export function json(body: unknown, { status = 200, headers = {} }: ResponseHead = {}): ScriptedResponse {
  return bytes(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
}

/** How `sse` writes its frames. */
export interface SseOptions extends ResponseHead {
  /** Ends with `data: [DONE]`. Default false: not every wire has it. */
  done?: boolean;
  /** Writes an `event:` line with the `type` of each object before its `data:` line. */
  named?: boolean;
}

/** An object becomes the JSON of one `data:` line. A string becomes such a line unchanged. */
export type SseFrame = object | string;

/**
 * A stream of server-sent events. A string instead of the frames is sent verbatim, for comments, unusual line ends and
 * malformed frames. Frames of an async iterable are sent as they arrive, so a test can keep the stream open.
 */
export function sse(
  frames: string | Iterable<SseFrame> | AsyncIterable<SseFrame>,
  options: SseOptions = {},
): ScriptedResponse {
  const { status = 200, headers = {}, done = false, named = false } = options;
  const write = (frame: SseFrame): string => {
    if (typeof frame === 'string') return `data: ${frame}\n\n`;
    const event = named && 'type' in frame ? `event: ${frame.type}\n` : '';
    return `${event}data: ${JSON.stringify(frame)}\n\n`;
  };
  async function* pieces(): AsyncIterable<Buffer> {
    if (typeof frames === 'string') yield Buffer.from(frames);
    else for await (const frame of frames) yield Buffer.from(write(frame));
    if (done) yield Buffer.from(write('[DONE]'));
  }
  return { ...inOrder, status, headers: { 'content-type': 'text/event-stream; charset=utf-8', ...headers }, pieces };
}

/**
 * A recorded response, see `readRecording`. Headers about the framing of the recorded connection are omitted, because
 * the response is framed again.
 *
 * @param url of the file: `new URL('recordings/text.stream.http', import.meta.url)`
 */
export function recording(url: URL): ScriptedResponse {
  const { status, headers, body } = readRecording(url);
  const kept = Object.entries(headers).filter(([name]) => !framingHeaders.has(name));
  return bytes(body, { status, headers: Object.fromEntries(kept) });
}

const framingHeaders = new Set(['transfer-encoding', 'content-length', 'connection', 'keep-alive']);

/** An error page, like that of a proxy in front of a provider. */
export function htmlPage(status = 502): ScriptedResponse {
  const page = `<!doctype html>\n<title>${status}</title>\n<h1>${status}</h1>\n<p>The server behind this page is unavailable.</p>\n`;
  return bytes(page, { status, headers: { 'content-type': 'text/html; charset=utf-8' } });
}

/** No body at all, with a content-type of JSON. */
export function emptyBody(status = 200): ScriptedResponse {
  return bytes('', { status, headers: { 'content-type': 'application/json' } });
}

/** Redirects the client. A gateway must not follow. */
export function redirect(to: string, status = 302): ScriptedResponse {
  return bytes('', { status, headers: { location: to } });
}

/**
 * A JSON object of exactly that many bytes (50 or more), generated while it is sent and never held in memory. It is
 * chunked, so that a limit has to count, and respects the client's pace.
 */
export function hugeBody(byteCount: number, { status = 200, headers = {} }: ResponseHead = {}): ScriptedResponse {
  const before = Buffer.from('{"object":"response","padding":"');
  const after = Buffer.from('"}');
  const padding = Buffer.alloc(65_536, 'a');
  async function* pieces(): AsyncIterable<Buffer> {
    yield before;
    let left = byteCount - before.length - after.length;
    for (; left > 0; left -= padding.length) yield left < padding.length ? padding.subarray(0, left) : padding;
    yield after;
  }
  return { ...inOrder, status, headers: { 'content-type': 'application/json', ...headers }, pieces };
}

/** The connection is reset as soon as the request is read. */
export function resetBeforeHeaders(): ScriptedResponse {
  return { ...bytes(''), start: 'reset' };
}

/** The request is read and gets no response. The connection stays open until the client disconnects. */
export function stallBeforeHeaders(): ScriptedResponse {
  return { ...bytes(''), start: 'silence' };
}

/** Headers and the first `byteCount` bytes of the body, then the connection is reset. */
export function resetAfter(byteCount: number, answer: ScriptedResponse): ScriptedResponse {
  return { ...answer, pieces: () => first(byteCount, answer.pieces()), end: 'reset' };
}

/** Headers and the first `byteCount` bytes of the body, then silence until the client disconnects. */
export function stallAfter(byteCount: number, answer: ScriptedResponse): ScriptedResponse {
  return { ...answer, pieces: () => first(byteCount, answer.pieces()), end: 'silence' };
}

/**
 * The body in writes of `bytesPerWrite` bytes, one every `everyMs` milliseconds. Several sizes are cycled through.
 */
export function throttle(
  answer: ScriptedResponse,
  bytesPerWrite: number | readonly number[],
  everyMs: number,
): ScriptedResponse {
  const sizes = [bytesPerWrite].flat();
  if (!sizes.every((size) => size >= 1)) throw new Error(`A piece has 1 byte or more: ${sizes}.`);
  return { ...answer, pieces: () => recut(sizes, answer.pieces()), pauseMs: everyMs };
}

/** The body in writes of `size` bytes, without pauses, regardless of characters and lines. @see throttle */
export function splitIntoPieces(answer: ScriptedResponse, size: number | readonly number[]): ScriptedResponse {
  return throttle(answer, size, 0);
}

/** Declares another content-type than the body has. */
export function wrongContentType(answer: ScriptedResponse, type: string): ScriptedResponse {
  return { ...answer, headers: { ...answer.headers, 'content-type': type } };
}

/** The body compressed, piece by piece, so that a stream still arrives while it is created. */
export function gzip(answer: ScriptedResponse): ScriptedResponse {
  const pieces = (): AsyncIterable<Buffer> => {
    const compressed = createGzip({ flush: constants.Z_SYNC_FLUSH });
    pipeline(Readable.from(answer.pieces()), compressed, () => {}); // an error is thrown where `compressed` is read
    return compressed;
  };
  return { ...answer, headers: { ...answer.headers, 'content-encoding': 'gzip' }, contentLength: undefined, pieces };
}

/** Chunked. The connection is closed regularly, without the terminating chunk. */
export function chunkedWithoutEnd(answer: ScriptedResponse): ScriptedResponse {
  return { ...answer, contentLength: undefined, end: 'close' };
}

/** Declares `excess` bytes more than the body has, and closes the connection regularly after the body. */
export function contentLengthTooLong(answer: ScriptedResponse, excess = 100): ScriptedResponse {
  if (answer.contentLength === undefined) throw new Error('contentLengthTooLong needs a body of known length.');
  return { ...answer, contentLength: answer.contentLength + excess, end: 'close' };
}

async function* first(byteCount: number, pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let left = byteCount;
  if (left <= 0) return;
  for await (const piece of pieces) {
    yield piece.subarray(0, left);
    left -= piece.length;
    if (left <= 0) return;
  }
}

async function* recut(sizes: readonly number[], pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  let turn = 0;
  for await (const piece of pieces) {
    held = held.length === 0 ? piece : Buffer.concat([held, piece]);
    let at = 0;
    for (let size = sizes[turn]!; at + size <= held.length; size = sizes[turn]!) {
      yield held.subarray(at, at + size);
      at += size;
      turn = (turn + 1) % sizes.length;
    }
    held = held.subarray(at);
  }
  if (held.length > 0) yield held;
}
