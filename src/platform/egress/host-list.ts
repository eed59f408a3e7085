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

/** Finds the texts between the stars one after the other. The search of the runtime is fast for every glob. */
function matchesGlob(glob: string, host: string): boolean {
  const parts = glob.split('*');
  const [first, last] = [parts.shift() ?? '', parts.pop() ?? ''];
  if (host.length < first.length + last.length || !host.startsWith(first) || !host.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = host.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= host.length - last.length;
}
