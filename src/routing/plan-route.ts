import { parseSlug, type Slug, withoutVariant } from '../catalog/slug.ts';
import type { Caller } from '../domain/caller.ts';
import type { EmbeddingRequest } from '../domain/embeddings.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ImageRequest } from '../domain/images.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { RerankRequest } from '../domain/rerank.ts';
import type { SortKey } from '../domain/request-defaults.ts';
import type { RouterMetadata, StageRecord } from '../domain/router-metadata.ts';
import type { RoutingStrategy } from '../domain/routing-strategy.ts';
import { createCatalogView, type RoutingCatalog } from './catalog-view.ts';
import type { Exclusion } from './exclusion.ts';
import { contextOf, findExclusion, type PriceRule, preferCapable, type RouteCriteria } from './filters.ts';
import { listNeededPlugins } from './needed-plugins.ts';
import { findEndpoints, MAX_SLUG_LENGTH } from './find-endpoints.ts';
import { excludeByGuardrails } from './guardrail.ts';
import type { Health } from './health.ts';
import { ImageNeeds } from './image-needs.ts';
import { EmbeddingNeeds, RerankNeeds } from './retrieval-needs.ts';
import type { InFlight } from './in-flight.ts';
import { Needs } from './needs.ts';
import { isOrderOpen, type OrderContext, orderEndpoints, putRestingLast } from './order.ts';
import { matchesEndpoint, type Preferences, readPreferences } from './preferences.ts';
import { modelNotFound, noEndpoints, allExcluded } from './refusals.ts';
import { type Router, type RouterPlan, routers } from './routers/index.ts';
import type { RouterSettings } from './routers/router.ts';
import { Session, type SessionKey, type StickyMemory } from './sticky.ts';
import type { StrategyTable } from './strategy-table.ts';

/** The route of a run. */
export interface Plan<E extends EndpointFacts> {
  /** The slug as the caller sent it. */
  requested: string;
  /** All slugs of the request, each once. */
  slugs: readonly string[];
  strategy: RouterMetadata['strategy'];
  /** At least one, in order of attempts. */
  endpoints: readonly E[];
  /** Excluded endpoints with reasons. */
  excluded: readonly Excluded<E>[];
  /** The records of routers. */
  stages: readonly StageRecord[];
  /** Returns the router that chose an endpoint. Undefined if the caller named the model. */
  choiceOf: (endpoint: E) => Choice | undefined;
  /** The choices of all routers of the request. */
  choices: readonly Choice[];
  /** The workspace's default sort, if it ordered any model. */
  usualSort: SortKey | undefined;
  /** The strategy of the first model. Undefined if the request, its workspace or its tier sets the order. */
  routingStrategy: RoutingStrategy | undefined;
  /** Ids of the plugins that some of its endpoints need, although the request does not name them. Undefined: none. */
  plugins?: readonly string[] | undefined;
  /** Undefined: no session is remembered. */
  session: { key: SessionKey | undefined } | undefined;
}

/** A router and its changes to the request. */
export interface Choice extends Pick<RouterPlan, 'isFree' | 'rewrite' | 'task'> {
  /** Its slug, in lower case. */
  router: string;
  /** Whether an alias named the model. Unsupported settings are then adjusted, not rejected. */
  isAlias: boolean;
}

export interface Excluded<E extends EndpointFacts> extends Exclusion {
  endpoint: E;
}

/** The input of planning besides the request. In memory, read-only. */
export interface RoutingContext<E extends EndpointFacts> {
  catalog: RoutingCatalog<E>;
  health: Pick<Health, 'view'>;
  inFlight: Pick<InFlight, 'count'>;
  sticky: StickyMemory;
  strategyOf: StrategyTable;
  routers: RouterSettings;
  /** 0 up to 1. */
  random: () => number;
  /** Returns which endpoints the caller may use only if their price is known. Absent: none. */
  priceRule?: (caller: RoutingCaller) => PriceRule;
}

/** The caller of a route. */
export type RoutingCaller = Pick<Caller, 'workspaceId' | 'guardrails' | 'defaults'> &
  Partial<Pick<Caller, 'keyHash' | 'memberId'>>;

/** One model of the request with its endpoints. */
interface Group<E extends EndpointFacts> {
  slug: Slug;
  endpoints: readonly E[];
  choice: Choice | undefined;
  keep: RouterPlan['keep'];
}

/** The usable endpoints of a group. */
interface KeptGroup<E extends EndpointFacts> {
  group: Group<E>;
  endpoints: readonly E[];
  criteria: RouteCriteria;
}

/**
 * Plans the route of a request: resolves its slugs, excludes endpoints, and orders the others, the models in the
 * order of the request. A pure function of its arguments and the random draws.
 *
 * @param hints earlier findings about the request
 * @param onRefused receives a plan without endpoints if none is left
 * @throws {GatewayError} `model_not_found`, `permission_denied` if guardrails forbid all models, or `not_found` if
 *   no endpoint is left, with `availability`
 * @see docs/reference/routing.md
 */
export function planRoute<E extends EndpointFacts>(
  request: ResponseRequest,
  caller: RoutingCaller,
  routingContext: RoutingContext<E>,
  hints: { task?: string } = {},
  onRefused?: (plan: Plan<E>) => void,
): Plan<E> {
  return planFor(new Needs(request), request, caller, routingContext, hints, onRefused);
}

/**
 * Plans the route of an image generation. It has no session, because no provider caches images.
 *
 * @throws {GatewayError} `wrong_endpoint` for a model without image output, and those of `planRoute`
 */
export function planImageRoute<E extends EndpointFacts>(
  request: ImageRequest,
  caller: RoutingCaller,
  routingContext: RoutingContext<E>,
  onRefused?: (plan: Plan<E>) => void,
): Plan<E> {
  const { model, provider } = request;
  const named: ResponseRequest = { input: [], model, ...(provider && { provider: { ...provider } }) };
  return planFor(new ImageNeeds(request), named, caller, routingContext, {}, onRefused);
}

/**
 * Plans the route of embeddings. It has no session, because no provider caches their inputs.
 *
 * @throws {GatewayError} `wrong_endpoint` for a model without embeddings, and those of `planRoute`
 */
export const planEmbeddingRoute = <E extends EndpointFacts>(
  request: EmbeddingRequest,
  caller: RoutingCaller,
  routingContext: RoutingContext<E>,
  onRefused?: (plan: Plan<E>) => void,
): Plan<E> => planFor(new EmbeddingNeeds(request), nameModels(request), caller, routingContext, {}, onRefused);

/** Plans the route of a rerank. The same applies. */
export const planRerankRoute = <E extends EndpointFacts>(
  request: RerankRequest,
  caller: RoutingCaller,
  routingContext: RoutingContext<E>,
  onRefused?: (plan: Plan<E>) => void,
): Plan<E> => planFor(new RerankNeeds(request), nameModels(request), caller, routingContext, {}, onRefused);

/** The fields of a request that name models and providers. */
const nameModels = ({ model, models, provider }: EmbeddingRequest | RerankRequest): ResponseRequest => ({
  input: [],
  ...(model !== undefined && { model }),
  ...(models && { models }),
  ...(provider && { provider }),
});

function planFor<E extends EndpointFacts>(
  needs: Needs,
  request: ResponseRequest,
  caller: RoutingCaller,
  routingContext: RoutingContext<E>,
  hints: { task?: string },
  onRefused: ((plan: Plan<E>) => void) | undefined,
): Plan<E> {
  const seen = { ...routingContext, catalog: createCatalogView(routingContext.catalog, caller.workspaceId) };
  return new Planner(needs, request, caller, seen, hints).plan(onRefused);
}

class Planner<E extends EndpointFacts> {
  private readonly request: ResponseRequest;
  private readonly caller: RoutingCaller;
  private readonly routingContext: RoutingContext<E>;
  private readonly hints: { task?: string };
  private readonly slugs: readonly string[];
  private readonly needs: Needs;
  private readonly session: Session;
  private readonly excluded: Excluded<E>[] = [];
  private readonly stages: StageRecord[] = [];
  private readonly choices: Choice[] = [];
  private byEndpoint: Map<E, Choice> | undefined;
  private usualSort: SortKey | undefined;
  private routingStrategy: RoutingStrategy | undefined;

  constructor(
    needs: Needs,
    request: ResponseRequest,
    caller: RoutingCaller,
    routingContext: RoutingContext<E>,
    hints: { task?: string },
  ) {
    this.request = request;
    this.caller = caller;
    this.routingContext = routingContext;
    this.hints = hints;
    this.slugs = listSlugs(request);
    this.needs = needs;
    this.session = new Session(request, caller.workspaceId, routingContext.sticky);
  }

  plan(onRefused: ((plan: Plan<E>) => void) | undefined): Plan<E> {
    try {
      const endpoints = this.listEndpoints();
      if (endpoints.length > 0) return this.finish(endpoints);
      throw allExcluded(this.slugs, this.excluded, this.needs);
    } catch (error) {
      if (error instanceof GatewayError && error.kind !== 'model_not_found') onRefused?.(this.finish([]));
      throw error;
    }
  }

  private finish(endpoints: readonly E[]): Plan<E> {
    const { slugs, byEndpoint } = this;
    const [requested = ''] = slugs;
    const strategy =
      slugs.length > 1 ? 'fallback' : (findRouter(parseSlug(requested).model)?.strategy ?? ('direct' as const));
    return {
      requested,
      slugs,
      strategy,
      endpoints,
      excluded: this.withoutDuplicates(endpoints),
      stages: this.stages,
      choices: this.choices,
      choiceOf: byEndpoint ? (endpoint) => byEndpoint.get(endpoint) : noChoice,
      usualSort: this.usualSort,
      routingStrategy: this.routingStrategy,
      plugins: listNeededPlugins(endpoints, this.request, this.needs),
      session: endpoints.length > 1 ? { key: this.session.key } : undefined,
    };
  }

  /** Returns the endpoints in order. Empty if all are excluded. */
  private listEndpoints(): readonly E[] {
    const groups = this.resolveAll();
    let kept = this.keepGroups(groups, undefined);
    if (kept.length === 0 && this.excluded.some((each) => this.isShortened(each))) kept = this.keepLargest(groups);
    const [first] = kept;
    if (!first) return [];
    const { preferences } = first.criteria;
    if (isOrderOpen(first.endpoints, preferences)) {
      this.routingStrategy = this.routingContext.strategyOf(first.endpoints[0]!.model);
    }
    const order = ({ endpoints, criteria, group }: KeptGroup<E>) =>
      orderEndpoints(endpoints, criteria, this.contextFor(group));
    let ordered: E[];
    if (kept.length === 1) ordered = order(first);
    else if (preferences.mixModels) ordered = order({ ...first, endpoints: kept.flatMap((each) => each.endpoints) });
    else ordered = kept.flatMap(order);
    // a router may choose a model that the request also names, and a model may appear with two suffixes
    const endpoints = groups.length === 1 ? ordered : [...new Set(ordered)];
    const left = cutFallbacks(endpoints, preferences, this.excluded);
    return kept.length > 1 || preferences.order ? putRestingLast(left, this.routingContext.health.view) : left;
  }

  /** @param minContext of endpoints whose input can be shortened; undefined: half of the tokens that the request needs */
  private keepGroups(groups: readonly Group<E>[], minContext: number | undefined): KeptGroup<E>[] {
    const kept: KeptGroup<E>[] = [];
    for (const group of groups) {
      const criteria = this.criteriaFor(group.slug);
      if (minContext !== undefined) criteria.minContext = minContext;
      if (criteria.preferences.isUsualSort) this.usualSort = criteria.preferences.sort;
      const endpoints = this.keepAllowed(group, criteria);
      if (endpoints.length > 0) kept.push({ group, endpoints, criteria });
    }
    return kept;
  }

  /** Keeps the endpoints with the largest context, if each one has less than half of the tokens that the request needs. */
  private keepLargest(groups: readonly Group<E>[]): KeptGroup<E>[] {
    this.excluded.length = 0;
    const kept = this.keepGroups(groups, 0);
    const largest = Math.max(...kept.flatMap(({ endpoints }) => endpoints.map(contextOf)));
    const reason = `has a context of less than ${largest} tokens, and the request needs ${this.needs.requiredTokens}`;
    return kept.flatMap((each) => {
      const endpoints = each.endpoints.filter((endpoint) => {
        if (contextOf(endpoint) >= largest) return true;
        this.excluded.push({ endpoint, code: 'context_length', reason });
        return false;
      });
      return endpoints.length === 0 ? [] : [{ ...each, endpoints }];
    });
  }

  private isShortened({ endpoint, code }: Excluded<E>): boolean {
    return code === 'context_length' && this.needs.shortens(endpoint);
  }

  /** Resolves all slugs. A slug without endpoints is skipped if another one is left. */
  private resolveAll(): Group<E>[] {
    const groups: Group<E>[] = [];
    let refusal: GatewayError | undefined;
    for (const slug of this.slugs) {
      try {
        groups.push(...this.resolve(slug));
      } catch (error) {
        if (!(error instanceof GatewayError) || error.kind !== 'not_found') throw error;
        refusal = error;
      }
    }
    if (groups.length === 0 && refusal) throw refusal;
    return groups;
  }

  /** @returns one group for a model, several for a router */
  private resolve(slug: string): Group<E>[] {
    if (slug.length > MAX_SLUG_LENGTH) throw modelNotFound(slug);
    const parsed = parseSlug(slug);
    const router = findRouter(withoutVariant(parsed));
    if (router && parsed.variant !== undefined) throw noEndpoints(slug, parsed.variant);
    const { catalog } = this.routingContext;
    if (!router) {
      return [{ slug: parsed, endpoints: findEndpoints(slug, parsed, catalog), choice: undefined, keep: undefined }];
    }
    const plan = this.runRouter(router, parsed);
    const name = parsed.model.toLowerCase();
    const { isFree, rewrite, task, stage, keep } = plan;
    const choice: Choice = { router: name, isAlias: router.strategy === 'latest', isFree, rewrite, task };
    this.choices.push(choice);
    if (stage) this.stages.push(stage);
    return plan.models.map((model) => ({
      slug: { ...parsed, model },
      endpoints: findEndpoints(model, parseSlug(model), catalog),
      choice,
      keep,
    }));
  }

  /** If the request has files, a router chooses among the models that read them, or else among all. */
  private runRouter(router: Router, slug: Slug): RouterPlan {
    if (!this.needs.parsesFiles) return this.runRouterAmong(router, slug, () => true);
    try {
      return this.runRouterAmong(router, slug, ({ capabilities: { input } }) => !input || input.includes('file'));
    } catch (error) {
      if (!(error instanceof GatewayError) || error.kind !== 'not_found') throw error;
      return this.runRouterAmong(router, slug, () => true);
    }
  }

  private runRouterAmong(router: Router, slug: Slug, isCandidate: (endpoint: E) => boolean): RouterPlan {
    const { request, needs, routingContext, caller } = this;
    const criteria = this.criteriaFor(slug);
    const known = new Map<string, readonly E[]>();
    const allowed = (model: string): readonly E[] => {
      let endpoints = known.get(model);
      if (!endpoints) {
        endpoints = routingContext.catalog
          .find(model)
          .filter((endpoint) => isCandidate(endpoint) && !findExclusion(endpoint, criteria));
        known.set(model, endpoints);
      }
      return endpoints;
    };
    return router.plan({
      slug,
      request,
      needs,
      remembered: this.session.find(slug.model.toLowerCase())?.model,
      task: this.hints.task,
      routingContext,
      settings: routingContext.routers,
      allowed,
      isRoutable: (model) => allowed(model).length > 0,
      isPermitted: (model) =>
        routingContext.catalog
          .find(model)
          .some((endpoint) => !excludeByGuardrails(endpoint, caller.guardrails, routingContext.catalog)),
    });
  }

  private criteriaFor(slug: Slug): RouteCriteria {
    const { needs, routingContext } = this;
    const { workspaceId, guardrails, defaults } = this.caller;
    const preferences = readPreferences(this.request, slug, defaults?.providerSort);
    const priceRule = routingContext.priceRule?.(this.caller);
    return { preferences, needs, workspaceId, guardrails, catalog: routingContext.catalog, priceRule };
  }

  private keepAllowed({ endpoints, choice, keep }: Group<E>, criteria: RouteCriteria): readonly E[] {
    const allowed: E[] = [];
    for (const endpoint of endpoints) {
      const exclusion = findExclusion(endpoint, criteria) ?? keep?.(endpoint);
      if (exclusion) this.excluded.push({ endpoint, ...exclusion });
      else allowed.push(endpoint);
    }
    const capable = this.keepCapable(this.keepTier(allowed, criteria.preferences), criteria.needs);
    if (choice) {
      this.byEndpoint ??= new Map();
      for (const endpoint of capable) if (!this.byEndpoint.has(endpoint)) this.byEndpoint.set(endpoint, choice);
    }
    return capable;
  }

  /** A request for `flex` does not fall back to more expensive tiers. @see docs/reference/routing.md#service-tiers */
  private keepTier(endpoints: readonly E[], { tier }: Preferences): readonly E[] {
    if (tier !== 'flex') return endpoints;
    const flex = endpoints.filter((endpoint) => endpoint.tier === 'flex');
    if (flex.length === 0) return endpoints;
    for (const endpoint of endpoints) {
      if (endpoint.tier !== 'flex') {
        this.excluded.push({ endpoint, code: 'tier', reason: 'is not in the tier flex' });
      }
    }
    return flex;
  }

  /** Compares BYOK and shared endpoints separately, because they are not alternatives to each other. */
  private keepCapable(endpoints: readonly E[], needs: Needs): readonly E[] {
    const drop = (endpoint: E, exclusion: Exclusion) => void this.excluded.push({ endpoint, ...exclusion });
    if (!this.routingContext.catalog.hasOwnKeys) return preferCapable(endpoints, needs, drop);
    const own = endpoints.filter(({ workspace }) => workspace !== undefined);
    const shared = endpoints.filter(({ workspace }) => workspace === undefined);
    return [...preferCapable(own, needs, drop), ...preferCapable(shared, needs, drop)];
  }

  private contextFor({ choice, endpoints }: Group<E>): OrderContext {
    const { health, inFlight, random, strategyOf } = this.routingContext;
    return {
      health: health.view,
      inFlight: inFlight.count,
      random,
      strategy: strategyOf(endpoints[0]!.model), // an ordered group has an endpoint
      sticky: (model) => this.session.find(choice ? choice.router : model)?.endpoint,
    };
  }

  /** Returns each excluded endpoint once, without those that are in the plan through another slug. */
  private withoutDuplicates(kept: readonly E[]): readonly Excluded<E>[] {
    const { excluded } = this;
    if (this.slugs.length === 1 && this.choices.length === 0) return excluded;
    const seen = new Set(kept);
    return excluded.filter(({ endpoint }) => {
      if (seen.has(endpoint)) return false;
      seen.add(endpoint);
      return true;
    });
  }
}

const noChoice = (): undefined => undefined;

/** Returns `model`, then `models`, each once in any case. */
function listSlugs({ model, models }: ResponseRequest): readonly string[] {
  if (models === undefined || models.length === 0) return model === undefined ? [] : [model];
  const all = model === undefined ? models : [model, ...models];
  const seen = new Set<string>();
  return all.filter((slug) => {
    const lower = slug.toLowerCase();
    if (seen.has(lower)) return false;
    seen.add(lower);
    return true;
  });
}

/** Checks the first letter first, so that ordinary slugs are not compared with all routers. */
function findRouter(slug: string): Router | undefined {
  const [first] = slug;
  if (first !== '~' && first !== 'r' && first !== 'R') return undefined;
  const lower = slug.toLowerCase();
  return routers.find((router) => router.takes(lower));
}

/** Applies `allow_fallbacks: false`: keeps the first endpoint, or those of `order`. */
function cutFallbacks<E extends EndpointFacts>(
  endpoints: readonly E[],
  { allowFallbacks, order }: Preferences,
  excluded: Excluded<E>[],
): readonly E[] {
  if (allowFallbacks) return endpoints;
  const isKept = (endpoint: E, index: number) =>
    order ? order.some((entry) => matchesEndpoint(entry, endpoint)) : index === 0;
  const why = order ? 'is not in `provider.order`' : 'is not the first';
  const reason = `${why}, and \`provider.allow_fallbacks\` is false`;
  for (const [index, endpoint] of endpoints.entries()) {
    if (!isKept(endpoint, index)) excluded.push({ endpoint, code: 'allowed_providers', reason });
  }
  return endpoints.filter(isKept);
}
