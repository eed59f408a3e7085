import type { DefinedRoute } from '../http/define-route.ts';
import type { Route } from '../http/routes.ts';
import { consolePages } from './console/pages.ts';
import { consoleRoutes } from './console/routes.ts';
import { embeddingRoutes } from './embeddings/routes.ts';
import { gatewayRoutes } from './gateway/routes.ts';
import { geminiRoutes } from './gemini/routes.ts';
import { generationRoutes } from './generation/routes.ts';
import { imageRoutes } from './images/routes.ts';
import { internChatRoutes } from './interns/chat-routes.ts';
import { modelRoutes } from './models/routes.ts';
import { rerankRoutes } from './rerank/routes.ts';
import { resourceRoutes } from './resource-routes.ts';
import { socketRoute } from './responses/socket/routes.ts';
import { textRoutes } from './text-routes.ts';

const { schedules, ...resources } = resourceRoutes;

/** All routes, by the name of the parts that they need. New routes of resources are in `resourceRoutes`; add others here. */
const routes = {
  text: textRoutes,
  sockets: [socketRoute],
  gemini: geminiRoutes,
  images: imageRoutes,
  embeddings: embeddingRoutes,
  rerank: rerankRoutes,
  models: modelRoutes,
  generations: generationRoutes,
  ...resources,
  internChat: internChatRoutes,
  schedules,
  console: consoleRoutes,
  consolePages,
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
