import type { EndpointFacts } from '../domain/endpoint.ts';
import type { SortKey } from '../domain/request-defaults.ts';
import type { RouteCriteria } from './filters.ts';
import type { HealthView } from './health.ts';
import { type Cutoffs, matchesEndpoint, type Preferences } from './preferences.ts';

/** What the order depends on besides the request. */
export interface OrderContext {
  /** @returns undefined when nothing has happened there lately */
  health: (endpoint: EndpointFacts) => HealthView | undefined;
  /** 0 up to 1, each time another one. */
  random: () => number;
  /** The id of the endpoint that the session went to. */
  sticky: (model: string) => string | undefined;
}

/**
 * Orders endpoints that have passed the filters, the first to try in front: the caller's list, or a sort, or the tier,
 * or quality and price; then what is slow, ailing or remembered moves.
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
  else if (endpoints.some(({ tier }) => tier !== undefined && tier === preferences.tier)) {
    ordered = orderByTier(endpoints, preferences.tier!, ask, context);
  } else {
    ordered = drawByPrice(endpoints, ask, context.random);
    if (preferences.sort === 'exacto' || needs.hasTools) ordered = orderByQuality(ordered, health);
  }
  ordered = preferFast(ordered, preferences, health);
  ordered = stablePartition(ordered, (endpoint) => bandOf(health(endpoint)));
  return putOwnKeysFirst(putStickyFirst(ordered, context), endpoints);
}

/** Endpoints of the first entry, then of the second, …, then the others as usual. */
function orderByList<E extends EndpointFacts>(
  endpoints: readonly E[],
  order: readonly string[],
  ask: RouteCriteria,
  context: OrderContext,
): E[] {
  const rankOf = (endpoint: E): number => {
    const rank = order.findIndex((entry) => matchesEndpoint(entry, endpoint));
    return rank === -1 ? order.length : rank;
  };
  const listed = endpoints.filter((endpoint) => rankOf(endpoint) < order.length);
  const others = endpoints.filter((endpoint) => rankOf(endpoint) === order.length);
  const rest = ask.preferences.allowFallbacks
    ? stablePartition(drawByPrice(others, ask, context.random), (endpoint) => bandOf(context.health(endpoint)))
    : [];
  return [...stablePartition(listed, rankOf), ...rest];
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
  return endpoints
    .map((endpoint) => ({ endpoint, cost: costOf(endpoint) }))
    .sort((a, b) => (a.cost === b.cost ? 0 : a.cost - b.cost))
    .map(({ endpoint }) => endpoint);
}

/** The least price that a draw sees, in USD per token: free endpoints share equally. */
const MIN_PRICE_USD = 1e-9;

/**
 * Draws without putting back, with the weight 1/price²: an endpoint at a third of the price is nine times as likely to
 * come first. One whose price nobody knows has the mean weight of the others.
 */
function drawByPrice<E extends EndpointFacts>(endpoints: readonly E[], ask: RouteCriteria, random: () => number): E[] {
  if (endpoints.length < 2) return [...endpoints];
  const weights = endpoints.map((endpoint) => {
    const price = ask.needs.priceOf(endpoint);
    return price === undefined ? undefined : 1 / Math.max(price / 1e15, MIN_PRICE_USD) ** 2;
  });
  const known = weights.filter((weight) => weight !== undefined);
  const usual = known.length === 0 ? 1 : known.reduce((sum, weight) => sum + weight, 0) / known.length;
  // The smallest of exponential times with these rates: each place is a draw among those that are left.
  return endpoints
    .map((endpoint, index) => ({ endpoint, at: -Math.log(1 - random()) / (weights[index] ?? usual) }))
    .sort((a, b) => a.at - b.at)
    .map(({ endpoint }) => endpoint);
}

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

/** The endpoint that the session went to, as long as it is well. */
function putStickyFirst<E extends EndpointFacts>(endpoints: E[], { sticky, health }: OrderContext): E[] {
  const index = endpoints.findIndex((endpoint) => endpoint.id === sticky(endpoint.model));
  if (index <= 0 || bandOf(health(endpoints[index]!)) === 2) return endpoints;
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
