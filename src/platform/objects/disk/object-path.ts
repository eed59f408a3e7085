/**
 * File names of keys. Each segment of a key but the last is a folder. The last is a file whose name ends with `%`, so
 * that the keys `a` and `a/b` can both exist. Bytes that a file name cannot contain are percent-encoded.
 */

/** `.` and `..`, the separators of both kinds of systems, and control characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are encoded
const unsafe = /^\.{1,2}$|[%\\:*?"<>|\u0000-\u001f\u007f]/g;

const encode = (segment: string): string =>
  segment.replace(unsafe, (found) =>
    [...found].map((character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`).join(''),
  );

/** Returns the folders of a key, and the name of its file. */
export function writeObjectPath(key: string): string[] {
  const segments = key.split('/').map(encode);
  const last = segments.length - 1;
  segments[last] += '%';
  return segments;
}

/** A folder or a file of the tree, as the part of a key. */
export interface TreeEntry {
  /** On the disk. */
  name: string;
  /** Its segment of the key; that of a folder ends with `/`. */
  part: string;
  isFolder: boolean;
}

/** @returns undefined for a name that no key has */
export function readTreeEntry(name: string, isFolder: boolean): TreeEntry | undefined {
  if (name.endsWith('%') === isFolder) return undefined;
  try {
    const segment = decodeURIComponent(isFolder ? name : name.slice(0, -1));
    return { name, part: isFolder ? `${segment}/` : segment, isFolder };
  } catch {
    return undefined;
  }
}
