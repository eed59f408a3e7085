import type { Slug } from '../catalog/slug.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import type { ResponseRequest } from '../domain/request.ts';
import { type SortKey, sortKeys } from '../domain/request-defaults.ts';
import { perPiece, perToken } from '../metering/price.ts';

export type Percentile = 'p50' | 'p75' | 'p90' | 'p99';
export type Cutoffs = readonly { percentile: Percentile; value: number }[];

/**
 * The preferences from `provider`, the suffixes of the slug and the tier.
 *
 * @see docs/reference/routing.md#suffixes, docs/reference/routing.md#provider-preferences
 */
export interface Preferences {
  order: readonly string[] | undefined;
  only: readonly string[] | undefined;
  ignore: readonly string[] | undefined;
  allowFallbacks: boolean;
  requireParameters: boolean;
  denyTraining: boolean;
  zeroRetention: boolean;
  distillable: boolean;
  quantizations: ReadonlySet<string> | undefined;
  sort: SortKey | undefined;
  /** Whether `sort` is the workspace's default, because the request sets no order. */
  isUsualSort: boolean;
  /** Whether the endpoints of all models are one list. */
  mixModels: boolean;
  minThroughput: Cutoffs;
  /** Seconds. */
  maxLatency: Cutoffs;
  maxPrice: MaxPrice | undefined;
  /** Additional tiers that are admitted: `priority`, `flex`. */
  tiers: ReadonlySet<string>;
  /** The tier that `service_tier` requests. */
  tier: 'priority' | 'flex' | undefined;
}

/** Nano-dollars per million tokens, or per request or image. */
export interface MaxPrice {
  prompt?: number;
  completion?: number;
  request?: number;
  image?: number;
  audio?: number;
}

const noTiers: ReadonlySet<string> = new Set();
const noCutoffs: Cutoffs = [];

const none: Preferences = {
  order: undefined,
  only: undefined,
  ignore: undefined,
  allowFallbacks: true,
  requireParameters: false,
  denyTraining: false,
  zeroRetention: false,
  distillable: false,
  quantizations: undefined,
  sort: undefined,
  isUsualSort: false,
  mixModels: false,
  minThroughput: noCutoffs,
  maxLatency: noCutoffs,
  maxPrice: undefined,
  tiers: noTiers,
  tier: undefined,
};

/** The preferences if only a sort is set. */
const onlySorted = Object.fromEntries(sortKeys.map((sort) => [sort, { ...none, sort, isUsualSort: true }])) as Record<
  SortKey,
  Preferences
>;

/** Validated by the request schema. Null is the same as absent. */
interface WirePreferences {
  order?: string[] | null;
  only?: string[] | null;
  ignore?: string[] | null;
  allow_fallbacks?: boolean | null;
  require_parameters?: boolean | null;
  data_collection?: 'allow' | 'deny' | null;
  zdr?: boolean | null;
  enforce_distillable_text?: boolean | null;
  quantizations?: string[] | null;
  sort?: SortKey | { by?: SortKey | null; partition?: 'model' | 'none' | null } | null;
  preferred_min_throughput?: WireCutoffs | null;
  preferred_max_latency?: WireCutoffs | null;
  max_price?: Partial<Record<'prompt' | 'completion' | 'request' | 'image' | 'audio', number | string>> | null;
}

type WireCutoffs = number | Partial<Record<Percentile, number | null>>;

/**
 * @param slug of the request; its suffixes are preferences
 * @param usualSort applies if the request has no list, sort or tier. choice 224
 */
export function readPreferences(request: ResponseRequest, slug: Slug, usualSort?: SortKey): Preferences {
  const wire = request.provider as WirePreferences | null | undefined; // validated by the schema
  const tier = request.service_tier;
  if (!wire && slug.sort === undefined && (tier === undefined || tier === null || tier === 'auto')) {
    return usualSort === undefined ? none : onlySorted[usualSort];
  }
  const { sort: wireSort, max_price: maxPrice } = wire ?? {};
  const order = readList(wire?.order);
  const quantizations = readList(wire?.quantizations);
  const sort = typeof wireSort === 'string' ? { by: wireSort } : (wireSort ?? {});
  const orders = tier === 'priority' || tier === 'flex';
  const ownSort = sort.by ?? slug.sort;
  const isUsualSort = usualSort !== undefined && ownSort === undefined && !order && !orders;
  const admits = !order && tier !== 'default'; // both cancel the tiers of :nitro and :floor
  return {
    order: order?.map(lower),
    only: readList(wire?.only)?.map(lower),
    ignore: readList(wire?.ignore)?.map(lower),
    allowFallbacks: wire?.allow_fallbacks ?? true,
    requireParameters: wire?.require_parameters ?? false,
    denyTraining: wire?.data_collection === 'deny',
    zeroRetention: wire?.zdr ?? false,
    distillable: wire?.enforce_distillable_text ?? false,
    quantizations: quantizations ? new Set(quantizations.flatMap(widen)) : undefined,
    sort: isUsualSort ? usualSort : ownSort,
    isUsualSort,
    mixModels: sort.partition === 'none',
    minThroughput: readCutoffs(wire?.preferred_min_throughput),
    maxLatency: readCutoffs(wire?.preferred_max_latency),
    maxPrice: maxPrice ? readMaxPrice(maxPrice) : undefined,
    tiers: admits && slug.tiers.length > 0 ? new Set(slug.tiers) : noTiers,
    tier: orders ? tier : undefined,
  };
}

/** An empty list is the same as none. choice 111 */
const readList = (list: readonly string[] | null | undefined): readonly string[] | undefined =>
  list && list.length > 0 ? list : undefined;

const lower = (text: string): string => text.toLowerCase();

/** `fp4` and `fp8` include their formats with scales. */
function widen(quantization: string): string[] {
  if (quantization === 'fp4') return ['fp4', 'mxfp4', 'nvfp4'];
  return quantization === 'fp8' ? ['fp8', 'mxfp8'] : [quantization];
}

function readCutoffs(wire: WireCutoffs | null | undefined): Cutoffs {
  if (wire === null || wire === undefined) return noCutoffs;
  if (typeof wire === 'number') return [{ percentile: 'p50', value: wire }];
  return (Object.entries(wire) as [Percentile, number | null][]).flatMap(([percentile, value]) =>
    value === null ? [] : [{ percentile, value }],
  );
}

/** Token prices of the request are USD per million tokens. */
function readMaxPrice(wire: NonNullable<WirePreferences['max_price']>): MaxPrice {
  const { prompt, completion, request, image, audio } = wire;
  return {
    ...(prompt === undefined ? undefined : { prompt: perToken(Number(prompt) / 1e6) }),
    ...(completion === undefined ? undefined : { completion: perToken(Number(completion) / 1e6) }),
    ...(request === undefined ? undefined : { request: perPiece(request) }),
    ...(image === undefined ? undefined : { image: perPiece(image) }),
    ...(audio === undefined ? undefined : { audio: perToken(audio) }),
  };
}

const isExtraTier = (tier: string | undefined): boolean => tier === 'flex' || tier === 'priority';

/**
 * Whether an entry of `order`, `only` or `ignore` names this endpoint. A provider id or display name matches all its
 * endpoints except those of a tier. `provider/tag` matches one endpoint.
 */
export function matchesEndpoint(entry: string, { tag, tier, provider }: EndpointFacts): boolean {
  const slash = tag.indexOf('/');
  if (entry === tag.toLowerCase()) return true;
  if (slash !== -1 && entry === `${provider.id}${tag.slice(slash)}`.toLowerCase()) return true;
  if (isExtraTier(tier)) return false;
  const base = (slash === -1 ? tag : tag.slice(0, slash)).toLowerCase();
  return entry === base || entry === provider.id.toLowerCase() || entry === provider.name.toLowerCase();
}
