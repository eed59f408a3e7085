/** Host and port, at most one segment of a path, and `name=value` pairs: the end of the URL of a server. */
const end = String.raw`(?<host>[^@/?#\s\[\]:]*|\[[0-9a-fA-F:.]+\])(?<port>:\d+)?(?<path>/[^@/?#\s]*)?(?<query>\?[\w.-]+=[^?#\s]*)?`;
const strict = new RegExp(`^(?<scheme>[a-z]+://)((?<userinfo>[^/?#\\s]*)@)?${end}$`);
const lenient = new RegExp(`^(?<scheme>[a-z]+://)((?<userinfo>.*)@)?${end}$`, 's');

/**
 * Percent-encodes the user and the password of the URL of a database, because many passwords contain `@`, `/`, `#` or `?`. The
 * password ends at the last `@` if the URL is not valid otherwise. Returns a URL without a password unchanged.
 *
 * A URL whose parameter `host` names a socket needs no host in libpq, and gets one, because it is invalid otherwise.
 *
 * @see https://github.com/GoogleCloudPlatform/python-docs-samples/issues/2635
 */
export function encodeUserinfo(url: string): string {
  const found = (strict.exec(url) ?? lenient.exec(url))?.groups;
  const { scheme, userinfo, host, port = '', path = '', query = '' } = found ?? {};
  if (userinfo === undefined) return url;
  const [user, ...password] = userinfo.split(':');
  const encoded = [user!, ...(password.length > 0 ? [password.join(':')] : [])].map(encode).join(':');
  const place = host === '' && /[?&]host=/.test(query) ? 'localhost' : host;
  return `${scheme}${encoded}@${place}${port}${path}${query}`;
}

/** Encodes all characters but those of escapes that exist. */
const encode = (text: string): string =>
  text.replace(/%[0-9a-fA-F]{2}|[^%]+|%/g, (part) =>
    part.length === 3 && part[0] === '%' ? part : encodeURIComponent(part),
  );
