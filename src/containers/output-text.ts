import { StringDecoder } from 'node:string_decoder';

/** Maximum bytes of a UTF-8 character. */
export const MAX_CHARACTER_BYTES = 4;

/**
 * Returns what a command has written, as text. Replaces invalid UTF-8.
 *
 * @param maxLength characters; a last line says how many bytes were dropped
 * @param droppedBytes were dropped before, after `bytes`
 */
export function readOutput(bytes: Buffer, maxLength: number, droppedBytes: number): string {
  const text = bytes.toString();
  if (text.length <= maxLength && droppedBytes === 0) return text;
  const kept = cutText(text, maxLength);
  const dropped = droppedBytes + Math.max(0, bytes.length - Buffer.byteLength(kept));
  if (dropped === 0) return kept;
  return `${kept}${kept === '' || kept.endsWith('\n') ? '' : '\n'}[${dropped} more bytes were dropped]\n`;
}

/** Returns at most this many characters, without half of a pair. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const last = text.charCodeAt(maxLength - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? maxLength - 1 : maxLength);
}

/** Passes the output of a command on as text while it runs, up to a maximum of characters for each stream. */
export function createOutputReader(
  maxLength: number,
  onOutput: (stream: 'stdout' | 'stderr', text: string) => void,
): (stream: 'stdout' | 'stderr', bytes: Buffer) => void {
  const streams = {
    stdout: { decoder: new StringDecoder('utf8'), left: maxLength },
    stderr: { decoder: new StringDecoder('utf8'), left: maxLength },
  };
  return (name, bytes) => {
    const stream = streams[name];
    if (stream.left <= 0) return;
    const text = cutText(stream.decoder.write(bytes), stream.left);
    stream.left -= text.length;
    if (text !== '') onOutput(name, text);
  };
}
