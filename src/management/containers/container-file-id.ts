import { isUtf8 } from 'node:buffer';
import type { ByteText } from '../../platform/storage/ports/containers.ts';

const PREFIX = 'cfile_';

/** Returns the id of a file of a container: a function of its path, so that a file that is written again keeps it. */
export const writeContainerFileId = (path: ByteText): string =>
  PREFIX + Buffer.from(path, 'latin1').toString('base64url');

/** @returns the path; undefined if the text is no id */
export function readContainerFileId(id: string): ByteText | undefined {
  if (!id.startsWith(PREFIX)) return undefined;
  const encoded = id.slice(PREFIX.length);
  const bytes = Buffer.from(encoded, 'base64url');
  // Only the shortest form is an id: the decoder ignores other characters.
  return bytes.length > 0 && bytes.toString('base64url') === encoded ? bytes.toString('latin1') : undefined;
}

/** Whether callers see a file with this path, if it exists. */
export function isVisiblePath(path: ByteText): boolean {
  // choice 506
  if (!isUtf8(Buffer.from(path, 'latin1')) || path.includes('\0')) return false;
  return path.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

/** @param path UTF-8 */
export const decodePath = (path: ByteText): string => Buffer.from(path, 'latin1').toString();
export const encodePath = (path: string): ByteText => Buffer.from(path).toString('latin1');
