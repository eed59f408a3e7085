import { randomUUID } from 'node:crypto';
import type { FormField } from './image-wire.ts';

/**
 * Writes `multipart/form-data`.
 *
 * @param boundary a text that no part of the body contains; random by default
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

/** Escapes names as browsers do. */
const writeName = (name: string): string => name.replace(/[\r\n"]/g, (found) => encodeURIComponent(found));
