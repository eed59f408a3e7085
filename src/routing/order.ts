import type { EndpointFacts } from '../domain/endpoint.ts';
import type { SortKey } from '../domain/request-defaults.ts';
import type { RoutingStrategy } from '../domain/routing-strategy.ts';
import type { RouteCriteria } from './filters.ts';
import type { HealthView } from './health.ts';
import { type Cutoffs, matchesEndpoint, type Preferences } from './preferences.ts';

/** What the order depends on besides the request. */
export interface OrderContext {
  /** @returns undefined when nothing has happened there lately */
  health: (endpoint: EndpointFacts) => HealthView | undefined;
  /** Attempts that an endpoint has in flight, by its id. */
  inFlight: (id: string) => number;
  /** Orders what the request leaves open. */
  strategy: RoutingStrategy;
  /** 0 up to 1, each time another one. */
  random: () => number;
  /** The id of the endpoint that the session went to. */
  sticky: (model: string) => string | undefined;
}

/**
 * Orders endpoints that have passed the filters, the first to try in front: by the caller's list, a sort, the tier, or
 * the strategy and quality; then slow, degraded, unweighted and remembered endpoints move.
 *
 * @param endpoints of one model; of all models where these are mixed
 * @see docs/reference/routing.md#order-of-endpoints, docs/reference/routing.md#quality
 */
export function orderEndpoints<E extends EndpointFacts>(
  endpoints: readonly E[],
  ask: RouteCriteria,
  context: OrderContext,
): E[] {
  if (endpoints.length === 1) return [...endpoints];
  const { preferences, needs } = ask;
  const { health } = context;
  if (preferences.order) return putOwnKeysFirst(orderByList(endpoints, preferences.order, ask, context), endpoints);
  let ordered: E[];
  if (preferences.sort && preferences.sort !== 'exacto') ordered = sortBy(endpoints, preferences.sort, ask, health);
  else if (hasTier(endpoints, preferences)) ordered = orderByTier(endpoints, preferences.tier!, ask, context);
  else {
    ordered = orderByStrategy(endpoints, ask, context);
    if (preferences.sort === 'exacto' || needs.hasTools) ordered = orderByQuality(ordered, health);
  }
  ordered = preferFast(ordered, preferences, health);
  ordered = stablePartition(ordered, (endpoint) => rankOf(endpoint, health(endpoint)));
  return putOwnKeysFirst(putStickyFirst(ordered, context), endpoints);
}

/** Whether the strategy orders these endpoints of one model. */
export const isOrderOpen = (endpoints: readonly EndpointFacts[], preferences: Preferences): boolean =>
  !preferences.order && (!preferences.sort || preferences.sort === 'exacto') && !hasTier(endpoints, preferences);

const hasTier = (endpoints: readonly EndpointFacts[], { tier: wanted }: Preferences): boolean =>
  endpoints.some(({ tier }) => tier !== undefined && tier === wanted);

/** Endpoints of the first entry, then of the second, …, then the others as usual. */
function orderByList<E extends EndpointFacts>(
  endpoints: readonly E[],
  order: readonly string[],
  ask: RouteCriteria,
  context: OrderContext,
): E[] {
  const placeOf = (endpoint: E): number => {
    const place = order.findIndex((entry) => matchesEndpoint(entry, endpoint));
    return place === -1 ? order.length : place;
  };
  const listed = endpoints.filter((endpoint) => placeOf(endpoint) < order.length);
  const others = endpoints.filter((endpoint) => placeOf(endpoint) === order.length);
  const rest = ask.preferences.allowFallbacks
    ? stablePartition(orderByStrategy(others, ask, context), (endpoint) => rankOf(endpoint, context.health(endpoint)))
    : [];
  return [...stablePartition(listed, placeOf), ...rest];
}

/** `priority`: those first, each group by throughput. `flex`: only those, where there are any. @see docs/reference/routing.md#service-tiers */
function orderByTier<E extends EndpointFacts>(
  endpoints: readonly E[],
  tier: 'priority' | 'flex',
  ask: RouteCriteria,
  { health }: OrderContext,
): E[] {
  const own = endpoints.filter((endpoint) => endpoint.tier === tier);
  if (tier === 'flex') return sortBy(own, 'price', ask, health);
  const others = endpoints.filter((endpoint) => endpoint.tier !== tier);
  return [...sortBy(own, 'throughput', ask, health), ...sortBy(others, 'throughput', ask, health)];
}

/** Cheapest, fastest or quickest first; those of which nothing is known last, as they stand. */
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

/** The least price that a draw sees, in USD per token: free endpoints share equally. */
const MIN_PRICE_USD = 1e-9;

/** The least latency that a draw sees. */
const MIN_LATENCY_MS = 1;

/** Draws by price or latency, each with its weight, or by weight alone; or the fewest attempts in flight first. */
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
 * Draws without putting back: an endpoint with three times the likelihood and the weight of another one is three times as
 * likely to come before it. One with an unknown likelihood has the mean of the others.
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
  // The smallest of exponential times with these rates: each place is a draw among those that are left.
  const times = endpoints.map(
    ({ weight }, index) => -Math.log(1 - random()) / ((likelihoods[index] ?? usual) * (weight || 1)),
  );
  return sortByCost(endpoints, (_, index) => times[index]!);
}

/** The least cost first; equal ones as they stand. */
const sortByCost = <E>(endpoints: readonly E[], costOf: (endpoint: E, index: number) => number): E[] =>
  endpoints
    .map((endpoint, index) => ({ endpoint, cost: costOf(endpoint, index) }))
    .sort((a, b) => (a.cost === b.cost ? 0 : a.cost - b.cost))
    .map(({ endpoint }) => endpoint);

/** The fewest providers of a model between which quality is compared. */
const MIN_PROVIDERS = 4;

/**
 * Those that do well, those of which too little is known, those that do badly: in throughput below the median less
 * 1.5 σ, or in broken tool calls more than 2 σ worse than the others.
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

/** The standard deviation, as the median of absolute deviations tells it. */
function spread(values: readonly number[]): number {
  const middle = median(values);
  return 1.4826 * median(values.map((value) => Math.abs(value - middle)));
}

/** Those that keep within the wished speed first. Of whom nothing is known does not. */
function preferFast<E extends EndpointFacts>(
  endpoints: readonly E[],
  { minThroughput, maxLatency }: Preferences,
  health: OrderContext['health'],
): E[] {
  if (minThroughput.length === 0 && maxLatency.length === 0) return [...endpoints];
  return stablePartition(endpoints, (endpoint) => (isFast(health(endpoint), minThroughput, maxLatency) ? 0 : 1));
}

/** Does it keep within all cutoffs? Latencies are in seconds. */
function isFast(view: HealthView | undefined, minThroughput: Cutoffs, maxLatency: Cutoffs): boolean {
  return (
    minThroughput.every(({ percentile, value }) => (view?.throughput(percentile) ?? -1) >= value) &&
    maxLatency.every(({ percentile, value }) => {
      const latency = view?.latencyMs(percentile);
      return latency !== undefined && latency <= value * 1000;
    })
  );
}

/** 0 well, 1 degraded, 2 down or in an outage. @see docs/reference/routing.md#health */
function bandOf(view: HealthView | undefined): number {
  if (!view) return 0;
  if (!view.isStable) return 2;
  const { uptime } = view;
  if (uptime === null || uptime >= 95) return 0;
  return uptime >= 80 ? 1 : 2;
}

/** The band of its health; an endpoint without weight is behind all others that are not down. */
function rankOf({ weight }: EndpointFacts, view: HealthView | undefined): number {
  const band = bandOf(view);
  if (band === 2) return weight === 0 ? 4 : 3;
  return weight === 0 ? 2 : band;
}

/** The endpoint that the session went to, as long as it is well and has a weight. */
function putStickyFirst<E extends EndpointFacts>(endpoints: E[], { sticky, health }: OrderContext): E[] {
  const index = endpoints.findIndex((endpoint) => endpoint.id === sticky(endpoint.model));
  if (index <= 0 || rankOf(endpoints[index]!, health(endpoints[index]!)) >= 2) return endpoints;
  const [remembered] = endpoints.splice(index, 1);
  return [remembered!, ...endpoints];
}

/**
 * Own keys, shared endpoints, own keys that are fallbacks; own keys as the configuration has them.
 *
 * @param configured the same endpoints in the order of the configuration
 * @see docs/reference/routing.md#own-provider-keys
 */
function putOwnKeysFirst<E extends EndpointFacts>(ordered: E[], configured: readonly E[]): E[] {
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

/** In the order of their groups, and as they stood within a group. */
function stablePartition<E>(items: readonly E[], groupOf: (item: E) => number): E[] {
  const groups = items.map(groupOf);
  if (groups.every((group) => group === groups[0])) return [...items];
  return items
    .map((item, index) => ({ item, group: groups[index]! }))
    .sort((a, b) => a.group - b.group)
    .map(({ item }) => item);
}
