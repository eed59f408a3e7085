/**
 * An entry of a domain filter. `example.com` covers the host and its subdomains, `*.example.com` only the subdomains,
 * `example.com/blog` the pages below that path.
 */
export interface DomainFilter {
  /** In lower case, without the wildcard. */
  readonly host: string;
  readonly onlySubdomains: boolean;
  /** Starts with a slash and does not end with one. Empty: every path. */
  readonly path: string;
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

/** Whether a URL passes the filters. An entry of `exclude` wins. */
export const passesFilters = (
  url: URL,
  { include, exclude }: { include: readonly DomainFilter[]; exclude: readonly DomainFilter[] },
): boolean =>
  (include.length === 0 || include.some((filter) => covers(filter, url))) &&
  !exclude.some((filter) => covers(filter, url));

/** The hosts of filters, for engines that know only hosts. Pages that are too many are removed from the results. */
export const listHosts = (filters: readonly DomainFilter[], max: number): string[] | undefined => {
  const hosts = [...new Set(filters.map(({ host }) => host))];
  return hosts.length === 0 || hosts.length > max ? undefined : hosts;
};

/** The same for hosts to exclude: only entries that cover the whole host. */
export const listWholeHosts = (filters: readonly DomainFilter[], max: number): string[] | undefined =>
  listHosts(
    filters.filter(({ path, onlySubdomains }) => path === '' && !onlySubdomains),
    max,
  );

/** Maximum number of `site:` operators in a query. */
const MAX_SITES = 8;

/** Adds `site:` operators to a query, for engines without filters of their own. */
export function withSites(
  text: string,
  { include, exclude }: { include: readonly DomainFilter[]; exclude: readonly DomainFilter[] },
): string {
  const included = listHosts(include, MAX_SITES)?.map((host) => `site:${host}`) ?? [];
  const excluded = listWholeHosts(exclude, MAX_SITES)?.map((host) => `-site:${host}`) ?? [];
  const only = included.length > 1 ? [`(${included.join(' OR ')})`] : included;
  return [text, ...only, ...excluded].join(' ');
}
