import { randomUUID } from 'node:crypto';
import type { FormField } from './image-wire.ts';

/**
 * Writes `multipart/form-data`.
 *
 * @param boundary in no part of the body; a random one when absent
 * @see https://www.rfc-editor.org/rfc/rfc7578
 */
export function writeForm(
  fields: readonly FormField[],
  boundary: string = `headgate-${randomUUID()}`,
): { contentType: string; body: Buffer } {
  const pieces: Buffer[] = [];
  const text = (line: string): void => void pieces.push(Buffer.from(line));
  for (const { name, value } of fields) {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${writeName(name)}"`;
    if (typeof value === 'string') text(`${head}\r\n\r\n${value}\r\n`);
    else {
      text(`${head}; filename="${writeName(value.fileName)}"\r\ncontent-type: ${value.mediaType}\r\n\r\n`);
      pieces.push(value.bytes);
      text('\r\n');
    }
  }
  text(`--${boundary}--\r\n`);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(pieces) };
}

/** As browsers write names. */
const writeName = (name: string): string => name.replace(/[\r\n"]/g, (found) => encodeURIComponent(found));
