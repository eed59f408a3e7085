import { parseSlug, type Slug, withoutVariant } from '../catalog/slug.ts';
import type { EndpointFacts, Model } from '../domain/endpoint.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { RouterMetadata, StageRecord } from '../domain/router-metadata.ts';
import { type Ask, type Exclusion, findExclusion, preferCapable } from './filters.ts';
import type { Health } from './health.ts';
import { Needs } from './needs.ts';
import { orderEndpoints } from './order.ts';
import { isMeant, type Preferences, readPreferences } from './preferences.ts';
import { modelNotFound, noEndpoints, nothingLeft } from './refusals.ts';
import { type Router, type RouterPlan, routers } from './routers/index.ts';
import type { RouterSettings } from './routers/router.ts';
import { deriveSessionKey, findSessionKey, type SessionKey, type StickyMemory } from './sticky.ts';

/** Where a run may go. */
export interface Plan<E extends EndpointFacts> {
  /** The slug as the caller sent it. */
  requested: string;
  strategy: RouterMetadata['strategy'];
  /** At least one, the first to try in front. */
  endpoints: readonly E[];
  /** What fell out, and why. */
  excluded: readonly Excluded<E>[];
  /** What a router did. */
  stages: readonly StageRecord[];
  /** Under which the endpoint is remembered that serves; `slug` is the router's where one chose the model. */
  session: { slug: string; key: SessionKey | undefined } | undefined;
  /** The model was named by an alias, so that what it cannot do is settled, not refused. */
  isAlias: boolean;
  /** Changes of the request that a router asks for. */
  rewrite: ((request: ResponseRequest) => ResponseRequest) | undefined;
  /** The answer costs the caller nothing. */
  isFree: boolean;
  /** The router that chose, and what it took the conversation to be about; for the ledger. */
  router: string | undefined;
  task: string | undefined;
}

export interface Excluded<E extends EndpointFacts> extends Exclusion {
  endpoint: E;
}

/** What planning may look at: all of it in memory, none of it changed. */
export interface RoutingWorld<E extends EndpointFacts> {
  catalog: {
    find(slug: string): readonly E[];
    findModel(slug: string): Model | undefined;
    findKnown(slug: string): { model: Model; providers: readonly string[] } | undefined;
    readonly models: readonly Model[];
    readonly choices: readonly Model[];
  };
  health: Pick<Health, 'view'>;
  sticky: StickyMemory;
  routers: RouterSettings;
  /** 0 up to 1. */
  random: () => number;
}

/** One model of the request, and what may serve it. */
interface Group<E extends EndpointFacts> {
  slug: Slug;
  endpoints: readonly E[];
}

/**
 * Plans the way of a request: resolves its slugs, drops the endpoints that may not serve it, and orders the others, the
 * models in the order of the request. Changes nothing and asks nobody; the same world and the same draws give the same
 * plan.
 *
 * @param hints what was found out about the request before
 * @param onRefused is given what there is to tell when every endpoint fell out
 * @throws {GatewayError} `model_not_found`, or `not_found` when nothing is left, with `availability`
 * @see routing.md section 15
 */
export function planRoute<E extends EndpointFacts>(
  request: ResponseRequest,
  workspaceId: string,
  world: RoutingWorld<E>,
  hints: { task?: string } = {},
  onRefused?: (plan: Plan<E>) => void,
): Plan<E> {
  const slugs = listSlugs(request);
  const requested = slugs[0] ?? '';
  const needs = new Needs(request);
  const session = new Session(request, workspaceId, world.sticky);
  const routed: RouterPlan[] = [];
  const groups = slugs.flatMap((slug) => resolve(slug, { request, needs, session, workspaceId, hints }, world, routed));

  const excluded: Excluded<E>[] = [];
  const kept: { group: Group<E>; endpoints: readonly E[]; ask: Ask }[] = [];
  for (const group of groups) {
    const ask: Ask = { preferences: readPreferences(request, group.slug), needs, workspaceId };
    const allowed = keepAllowed(group.endpoints, ask, excluded);
    if (allowed.length > 0) kept.push({ group, endpoints: allowed, ask });
  }
  if (kept.length === 0) {
    onRefused?.(emptyPlan(requested, routed, excluded));
    throw nothingLeft(slugs, excluded, needs);
  }

  const context = {
    health: world.health.view,
    random: world.random,
    sticky: (model: string) => session.find(routed[0] ? requested : model)?.endpoint,
  };
  const [first] = kept;
  const ordered = first!.ask.preferences.mixModels
    ? orderEndpoints(
        kept.flatMap((each) => each.endpoints),
        first!.ask,
        context,
      )
    : kept.flatMap((each) => orderEndpoints(each.endpoints, each.ask, context));
  // A router may choose a model that the request names besides, and one model may come under two suffixes.
  const endpoints = groups.length === 1 ? ordered : [...new Set(ordered)];
  const left = cutFallbacks(endpoints, first!.ask.preferences, excluded);
  if (left.length === 0) {
    onRefused?.(emptyPlan(requested, routed, excluded));
    throw nothingLeft(slugs, excluded, needs);
  }
  const [choice] = routed;
  return {
    requested,
    strategy: choice && slugs.length === 1 ? choice.strategy : slugs.length > 1 ? 'fallback' : 'direct',
    endpoints: left,
    excluded: groups.length === 1 ? excluded : withoutTwins(excluded, endpoints),
    stages: routed.flatMap(({ stage }) => stage ?? []),
    session: session.isWorthKeeping(endpoints) ? { slug: choice ? requested : '', key: session.key } : undefined,
    isAlias: choice?.strategy === 'latest',
    rewrite: choice?.rewrite,
    isFree: choice?.isFree ?? false,
    router: choice && choice.strategy !== 'latest' ? requested.toLowerCase() : undefined,
    task: choice?.task,
  };
}

/** Each endpoint once, and none that is in the plan for another's sake. */
function withoutTwins<E extends EndpointFacts>(excluded: readonly Excluded<E>[], kept: readonly E[]): Excluded<E>[] {
  const told = new Set(kept);
  return excluded.filter(({ endpoint }) => {
    if (told.has(endpoint)) return false;
    told.add(endpoint);
    return true;
  });
}

function emptyPlan<E extends EndpointFacts>(
  requested: string,
  [choice, ...more]: readonly RouterPlan[],
  excluded: readonly Excluded<E>[],
): Plan<E> {
  return {
    requested,
    strategy: choice?.strategy ?? 'direct',
    endpoints: [],
    excluded,
    stages: [choice, ...more].flatMap((each) => each?.stage ?? []),
    session: undefined,
    isAlias: false,
    rewrite: undefined,
    isFree: false,
    router: undefined,
    task: undefined,
  };
}

/** `model`, then `models`, each once. */
function listSlugs({ model, models }: ResponseRequest): string[] {
  if (models === undefined || models.length === 0) return model === undefined ? [] : [model];
  return [...new Set(model === undefined ? models : [model, ...models])];
}

interface ResolveAsk {
  request: ResponseRequest;
  needs: Needs;
  session: Session;
  workspaceId: string;
  hints: { task?: string };
}

/** @returns one group for a model, several for a router */
function resolve<E extends EndpointFacts>(
  slug: string,
  { request, needs, session, workspaceId, hints }: ResolveAsk,
  world: RoutingWorld<E>,
  routed: RouterPlan[],
): Group<E>[] {
  const parsed = parseSlug(slug);
  const router = findRouter(parsed.model);
  if (!router) return [{ slug: parsed, endpoints: findEndpoints(slug, parsed, world) }];
  const preferences = readPreferences(request, parsed);
  const plan = router.plan({
    slug: parsed,
    request,
    needs,
    remembered: session.find(slug)?.model,
    task: hints.task,
    world,
    settings: world.routers,
    isRoutable: (model) =>
      world.catalog.find(model).some((endpoint) => !findExclusion(endpoint, { preferences, needs, workspaceId })),
  });
  routed.push(plan);
  return plan.models.map((model) => ({
    slug: { ...parsed, model },
    endpoints: findEndpoints(model, parseSlug(model), world),
  }));
}

/** Only these two prefixes can name a router, so that an ordinary slug is not held against all of them. */
function findRouter(slug: string): Router | undefined {
  const [first] = slug;
  if (first !== '~' && first !== 'r' && first !== 'R') return undefined;
  const lower = slug.toLowerCase();
  return routers.find((router) => router.takes(lower));
}

function findEndpoints<E extends EndpointFacts>(
  slug: string,
  parsed: Slug,
  { catalog }: RoutingWorld<E>,
): readonly E[] {
  const exact = catalog.find(parsed.model);
  if (exact.length > 0) return exact;
  const base = withoutVariant(parsed);
  if (parsed.variant !== undefined && catalog.find(base).length > 0) throw noEndpoints(slug, parsed.variant);
  const known = catalog.findKnown(base);
  if (known) throw noEndpoints(slug, undefined, known.providers);
  throw modelNotFound(slug);
}

function keepAllowed<E extends EndpointFacts>(
  endpoints: readonly E[],
  ask: Ask,
  excluded: Excluded<E>[],
): readonly E[] {
  const allowed: E[] = [];
  for (const endpoint of endpoints) {
    const exclusion = findExclusion(endpoint, ask);
    if (!exclusion) allowed.push(endpoint);
    else if (endpoint.workspace === undefined || endpoint.workspace === ask.workspaceId) {
      excluded.push({ endpoint, ...exclusion }); // of others' keys nothing is told
    }
  }
  const { needs, preferences } = ask;
  const capable = preferCapable(allowed, needs, (endpoint, exclusion) => excluded.push({ endpoint, ...exclusion }));
  if (preferences.tier !== 'flex') return capable;
  // Flex stays flex: a request for it does not fall back to what costs more. @see section 12
  const flex = capable.filter(({ tier }) => tier === 'flex');
  if (flex.length === 0) return capable;
  for (const endpoint of capable) {
    if (endpoint.tier !== 'flex') excluded.push({ endpoint, code: 'tier', reason: 'is not of the tier flex' });
  }
  return flex;
}

/** `allow_fallbacks: false`: the first alone, or those of the list. */
function cutFallbacks<E extends EndpointFacts>(
  endpoints: readonly E[],
  { allowFallbacks, order }: Preferences,
  excluded: Excluded<E>[],
): readonly E[] {
  if (allowFallbacks) return endpoints;
  const isKept = (endpoint: E, index: number) =>
    order ? order.some((entry) => isMeant(entry, endpoint)) : index === 0;
  const why = order ? '`provider.order` does not name it' : 'is not the first';
  const reason = `${why}, and \`provider.allow_fallbacks\` is false`;
  for (const [index, endpoint] of endpoints.entries()) {
    if (!isKept(endpoint, index)) excluded.push({ endpoint, code: 'allowed_providers', reason });
  }
  return endpoints.filter(isKept);
}

/** The memory of one request's conversation, made out only when somebody asks. */
class Session {
  private readonly request: ResponseRequest;
  private readonly workspaceId: string;
  private readonly memory: StickyMemory;
  private found: SessionKey | undefined;
  private isKnown = false;

  constructor(request: ResponseRequest, workspaceId: string, memory: StickyMemory) {
    this.request = request;
    this.workspaceId = workspaceId;
    this.memory = memory;
  }

  /** The key that the caller gave, or one made of the first messages, where that could be remembered. */
  get key(): SessionKey | undefined {
    if (!this.isKnown) {
      this.isKnown = true;
      this.found = findSessionKey(this.request);
      if (!this.found && this.memory.mayKnowDerived) this.found = deriveSessionKey(this.request);
    }
    return this.found;
  }

  /** `provider.order` leaves nothing to memory. */
  find(slug: string): { endpoint: string; model: string } | undefined {
    const provider = this.request.provider as { order?: readonly unknown[] | null } | null | undefined;
    if ((provider?.order?.length ?? 0) > 0 || !this.key) return undefined;
    return this.memory.find(this.workspaceId, slug, this.key);
  }

  isWorthKeeping(endpoints: readonly unknown[]): boolean {
    return endpoints.length > 1;
  }
}
