import type { Slug } from '../../catalog/slug.ts';
import type { EndpointFacts, Model } from '../../domain/endpoint.ts';
import type { FusionSettings } from '../../domain/fusion.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { RouterMetadata, StageRecord } from '../../domain/router-metadata.ts';
import type { Exclusion } from '../exclusion.ts';
import type { Needs } from '../needs.ts';

/** A slug that chooses a model. */
export interface Router {
  readonly strategy: RouterMetadata['strategy'];
  /** @param slug in lower case, without suffixes */
  takes(slug: string): boolean;
  /** @throws {GatewayError} `not_found` if no candidate is left */
  plan(ask: RouterInput): RouterPlan;
}

export interface RouterInput {
  slug: Slug;
  request: ResponseRequest;
  needs: Needs;
  /** The model that served this session before. */
  remembered: string | undefined;
  /** The task from the classifier model. Undefined if none was used. */
  task: string | undefined;
  routingContext: RouterContext;
  settings: RouterSettings;
  /** Returns the endpoints of a model that may serve this request. */
  allowed(model: string): readonly EndpointFacts[];
  /** Whether there is such an endpoint. */
  isRoutable(model: string): boolean;
  /** Whether the caller's guardrails allow any endpoint of the model, independent of this request. */
  isPermitted(model: string): boolean;
}

/** The part of the routing context that routers use. */
export interface RouterContext {
  catalog: {
    find(slug: string): readonly EndpointFacts[];
    readonly models: readonly Model[];
    readonly choices: readonly Model[];
  };
  health: { view(endpoint: EndpointFacts): { throughput(percentile: 'p50'): number | undefined } | undefined };
  random: () => number;
}

/** Whether a model generates text, and images only if requested, because image models cost far more. */
export const matchesOutputs = ({ output }: Pick<Model, 'output'>, needs: Needs): boolean =>
  output.includes('text') && output.includes('image') === needs.output.includes('image');

export interface RouterPlan {
  /** At least one slug, in order of attempts. */
  models: readonly string[];
  stage?: StageRecord;
  /** Restricts the endpoints of the chosen models. @returns why one is excluded */
  keep?: ((endpoint: EndpointFacts) => Exclusion | undefined) | undefined;
  /** @returns the request to send instead */
  rewrite?: ((request: ResponseRequest) => ResponseRequest) | undefined;
  /** Whether the response is free for the caller. */
  isFree?: boolean | undefined;
  /** The task of the conversation, for the ledger entry. */
  task?: string | undefined;
}

/** Settings of the operator and statistics of the ledger. */
export interface RouterSettings {
  latest: readonly LatestAlias[];
  auto: AutoSettings;
  pareto: ParetoSettings;
  /** The model that writes the bodies. Undefined: the cheapest one that supports JSON schemas. */
  bodybuilder: { model: string | undefined };
  fusion: FusionSettings;
  traffic: Traffic;
}

/** `*` matches any text. */
export interface LatestAlias {
  alias: string;
  pattern: string;
  exclude?: readonly string[] | undefined;
}

/** Settings for fields that the request omits. Final settings win over the request. */
export interface AutoSettings {
  /** Models by task, best first. `default` is for all other tasks. */
  rankings: Readonly<Record<string, readonly string[]>>;
  allowedModels: readonly string[] | undefined;
  excludedModels: readonly string[] | undefined;
  costTier: string | undefined;
  costQualityTradeoff: number | undefined;
  isFinal: boolean;
}

export interface ParetoSettings {
  /** Coding models with scores from 0 to 100. Undefined: those of the catalog. */
  models: readonly { slug: string; codingScore: number }[] | undefined;
  minCodingScore: number | undefined;
  maxPrice: number | undefined;
  priceSource: 'prompt' | 'weighted_avg' | undefined;
}

/** Statistics of the ledger for the last seven days. */
export interface Traffic {
  /** Returns models by their spending on a task, highest first. Empty below 20 responses. */
  rank(task: string): readonly { model: string; share: number }[];
  /** Returns the average cost of a response in nano-dollars. Undefined if there was none. */
  averageCost(task: string, model: string): number | undefined;
  /** Returns nano-dollars per million input tokens. Undefined if there were none. */
  inputPrice(model: string): number | undefined;
}
