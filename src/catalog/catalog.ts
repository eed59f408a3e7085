import type { Endpoint } from '../providers/provider-entry.ts';

/** Endpoints by slug, in memory. */
export interface Catalog {
  /** @returns the endpoints of a slug in the order of the configuration, exact ones before wildcards; none when unknown */
  find(slug: string): readonly Endpoint[];
}

/** Slugs that a wildcard answered are remembered, so that the next request finds them as fast; bounded. */
const MAX_REMEMBERED = 10_000;

/**
 * Indexes endpoints. An endpoint whose `model` holds a `*` answers every slug of that shape; a `*` in its
 * `upstreamModel` takes what the star matched. Slugs are compared in lower case.
 */
export function createCatalog(endpoints: readonly Endpoint[]): Catalog {
  const exact = new Map<string, Endpoint[]>();
  const wildcards: { before: string; after: string; endpoint: Endpoint }[] = [];
  for (const endpoint of endpoints) {
    const slug = endpoint.model.toLowerCase();
    const star = slug.indexOf('*');
    if (star === -1) exact.set(slug, [...(exact.get(slug) ?? []), endpoint]);
    else wildcards.push({ before: slug.slice(0, star), after: slug.slice(star + 1), endpoint });
  }
  const remembered = new Map<string, readonly Endpoint[]>();

  function search(slug: string): readonly Endpoint[] {
    const lower = slug.toLowerCase();
    const found = [...(exact.get(lower) ?? [])];
    for (const { before, after, endpoint } of wildcards) {
      if (lower.length <= before.length + after.length || !lower.startsWith(before) || !lower.endsWith(after)) continue;
      const matched = slug.slice(before.length, slug.length - after.length);
      found.push({ ...endpoint, model: slug, upstreamModel: endpoint.upstreamModel.replace('*', () => matched) });
    }
    return found;
  }

  return {
    find(slug) {
      const known = remembered.get(slug);
      if (known) return known;
      const found = search(slug);
      if (found.length > 0 && remembered.size < MAX_REMEMBERED) remembered.set(slug, found);
      return found;
    },
  };
}
