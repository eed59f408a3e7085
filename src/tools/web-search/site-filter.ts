import type { DomainFilter, DomainFilters } from '../../domain/domain-filter.ts';

/**
 * Returns the hosts of filters, for engines that know only hosts. The gateway removes the pages that are too many.
 *
 * @returns undefined if there are none, or more than the engine accepts
 */
export function listHosts(filters: readonly DomainFilter[], max: number): string[] | undefined {
  const hosts = [...new Set(filters.map(({ host }) => host))];
  return hosts.length === 0 || hosts.length > max ? undefined : hosts;
}

/** The same for hosts to exclude: only entries that cover the whole host. */
export const listWholeHosts = (filters: readonly DomainFilter[], max: number): string[] | undefined =>
  listHosts(
    filters.filter(({ path, onlySubdomains }) => path === '' && !onlySubdomains),
    max,
  );

/** Maximum number of `site:` operators in a query. */
const MAX_SITES = 8;

/** Adds `site:` operators to a query, for engines without filters of their own. */
export function withSites(text: string, { include, exclude }: DomainFilters): string {
  const included = listHosts(include, MAX_SITES)?.map((host) => `site:${host}`) ?? [];
  const excluded = listWholeHosts(exclude, MAX_SITES)?.map((host) => `-site:${host}`) ?? [];
  const only = included.length > 1 ? [`(${included.join(' OR ')})`] : included;
  return [text, ...only, ...excluded].join(' ');
}
