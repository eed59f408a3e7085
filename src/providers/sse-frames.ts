import { GatewayError } from '../domain/errors.ts';
import type { Frame } from './provider.ts';

const LF = 0x0a;
const CR = 0x0d;
const nothing = Buffer.alloc(0);

/**
 * Cuts the bytes of a server-sent event stream into frames, however the network cut them. Whole lines only are decoded,
 * so a character that lies across two pieces is never broken. Comments and fields other than `event` and `data` are
 * passed over.
 *
 * @param limitBytes the largest frame; a longer one throws `upstream_failed`
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export function createFrameCutter(limitBytes = 32 * 1024 * 1024) {
  let rest: Buffer = nothing;
  let restPieces: Buffer[] = [];
  let restBytes = 0;
  let first = true;
  let event = '';
  let data = '';
  let hasData = false;

  function readLine(line: string, frames: Frame[]): void {
    if (line === '') {
      if (hasData) frames.push({ event, data });
      event = data = '';
      hasData = false;
    } else if (line.startsWith('data:')) {
      const value = line.charCodeAt(5) === 32 ? line.slice(6) : line.slice(5);
      data = hasData ? `${data}\n${value}` : value;
      hasData = true;
      if (data.length > limitBytes) throw tooLarge(limitBytes);
    } else if (line.startsWith('event:')) {
      event = line.charCodeAt(6) === 32 ? line.slice(7) : line.slice(6);
    } else if (line === 'data') {
      data = hasData ? `${data}\n` : '';
      hasData = true;
    }
  }

  function readLines(text: string, frames: Frame[]): void {
    if (first) {
      first = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n');
    let from = 0;
    for (let to = text.indexOf('\n'); to !== -1; to = text.indexOf('\n', from)) {
      readLine(text.slice(from, to), frames);
      from = to + 1;
    }
    if (from < text.length) readLine(text.slice(from), frames);
  }

  return {
    /** @returns the frames that this piece completes, in order */
    push(piece: Buffer): Frame[] {
      const end = lastLineEnd(piece);
      if (end === -1) {
        restPieces.push(piece);
        restBytes += piece.length;
        if (restBytes > limitBytes) throw tooLarge(limitBytes);
        return [];
      }
      if (restPieces.length > 0) {
        restPieces.push(piece.subarray(0, end));
        rest = Buffer.concat(restPieces);
        restPieces = [];
      } else {
        rest = end === piece.length ? piece : piece.subarray(0, end);
      }
      const frames: Frame[] = [];
      readLines(rest.toString('utf8'), frames);
      rest = nothing;
      restBytes = piece.length - end;
      if (restBytes > 0) restPieces.push(piece.subarray(end));
      return frames;
    },

    /** The body has ended. @returns the frame that lacked only its last line end, if there was one */
    end(): Frame[] {
      const frames: Frame[] = [];
      readLines(Buffer.concat(restPieces).toString('utf8'), frames);
      restPieces = [];
      readLine('', frames);
      return frames;
    },
  };
}

/** The place behind the last line end that is certainly whole, or -1: a CR at the very end may be half of a CRLF. */
function lastLineEnd(piece: Buffer): number {
  const lf = piece.lastIndexOf(LF);
  if (lf !== -1) return lf + 1;
  const cr = piece.lastIndexOf(CR);
  return cr === -1 || cr === piece.length - 1 ? -1 : cr + 1;
}

const tooLarge = (limitBytes: number) =>
  new GatewayError('upstream_failed', `The provider sent a stream event larger than ${limitBytes} bytes.`, {
    retryable: true,
  });
