import type { EndpointFacts, Model } from '../../domain/endpoint.ts';
import type { InputItem } from '../../domain/items.ts';
import { findSetting, type PluginSetting } from '../../domain/request.ts';
import { blendedPrice } from '../../metering/price.ts';
import { supports } from '../needs.ts';
import { matchModels, Patterns } from '../patterns.ts';
import { noCandidates } from '../refusals.ts';
import { classifyTask } from './classify.ts';
import { type AutoSettings, matchesOutputs, type Router, type RouterInput, type RouterPlan } from './router.ts';

/** Cost bands in percent of the models sorted by cost. A band also excludes cheaper models. */
const bands: Readonly<Record<string, readonly [number, number]>> = {
  low: [0, 20],
  medium: [20, 40],
  high: [40, 60],
  xhigh: [60, 80],
  max: [80, 100],
};
const usualTradeoff = 9;
/** The first model and its fallbacks. */
const MAX_MODELS = 3;
/** The assumed usage of a response without measurements. */
const usual = { promptTokens: 1_000, completionTokens: 500 };

/** `router/auto` and `router/auto-beta`: by task, spending and cost. @see docs/reference/routers.md#auto */
export const autoRouter: Router = {
  strategy: 'auto',
  takes: (slug) => slug === 'router/auto' || slug === 'router/auto-beta',
  plan(ask) {
    const isBeta = ask.slug.model.toLowerCase() === 'router/auto-beta';
    const name = isBeta ? 'auto-beta-router' : 'auto-router';
    const settings = settle(findSetting(ask.request, name), ask.settings.auto);
    const pinned = settings.pinModel && !isBeta ? findPinnedModel(ask.request.input) : undefined;
    const isExcluded = pinned !== undefined && new Patterns(settings.excluded ?? []).matches(describeSlug(pinned));
    if (pinned !== undefined && !isExcluded && ask.isRoutable(pinned))
      return createPlan(ask, name, [pinned], { pinned: true });

    const task = ask.task ?? classifyTask(ask.request);
    const { ranking, models } = rank(ask, task, listPermitted(ask, settings));
    if (models.length === 0) {
      throw noCandidates(ask.slug.model, 'No models match your request and model restrictions');
    }
    const kept = keepByCost(models, settings, (model) => costOf(ask, task, model)).slice(0, MAX_MODELS);
    const { remembered } = ask;
    const order =
      remembered !== undefined && kept.includes(remembered)
        ? [remembered, ...kept.filter((model) => model !== remembered)]
        : kept;
    return createPlan(ask, name, order, {
      task_type: task,
      classified_by: ask.task === undefined ? 'words' : 'model',
      ranking,
      ...(settings.costTier === undefined
        ? { cost_quality_tradeoff: settings.tradeoff ?? usualTradeoff }
        : { cost_tier: settings.costTier }),
      candidates: models.length,
    });
  },
};

interface Settled {
  allowed: readonly string[] | undefined;
  excluded: readonly string[] | undefined;
  costTier: string | undefined;
  tradeoff: number | undefined;
  pinModel: boolean;
}

/** Merges the request's fields with the operator's settings. The request wins, unless the settings are final. */
function settle(setting: PluginSetting | undefined, saved: AutoSettings): Settled {
  const pick = <Value>(field: string, own: Value | undefined): Value | undefined => {
    const requested = setting?.[field] as Value | undefined; // validated by the request schema
    return saved.isFinal ? (own ?? requested) : (requested ?? own);
  };
  return {
    allowed: pick('allowed_models', saved.allowedModels),
    excluded: pick('excluded_models', saved.excludedModels),
    costTier: pick('cost_tier', saved.costTier),
    tradeoff: pick('cost_quality_tradeoff', saved.costQualityTradeoff),
    pinModel: setting?.['pin_model'] === true,
  };
}

/** Describes a model by its slug. */
const describeSlug = (slug: string) => ({ id: slug.toLowerCase(), canonicalSlug: slug });

/** Returns the model that the last assistant message names. An earlier message does not count. */
export function findPinnedModel(input: readonly InputItem[]): string | undefined {
  const last = input.findLast((item) => item.type === 'message' && item.role === 'assistant');
  const model = (last as { model?: unknown } | undefined)?.model;
  return typeof model === 'string' ? model : undefined;
}

/** Lists the permitted models that can serve the request, cheapest first. */
function listPermitted(
  { routingContext, needs, allowed: allowedOf }: RouterInput,
  { allowed, excluded }: Settled,
): Model[] {
  const { choices: models } = routingContext.catalog;
  const isAllowed = allowed && allowed.length > 0 ? matchModels(allowed, models) : undefined;
  const isExcluded = excluded && excluded.length > 0 ? matchModels(excluded, models) : undefined;
  const permitted = models.filter((model) => {
    const { id } = model;
    if (!matchesOutputs(model, needs)) return false;
    if (isExcluded?.has(id) || (isAllowed && !isAllowed.has(id))) return false;
    const endpoints = allowedOf(id);
    return endpoints.some((endpoint) => !needs.hasTools || supports(endpoint, 'tools') !== false);
  });
  const priceOf = new Map(permitted.map(({ id }) => [id, leastOf(allowedOf(id), usualCost)]));
  return permitted.toSorted((a, b) => compare(priceOf.get(a.id)!, priceOf.get(b.id)!) || (a.id < b.id ? -1 : 1));
}

/** Ranks by the ledger, the operator's table, or the price: the first source that has any of the models. */
function rank(
  { settings }: RouterInput,
  task: string,
  permitted: readonly Model[],
): { ranking: string; models: string[] } {
  // the ledger and the operator may use any case, or the dated slug
  const ids = new Map(
    permitted.flatMap(({ id, canonicalSlug }) => [[id, id] as const, [canonicalSlug.toLowerCase(), id] as const]),
  );
  const { rankings } = settings.auto;
  const sources: [string, readonly string[]][] = [
    ['ledger', settings.traffic.rank(task).map(({ model }) => model)],
    ['table', rankings[task] ?? []],
    ['default', rankings['default'] ?? []],
  ];
  for (const [ranking, ranked] of sources) {
    const models = [...new Set(ranked.flatMap((model) => ids.get(model.toLowerCase()) ?? []))];
    if (models.length > 0) return { ranking, models };
  }
  return { ranking: 'price', models: permitted.map(({ id }) => id) };
}

/** Keeps the models within the cost band or below the ceiling. Keeps at least one. */
export function keepByCost(
  models: readonly string[],
  { costTier, tradeoff = usualTradeoff }: Pick<Settled, 'costTier' | 'tradeoff'>,
  costOf: (model: string) => number,
): string[] {
  const [low, high] = costTier === undefined ? [0, 90 - 8 * tradeoff] : bands[costTier]!;
  const costs = new Map(models.map((model) => [model, costOf(model)]));
  const sorted = models.toSorted((a, b) => compare(costs.get(a)!, costs.get(b)!));
  const count = sorted.length;
  const start = Math.min(Math.floor((count * low) / 100), count - 1);
  const end = Math.min(Math.max(start + 1, Math.ceil((count * high) / 100)), count);
  const kept = new Set(sorted.slice(start, end));
  return models.filter((model) => kept.has(model));
}

/** Returns the measured cost of a response in nano-dollars, else one from list prices. */
function costOf({ settings, allowed }: RouterInput, task: string, model: string): number {
  return settings.traffic.averageCost(task, model) ?? leastOf(allowed(model), usualCost);
}

/** An unknown price counts as the highest. */
function usualCost({ pricing }: EndpointFacts): number {
  if (blendedPrice(pricing) === undefined) return Number.POSITIVE_INFINITY;
  const { promptTokens, completionTokens } = usual;
  const { promptNanoUsdPerMillion: prompt, completionNanoUsdPerMillion: completion, requestNanoUsd = 0 } = pricing!;
  return (promptTokens * prompt + completionTokens * completion) / 1e6 + requestNanoUsd;
}

const leastOf = (endpoints: readonly EndpointFacts[], read: (endpoint: EndpointFacts) => number): number =>
  endpoints.reduce((min, endpoint) => Math.min(min, read(endpoint)), Number.POSITIVE_INFINITY);

const compare = (a: number, b: number): number => (a === b ? 0 : a - b);

function createPlan(
  { slug }: RouterInput,
  name: string,
  models: readonly string[],
  data: Record<string, unknown>,
): RouterPlan {
  const [resolved, ...fallbacks] = models;
  const summary = `${slug.model} chose ${resolved}`;
  const stage = { type: 'router', name, summary, data: { ...data, resolved_to: resolved, fallback_models: fallbacks } };
  const task = data['task_type'] as string | undefined;
  return { models, stage, ...(task === undefined ? undefined : { task }) };
}
