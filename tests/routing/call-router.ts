import { createCatalog } from '../../src/catalog/catalog.ts';
import { describeModel } from '../../src/catalog/describe-model.ts';
import type { ModelRecord } from '../../src/catalog/records.ts';
import { parseSlug } from '../../src/catalog/slug.ts';
import type { EndpointFacts, Pricing } from '../../src/domain/endpoint.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { ResponseRequest } from '../../src/domain/request.ts';
import { perMillionTokens } from '../../src/metering/price.ts';
import { bareEndpoint, type Endpoint, type Provider } from '../../src/providers/provider.ts';
import { findExclusion } from '../../src/routing/filters.ts';
import { Health } from '../../src/routing/health.ts';
import { Needs } from '../../src/routing/needs.ts';
import { readPreferences } from '../../src/routing/preferences.ts';
import type { Router, RouterPlan, Traffic } from '../../src/routing/routers/router.ts';
import {
  createRoutingContext,
  noTraffic,
  type RoutersConfig,
  readRouterSettings,
} from '../../src/routing/routing-context.ts';

type Facts = Partial<Omit<EndpointFacts, 'pricing' | 'provider'>> & {
  /** USD per million tokens of input and output, or of both. */
  usd?: number | readonly [number, number];
  pricing?: Pricing;
};

/** @param name `author/model@provider` */
export function endpoint(name: string, { usd, ...facts }: Facts = {}): Endpoint {
  const [model = '', tag = 'a'] = name.split('@');
  const id = tag.split('/')[0]!;
  const [prompt, completion] = typeof usd === 'object' ? usd : [usd, usd];
  const pricing =
    prompt === undefined || completion === undefined
      ? undefined
      : {
          promptNanoUsdPerMillion: perMillionTokens(prompt),
          completionNanoUsdPerMillion: perMillionTokens(completion),
        };
  const provider = { id, name: id.toUpperCase() } as Provider; // routers read nothing else of it
  return { ...bareEndpoint(provider, model, model), id: `${model}@${tag}`, tag, pricing, ...facts };
}

/** `acme/m1` … at 1, 2, … USD per million tokens. */
export const ladder = (count: number): Endpoint[] =>
  Array.from({ length: count }, (_, index) => endpoint(`acme/m${index + 1}@a`, { usd: index + 1 }));

/** The options as written. All are optional. */
export type Body = Omit<Partial<ResponseRequest>, 'input'> & { input?: unknown };
export const read = (body: Body): ResponseRequest => ({ input: [], ...body }) as ResponseRequest;

export interface Setting {
  endpoints: readonly Endpoint[];
  /** Details of models beyond those of their endpoints. */
  models?: readonly ModelRecord[];
  routers?: Partial<RoutersConfig>;
  traffic?: Partial<Traffic>;
  /** From 0 up to 1. Default: the middle. */
  random?: () => number;
  health?: Health;
}

/** The environment of routers and planning. */
export function createSetting({ endpoints, models = [], routers, traffic, random, health }: Setting) {
  const records = new Map(models.map((record) => [record.id, record]));
  const described = endpoints.map(({ model }) => [model, describeModel(records.get(model) ?? { id: model })] as const);
  const routingContext = createRoutingContext(
    createCatalog(endpoints, new Map(described), { models: records, endpoints: new Map() }),
  );
  const config = { latest: [], auto: { prevent_overrides: false }, pareto_code: {}, bodybuilder: {}, ...routers };
  return {
    ...routingContext,
    routers: readRouterSettings(config, { ...noTraffic, ...traffic }),
    random: random ?? (() => 0.5),
    health: health ?? new Health(),
  };
}

/** Returns the result of a router. Endpoints are compared with the request as in planning. */
export function askRouter(
  router: Router,
  slug: string,
  setting: Setting,
  { body = {}, remembered, task }: { body?: Body; remembered?: string; task?: string } = {},
): RouterPlan & Pick<Router, 'strategy'> {
  const routingContext = createSetting(setting);
  const parsed = parseSlug(slug);
  const request = read(body);
  const needs = new Needs(request);
  const preferences = readPreferences(request, parsed);
  const ask = { preferences, needs, workspaceId: 'w', catalog: routingContext.catalog };
  const allowed = (model: string) => routingContext.catalog.find(model).filter((each) => !findExclusion(each, ask));
  const plan = router.plan({
    slug: parsed,
    request,
    needs,
    remembered,
    task,
    routingContext,
    settings: routingContext.routers,
    allowed,
    isRoutable: (model) => allowed(model).length > 0,
    isPermitted: () => true,
  });
  return { strategy: router.strategy, ...plan };
}

/** Returns the error that is thrown. */
export function refusal(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}
