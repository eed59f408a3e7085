import type { GatewayError } from '../domain/errors.ts';
import { LIMITED_MS, MAX_LIMITED_MS } from '../domain/provider-limits.ts';
import { RollingCounts } from '../domain/rolling-counts.ts';
import type { Percentile } from './preferences.ts';
import { percentileOf, RecentSamples, reachedBy } from './rolling.ts';

/** The health of an endpoint. @see docs/reference/routing.md#order-of-endpoints, docs/reference/routing.md#health */
export interface HealthView {
  /** No outage within the last 30 seconds. */
  readonly isStable: boolean;
  /** Whether the last attempt failed, by a fault of the endpoint. */
  readonly hasFailedLast: boolean;
  /** Whether the endpoint waits for a rate limit: for the time that the provider named, or for 10 seconds. */
  readonly isLimited: boolean;
  /** Whether the endpoint waits for the time that the provider named. Until then, it rejects requests. */
  readonly isResting: boolean;
  /** Percent over 30 minutes. Null below 100 requests. */
  readonly uptime: number | null;
  /** Tokens per second over 5 minutes. Undefined without samples. `p90`: nine of ten were at least as fast. */
  throughput(percentile: Percentile): number | undefined;
  /** Time to the first output over 5 minutes. Undefined without samples. */
  latencyMs(percentile: Percentile): number | undefined;
  /** Median tokens per second over 30 minutes. Undefined below 100 requests. */
  readonly ratedThroughput: number | undefined;
  /** Share of requests with tool calls in 2 hours that had a broken one. Undefined below 200 requests. */
  readonly toolErrorShare: number | undefined;
}

/** The figures of `GET …/endpoints`. Uptime in percent, throughput in tokens per second, latency in milliseconds. */
export interface HealthFigures {
  uptime5m: number | null;
  uptime30m: number | null;
  uptime1d: number | null;
  latency30m: Record<Percentile, number> | null;
  throughput30m: Record<Percentile, number> | null;
}

/** The outcome of an attempt. */
export interface AttemptOutcome {
  atMs: number;
  /** Undefined: the response was complete. */
  error: Pick<GatewayError, 'kind' | 'isRegional' | 'retryAfterSeconds'> | undefined;
  /** From dispatch to the first output. Undefined if there was none. */
  firstOutputMs?: number | undefined;
  /** From dispatch to the end. */
  durationMs?: number | undefined;
  outputTokens?: number | undefined;
  /** Whether it ended with tool calls, and whether one of them was broken. */
  toolCalls?: 'none' | 'sound' | 'broken';
}

/** A wildcard creates an endpoint for any slug, so the least recent ones are forgotten. 10 KB each. */
const MAX_ENDPOINTS = 2_000;
const SAMPLES = 256;
const OUTAGE_MS = 30_000;
/** Number of slices of that time. */
const OUTAGE_SLICES = 30;
const MIN_ERRORS = 3;
const MINUTE = 60_000;
const MIN_REQUESTS = 100;
const MIN_TOOL_REQUESTS = 200;
const shares: Record<Percentile, number> = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 };
const percentiles = Object.keys(shares) as Percentile[]; // the record names its keys

/**
 * Whether a failure counts against the endpoint. A client's fault never does.
 *
 * @see docs/reference/routing.md#attempts
 */
export function isEndpointFault(error: Pick<GatewayError, 'kind' | 'isRegional'>): boolean {
  switch (error.kind) {
    case 'upstream_failed':
    case 'upstream_key_rejected':
    case 'upstream_path_missing':
    case 'upstream_timeout':
    case 'upstream_overloaded':
    case 'model_unavailable':
      return !error.isRegional;
    default:
      return false;
  }
}

/** The health of all endpoints, in memory. An endpoint without requests costs nothing. */
export class Health {
  /** Called for each recorded outcome, to share it with other processes. @see share-memory.ts */
  onOutcome: ((id: string, outcome: AttemptOutcome) => void) | undefined;
  private readonly endpoints = new Map<string, EndpointHealth>();
  private readonly now: () => number;
  private readonly outageMs: number;

  /** @param outageMs the window that detects an outage, and the quiet time that ends it */
  constructor(now: () => number = Date.now, outageMs = OUTAGE_MS) {
    this.now = now;
    this.outageMs = outageMs;
  }

  /** Bound, because it is passed as a function. */
  readonly view = ({ id }: { readonly id: string }): HealthView | undefined => {
    const known = this.endpoints.get(id);
    return known && new View(known, this.now());
  };

  record(id: string, outcome: AttemptOutcome): void {
    this.learn(id, outcome);
    this.onOutcome?.(id, outcome);
  }

  /** Records an outcome of another process. */
  learn(id: string, outcome: AttemptOutcome): void {
    const known = this.endpoints.get(id) ?? new EndpointHealth(this.outageMs);
    if (this.endpoints.size >= MAX_ENDPOINTS) {
      this.endpoints.delete(id);
      if (this.endpoints.size >= MAX_ENDPOINTS) this.endpoints.delete(this.endpoints.keys().next().value!);
    }
    this.endpoints.set(id, known);
    known.record(outcome);
  }

  figures(id: string): HealthFigures {
    const known = this.endpoints.get(id);
    return known ? known.figures(this.now()) : nothingKnown;
  }
}

const nothingKnown: HealthFigures = {
  uptime5m: null,
  uptime30m: null,
  uptime1d: null,
  latency30m: null,
  throughput30m: null,
};

const OK = 0;
const FAULT = 1;

class EndpointHealth {
  readonly outage: RollingCounts;
  readonly fiveMinutes = new RollingCounts(10_000, 30, 2);
  readonly halfHour = new RollingCounts(MINUTE, 30, 2);
  readonly day = new RollingCounts(30 * MINUTE, 48, 2);
  /** Sound and broken. */
  readonly tools = new RollingCounts(5 * MINUTE, 24, 2);
  readonly latenciesMs = new RecentSamples(SAMPLES);
  readonly throughputs = new RecentSamples(SAMPLES);
  faultsInARow = 0;
  private lastFaultAtMs = Number.NEGATIVE_INFINITY;
  /** Until this time the endpoint counts as unstable, because the provider named a wait. */
  private restsUntilMs = 0;
  /** The last time that the provider limited the rate and named no wait. */
  private limitedAtMs = Number.NEGATIVE_INFINITY;
  private readonly outageMs: number;

  constructor(outageMs: number) {
    this.outageMs = outageMs;
    this.outage = new RollingCounts(outageMs / OUTAGE_SLICES, OUTAGE_SLICES, 2);
  }

  record({ atMs, error, firstOutputMs, durationMs, outputTokens = 0, toolCalls = 'none' }: AttemptOutcome): void {
    if (error) {
      if (error.kind === 'rate_limited' || error.kind === 'upstream_overloaded') {
        const restMs = Math.min((error.retryAfterSeconds ?? 0) * 1000, MAX_LIMITED_MS);
        this.restsUntilMs = Math.max(this.restsUntilMs, atMs + restMs);
        if (error.kind === 'rate_limited' && error.retryAfterSeconds === undefined) this.limitedAtMs = atMs;
      }
      if (!isEndpointFault(error)) return;
      this.count(FAULT, atMs);
      this.faultsInARow++;
      this.lastFaultAtMs = atMs;
      return;
    }
    this.count(OK, atMs);
    this.faultsInARow = 0;
    // A request that began before the rejection does not show that the limit is over.
    if (atMs - (durationMs ?? 0) >= this.limitedAtMs) this.limitedAtMs = Number.NEGATIVE_INFINITY;
    if (firstOutputMs !== undefined) this.latenciesMs.add(firstOutputMs, atMs);
    if (durationMs !== undefined && durationMs > 0 && outputTokens > 0) {
      this.throughputs.add(outputTokens / (durationMs / 1000), atMs);
    }
    if (toolCalls !== 'none') this.tools.add(toolCalls === 'sound' ? OK : FAULT, atMs);
  }

  /**
   * Whether there is no outage: three faults in a row, or three or more that are most of the requests in 30 seconds.
   */
  isStable(nowMs: number): boolean {
    if (this.isResting(nowMs)) return false;
    if (nowMs - this.lastFaultAtMs >= this.outageMs) return true;
    if (this.faultsInARow >= MIN_ERRORS) return false;
    const faults = this.outage.sum(FAULT, nowMs);
    return faults < MIN_ERRORS || faults <= this.outage.sum(OK, nowMs);
  }

  isResting(nowMs: number): boolean {
    return nowMs < this.restsUntilMs;
  }

  isLimited(nowMs: number): boolean {
    return this.isResting(nowMs) || nowMs < this.limitedAtMs + LIMITED_MS;
  }

  uptime(counts: RollingCounts, nowMs: number): number | null {
    const answered = counts.sum(OK, nowMs);
    const all = answered + counts.sum(FAULT, nowMs);
    return all < MIN_REQUESTS ? null : (100 * answered) / all;
  }

  figures(nowMs: number): HealthFigures {
    const latencies = this.latenciesMs.within(30 * MINUTE, nowMs);
    const speeds = this.throughputs.within(30 * MINUTE, nowMs);
    return {
      uptime5m: this.uptime(this.fiveMinutes, nowMs),
      uptime30m: this.uptime(this.halfHour, nowMs),
      uptime1d: this.uptime(this.day, nowMs),
      latency30m: spread(latencies, (share) => percentileOf(latencies, share)!),
      throughput30m: spread(speeds, (share) => reachedBy(speeds, share)!),
    };
  }

  private count(kind: number, atMs: number): void {
    for (const counts of [this.outage, this.fiveMinutes, this.halfHour, this.day]) counts.add(kind, atMs);
  }
}

const spread = (samples: readonly number[], read: (share: number) => number): Record<Percentile, number> | null =>
  samples.length === 0
    ? null
    : (Object.fromEntries(percentiles.map((name) => [name, Math.round(read(shares[name]) * 10) / 10])) as Record<
        Percentile,
        number
      >); // one entry for each name

class View implements HealthView {
  readonly isStable: boolean;
  private readonly known: EndpointHealth;
  private readonly nowMs: number;

  constructor(known: EndpointHealth, nowMs: number) {
    this.known = known;
    this.nowMs = nowMs;
    this.isStable = known.isStable(nowMs);
  }

  get hasFailedLast(): boolean {
    return this.known.faultsInARow > 0;
  }

  get isLimited(): boolean {
    return this.known.isLimited(this.nowMs);
  }

  get isResting(): boolean {
    return this.known.isResting(this.nowMs);
  }

  get uptime(): number | null {
    return this.known.uptime(this.known.halfHour, this.nowMs);
  }

  throughput(percentile: Percentile): number | undefined {
    const speeds = this.known.throughputs.within(5 * MINUTE, this.nowMs);
    return reachedBy(speeds, shares[percentile]);
  }

  latencyMs(percentile: Percentile): number | undefined {
    return percentileOf(this.known.latenciesMs.within(5 * MINUTE, this.nowMs), shares[percentile]);
  }

  get ratedThroughput(): number | undefined {
    const speeds = this.known.throughputs.within(30 * MINUTE, this.nowMs);
    return speeds.length < MIN_REQUESTS ? undefined : percentileOf(speeds, 0.5);
  }

  get toolErrorShare(): number | undefined {
    const sound = this.known.tools.sum(OK, this.nowMs);
    const broken = this.known.tools.sum(FAULT, this.nowMs);
    return sound + broken < MIN_TOOL_REQUESTS ? undefined : broken / (sound + broken);
  }
}
