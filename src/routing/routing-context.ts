import type { EndpointFacts } from '../domain/endpoint.ts';
import type { FusionPanel, PanelName } from '../domain/fusion.ts';
import { Health } from './health.ts';
import { InFlight } from './in-flight.ts';
import type { RoutingContext } from './plan-route.ts';
import type { LatestAlias, RouterSettings, Traffic } from './routers/router.ts';
import { StickyMemory } from './sticky.ts';
import { createStrategyTable, type StrategyConfig } from './strategy-table.ts';

/** Families with an alias for their newest model. The operator's table overrides them. */
const builtinAliases: readonly LatestAlias[] = [
  {
    alias: '~openai/gpt-latest',
    pattern: 'openai/gpt-*',
    exclude: [
      '*mini*',
      '*nano*',
      '*codex*',
      '*oss*',
      '*pro*',
      '*audio*',
      '*image*',
      '*search*',
      '*chat*',
      '*terra*',
      '*luna*',
      '*astra*',
    ],
  },
  {
    alias: '~openai/gpt-mini-latest',
    pattern: 'openai/gpt-*mini*',
    exclude: ['*codex*', '*audio*', '*search*', '*oss*'],
  },
  { alias: '~anthropic/claude-opus-latest', pattern: 'anthropic/claude-*opus*' },
  { alias: '~anthropic/claude-sonnet-latest', pattern: 'anthropic/claude-*sonnet*' },
  { alias: '~anthropic/claude-haiku-latest', pattern: 'anthropic/claude-*haiku*' },
  { alias: '~openai/gpt-sol-latest', pattern: 'openai/gpt-*-sol' },
  { alias: '~openai/gpt-terra-latest', pattern: 'openai/gpt-*-terra' },
  { alias: '~openai/gpt-luna-latest', pattern: 'openai/gpt-*-luna' },
  { alias: '~anthropic/claude-fable-latest', pattern: 'anthropic/claude-fable*' },
  { alias: '~google/gemini-pro-latest', pattern: 'google/gemini-*pro*', exclude: ['*image*', '*tts*'] },
  { alias: '~google/gemini-flash-latest', pattern: 'google/gemini-*flash*', exclude: ['*lite*', '*image*', '*tts*'] },
  { alias: '~x-ai/grok-latest', pattern: 'x-ai/grok-*', exclude: ['*mini*', '*fast*', '*code*'] },
  { alias: '~mistralai/mistral-large-latest', pattern: 'mistralai/mistral-large*' },
  { alias: '~deepseek/deepseek-latest', pattern: 'deepseek/deepseek-v*', exclude: ['*flash*'] },
  { alias: '~qwen/qwen-max-latest', pattern: 'qwen/qwen*max*' },
  { alias: '~moonshotai/kimi-latest', pattern: 'moonshotai/kimi-*' },
  { alias: '~z-ai/glm-latest', pattern: 'z-ai/glm-*', exclude: ['*air*', '*flash*', '*v'] },
];

/** The candidates of `router/auto` if neither the ledger nor the operator ranks models. Best first, of every cost. */
const usualModels = [
  'anthropic/claude-opus-5.5',
  'openai/gpt-6.1-sol',
  'google/gemini-4-argon',
  'anthropic/claude-sonnet-5.5',
  'openai/gpt-6.1-terra',
  'x-ai/grok-4.7',
  'z-ai/glm-5.3',
  'moonshotai/kimi-k3',
  'deepseek/deepseek-v4-pro',
  'google/gemini-3.8-flash',
  'anthropic/claude-haiku-5.5',
  'openai/gpt-6-luna',
  'mistralai/mistral-large-4',
  'minimax/minimax-m3',
  'openai/gpt-oss-120b',
  'deepseek/deepseek-v4.1-flash',
  'google/gemini-3.1-flash-lite',
];

/** The traffic of a gateway that has served no request. */
export const noTraffic: Traffic = {
  rank: () => [],
  averageCost: () => undefined,
  inputPrice: () => undefined,
};

/** The configuration of the routers. Keys as in the file. */
export interface RoutersConfig {
  latest: readonly { alias: string; pattern: string; exclude?: readonly string[] | undefined }[];
  auto: {
    rankings?: Readonly<Record<string, readonly string[]>> | undefined;
    allowed_models?: readonly string[] | undefined;
    excluded_models?: readonly string[] | undefined;
    cost_tier?: string | undefined;
    cost_quality_tradeoff?: number | undefined;
    prevent_overrides: boolean;
  };
  pareto_code: {
    models?: readonly { slug: string; coding_score: number }[] | undefined;
    min_coding_score?: number | undefined;
    max_price?: number | undefined;
    price_source?: 'prompt' | 'weighted_avg' | undefined;
  };
  bodybuilder: { model?: string | undefined };
  fusion?:
    | {
        panels: Readonly<Record<string, { models: readonly string[]; model?: string | undefined } | undefined>>;
        model_timeout_ms: number;
      }
    | undefined;
}

const opus = '~anthropic/claude-opus-latest';
const gpt = '~openai/gpt-latest';
const gemini = '~google/gemini-pro-latest';

/** The panels of fusion that the operator does not replace. */
const builtinPanels: Readonly<Record<PanelName, FusionPanel>> = {
  quality: { models: [opus, gpt, gemini], model: opus },
  'general-high': { models: [opus, gpt, gemini, '~x-ai/grok-latest'], model: opus },
  'general-budget': {
    models: ['~openai/gpt-luna-latest', '~google/gemini-flash-latest', '~deepseek/deepseek-latest'],
    model: opus,
  },
  'general-fast': {
    models: ['~anthropic/claude-haiku-latest', '~openai/gpt-luna-latest', '~google/gemini-flash-latest'],
    model: opus,
  },
};

const DEFAULT_MODEL_TIMEOUT_MS = 180_000;

/** A panel without its own model is analyzed by its first one. Keys of the file have underscores. */
function readPanels({ panels }: NonNullable<RoutersConfig['fusion']>): Record<PanelName, FusionPanel> {
  const names = Object.keys(builtinPanels) as PanelName[]; // the record names its keys
  const rows = names.map((name) => {
    const own = panels[name.replace('-', '_')];
    return [name, own ? { models: own.models, model: own.model ?? own.models[0]! } : builtinPanels[name]] as const;
  });
  return Object.fromEntries(rows) as Record<PanelName, FusionPanel>;
}

/** @param traffic statistics of the ledger */
export function readRouterSettings(config: RoutersConfig, traffic: Traffic): RouterSettings {
  const { auto, pareto_code: pareto, bodybuilder, fusion } = config;
  return {
    latest: listAliases(config.latest),
    auto: {
      rankings: { default: usualModels, ...auto.rankings },
      allowedModels: auto.allowed_models,
      excludedModels: auto.excluded_models,
      costTier: auto.cost_tier,
      costQualityTradeoff: auto.cost_quality_tradeoff,
      isFinal: auto.prevent_overrides,
    },
    pareto: {
      models: pareto.models?.map(({ slug, coding_score: codingScore }) => ({ slug, codingScore })),
      minCodingScore: pareto.min_coding_score,
      maxPrice: pareto.max_price,
      priceSource: pareto.price_source,
    },
    bodybuilder: { model: bodybuilder.model },
    fusion: {
      panels: fusion ? readPanels(fusion) : builtinPanels,
      modelTimeoutMs: fusion?.model_timeout_ms ?? DEFAULT_MODEL_TIMEOUT_MS,
    },
    traffic,
  };
}

/** Returns the operator's aliases, then the built-in ones that they do not override. */
export function listAliases(configured: readonly LatestAlias[]): LatestAlias[] {
  const own = configured.map((each) => ({ ...each, alias: each.alias.toLowerCase() }));
  return [...own, ...builtinAliases.filter(({ alias }) => !own.some((each) => each.alias === alias))];
}

/**
 * Returns a generator of pseudo-random numbers from 0 up to 1 (mulberry32). The same seed yields the same numbers.
 *
 * @param seed an integer
 */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface RoutingContextSettings {
  routers?: RoutersConfig | undefined;
  strategies?: StrategyConfig | undefined;
  seed?: number | undefined;
}

/** Creates a routing context without any history. */
export function createRoutingContext<E extends EndpointFacts>(
  catalog: RoutingContext<E>['catalog'],
  { routers = emptyRouters, seed, strategies = { strategy: 'price', models: [] } }: RoutingContextSettings = {},
): RoutingContext<E> & { health: Health; inFlight: InFlight } {
  return {
    catalog,
    health: new Health(),
    inFlight: new InFlight(),
    strategyOf: createStrategyTable(strategies),
    sticky: new StickyMemory(() => 0),
    routers: readRouterSettings(routers, noTraffic),
    random: seed === undefined ? Math.random : seededRandom(seed),
  };
}

const emptyRouters: RoutersConfig = {
  latest: [],
  auto: { prevent_overrides: false },
  pareto_code: {},
  bodybuilder: {},
};
