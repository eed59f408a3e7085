import { isIP } from 'node:net';

/**
 * Compiles an allowlist of lower-case host names and globs. `*` in a glob is any run of characters, also with dots. A
 * name does not cover names below it. Only `*` by itself covers IP addresses.
 *
 * @returns whether it has a host: a lower-case name, or an IP address without brackets
 */
export function compileHostList(entries: readonly string[]): (host: string) => boolean {
  const names = new Set(entries.filter((entry) => !entry.includes('*')));
  const globs = entries.filter((entry) => entry.includes('*'));
  const isOpen = globs.includes('*');
  return (host) => isOpen || (isIP(host) === 0 && (names.has(host) || globs.some((glob) => matchesGlob(glob, host))));
}

/** Matches in linear space, and in at most the product of both lengths. */
function matchesGlob(glob: string, text: string): boolean {
  let [at, read] = [0, 0];
  let [star, resume] = [-1, 0];
  while (read < text.length) {
    if (glob[at] === '*') {
      [star, resume] = [at++, read];
    } else if (glob[at] === text[read]) {
      at++;
      read++;
    } else if (star >= 0) {
      [at, read] = [star + 1, ++resume];
    } else return false;
  }
  while (glob[at] === '*') at++;
  return at === glob.length;
}
