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
  if (capabilities.tools === false || (include.length > 0 && exclude.length > 0)) return false;
  const type = include.length > 0 ? 'include' : exclude.length > 0 ? 'exclude' : 'none';
  return carries?.({ what: 'native_search', type }) === true;
}
