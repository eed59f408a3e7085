import type { Slug } from '../../catalog/slug.ts';
import type { EndpointFacts, Model } from '../../domain/endpoint.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { RouterMetadata, StageRecord } from '../../domain/router-metadata.ts';
import type { Exclusion } from '../filters.ts';
import type { Needs } from '../needs.ts';

/** A slug that stands for others. */
export interface Router {
  readonly strategy: RouterMetadata['strategy'];
  /** @param slug in lower case, without suffixes */
  takes(slug: string): boolean;
  /** @throws {GatewayError} `not_found` when nothing is left to choose from */
  plan(ask: RouterInput): RouterPlan;
}

export interface RouterInput {
  slug: Slug;
  request: ResponseRequest;
  needs: Needs;
  /** The model that this conversation went to before. */
  remembered: string | undefined;
  /** What a model said that the conversation is about; undefined: nobody has asked one. */
  task: string | undefined;
  routingContext: RouterContext;
  settings: RouterSettings;
  /** The endpoints of a model that may serve this request. */
  allowed(model: string): readonly EndpointFacts[];
  /** Is there any? */
  isRoutable(model: string): boolean;
  /** Do the guardrails of the caller let any endpoint of it pass, whatever this request asks? */
  isPermitted(model: string): boolean;
}

/** What routers see of the world; planning sees more. */
export interface RouterContext {
  catalog: {
    find(slug: string): readonly EndpointFacts[];
    readonly models: readonly Model[];
    readonly choices: readonly Model[];
  };
  health: { view(endpoint: EndpointFacts): { throughput(percentile: 'p50'): number | undefined } | undefined };
  random: () => number;
}

/** Does a model speak, and make pictures only where they are asked for? One that makes some costs far more. */
export const matchesOutputs = ({ output }: Pick<Model, 'output'>, needs: Needs): boolean =>
  output.includes('text') && output.includes('image') === needs.output.includes('image');

export interface RouterPlan {
  /** Slugs, the first to try in front; at least one. */
  models: readonly string[];
  stage?: StageRecord;
  /** Of the chosen models only some endpoints. @returns why one falls out */
  keep?: ((endpoint: EndpointFacts) => Exclusion | undefined) | undefined;
  /** @returns what is asked in place of the request */
  rewrite?: ((request: ResponseRequest) => ResponseRequest) | undefined;
  /** The answer costs the caller nothing. */
  isFree?: boolean | undefined;
  /** What the conversation is about; booked with the answer. */
  task?: string | undefined;
}

/** What the operator and the ledger say. */
export interface RouterSettings {
  latest: readonly LatestAlias[];
  auto: AutoSettings;
  pareto: ParetoSettings;
  /** The model that writes the bodies; undefined: the cheapest that keeps to a schema. */
  bodybuilder: { model: string | undefined };
  traffic: Traffic;
}

/** `*` stands for any text. */
export interface LatestAlias {
  alias: string;
  pattern: string;
  exclude?: readonly string[] | undefined;
}

/** Settings that hold where the request leaves the field out; `final` ones hold in any case. */
export interface AutoSettings {
  /** Models by task, the best first; `default` for tasks that are not named. */
  rankings: Readonly<Record<string, readonly string[]>>;
  allowedModels: readonly string[] | undefined;
  excludedModels: readonly string[] | undefined;
  costTier: string | undefined;
  costQualityTradeoff: number | undefined;
  isFinal: boolean;
}

export interface ParetoSettings {
  /** Coding models and their scores, 0 to 100; undefined: what the catalogue says. */
  models: readonly { slug: string; codingScore: number }[] | undefined;
  minCodingScore: number | undefined;
  maxPrice: number | undefined;
  priceSource: 'prompt' | 'weighted_avg' | undefined;
}

/** What the gateway's own ledger says of the last seven days. */
export interface Traffic {
  /** Models by the money spent on a task, the most first; none when there were fewer than 20 answers. */
  rank(task: string): readonly { model: string; share: number }[];
  /** Nano-dollars of an answer, on the average; undefined when there was none. */
  averageCost(task: string, model: string): number | undefined;
  /** Nano-dollars per million tokens of input; undefined when there was none. */
  inputPrice(model: string): number | undefined;
}
