import { type Slug, withoutVariant } from '../catalog/slug.ts';
import type { EndpointFacts, Model } from '../domain/endpoint.ts';
import type { RoutingCatalog } from './catalog-view.ts';
import { modelNotFound, noEndpoints } from './refusals.ts';

/** Longer slugs are unknown. Bounds the memory for slugs that callers invent. */
export const MAX_SLUG_LENGTH = 512;

/**
 * Returns the endpoints of a slug.
 *
 * @param slug for messages
 * @throws {GatewayError} `model_not_found`, `not_found` for a missing variant or provider
 */
export function findEndpoints<E extends EndpointFacts>(
  slug: string,
  parsed: Slug,
  catalog: RoutingCatalog<E>,
): readonly E[] {
  const found = catalog.find(parsed.model);
  const colon = parsed.model.indexOf(':');
  // a wildcard matches any suffix, but a known model has only the variants of the catalog
  const isInvented =
    colon !== -1 && !catalog.findModel(parsed.model) && catalog.findModel(parsed.model.slice(0, colon)) !== undefined;
  if (found.length > 0 && !isInvented) return found;
  const base = withoutVariant(parsed);
  if (parsed.variant !== undefined && catalog.find(base).length > 0) throw noEndpoints(slug, parsed.variant);
  if (isInvented) throw modelNotFound(slug, parsed.model.slice(0, colon));
  const known = catalog.findKnown(base);
  if (known) throw noEndpoints(slug, undefined, known.providers);
  throw modelNotFound(slug, guess(parsed.model, catalog.choices));
}

/** Returns the model that a name without author probably means. */
function guess(slug: string, models: readonly Model[]): string | undefined {
  const end = `/${slug.toLowerCase().slice(0, MAX_SLUG_LENGTH)}`;
  return models.find(({ id }) => id.endsWith(end))?.id;
}
