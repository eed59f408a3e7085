import type { EndpointFacts, Model } from '../domain/endpoint.ts';
import type { RoutingCatalog } from './plan-route.ts';

const views = new WeakMap<object, Map<string, object>>();

/**
 * The catalogue as one workspace sees it: of others' own keys, and of models that only these carry, it hears nothing.
 * Made once for each workspace and catalogue.
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
  let view = known.get(workspaceId) as RoutingCatalog<E> | undefined; // made of this very catalogue
  if (!view) {
    const isVisible = ({ workspace }: E) => workspace === undefined || workspace === workspaceId;
    const find = (slug: string) => catalog.find(slug).filter(isVisible);
    const isCarried = ({ id }: Model) => find(id).length > 0;
    view = {
      ...catalog,
      find,
      findModel: (slug) => (find(slug).length > 0 ? catalog.findModel(slug) : undefined),
      models: catalog.models.filter(isCarried),
      choices: catalog.choices.filter(isCarried),
    };
    known.set(workspaceId, view);
  }
  return view;
}
