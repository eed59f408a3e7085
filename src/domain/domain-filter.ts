/**
 * An entry of a domain filter. `example.com` covers the host and its subdomains, `*.example.com` only the subdomains,
 * `example.com/blog` the pages below that path.
 *
 * @see docs/guides/web-search.md#domain-filters
 */
export interface DomainFilter {
  /** In lower case, without the wildcard. */
  readonly host: string;
  readonly onlySubdomains: boolean;
  /** Starts with a slash and does not end with one. Empty: every path. */
  readonly path: string;
}

/** The filters of a request. An entry of `exclude` wins. */
export interface DomainFilters {
  /** Empty: every domain. */
  readonly include: readonly DomainFilter[];
  readonly exclude: readonly DomainFilter[];
}

const entryPattern = /^(?:https?:\/\/)?(\*\.)?([^/?#:@\s*]+)(\/[^?#\s]*)?$/i;

/** @returns undefined if the entry is not a domain */
export function parseDomainFilter(entry: string): DomainFilter | undefined {
  if (entry.length > 1000) return undefined;
  const [, wildcard, host = '', path = ''] = entryPattern.exec(entry.trim()) ?? [];
  const url = host.includes('.') || host === 'localhost' ? URL.parse(`http://${host}`) : null; // writes it in ASCII
  if (!url || url.hostname === '') return undefined;
  return { host: url.hostname, onlySubdomains: wildcard !== undefined, path: path.replace(/\/+$/, '') };
}

/** Whether the filter covers a URL. */
export function covers({ host, onlySubdomains, path }: DomainFilter, url: URL): boolean {
  const isHost = url.hostname === host && !onlySubdomains;
  if (!isHost && !url.hostname.endsWith(`.${host}`)) return false;
  return path === '' || url.pathname === path || url.pathname.startsWith(`${path}/`);
}

/** Whether a URL passes the filters. */
export const passesFilters = (url: URL, { include, exclude }: DomainFilters): boolean =>
  (include.length === 0 || include.some((filter) => covers(filter, url))) &&
  !exclude.some((filter) => covers(filter, url));
