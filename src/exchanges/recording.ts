import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';

/** An HTTP response as it was sent. */
export interface Recording {
  status: number;
  /** Names in lower case. Values of a repeated name are joined by `, `. */
  headers: Record<string, string>;
  /** Not chunk-encoded, not compressed. */
  body: Buffer;
}

/** The header that the gateway adds to a truncated recording: the reason, in a sentence. */
export const cutHeader = 'x-headgate-cut';

const headEnd = '\r\n\r\n';

/**
 * Reads a recording: status line, headers, an empty line, and the bytes of the body.
 *
 * @throws {Error} if the file has no such head
 */
export function readRecording(file: URL | string): Recording {
  const bytes = readFileSync(file);
  const end = bytes.indexOf(headEnd);
  const [statusLine = '', ...lines] = bytes.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n');
  const status = /^HTTP\/\d(?:\.\d)? (\d{3})\b/.exec(statusLine)?.[1];
  if (status === undefined) {
    const name = typeof file === 'string' ? file : file.pathname;
    throw new Error(`${name} does not begin with the head of an HTTP response.`);
  }
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
 * Writes the file of a recording. Replaces bytes of a header that are not printable ASCII by `?`, so that no header
 * ends early.
 */
export function writeRecording({ status, headers, body }: Recording): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const reason = STATUS_CODES[status];
  const head = [`HTTP/1.1 ${status}${reason === undefined ? '' : ` ${reason}`}`, ...lines]
    .map((line) => line.replaceAll(/[^\t\x20-\x7e]/g, '?'))
    .join('\r\n');
  return Buffer.concat([Buffer.from(head + headEnd, 'latin1'), body]);
}
