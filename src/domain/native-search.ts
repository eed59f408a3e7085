import type { DomainFilters } from './domain-filter.ts';
import type { EndpointFacts } from './endpoint.ts';

/**
 * Whether the provider of an endpoint can search the web itself, with these filters.
 *
 * @see docs/reference/choices.md, choice 397
 */
export function canSearchNatively(
  { carries, capabilities }: Pick<EndpointFacts, 'carries' | 'capabilities'>,
  { include, exclude }: { [List in keyof DomainFilters]: readonly unknown[] },
): boolean {
  if (carries?.({ what: 'tool', type: 'web_search' }) !== true || capabilities.tools === false) return false;
  if (include.length > 0 && exclude.length > 0) return false;
  if (include.length > 0) return carries({ what: 'search_filter', type: 'include' });
  return exclude.length === 0 || carries({ what: 'search_filter', type: 'exclude' });
}
