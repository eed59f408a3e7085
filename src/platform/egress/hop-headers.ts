/** Headers that are for one connection, not for the whole path. @see RFC 9110 section 7.6.1 */
const hopHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Returns the headers that a proxy passes on: without those for one connection, and those that `connection` names. */
export function removeHopHeaders(
  headers: Readonly<Record<string, readonly string[] | undefined>>,
): Map<string, string[]> {
  const named = new Set(
    (headers.connection ?? []).flatMap((value) => value.toLowerCase().split(',')).map((name) => name.trim()),
  );
  return new Map(
    Object.entries(headers).flatMap(([name, values]) =>
      values === undefined || hopHeaders.has(name) || named.has(name) ? [] : [[name, [...values]]],
    ),
  );
}
