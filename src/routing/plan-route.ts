import { parseSlug, type Slug, withoutVariant } from '../catalog/slug.ts';
import type { Caller } from '../domain/caller.ts';
import type { EndpointFacts, Model } from '../domain/endpoint.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ImageRequest } from '../domain/images.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { SortKey } from '../domain/request-defaults.ts';
import type { RouterMetadata, StageRecord } from '../domain/router-metadata.ts';
import type { RoutingStrategy } from '../domain/routing-strategy.ts';
import { createCatalogView } from './catalog-view.ts';
import { type RouteCriteria, type Exclusion, findExclusion, preferCapable } from './filters.ts';
import { findEndpoints, MAX_SLUG_LENGTH } from './find-endpoints.ts';
import { excludeByGuardrails } from './guardrail.ts';
import type { Health } from './health.ts';
import { ImageNeeds } from './image-needs.ts';
import type { InFlight } from './in-flight.ts';
import { Needs } from './needs.ts';
import { isOrderOpen, type OrderContext, orderEndpoints } from './order.ts';
import { matchesEndpoint, type Preferences, readPreferences } from './preferences.ts';
import { modelNotFound, noEndpoints, allExcluded } from './refusals.ts';
import { type Router, type RouterPlan, routers } from './routers/index.ts';
import type { RouterSettings } from './routers/router.ts';
import { Session, type SessionKey, type StickyMemory } from './sticky.ts';
import type { StrategyTable } from './strategy-table.ts';

/** Where a run may go. */
export interface Plan<E extends EndpointFacts> {
  /** The slug as the caller sent it. */
  requested: string;
  /** All slugs of the request, each once. */
  slugs: readonly string[];
  strategy: RouterMetadata['strategy'];
  /** At least one, the first to try in front. */
  endpoints: readonly E[];
  /** What fell out, and why. */
  excluded: readonly Excluded<E>[];
  /** What routers did. */
  stages: readonly StageRecord[];
  /** The router that brought an endpoint in; undefined where the caller named the model. */
  choiceOf: (endpoint: E) => Choice | undefined;
  /** The choices of all routers that were asked. */
  choices: readonly Choice[];
  /** What the asker's workspace sorts by, where that decided the order of any model. */
  usualSort: SortKey | undefined;
  /** What orders the endpoints of the first model; undefined: the request, its workspace or its tier does. */
  routingStrategy: RoutingStrategy | undefined;
  /** Undefined: there is nothing to remember. */
  session: { key: SessionKey | undefined } | undefined;
}

/** A router, and what it wants of the request that it sent somewhere. */
export interface Choice extends Pick<RouterPlan, 'isFree' | 'rewrite' | 'task'> {
  /** Its slug, in lower case. */
  router: string;
  /** The model was named by an alias, so that what it cannot do is settled, not refused. */
  isAlias: boolean;
}

export interface Excluded<E extends EndpointFacts> extends Exclusion {
  endpoint: E;
}

/** Models and endpoints by slug. */
export interface RoutingCatalog<E extends EndpointFacts> {
  find(slug: string): readonly E[];
  findModel(slug: string): Model | undefined;
  findKnown(slug: string): { model: Model; providers: readonly string[] } | undefined;
  readonly models: readonly Model[];
  readonly choices: readonly Model[];
  /** Is any endpoint of one workspace alone? */
  readonly hasOwnKeys: boolean;
}

/** What planning may look at: all of it in memory, none of it changed. */
export interface RoutingContext<E extends EndpointFacts> {
  catalog: RoutingCatalog<E>;
  health: Pick<Health, 'view'>;
  inFlight: Pick<InFlight, 'count'>;
  sticky: StickyMemory;
  strategyOf: StrategyTable;
  routers: RouterSettings;
  /** 0 up to 1. */
  random: () => number;
}

/** For whom a route is planned. */
export type RoutingCaller = Pick<Caller, 'workspaceId' | 'guardrails' | 'defaults'>;

/** One model of the request, and what may serve it. */
interface Group<E extends EndpointFacts> {
  slug: Slug;
  endpoints: readonly E[];
  choice: Choice | undefined;
  keep: RouterPlan['keep'];
}

/**
 * Plans the way of a request: resolves its slugs, drops the endpoints that may not serve it, and orders the others, the
 * models in the order of the request. Changes nothing and asks nobody; the same world and the same draws give the same
 * plan.
 *
 * @param hints what was found out about the request before
 * @param onRefused is given what there is to tell when nothing is left
 * @throws {GatewayError} `model_not_found`, `permission_denied` when guardrails forbid all models, or `not_found` when
 *   nothing is left, with `availability`
 * @see docs/reference/routing.md
 */
export function planRoute<E extends EndpointFacts>(
  request: ResponseRequest,
  asker: RoutingCaller,
  routingContext: RoutingContext<E>,
  hints: { task?: string } = {},
  onRefused?: (plan: Plan<E>) => void,
): Plan<E> {
  return planFor(new Needs(request), request, asker, routingContext, hints, onRefused);
}

/**
 * The same for an image generation. Nothing is remembered of its session: no provider keeps pictures in a cache.
 *
 * @throws {GatewayError} `wrong_endpoint` for a model that makes none, and those of `planRoute`
 */
export function planImageRoute<E extends EndpointFacts>(
  request: ImageRequest,
  asker: RoutingCaller,
  routingContext: RoutingContext<E>,
  onRefused?: (plan: Plan<E>) => void,
): Plan<E> {
  const { model, provider } = request;
  const named: ResponseRequest = { input: [], model, ...(provider && { provider: { ...provider } }) };
  return planFor(new ImageNeeds(request), named, asker, routingContext, {}, onRefused);
}

function planFor<E extends EndpointFacts>(
  needs: Needs,
  request: ResponseRequest,
  asker: RoutingCaller,
  routingContext: RoutingContext<E>,
  hints: { task?: string },
  onRefused: ((plan: Plan<E>) => void) | undefined,
): Plan<E> {
  const seen = { ...routingContext, catalog: createCatalogView(routingContext.catalog, asker.workspaceId) };
  return new Planner(needs, request, asker, seen, hints).plan(onRefused);
}

class Planner<E extends EndpointFacts> {
  private readonly request: ResponseRequest;
  private readonly asker: RoutingCaller;
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
    asker: RoutingCaller,
    routingContext: RoutingContext<E>,
    hints: { task?: string },
  ) {
    this.request = request;
    this.asker = asker;
    this.routingContext = routingContext;
    this.hints = hints;
    this.slugs = listSlugs(request);
    this.needs = needs;
    this.session = new Session(request, asker.workspaceId, routingContext.sticky);
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
      excluded: this.withoutTwins(endpoints),
      stages: this.stages,
      choices: this.choices,
      choiceOf: byEndpoint ? (endpoint) => byEndpoint.get(endpoint) : noChoice,
      usualSort: this.usualSort,
      routingStrategy: this.routingStrategy,
      session: endpoints.length > 1 ? { key: this.session.key } : undefined,
    };
  }

  /** The endpoints to try, in order; none when all fell out. */
  private listEndpoints(): readonly E[] {
    const kept: { group: Group<E>; endpoints: readonly E[]; ask: RouteCriteria }[] = [];
    const groups = this.resolveAll();
    for (const group of groups) {
      const ask = this.askFor(group.slug);
      if (ask.preferences.isUsualSort) this.usualSort = ask.preferences.sort;
      const endpoints = this.keepAllowed(group, ask);
      if (endpoints.length > 0) kept.push({ group, endpoints, ask });
    }
    const [first] = kept;
    if (!first) return [];
    const { preferences } = first.ask;
    if (isOrderOpen(first.endpoints, preferences)) {
      this.routingStrategy = this.routingContext.strategyOf(first.endpoints[0]!.model);
    }
    const ordered = preferences.mixModels
      ? orderEndpoints(
          kept.flatMap((each) => each.endpoints),
          first.ask,
          this.contextFor(first.group),
        )
      : kept.flatMap(({ endpoints, ask, group }) => orderEndpoints(endpoints, ask, this.contextFor(group)));
    // A router may choose a model that the request names besides, and one model may come under two suffixes.
    const endpoints = groups.length === 1 ? ordered : [...new Set(ordered)];
    return cutFallbacks(endpoints, preferences, this.excluded);
  }

  /** What one slug of several has no endpoint for is left to the others. */
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
    const plan = this.ask(router, parsed);
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

  private ask(router: Router, slug: Slug): RouterPlan {
    const { request, needs, routingContext, asker } = this;
    const ask = this.askFor(slug);
    const known = new Map<string, readonly E[]>();
    const allowed = (model: string): readonly E[] => {
      let endpoints = known.get(model);
      if (!endpoints) {
        endpoints = routingContext.catalog.find(model).filter((endpoint) => !findExclusion(endpoint, ask));
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
          .some((endpoint) => !excludeByGuardrails(endpoint, asker.guardrails, routingContext.catalog)),
    });
  }

  private askFor(slug: Slug): RouteCriteria {
    const { needs, routingContext } = this;
    const { workspaceId, guardrails, defaults } = this.asker;
    const preferences = readPreferences(this.request, slug, defaults?.providerSort);
    return { preferences, needs, workspaceId, guardrails, catalog: routingContext.catalog };
  }

  private keepAllowed({ endpoints, choice, keep }: Group<E>, ask: RouteCriteria): readonly E[] {
    const allowed: E[] = [];
    for (const endpoint of endpoints) {
      const exclusion = findExclusion(endpoint, ask) ?? keep?.(endpoint);
      if (exclusion) this.excluded.push({ endpoint, ...exclusion });
      else allowed.push(endpoint);
    }
    const capable = this.keepCapable(this.keepTier(allowed, ask.preferences), ask.needs);
    if (choice) {
      this.byEndpoint ??= new Map();
      for (const endpoint of capable) if (!this.byEndpoint.has(endpoint)) this.byEndpoint.set(endpoint, choice);
    }
    return capable;
  }

  /** Flex stays flex: a request for it does not fall back to what costs more. @see docs/reference/routing.md#service-tiers */
  private keepTier(endpoints: readonly E[], { tier }: Preferences): readonly E[] {
    if (tier !== 'flex') return endpoints;
    const flex = endpoints.filter((endpoint) => endpoint.tier === 'flex');
    if (flex.length === 0) return endpoints;
    for (const endpoint of endpoints) {
      if (endpoint.tier !== 'flex') {
        this.excluded.push({ endpoint, code: 'tier', reason: 'is not of the tier flex' });
      }
    }
    return flex;
  }

  /** Own keys and shared endpoints each by themselves: what one of them can do says nothing of the other. */
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
      strategy: strategyOf(endpoints[0]!.model), // a group that is ordered has an endpoint
      sticky: (model) => this.session.find(choice ? choice.router : model)?.endpoint,
    };
  }

  /** Each endpoint once, and none that is in the plan for another's sake. */
  private withoutTwins(kept: readonly E[]): readonly Excluded<E>[] {
    const { excluded } = this;
    if (this.slugs.length === 1 && this.choices.length === 0) return excluded;
    const told = new Set(kept);
    return excluded.filter(({ endpoint }) => {
      if (told.has(endpoint)) return false;
      told.add(endpoint);
      return true;
    });
  }
}

const noChoice = (): undefined => undefined;

/** `model`, then `models`, each once; case does not matter. */
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

/** Only these two letters can begin the slug of a router, so that an ordinary slug is not held against all of them. */
function findRouter(slug: string): Router | undefined {
  const [first] = slug;
  if (first !== '~' && first !== 'r' && first !== 'R') return undefined;
  const lower = slug.toLowerCase();
  return routers.find((router) => router.takes(lower));
}

/** `allow_fallbacks: false`: the first alone, or those of the list. */
function cutFallbacks<E extends EndpointFacts>(
  endpoints: readonly E[],
  { allowFallbacks, order }: Preferences,
  excluded: Excluded<E>[],
): readonly E[] {
  if (allowFallbacks) return endpoints;
  const isKept = (endpoint: E, index: number) =>
    order ? order.some((entry) => matchesEndpoint(entry, endpoint)) : index === 0;
  const why = order ? 'is not named by `provider.order`' : 'is not the first';
  const reason = `${why}, and \`provider.allow_fallbacks\` is false`;
  for (const [index, endpoint] of endpoints.entries()) {
    if (!isKept(endpoint, index)) excluded.push({ endpoint, code: 'allowed_providers', reason });
  }
  return endpoints.filter(isKept);
}
