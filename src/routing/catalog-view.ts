import type { EndpointFacts, Model } from '../domain/endpoint.ts';

/** Models and endpoints by slug. */
export interface RoutingCatalog<E extends EndpointFacts> {
  find(slug: string): readonly E[];
  findModel(slug: string): Model | undefined;
  findKnown(slug: string): { model: Model; providers: readonly string[] } | undefined;
  readonly models: readonly Model[];
  readonly choices: readonly Model[];
  /** Whether any endpoint belongs to a single workspace. */
  readonly hasOwnKeys: boolean;
}

const views = new WeakMap<object, Map<string, object>>();

/**
 * Returns the catalog of one workspace, without BYOK keys of other workspaces and models that only these have. Cached
 * for each workspace and catalog.
 */
export function createCatalogView<E extends EndpointFacts>(
  catalog: RoutingCatalog<E>,
  workspaceId: string,
): RoutingCatalog<E> {
  if (!catalog.hasOwnKeys) return catalog;
  let known = views.get(catalog);
  if (!known) {
    known = new Map();
    views.set(catalog, known);
  }
  let view = known.get(workspaceId) as RoutingCatalog<E> | undefined; // cached for this catalog
  if (!view) {
    const isVisible = ({ workspace }: E) => workspace === undefined || workspace === workspaceId;
    const find = (slug: string) => catalog.find(slug).filter(isVisible);
    const isAvailable = ({ id }: Model) => find(id).length > 0;
    view = {
      ...catalog,
      find,
      findModel: (slug) => (find(slug).length > 0 ? catalog.findModel(slug) : undefined),
      models: catalog.models.filter(isAvailable),
      choices: catalog.choices.filter(isAvailable),
    };
    known.set(workspaceId, view);
  }
  return view;
}
