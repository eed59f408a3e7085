import type { Slug } from '../catalog/slug.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import type { ResponseRequest } from '../domain/request.ts';
import { type SortKey, sortKeys } from '../domain/request-defaults.ts';
import { perPiece, perToken } from '../metering/price.ts';

export type Percentile = 'p50' | 'p75' | 'p90' | 'p99';
export type Cutoffs = readonly { percentile: Percentile; value: number }[];

/** `provider` of a request, the suffixes of its slug and its tier, in one. @see docs/reference/routing.md#suffixes, docs/reference/routing.md#provider-preferences */
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
  /** The request leaves the order open, so that `sort` is what usually holds. */
  isUsualSort: boolean;
  /** One list of all models' endpoints, not one after the other. */
  mixModels: boolean;
  minThroughput: Cutoffs;
  /** Seconds. */
  maxLatency: Cutoffs;
  maxPrice: MaxPrice | undefined;
  /** `priority`, `flex`: endpoints of these tiers take part as well. */
  tiers: ReadonlySet<string>;
  /** What `service_tier` asks for. */
  tier: 'priority' | 'flex' | undefined;
}

/** Nano-dollars per million tokens, or per piece. */
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

/** Where nobody says more than by what to sort. */
const onlySorted = Object.fromEntries(sortKeys.map((sort) => [sort, { ...none, sort, isUsualSort: true }])) as Record<
  SortKey,
  Preferences
>;

/** As checked by the schema of the request; every key may be null, which is as good as absent. */
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
 * @param slug the model as it was named; its suffixes are preferences, too
 * @param usualSort holds where the request says nothing of the order: no list, no sort, no tier. choice 224
 */
export function readPreferences(request: ResponseRequest, slug: Slug, usualSort?: SortKey): Preferences {
  const wire = request.provider as WirePreferences | null | undefined; // as the schema has checked it
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
  const admits = !order && tier !== 'default'; // both cancel what :nitro and :floor admit
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

/** An empty list says nothing, like one that is not there: choice 111. */
const readList = (list: readonly string[] | null | undefined): readonly string[] | undefined =>
  list && list.length > 0 ? list : undefined;

const lower = (text: string): string => text.toLowerCase();

/** `fp4` also means the two formats with scales, `fp8` that one. */
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

/** The wire's token prices are USD per million tokens. */
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
 * Does an entry of `order`, `only` or `ignore` mean this endpoint? A bare provider means all of its endpoints but those
 * of a tier; `provider/tag` means that endpoint alone; the display name is as good as the slug.
 */
export function matchesEndpoint(entry: string, { tag, tier, provider }: EndpointFacts): boolean {
  const slash = tag.indexOf('/');
  if (entry === tag.toLowerCase()) return true;
  if (slash !== -1 && entry === `${provider.id}${tag.slice(slash)}`.toLowerCase()) return true;
  if (isExtraTier(tier)) return false;
  const base = (slash === -1 ? tag : tag.slice(0, slash)).toLowerCase();
  return entry === base || entry === provider.id.toLowerCase() || entry === provider.name.toLowerCase();
}
