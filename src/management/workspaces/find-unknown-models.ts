import type { Catalog } from '../../catalog/catalog.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ModelDefault } from '../../domain/request-defaults.ts';
import { rejectUnsupportedFeatures } from '../../requests/responses/unsupported-features.ts';
import { planImageRoute, planRoute, type RoutingContext } from '../../routing/plan-route.ts';
import { explainUnknown } from '../explain-unknown.ts';
import { canUse, listRows } from '../../routing/model-rows.ts';
import type { WorkspaceSettingsBody } from './schema.ts';

/** The current models, providers and routing settings. */
export type ModelRoutingContext = Omit<RoutingContext<EndpointFacts>, 'catalog'> & { catalog: Catalog };

/**
 * Returns a warning for each default model of a body that cannot serve a request: a misspelled one would fail every
 * request without a model. They are stored anyway, since a model may be added later. choice 226
 *
 * @param workspaceId its BYOK endpoints count
 */
export function findUnknownModels(
  body: WorkspaceSettingsBody,
  workspaceId: string,
  routingContext: ModelRoutingContext,
): string[] {
  const fields = ['default_text_model', 'default_image_model'] as const;
  return fields.flatMap((field) => {
    const slug = body[field];
    const refusal = slug ? findRefusal(field, slug, workspaceId, routingContext) : undefined;
    if (!slug || !refusal) return [];
    if (refusal.kind !== 'model_not_found') return [`${field}: ${refusal.message}`];
    return [explainUnknown(field, slug, 'model', listNames(field, workspaceId, routingContext))];
  });
}

/** Returns the error of the plainest request for the model; undefined: it can be served. */
function findRefusal(
  field: ModelDefault,
  model: string,
  workspaceId: string,
  routingContext: ModelRoutingContext,
): GatewayError | undefined {
  try {
    if (field === 'default_image_model') planImageRoute({ model, prompt: 'A' }, { workspaceId }, routingContext);
    else {
      const request = { model, input: [{ type: 'message' as const, role: 'user' as const, content: 'A' }] };
      rejectUnsupportedFeatures(request);
      planRoute(request, { workspaceId }, routingContext);
    }
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

function listNames(field: ModelDefault, workspaceId: string, { catalog, routers }: ModelRoutingContext): string[] {
  const rows = listRows(catalog, routers.latest, (endpoint) => canUse(endpoint, { workspaceId }));
  const isMeant =
    field === 'default_image_model'
      ? ({ endpoints }: (typeof rows)[number]) => endpoints.some(({ image }) => image !== undefined)
      : ({ output }: (typeof rows)[number]) => output.includes('text');
  return rows.filter((row) => !row.model.hidden && isMeant(row)).map(({ model }) => model.id);
}
