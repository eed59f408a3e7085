import type { EndpointFacts } from '../../domain/endpoint.ts';
import { findSetting } from '../../domain/request.ts';
import { noCandidates } from '../refusals.ts';
import type { Router, RouterInput } from './router.ts';

/** A coding model that this caller may use. */
interface Candidate {
  model: string;
  /** 0 to 100. */
  score: number;
  /** USD per million input tokens. Undefined if unknown. */
  price: number | undefined;
}

type TierName = 'high' | 'medium' | 'low';

/** Minimum of each tier but the lowest, for `min_coding_score` and for scores; 100 is 1. @see docs/reference/routers.md#pareto */
const minimums = { high: 0.66, medium: 0.33 };
/** The order of tiers if one is empty: the nearest cheaper one first. */
const tierOrders: Record<TierName, readonly TierName[]> = {
  high: ['high', 'medium', 'low'],
  medium: ['medium', 'low', 'high'],
  low: ['low', 'medium', 'high'],
};
/** Models of a tier that are tried. */
const MAX_OF_TIER = 3;

/** `router/pareto-code`: coding models by score and price. @see docs/reference/routers.md#pareto */
export const paretoRouter: Router = {
  strategy: 'pareto',
  takes: (slug) => slug === 'router/pareto-code',
  plan(ask) {
    const setting = findSetting(ask.request, 'pareto-router');
    const { settings } = ask;
    const source = (setting?.['price_source'] as 'prompt' | 'weighted_avg' | undefined) ?? settings.pareto.priceSource;
    const cap = (setting?.['max_price'] as number | undefined) ?? settings.pareto.maxPrice;
    const min = (setting?.['min_coding_score'] as number | undefined) ?? settings.pareto.minCodingScore;
    const candidates = listCandidates(ask, source ?? 'prompt');
    const found = cap === undefined ? planTier(ask, candidates, min) : planCapped(candidates, cap);
    const remembered = preferRemembered(found.models, ask.remembered);
    const models = cap === undefined ? remembered.slice(0, MAX_OF_TIER) : remembered;
    if (models.length === 0) {
      const limit = cap === undefined ? 'can serve this request' : `is priced at or below max_price (${cap})`;
      throw noCandidates(
        'router/pareto-code',
        `No coding model of this gateway ${limit}.`,
        cap === undefined ? {} : { max_price: cap },
      );
    }
    const data = {
      resolved_to: models[0],
      fallback_models: models.slice(1),
      ...(found.tier === undefined ? undefined : { tier: found.tier }),
      ...(cap === undefined ? undefined : { max_price: cap }),
    };
    return {
      models,
      stage: { type: 'router', name: 'pareto-router', data },
      keep: cap === undefined || source === 'weighted_avg' ? undefined : keepBelow(cap),
    };
  },
};

/** Excludes endpoints above the cap. */
const keepBelow =
  (cap: number) =>
  ({ pricing }: EndpointFacts) => {
    const price = pricing && pricing.promptNanoUsdPerMillion / 1e9;
    if (price !== undefined && price <= cap) return undefined;
    return {
      code: 'max_price',
      reason: price === undefined ? 'has no known price' : `costs ${price} USD per million input tokens`,
    };
  };

function listCandidates(
  { settings, routingContext, allowed, isRoutable }: RouterInput,
  source: 'prompt' | 'weighted_avg',
): Candidate[] {
  const known = new Map(
    (settings.pareto.models ?? routingContext.catalog.choices.flatMap(listScored)).map((each) => [
      each.slug.toLowerCase(),
      each,
    ]),
  );
  return [...known.values()]
    .filter(({ slug }) => isRoutable(slug))
    .map(({ slug: model, codingScore: score }) => {
      const listed = minPrice(allowed(model).map(({ pricing }) => pricing?.promptNanoUsdPerMillion));
      const paid = source === 'weighted_avg' ? settings.traffic.inputPrice(model) : undefined;
      const price = paid ?? listed;
      return { model, score, price: price === undefined ? undefined : price / 1e9 };
    });
}

const listScored = ({ id, codingScore }: { id: string; codingScore?: number }) =>
  codingScore === undefined ? [] : [{ slug: id, codingScore }];

function minPrice(prices: readonly (number | undefined)[]): number | undefined {
  const known = prices.filter((price) => price !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function planTier(ask: RouterInput, candidates: readonly Candidate[], min: number | undefined) {
  for (const tier of tierOrders[min === undefined ? 'high' : tierOf(min)]) {
    const shortlist = candidates.filter(({ score }) => tierOf(score / 100) === tier);
    if (shortlist.length === 0) continue;
    const key = ask.slug.sort === 'throughput' ? (each: Candidate) => -speedOf(ask, each) : priceOf;
    return { tier, models: shortlist.toSorted((a, b) => compare(key(a), key(b)) || compareNames(a, b)).map(nameOf) };
  }
  return { tier: undefined, models: [] };
}

function tierOf(score: number): TierName {
  if (score >= minimums.high) return 'high';
  return score >= minimums.medium ? 'medium' : 'low';
}

/** Returns the frontier at or below the cap, best first, then the other models at or below the cap. */
function planCapped(candidates: readonly Candidate[], cap: number): { tier: undefined; models: string[] } {
  const priced = candidates.filter((each) => each.price !== undefined && each.price <= cap);
  const all = candidates.filter((each) => each.price !== undefined);
  const isFrontier = (each: Candidate) => !all.some((other) => dominates(other, each));
  const byScore = (a: Candidate, b: Candidate) =>
    b.score - a.score || compare(priceOf(a), priceOf(b)) || compareNames(a, b);
  const frontier = priced.filter(isFrontier).toSorted(byScore);
  const rest = priced.filter((each) => !isFrontier(each)).toSorted(byScore);
  return { tier: undefined, models: [...frontier, ...rest].map(nameOf) };
}

/** Whether `a` is at least as good and as cheap as `b`, and better in one of the two. */
function dominates(a: Candidate, b: Candidate): boolean {
  const priceDifference = a.price! - b.price!;
  return a.score >= b.score && priceDifference <= 0 && (a.score > b.score || priceDifference < 0);
}

/** Moves the remembered model to the front if it is in the list. */
const preferRemembered = (models: readonly string[], remembered: string | undefined): readonly string[] =>
  remembered !== undefined && models.includes(remembered)
    ? [remembered, ...models.filter((model) => model !== remembered)]
    : models;

function speedOf({ routingContext, allowed }: RouterInput, { model }: Candidate): number {
  const speeds = allowed(model).map((endpoint) => routingContext.health.view(endpoint)?.throughput('p50') ?? 0);
  return Math.max(0, ...speeds);
}

const nameOf = ({ model }: Candidate): string => model;
const priceOf = ({ price }: Candidate): number => price ?? Number.POSITIVE_INFINITY;
const compare = (a: number, b: number): number => (a === b ? 0 : a - b);
const compareNames = (a: Candidate, b: Candidate): number => (a.model < b.model ? -1 : 1);
