import type { DefinedRoute } from '../http/define-route.ts';
import type { Route } from '../http/routes.ts';
import { accountingRoutes } from './accounting/routes.ts';
import { containerRoutes } from './containers/routes.ts';
import { embeddingRoutes } from './embeddings/routes.ts';
import { fileRoutes } from './files/routes.ts';
import { gatewayRoutes } from './gateway/routes.ts';
import { geminiRoutes } from './gemini/routes.ts';
import { generationRoutes } from './generation/routes.ts';
import { assignmentRoutes } from './guardrails/assignments.ts';
import { guardrailRoutes } from './guardrails/routes.ts';
import { imageRoutes } from './images/routes.ts';
import { internChatRoutes } from './interns/chat-routes.ts';
import { internRoutes } from './interns/routes.ts';
import { scheduleRoutes } from './interns/schedule-routes.ts';
import { keyRoutes } from './keys/routes.ts';
import { memberRoutes } from './members/routes.ts';
import { modelRoutes } from './models/routes.ts';
import { presetRoutes } from './presets/routes.ts';
import { rerankRoutes } from './rerank/routes.ts';
import { socketRoute } from './responses/socket/routes.ts';
import { textRoutes } from './text-routes.ts';
import { vaultRoutes } from './vault/routes.ts';
import { budgetRoutes } from './workspaces/budgets.ts';
import { workspaceMemberRoutes } from './workspaces/members.ts';
import { workspaceRoutes } from './workspaces/routes.ts';

/** All routes, by the name of the parts that they need. Add new routes here. */
const routes = {
  text: textRoutes,
  sockets: [socketRoute],
  gemini: geminiRoutes,
  images: imageRoutes,
  embeddings: embeddingRoutes,
  rerank: rerankRoutes,
  models: modelRoutes,
  generations: generationRoutes,
  management: [
    ...keyRoutes,
    ...workspaceRoutes,
    ...budgetRoutes,
    ...workspaceMemberRoutes,
    ...memberRoutes,
    ...guardrailRoutes,
    ...assignmentRoutes,
    ...accountingRoutes,
    ...presetRoutes,
  ],
  files: fileRoutes,
  containers: containerRoutes,
  vaults: vaultRoutes,
  interns: internRoutes,
  internChat: internChatRoutes,
  schedules: scheduleRoutes,
  gateway: gatewayRoutes,
};

type Routes = typeof routes;
type PartsOf<Defined> = Defined extends readonly DefinedRoute<infer Parts>[] ? Parts : never;

/** The parts of the gateway that the handlers of each API need. */
export type ApiParts = { [Name in keyof Routes]: PartsOf<Routes[Name]> };

/** All routes without their handlers. */
export const definedRoutes: readonly DefinedRoute<never>[] = Object.values(routes).flat();

/** Creates the table of routes. */
export function bindRoutes(parts: ApiParts): Route[] {
  const bind = <Name extends keyof Routes>(name: Name): Route[] =>
    (routes[name] as readonly DefinedRoute<ApiParts[Name]>[]).map((route) => route.bind(parts[name]));
  return (Object.keys(routes) as (keyof Routes)[]).flatMap((name) => bind(name));
}
