import type { Endpoint } from '../providers/provider.ts';
import { isAllowed, listRows } from '../routing/model-rows.ts';
import type { RoutingContext } from '../routing/plan-route.ts';
import type { ListModels } from '../tools/search-models/index.ts';
import type { ConfiguredModels } from './build-models.ts';
import type { DiscoverModels } from './discover-models.ts';

/** Creates the list of models for tools: those that are public, and that the guardrails of the caller allow. */
export const listCallableModels =
  (
    models: () => ConfiguredModels,
    routingContext: () => RoutingContext<Endpoint>,
    discover: DiscoverModels,
  ): ListModels =>
  async (caller) => {
    const { catalog } = models();
    const { latest } = routingContext().routers;
    const isUsable = isAllowed(caller, catalog);
    const rows = listRows(catalog, latest, isUsable, await discover(catalog, caller));
    return rows
      .filter(({ model, aliasTarget }) => !model.hidden && aliasTarget === undefined)
      .map(({ model, contextLength, input, output }) => ({
        id: model.id,
        name: model.name,
        description: model.description ?? '',
        context_length: contextLength ?? null,
        input_modalities: input,
        output_modalities: output,
        series: model.id.split('/')[0]!,
      }));
  };
