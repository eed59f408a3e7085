import type { EndpointFacts } from '../domain/endpoint.ts';
import type { SortKey } from '../domain/request-defaults.ts';
import type { RoutingStrategy } from '../domain/routing-strategy.ts';
import { contextOf, type RouteCriteria } from './filters.ts';
import type { HealthView } from './health.ts';
import { type Cutoffs, matchesEndpoint, type Preferences } from './preferences.ts';

/** The input of the order besides the request. */
export interface OrderContext {
  /** @returns undefined without recent attempts */
  health: (endpoint: EndpointFacts) => HealthView | undefined;
  /** Number of attempts in flight, by endpoint id. */
  inFlight: (id: string) => number;
  /** The order if the request sets none. */
  strategy: RoutingStrategy;
  /** Returns a random number from 0 up to 1. */
  random: () => number;
  /** Returns the endpoint id of the session. */
  sticky: (model: string) => string | undefined;
}

/**
 * Orders endpoints that have passed the filters, best first: by the caller's list, a sort, the tier, or the strategy
 * and quality. Then it moves slow, degraded, unweighted and remembered endpoints.
 *
 * @param endpoints of one model, or of all models if they are mixed
 * @see docs/reference/routing.md#order-of-endpoints, docs/reference/routing.md#quality
 */
export function orderEndpoints<E extends EndpointFacts>(
  endpoints: readonly E[],
  criteria: RouteCriteria,
  context: OrderContext,
): E[] {
  if (endpoints.length === 1) return [...endpoints];
  const { preferences, needs } = criteria;
  const { health } = context;
  if (preferences.order) return putByokFirst(orderByList(endpoints, preferences.order, criteria, context), endpoints);
  let ordered: E[];
  if (preferences.sort && preferences.sort !== 'exacto')
    ordered = sortBy(endpoints, preferences.sort, criteria, health);
  else if (hasTier(endpoints, preferences)) ordered = orderByTier(endpoints, preferences.tier!, criteria, context);
  else {
    ordered = orderByStrategy(endpoints, criteria, context);
    if (preferences.sort === 'exacto' || needs.hasTools) ordered = orderByQuality(ordered, health);
  }
  ordered = preferFast(ordered, preferences, health);
  ordered = stablePartition(ordered, (endpoint) => rankOf(endpoint, health(endpoint)));
  return putByokFirst(preferWhole(putStickyFirst(ordered, context), criteria), endpoints);
}

/** Moves endpoints for which the input must be shortened behind those that it fits. */
function preferWhole<E extends EndpointFacts>(endpoints: E[], { needs }: RouteCriteria): E[] {
  if (!endpoints.some((endpoint) => needs.shortens(endpoint))) return endpoints;
  const required = needs.requiredTokens;
  return stablePartition(endpoints, (endpoint) => Number(needs.shortens(endpoint) && contextOf(endpoint) < required));
}

/** Whether the strategy orders these endpoints of one model. */
export const isOrderOpen = (endpoints: readonly EndpointFacts[], preferences: Preferences): boolean =>
  !preferences.order && (!preferences.sort || preferences.sort === 'exacto') && !hasTier(endpoints, preferences);

const hasTier = (endpoints: readonly EndpointFacts[], { tier: wanted }: Preferences): boolean =>
  endpoints.some(({ tier }) => tier !== undefined && tier === wanted);

/** Orders the endpoints by the entries of `order`, then the others by the strategy. */
function orderByList<E extends EndpointFacts>(
  endpoints: readonly E[],
  order: readonly string[],
  criteria: RouteCriteria,
  context: OrderContext,
): E[] {
  const placeOf = (endpoint: E): number => {
    const place = order.findIndex((entry) => matchesEndpoint(entry, endpoint));
    return place === -1 ? order.length : place;
  };
  const listed = endpoints.filter((endpoint) => placeOf(endpoint) < order.length);
  const others = endpoints.filter((endpoint) => placeOf(endpoint) === order.length);
  const rest = criteria.preferences.allowFallbacks
    ? stablePartition(orderByStrategy(others, criteria, context), (endpoint) =>
        rankOf(endpoint, context.health(endpoint)),
      )
    : [];
  return [...stablePartition(listed, placeOf), ...rest];
}

/**
 * `priority`: these first, both groups by throughput. `flex`: only these.
 *
 * @see docs/reference/routing.md#service-tiers
 */
function orderByTier<E extends EndpointFacts>(
  endpoints: readonly E[],
  tier: 'priority' | 'flex',
  criteria: RouteCriteria,
  { health }: OrderContext,
): E[] {
  const own = endpoints.filter((endpoint) => endpoint.tier === tier);
  if (tier === 'flex') return sortBy(own, 'price', criteria, health);
  const others = endpoints.filter((endpoint) => endpoint.tier !== tier);
  return [...sortBy(own, 'throughput', criteria, health), ...sortBy(others, 'throughput', criteria, health)];
}

/** Sorts by price, throughput or latency. Endpoints without a known value come last, in their order. */
function sortBy<E extends EndpointFacts>(
  endpoints: readonly E[],
  key: Exclude<SortKey, 'exacto'>,
  { needs }: RouteCriteria,
  health: OrderContext['health'],
): E[] {
  const costOf = (endpoint: E): number => {
    if (key === 'price') return needs.priceOf(endpoint) ?? Number.POSITIVE_INFINITY;
    const view = health(endpoint);
    if (key === 'latency') return view?.latencyMs('p50') ?? Number.POSITIVE_INFINITY;
    return -(view?.throughput('p50') ?? Number.NEGATIVE_INFINITY);
  };
  return sortByCost(endpoints, costOf);
}

/** Minimum price in a draw, in USD per token. Free endpoints share equally. */
const MIN_PRICE_USD = 1e-9;

/** Minimum latency in a draw. */
const MIN_LATENCY_MS = 1;

/** Orders endpoints by the strategy of their model. */
function orderByStrategy<E extends EndpointFacts>(
  endpoints: readonly E[],
  { needs }: RouteCriteria,
  { strategy, health, inFlight, random }: OrderContext,
): E[] {
  if (endpoints.length < 2) return [...endpoints];
  switch (strategy) {
    case 'price':
      return draw(endpoints, random, (endpoint) => {
        const price = needs.priceOf(endpoint);
        return price === undefined ? undefined : 1 / Math.max(price / 1e15, MIN_PRICE_USD) ** 2;
      });
    case 'latency':
      return draw(endpoints, random, (endpoint) => {
        const latencyMs = health(endpoint)?.latencyMs('p50');
        return latencyMs === undefined ? undefined : 1 / Math.max(latencyMs, MIN_LATENCY_MS) ** 2;
      });
    case 'weighted':
      return draw(endpoints, random, () => 1);
    case 'least-busy':
      return sortByCost(
        draw(endpoints, random, () => 1),
        ({ id, weight }) => inFlight(id) / (weight || 1),
      );
  }
}

/**
 * Draws an order without replacement. An endpoint with three times the likelihood (times weight) of another is three
 * times as likely to precede it. An unknown likelihood counts as the mean of the others.
 *
 * @param likelihoodOf without its weight; undefined if unknown
 */
function draw<E extends EndpointFacts>(
  endpoints: readonly E[],
  random: () => number,
  likelihoodOf: (endpoint: E) => number | undefined,
): E[] {
  const likelihoods = endpoints.map(likelihoodOf);
  const known = likelihoods.filter((likelihood) => likelihood !== undefined);
  const usual = known.length === 0 ? 1 : known.reduce((sum, likelihood) => sum + likelihood, 0) / known.length;
  // sorting by exponential times with these rates is a weighted draw without replacement
  const times = endpoints.map(
    ({ weight }, index) => -Math.log(1 - random()) / ((likelihoods[index] ?? usual) * (weight || 1)),
  );
  return sortByCost(endpoints, (_, index) => times[index]!);
}

/** Sorts by ascending cost. Stable. */
const sortByCost = <E>(endpoints: readonly E[], costOf: (endpoint: E, index: number) => number): E[] =>
  endpoints
    .map((endpoint, index) => ({ endpoint, cost: costOf(endpoint, index) }))
    .sort((a, b) => (a.cost === b.cost ? 0 : a.cost - b.cost))
    .map(({ endpoint }) => endpoint);

/** Minimum providers of a model for a comparison of quality. */
const MIN_PROVIDERS = 4;

/**
 * Orders endpoints in three groups: good, unknown, bad. Bad is a throughput more than 1.5 σ below the median, or a
 * share of broken tool calls more than 2 σ above it.
 *
 * @see docs/reference/routing.md#quality
 */
function orderByQuality<E extends EndpointFacts>(endpoints: readonly E[], health: OrderContext['health']): E[] {
  const views = endpoints.map(health);
  const speeds = views.flatMap((view) => view?.ratedThroughput ?? []);
  const errors = views.flatMap((view) => view?.toolErrorShare ?? []);
  if (speeds.length < MIN_PROVIDERS && errors.length < MIN_PROVIDERS) return [...endpoints];
  const slow = speeds.length < MIN_PROVIDERS ? Number.NEGATIVE_INFINITY : median(speeds) - 1.5 * spread(speeds);
  const broken = errors.length < MIN_PROVIDERS ? Number.POSITIVE_INFINITY : median(errors) + 2 * spread(errors);
  const groups = new Map(
    endpoints.map((endpoint, index) => {
      const { ratedThroughput: speed, toolErrorShare: share } = views[index] ?? {};
      if (speed === undefined && share === undefined) return [endpoint, 1];
      return [endpoint, (speed ?? Number.POSITIVE_INFINITY) < slow || (share ?? 0) > broken ? 2 : 0];
    }),
  );
  return stablePartition(endpoints, (endpoint) => groups.get(endpoint)!);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Estimates the standard deviation from the median absolute deviation. */
function spread(values: readonly number[]): number {
  const middle = median(values);
  return 1.4826 * median(values.map((value) => Math.abs(value - middle)));
}

/** Moves endpoints that meet the speed preferences to the front. Endpoints without samples do not meet them. */
function preferFast<E extends EndpointFacts>(
  endpoints: readonly E[],
  { minThroughput, maxLatency }: Preferences,
  health: OrderContext['health'],
): E[] {
  if (minThroughput.length === 0 && maxLatency.length === 0) return [...endpoints];
  return stablePartition(endpoints, (endpoint) => (isFast(health(endpoint), minThroughput, maxLatency) ? 0 : 1));
}

/** Whether an endpoint meets all cutoffs. Latencies are in seconds. */
function isFast(view: HealthView | undefined, minThroughput: Cutoffs, maxLatency: Cutoffs): boolean {
  return (
    minThroughput.every(({ percentile, value }) => (view?.throughput(percentile) ?? -1) >= value) &&
    maxLatency.every(({ percentile, value }) => {
      const latency = view?.latencyMs(percentile);
      return latency !== undefined && latency <= value * 1000;
    })
  );
}

/** 0: healthy, 1: degraded, 2: down, in an outage or rate-limited. @see docs/reference/routing.md#health */
function bandOf(view: HealthView | undefined): number {
  if (!view) return 0;
  if (!view.isStable || view.isLimited) return 2;
  const { uptime } = view;
  if (uptime === null || uptime >= 95) return 0;
  return uptime >= 80 ? 1 : 2;
}

/** Ranks by health band. An endpoint of weight 0 is behind all others that are not down. */
function rankOf({ weight }: EndpointFacts, view: HealthView | undefined): number {
  const band = bandOf(view);
  if (band === 2) return weight === 0 ? 4 : 3;
  return weight === 0 ? 2 : band;
}

/** Moves the endpoint of the session to the front if it is healthy and has a weight. */
function putStickyFirst<E extends EndpointFacts>(endpoints: E[], { sticky, health }: OrderContext): E[] {
  const index = endpoints.findIndex((endpoint) => endpoint.id === sticky(endpoint.model));
  if (index <= 0 || rankOf(endpoints[index]!, health(endpoints[index]!)) >= 2) return endpoints;
  const [remembered] = endpoints.splice(index, 1);
  return [remembered!, ...endpoints];
}

/**
 * Orders BYOK endpoints first, then shared ones, then BYOK fallbacks. BYOK endpoints keep the order of the
 * configuration.
 *
 * @param configured the same endpoints in the order of the configuration
 * @see docs/reference/routing.md#own-provider-keys
 */
function putByokFirst<E extends EndpointFacts>(ordered: E[], configured: readonly E[]): E[] {
  if (configured.every(({ workspace }) => workspace === undefined)) return ordered;
  const kept = new Set(ordered);
  const own = configured.filter((endpoint) => endpoint.workspace !== undefined && kept.has(endpoint));
  const shared = ordered.filter(({ workspace }) => workspace === undefined);
  return [
    ...own.filter(({ isFallbackKey }) => !isFallbackKey),
    ...shared,
    ...own.filter(({ isFallbackKey }) => isFallbackKey),
  ];
}

/**
 * Moves endpoints behind all others while the wait that their provider named is not over. Applies to models and providers
 * in the order of the caller, too, because a request to such an endpoint fails.
 */
export const putRestingLast = <E extends EndpointFacts>(endpoints: readonly E[], health: OrderContext['health']): E[] =>
  stablePartition(endpoints, (endpoint) => Number(health(endpoint)?.isResting ?? false));

/** Sorts by group. Stable within a group. */
function stablePartition<E>(items: readonly E[], groupOf: (item: E) => number): E[] {
  const groups = items.map(groupOf);
  if (groups.every((group) => group === groups[0])) return [...items];
  return items
    .map((item, index) => ({ item, group: groups[index]! }))
    .sort((a, b) => a.group - b.group)
    .map(({ item }) => item);
}
