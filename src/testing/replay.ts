import { readFileSync } from 'node:fs';
import type { Chunk } from '../domain/chunks.ts';
import type { Reader } from '../providers/provider.ts';
import { FrameCutter } from '../providers/sse-frames.ts';

/** An HTTP answer as it was sent. */
export interface Recording {
  status: number;
  /** Names in lower case; a name that comes twice has its values joined by `, `. */
  headers: Record<string, string>;
  /** Not chunk-encoded, not compressed. */
  body: Buffer;
}

const headEnd = '\r\n\r\n';

/**
 * Reads a recording: status line, headers, an empty line, and the bytes of the body.
 *
 * @throws {Error} when the file has no such head
 */
export function readRecording(url: URL): Recording {
  const bytes = readFileSync(url);
  const end = bytes.indexOf(headEnd);
  const [statusLine = '', ...lines] = bytes.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n');
  const status = /^HTTP\/\d(?:\.\d)? (\d{3})\b/.exec(statusLine)?.[1];
  if (status === undefined) throw new Error(`${url.pathname} does not begin with the head of an HTTP answer.`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return { status: Number(status), headers, body: bytes.subarray(end + headEnd.length) };
}

/**
 * Feeds a recorded stream to a reader, cut as networks cut it.
 *
 * @param size bytes of a piece, 1 or more; of several sizes each is used in turn, from the first again at the end
 * @returns the chunks of the whole stream, those of its end included
 */
export function replay(url: URL, reader: Reader, size: number | readonly number[] = 1000): Chunk[] {
  return replayBody(readRecording(url).body, reader, size);
}

/** `replay` for bytes at hand. @throws what the reader throws */
export function replayBody(body: Buffer, reader: Reader, size: number | readonly number[] = 1000): Chunk[] {
  const sizes = typeof size === 'number' ? [size] : size;
  const cutter = new FrameCutter();
  const chunks: Chunk[] = [];
  for (let from = 0, turn = 0; from < body.length; turn++) {
    const to = from + sizes[turn % sizes.length]!;
    for (const frame of cutter.push(body.subarray(from, to))) chunks.push(...reader.read(frame));
    from = to;
  }
  for (const frame of cutter.end()) chunks.push(...reader.read(frame));
  chunks.push(...reader.end());
  return chunks;
}
