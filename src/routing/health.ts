import type { GatewayError } from '../domain/errors.ts';
import { RollingCounts } from '../domain/rolling-counts.ts';
import type { Percentile } from './preferences.ts';
import { percentileOf, RecentSamples, reachedBy } from './rolling.ts';

/** How an endpoint does. @see docs/reference/routing.md#order-of-endpoints, docs/reference/routing.md#health */
export interface HealthView {
  /** No outage within the last 30 seconds. */
  readonly isStable: boolean;
  /** Percent over 30 minutes; null below 100 requests. */
  readonly uptime: number | null;
  /** Tokens per second over 5 minutes; undefined when there are none. For `p90` nine of ten were as fast. */
  throughput(percentile: Percentile): number | undefined;
  /** To the first output, over 5 minutes. */
  latencyMs(percentile: Percentile): number | undefined;
  /** The median over 30 minutes, once there are 100 requests. */
  readonly ratedThroughput: number | undefined;
  /** Requests with a broken tool call, of those that ended with calls in 2 hours, once there are 200. */
  readonly toolErrorShare: number | undefined;
}

/** What `GET …/endpoints` shows. Uptimes are percent, throughput tokens per second, latency milliseconds. */
export interface HealthFigures {
  uptime5m: number | null;
  uptime30m: number | null;
  uptime1d: number | null;
  latency30m: Record<Percentile, number> | null;
  throughput30m: Record<Percentile, number> | null;
}

/** What became of an attempt. */
export interface AttemptOutcome {
  atMs: number;
  /** Undefined: it answered in full. */
  error: Pick<GatewayError, 'kind' | 'isRegional' | 'retryAfterSeconds'> | undefined;
  /** From dispatch to the first output; undefined when there was none. */
  firstOutputMs?: number | undefined;
  /** From dispatch to the end. */
  durationMs?: number | undefined;
  outputTokens?: number | undefined;
  /** Did it end with tool calls, and was one of them broken? */
  toolCalls?: 'none' | 'sound' | 'broken';
}

/** A wildcard makes an endpoint of any slug, so beyond so many the least recent is forgotten. 10 KB each. */
const MAX_ENDPOINTS = 2_000;
const SAMPLES = 256;
const OUTAGE_MS = 30_000;
/** Parts of that time that failures are counted in. */
const OUTAGE_SLICES = 30;
const MIN_ERRORS = 3;
const MINUTE = 60_000;
const MIN_REQUESTS = 100;
const MIN_TOOL_REQUESTS = 200;
const shares: Record<Percentile, number> = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 };
const percentiles = Object.keys(shares) as Percentile[]; // the record names its keys

/** Does a failure speak against the endpoint? A client's fault never does. @see docs/reference/routing.md#attempts */
export function isEndpointFault(error: Pick<GatewayError, 'kind' | 'isRegional'>): boolean {
  switch (error.kind) {
    case 'upstream_failed':
    case 'upstream_path_missing':
    case 'upstream_timeout':
    case 'upstream_overloaded':
    case 'model_unavailable':
      return !error.isRegional;
    default:
      return false;
  }
}

/** The health of all endpoints, in memory. One that nobody asks costs nothing. */
export class Health {
  /** Told of what is recorded here, where others shall learn of it. @see share-memory.ts */
  onOutcome: ((id: string, outcome: AttemptOutcome) => void) | undefined;
  private readonly endpoints = new Map<string, EndpointHealth>();
  private readonly now: () => number;
  private readonly outageMs: number;

  /** @param outageMs how long an outage is looked at, and lasts */
  constructor(now: () => number = Date.now, outageMs = OUTAGE_MS) {
    this.now = now;
    this.outageMs = outageMs;
  }

  /** Bound, since it is handed on. */
  readonly view = ({ id }: { readonly id: string }): HealthView | undefined => {
    const known = this.endpoints.get(id);
    return known && new View(known, this.now());
  };

  record(id: string, outcome: AttemptOutcome): void {
    this.learn(id, outcome);
    this.onOutcome?.(id, outcome);
  }

  /** Records what another process has seen. */
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
  private faultsInARow = 0;
  private lastFaultAtMs = Number.NEGATIVE_INFINITY;
  /** A provider that says when to come back is left alone until then. */
  private restsUntilMs = 0;
  private readonly outageMs: number;

  constructor(outageMs: number) {
    this.outageMs = outageMs;
    this.outage = new RollingCounts(outageMs / OUTAGE_SLICES, OUTAGE_SLICES, 2);
  }

  record({ atMs, error, firstOutputMs, durationMs, outputTokens = 0, toolCalls = 'none' }: AttemptOutcome): void {
    if (error) {
      if (error.kind === 'rate_limited' || error.kind === 'upstream_overloaded') {
        const restMs = Math.min((error.retryAfterSeconds ?? 0) * 1000, 10 * MINUTE);
        this.restsUntilMs = Math.max(this.restsUntilMs, atMs + restMs);
      }
      if (!isEndpointFault(error)) return;
      this.count(FAULT, atMs);
      this.faultsInARow++;
      this.lastFaultAtMs = atMs;
      return;
    }
    this.count(OK, atMs);
    this.faultsInARow = 0;
    if (firstOutputMs !== undefined) this.latenciesMs.add(firstOutputMs, atMs);
    if (durationMs !== undefined && durationMs > 0 && outputTokens > 0) {
      this.throughputs.add(outputTokens / (durationMs / 1000), atMs);
    }
    if (toolCalls !== 'none') this.tools.add(toolCalls === 'sound' ? OK : FAULT, atMs);
  }

  /** Three faults in a row, or most of the last 30 seconds' requests and at least three; over once 30 seconds are quiet. */
  isStable(nowMs: number): boolean {
    if (nowMs < this.restsUntilMs) return false;
    if (nowMs - this.lastFaultAtMs >= this.outageMs) return true;
    if (this.faultsInARow >= MIN_ERRORS) return false;
    const faults = this.outage.sum(FAULT, nowMs);
    return faults < MIN_ERRORS || faults <= this.outage.sum(OK, nowMs);
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
