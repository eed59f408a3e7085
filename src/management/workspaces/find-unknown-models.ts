import type { Catalog } from '../../catalog/catalog.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ModelDefault } from '../../domain/request-defaults.ts';
import { rejectUnsupportedFeatures } from '../../requests/responses/unsupported-features.ts';
import { planImageRoute, planRoute, type RoutingContext } from '../../routing/plan-route.ts';
import { explainUnknown } from '../explain-unknown.ts';
import { canUse, listRows } from '../../routing/model-rows.ts';
import type { WorkspaceSettingsBody } from './schema.ts';

/** Where requests are routed now. */
export type ModelRoutingContext = Omit<RoutingContext<EndpointFacts>, 'catalog'> & { catalog: Catalog };

/**
 * The default models of a body that could serve nobody, a sentence each: a misspelled one would fail every request that
 * leaves its model open. They are kept all the same, since a model may come later. choice 226
 *
 * @param workspaceId whose own keys count
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

/** What the plainest request for it would be answered; undefined: it would be served. */
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
