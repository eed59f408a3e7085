import { GatewayError } from '../domain/errors.ts';
import type { ResponseRequest } from '../domain/request.ts';
import { fitToWire } from '../pipeline/attempts/fit-to-wire.ts';
import { type Endpoint, settingsOf } from '../providers/provider.ts';

/** How the rules of an endpoint change a request. */
export interface RequestFit {
  /** The ids of the rules that hold for the endpoint, those of its provider last. */
  rules: readonly string[];
  /** What the endpoint does not get, or gets in another form, as in `router_metadata`. */
  changes: readonly string[];
  /** The reason why the endpoint cannot get the request, so that the gateway uses the next one. */
  rejection?: GatewayError;
}

/**
 * Describes how a request is fitted to an endpoint. Server tools and plugins, which change it in other ways, are not run.
 *
 * @see docs/reference/provider-rules.md
 */
export function describeFit(request: ResponseRequest, endpoint: Endpoint): RequestFit {
  const { provider, upstreamModel, rulesOf = upstreamModel } = endpoint;
  const { wire } = provider;
  const rules = provider.rulesFor(wire, rulesOf);
  if (!wire.text) return { rules, changes: [] };
  const tools = request.tools?.filter(({ type }) => !type.startsWith('router:'));
  try {
    const { request: fitted, changed } = fitToWire({ ...request, ...(tools && { tools }) }, endpoint, wire.id, false);
    const { dropped, adapted = [] } = wire.text.writeRequest(fitted, {
      endpoint: `${endpoint.model} at ${provider.name}`,
      upstreamModel,
      stream: request.stream === true,
      dialect: settingsOf(endpoint, wire),
    });
    return { rules, changes: [...new Set([...changed, ...dropped, ...adapted])] };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { rules, changes: [], rejection: error };
  }
}
