import type { Catalog } from '../catalog/catalog.ts';
import { isWildcard, matchOffered } from '../catalog/match-offered.ts';
import type { Caller } from '../domain/caller.ts';
import type { Model } from '../domain/endpoint.ts';
import { ModelLists } from '../providers/model-lists.ts';
import { canUse } from '../routing/model-rows.ts';

/** Returns the models behind the wildcards that a caller may use, as their providers list them. Never rejects. */
export type DiscoverModels = (catalog: Catalog, caller: Caller) => Promise<readonly Model[]>;

/** Creates the lookup of models behind wildcards. */
export function createModelDiscovery(): DiscoverModels {
  const lists = new ModelLists();
  return async (catalog, caller) => {
    const wildcards = catalog.endpoints.filter(
      (endpoint) => isWildcard(endpoint) && endpoint.provider.listsModels !== false && canUse(endpoint, caller),
    );
    const found = await Promise.all(
      wildcards.map(async (endpoint) => matchOffered(endpoint, await lists.get(endpoint.provider), catalog)),
    );
    return found.flat();
  };
}
