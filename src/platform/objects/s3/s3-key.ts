/*
 * Names of keys in a bucket. S3 servers and the proxies before them change or reject some names: control characters,
 * spaces at an end, segments `.` and `..`. These are encoded. The encoding keeps the order of the bytes, because the
 * server sorts and pages. Each encoded character becomes two: one that sorts where the character does, and a second one.
 * All others stay, so most names are readable in the tools of the bucket: choice 540.
 */

/** Replace the 34 characters from NUL to `!`, in their order. */
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWX';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are encoded
const special = /[\u0000-!~\u007f]|(?<=^|\/)\./g;
const encoded = /!(.?)|~(.?)|(?<=^|\/)\.(.?)/gs;

/** Encodes a key, or the beginning of one. */
export const writeS3Key = (key: string): string =>
  key.toWellFormed().replace(special, (found) => {
    if (found === '.') return '.-';
    if (found >= '~') return found === '~' ? '~0' : '~1';
    return `!${digits[found.charCodeAt(0)]}`;
  });

/** @returns undefined for a name that no key has, such as that of an object that another program has stored */
export function readS3Key(name: string): string | undefined {
  const key = name.replace(encoded, (found, low?: string, high?: string) => {
    if (low !== undefined) return low === '' ? '' : String.fromCharCode(digits.indexOf(low));
    if (high !== undefined) return high === '0' ? '~' : '\u007f';
    return found[0]!;
  });
  return writeS3Key(key) === name ? key : undefined;
}
