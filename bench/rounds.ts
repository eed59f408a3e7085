import type { Plan } from './measure.ts';
import {
  type Gateway,
  type Load,
  type LoadResult,
  type Mock,
  type Pace,
  runDirectLoad,
  runLoad,
  startGateway,
  stopGateway,
} from './rig.ts';
import { findMedian, type Samples, writeMicroseconds } from './samples.ts';
import { bareProxy, parsingProxy, type Variant, baselineVariants } from './variants.ts';

/** The phases whose figure is a ratio to a baseline. */
export type RatioPhase = 'json' | 'json50' | 'sse' | 'paced';

interface Shape extends Omit<Load, 'warmUpSeconds' | 'seconds'> {
  pace: Pace;
  /** Warm-up of a window, so that paced streams are in flight and idle processes are awake. */
  settleSeconds: number;
}

/** The load of each phase. */
export const shapes: Record<RatioPhase, Shape> = {
  json: { size: '2k', stream: false, connections: 64, pace: 0, settleSeconds: 0.4 },
  json50: { size: '50k', stream: false, connections: 64, pace: 0, settleSeconds: 0.4 },
  sse: { size: '2k', stream: true, connections: 16, pace: 0, settleSeconds: 0.4 },
  paced: { size: '2k', stream: true, connections: 50, pace: 5, settleSeconds: 1.2, spreadMs: 1_000 },
};
const ratioPhases = Object.keys(shapes) as RatioPhase[]; // typed by its keys

/** Whether a figure is a ratio. */
export const isRatio = (figure: string): figure is RatioPhase => Object.hasOwn(shapes, figure);

/** The variant that the ratios of a phase refer to. */
export const baselineOf = (phase: RatioPhase): Variant => (phase === 'paced' ? bareProxy : parsingProxy);

/** If other programs use more than this, in percent of one CPU, a window is measured again. */
const tolerableNoise = 20;

/** Maximum warm-up windows of a gateway. */
const maxWarmUpWindows = 12;

/**
 * How often the phases alternate before the first round. When the load changes for the first time, V8 drops the code of
 * functions that the phases share, and compiles them again: 58 and 106 functions from `json` to `sse`.
 */
const warmUpTurns = 2;

/**
 * An idle gateway frees memory after a minute and loses optimized code with it. Its first window then costs up to three
 * times as much. A gateway that was idle for longer than `maxIdleMs` gets load for `wakeSeconds` before a window.
 */
const maxIdleMs = 20_000;
const wakeSeconds = 4;

/**
 * Measures CPU ratios, rates and latencies. Gateways stay up and take turns in short windows, until new ones start for
 * the next share of the rounds. The baselines stay up.
 */
export async function measureRounds(plan: Plan, mock: Mock, samples: Samples): Promise<void> {
  const ratios = ratioPhases.filter((phase) => plan.phases.includes(phase));
  const half = plan.phases.includes('half');
  if (ratios.length === 0 && !half) return;
  const rounds = new Rounds(plan, mock, samples);
  const warmed = new Set<RatioPhase>(half ? ['json', ...ratios] : ratios);
  const paces = new Set(Array.from(warmed, (phase) => shapes[phase].pace));
  for (const pace of paces) await rounds.startBaselines(pace);
  const share = Math.ceil(plan.rounds / plan.processes);
  for (let round = 0; round < plan.rounds; round++) {
    if (round % share === 0) {
      await rounds.stopGateways();
      for (const pace of paces) await rounds.startGateways(pace);
      const isFirst = round === 0;
      for (const phase of warmed) await rounds.warmUp(phase, isFirst);
      for (let turn = 0; turn < warmUpTurns; turn++) {
        for (const phase of warmed) await rounds.warmUpAgain(phase, isFirst);
      }
    }
    for (const phase of ratios) await rounds.measureRatios(phase, round);
    if (half) await rounds.measureHalfRate(round);
  }
  await rounds.stopGateways();
  await rounds.stopBaselines();
}

class Rounds {
  /** Gateways by the pace of their upstream, with separate baselines. */
  readonly #fleets = new Map<Pace, { baselines: Map<Variant, Gateway>; gateways: Gateway[] }>();
  readonly #plan: Plan;
  readonly #mock: Mock;
  readonly #samples: Samples;
  /** When the last load of a gateway ended, in ms of the monotonic clock. */
  readonly #loadedAt = new WeakMap<Gateway, number>();
  /** Whether warm-ups are short: the difference counts less than the number of processes. */
  readonly #isBrief: boolean;

  constructor(plan: Plan, mock: Mock, samples: Samples) {
    this.#plan = plan;
    this.#isBrief = plan.quick || plan.processes > 1;
    this.#mock = mock;
    this.#samples = samples;
  }

  async startBaselines(pace: Pace): Promise<void> {
    const baselines = new Map<Variant, Gateway>();
    for (const reference of baselineVariants) {
      baselines.set(reference, await startGateway(reference, this.#mock.ports[pace]));
    }
    this.#fleets.set(pace, { baselines, gateways: [] });
  }

  async startGateways(pace: Pace): Promise<void> {
    const { gateways } = this.#fleets.get(pace)!;
    for (const variant of this.#plan.variants) {
      await this.#samples.attempt('start', variant, async () => {
        gateways.push(await startGateway(variant, this.#mock.ports[pace]));
      });
    }
  }

  async stopGateways(): Promise<void> {
    for (const { gateways } of this.#fleets.values()) {
      for (const gateway of gateways.splice(0)) await stopGateway(gateway);
    }
  }

  async stopBaselines(): Promise<void> {
    for (const { baselines } of this.#fleets.values()) {
      for (const gateway of baselines.values()) await stopGateway(gateway);
    }
  }

  /**
   * Sends load until the cost has not fallen in two windows in a row, because V8 compiles the hot path late on a slow
   * machine, and one window may be disturbed.
   */
  async warmUp(phase: RatioPhase, withBaseline: boolean): Promise<void> {
    const seconds = this.#isBrief ? 2 : 4;
    for (const gateway of this.#listWarmed(phase, withBaseline)) {
      await this.#samples.attempt(phase, gateway.variant, async () => {
        let lowest = Number.POSITIVE_INFINITY;
        let steady = 0;
        for (let window = 0; window < maxWarmUpWindows && steady < 2; window++) {
          const cost = readCost(phase, await this.#measureWindow(phase, gateway, seconds));
          steady = cost > lowest * 0.95 ? steady + 1 : 0;
          lowest = Math.min(lowest, cost);
        }
      });
    }
  }

  /** Sends load for one short window. */
  async warmUpAgain(phase: RatioPhase, withBaseline: boolean): Promise<void> {
    const seconds = this.#isBrief ? 0.5 : 2;
    for (const gateway of this.#listWarmed(phase, withBaseline)) {
      await this.#samples.attempt(phase, gateway.variant, async () => {
        await this.#measureWindow(phase, gateway, seconds);
      });
    }
  }

  #listWarmed(phase: RatioPhase, withBaseline: boolean): Gateway[] {
    const { baselines, gateways } = this.#fleets.get(shapes[phase].pace)!;
    return withBaseline ? [baselines.get(baselineOf(phase))!, ...gateways] : gateways;
  }

  /** Measures each gateway between two windows of the baseline. The ratio refers to their mean. */
  async measureRatios(phase: RatioPhase, round: number): Promise<void> {
    const baseline = this.#fleets.get(shapes[phase].pace)!.baselines.get(baselineOf(phase))!;
    let last = await this.#measureBaseline(phase, baseline);
    for (const gateway of this.#listGateways(phase, round)) {
      await this.#samples.attempt(phase, gateway.variant, async () => {
        let known: LoadResult | undefined = last; // undefined after a disturbed window, so the next one measures a new baseline
        const [before, own, after] = await this.#measureQuietly(async () => {
          const first = known ?? (await this.#measureBaseline(phase, baseline));
          known = undefined;
          const second = await this.#measureWindow(phase, gateway, this.#plan.quick ? 1.6 : 2.2);
          return [first, second, await this.#measureBaseline(phase, baseline)] as const;
        });
        last = after;
        this.#keepRatio(phase, gateway, round, own, [before, after]);
      });
    }
  }

  /** Measures the latency at half the maximum rate, minus that of the mock alone at the same rate. */
  async measureHalfRate(round: number): Promise<void> {
    for (const gateway of this.#listGateways('json', round)) {
      const { variant } = gateway;
      await this.#samples.attempt('half', variant, async () => {
        const known = this.#samples.list('requestsPerSecond', variant);
        const maximum = known.length > 0 ? findMedian(known) : (await this.#measureWindow('json', gateway, 1.5)).rps;
        const load = { ...shapes.json, connections: 256, rate: maximum / 2, warmUpSeconds: 0.5 };
        const windows = await this.#measureQuietly(async () => {
          const direct = await runDirectLoad(0, { ...load, seconds: 1 }, this.#mock);
          return [direct, await runLoad(gateway, { ...load, seconds: 2.5 }, this.#mock)] as const;
        });
        const [direct, through] = windows;
        const addedP50Ms = (through.p50_us - direct.p50_us) / 1_000;
        const addedP99Ms = (through.p99_us - direct.p99_us) / 1_000;
        this.#samples.take('halfP50Ms', variant, addedP50Ms);
        this.#samples.take('halfP99Ms', variant, addedP99Ms);
        const added = `p50 ${addedP50Ms.toFixed(2)} ms, p99 ${addedP99Ms.toFixed(2)} ms added`;
        const conditions = `at ${(maximum / 2).toFixed(0)} requests/s, others ${readNoise(windows).toFixed(0)}%`;
        this.#samples.tell('half', variant, `round ${round + 1}: ${added} (${conditions})`);
      });
    }
  }

  #listGateways(phase: RatioPhase, round: number): Gateway[] {
    const { gateways } = this.#fleets.get(shapes[phase].pace)!;
    const measured = gateways.filter(({ variant }) => round < (variant.rounds ?? Number.POSITIVE_INFINITY));
    return round % 2 === 0 ? measured : measured.toReversed(); // so that none is always the first
  }

  #measureBaseline(phase: RatioPhase, baseline: Gateway): Promise<LoadResult> {
    return this.#measureWindow(phase, baseline, phase === 'paced' ? 1.6 : 0.9);
  }

  async #measureWindow(phase: RatioPhase, gateway: Gateway, seconds: number): Promise<LoadResult> {
    const { settleSeconds, ...shape } = shapes[phase];
    const idleMs = performance.now() - (this.#loadedAt.get(gateway) ?? 0);
    const warmUpSeconds = idleMs > maxIdleMs ? wakeSeconds : settleSeconds;
    const result = await runLoad(gateway, { ...shape, warmUpSeconds, seconds }, this.#mock);
    this.#loadedAt.set(gateway, performance.now());
    return result;
  }

  /** Repeats a disturbed window a bounded number of times and keeps the least disturbed one. */
  async #measureQuietly<Windows extends readonly LoadResult[]>(take: () => Promise<Windows>): Promise<Windows> {
    let best = await take();
    for (let again = 0; readNoise(best) > tolerableNoise && again < (this.#plan.quick ? 1 : 2); again++) {
      const next = await take();
      if (readNoise(next) < readNoise(best)) best = next;
    }
    return best;
  }

  #keepRatio(
    phase: RatioPhase,
    { variant }: Gateway,
    round: number,
    own: LoadResult,
    [before, after]: readonly [LoadResult, LoadResult],
  ): void {
    const samples = this.#samples;
    const baselineCost = (readCost(phase, before) + readCost(phase, after)) / 2;
    const ratio = readCost(phase, own) / baselineCost;
    const noise = readNoise([before, own, after]);
    samples.foreignCpuPercent.push(noise);
    samples.take(phase, variant, ratio);
    samples.take(phase, baselineOf(phase), baselineCost);
    if (phase === 'json') samples.take('requestsPerSecond', variant, own.rps);
    if (phase === 'json') samples.take('requestsPerSecond', parsingProxy, after.rps);
    if (phase === 'paced') samples.take('deltaP50Ms', variant, own.delta_p50_us / 1_000);
    if (phase === 'paced') samples.take('deltaP50Ms', bareProxy, after.delta_p50_us / 1_000);
    const [cost, ...baselines] = [own, before, after].map((result) => writeMicroseconds(readCost(phase, result)));
    const costs = `${cost}, ${baselineOf(phase).name} ${baselines.join(' and ')}, others ${noise.toFixed(0)}%`;
    samples.tell(phase, variant, `round ${round + 1}: ${ratio.toFixed(2)} × ${baselineOf(phase).name} (${costs})`);
  }
}

/** Returns the CPU time of the gateway per request, or per event of a stream, in µs. */
function readCost(phase: RatioPhase, result: LoadResult): number {
  return shapes[phase].stream ? result.cpu_us_event : result.cpu_us_req;
}

/** Returns the maximum CPU time that others used or the host took in any of the windows, in percent of one CPU. */
function readNoise(windows: readonly LoadResult[]): number {
  return Math.max(...windows.map((window) => window.foreign_cpu_pct + window.steal_pct));
}
