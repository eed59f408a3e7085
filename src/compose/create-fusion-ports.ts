import type { Caller } from '../domain/caller.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { Run } from '../pipeline/run/run.ts';
import type { FusionPluginPorts } from '../plugins/fusion/index.ts';
import type { Endpoint } from '../providers/provider.ts';
import { planRoute, type RoutingContext } from '../routing/plan-route.ts';
import type { FusionPorts } from '../tools/fusion/index.ts';
import { checkPanelTools, type PanelToolPorts } from '../tools/fusion/panel-tools.ts';

export interface FusionParts extends PanelToolPorts {
  routingContext: () => RoutingContext<Endpoint>;
}

/** Creates what the tool and the plugin of fusion need of the gateway. */
export function createFusionPorts({ routingContext, ...tools }: FusionParts): FusionPorts & FusionPluginPorts {
  const listEndpoints = (request: ResponseRequest, caller: Caller): readonly EndpointFacts[] => {
    try {
      return planRoute(request, caller, routingContext()).endpoints;
    } catch (error) {
      if (error instanceof GatewayError) return [];
      throw error;
    }
  };
  return {
    ...tools,
    listEndpoints,
    readFusionSettings: () => routingContext().routers.fusion,
    hasRoute: (run, model) => listEndpoints({ model, input: [] }, (run as Run).caller).length > 0, // plugins get no other runs
    checkPanelTools: (list) => checkPanelTools(list, tools.findTool),
  };
}
