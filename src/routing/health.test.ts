import { describe, expect, it } from 'vitest';
import { type ErrorKind, errorKinds, GatewayError } from '../domain/errors.ts';
import { type AttemptOutcome, Health, isEndpointFault } from './health.ts';

const MINUTE = 60_000;
const broken = new GatewayError('upstream_failed', 'It broke.');

/** One endpoint and a manual clock. */
function observe() {
  let now = 1_800_000_000_000;
  const health = new Health(() => now);
  const record = (times: number, outcome: Partial<AttemptOutcome>) => {
    for (let count = 0; count < times; count++) health.record('m@a', { atMs: now, error: undefined, ...outcome });
  };
  return {
    health,
    pass: (ms: number) => {
      now += ms;
    },
    answer: (times = 1, outcome: Partial<AttemptOutcome> = {}) => record(times, outcome),
    fail: (times = 1, error: GatewayError = broken) => record(times, { error }),
    view: () => health.view({ id: 'm@a' })!,
    figures: () => health.figures('m@a'),
  };
}

describe('an outage', () => {
  it('starts with the third failure in a row', () => {
    const { fail, view } = observe();
    fail(2);
    expect(view().isStable).toBe(true);
    fail();
    expect(view().isStable).toBe(false);
  });

  it('ends after one success if most of the last 30 seconds succeeded', () => {
    const { answer, fail, view } = observe();
    answer(3);
    fail(3);
    expect(view().isStable).toBe(false);
    answer();
    expect(view().isStable).toBe(true);
  });

  it('ends after exactly 30 seconds without a failure', () => {
    const { fail, pass, view } = observe();
    fail(3);
    pass(29_999);
    expect(view().isStable).toBe(false);
    pass(1);
    expect(view().isStable).toBe(true);
  });

  it('lasts 30 seconds from the last failure', () => {
    const { fail, pass, view } = observe();
    fail(3);
    pass(20_000);
    fail();
    pass(29_999);
    expect(view().isStable).toBe(false);
    pass(1);
    expect(view().isStable).toBe(true);
  });

  it.each([
    [2, 1, true, 'fewer than three failures'],
    [3, 2, false, 'more than half'],
    [3, 3, true, 'just half'],
    [50, 49, false, 'more than half'],
    [49, 50, true, 'less than half'],
  ])('depends on the share: with %i failures and %i successes, stable is %s (%s)', (failures, answers, isStable) => {
    const { answer, fail, view } = observe();
    for (let count = 0; count < Math.max(failures, answers); count++) {
      if (count < failures) fail();
      if (count < answers) answer();
    }
    expect(view().isStable).toBe(isStable);
  });

  it('ignores failures older than 30 seconds', () => {
    const { answer, fail, pass, view } = observe();
    fail(2);
    pass(31_000);
    answer();
    fail(2);
    expect(view().isStable).toBe(true);
    answer();
    fail();
    expect(view().isStable).toBe(false);
  });

  it('affects only its endpoint', () => {
    const { health, fail, view } = observe();
    health.record('m@b', { atMs: 1_800_000_000_000, error: undefined });
    fail(3);
    expect(view().isStable).toBe(false);
    expect(health.view({ id: 'm@b' })?.isStable).toBe(true);
    expect(health.view({ id: 'm@c' })).toBeUndefined();
  });

  it.each([
    'rate_limited',
    'upstream_overloaded',
  ] as const)('lasts until the Retry-After of %s, at most ten minutes', (kind) => {
    const { fail, pass, view } = observe();
    fail(1, new GatewayError(kind, 'Wait.', { retryAfterSeconds: 40 }));
    pass(39_999);
    expect(view().isStable).toBe(false);
    pass(1);
    expect(view().isStable).toBe(true);
    fail(1, new GatewayError(kind, 'Wait.', { retryAfterSeconds: 86_400 }));
    pass(10 * MINUTE - 1);
    expect(view().isStable).toBe(false);
    pass(1);
    expect(view().isStable).toBe(true);
  });
});

it('a Retry-After applies in full, even if a later one is shorter', () => {
  const { fail, pass, view } = observe();
  fail(1, new GatewayError('rate_limited', 'Wait.', { retryAfterSeconds: 40 }));
  fail(1, new GatewayError('rate_limited', 'Wait.'));
  pass(39_999);
  expect(view().isStable).toBe(false);
});

it('a rate limit without a wait ends after ten seconds, or with a success that began after it', () => {
  const { answer, fail, pass, view } = observe();
  const succeed = (durationMs: number) => answer(1, { durationMs });
  fail(1, new GatewayError('rate_limited', 'Slowly.'));
  pass(500);
  succeed(501);
  expect(view().isLimited).toBe(true);
  succeed(499);
  expect(view().isLimited).toBe(false);
  fail(1, new GatewayError('rate_limited', 'Slowly.'));
  pass(9999);
  expect(view().isLimited).toBe(true);
  pass(1);
  expect(view().isLimited).toBe(false);
});

describe('a failure', () => {
  it.each(Object.keys(errorKinds) as ErrorKind[])('%s counts if it is a fault of the provider', (kind) => {
    const counted = [
      'upstream_failed',
      'upstream_key_rejected',
      'upstream_path_missing',
      'upstream_timeout',
      'upstream_overloaded',
      'model_unavailable',
    ].includes(kind);
    expect(isEndpointFault(new GatewayError(kind, 'No.'))).toBe(counted);
    const { answer, fail, view } = observe();
    answer(100);
    fail(100, new GatewayError(kind, 'No.'));
    expect(view().uptime).toBe(counted ? 50 : 100);
  });
});

describe('uptime', () => {
  it('is null below 100 requests', () => {
    const { answer, fail, view, figures } = observe();
    answer(90);
    fail(9);
    expect(view().uptime).toBeNull();
    expect(figures()).toMatchObject({ uptime5m: null, uptime30m: null, uptime1d: null });
    answer();
    expect(view().uptime).toBe(91);
    expect(figures()).toMatchObject({ uptime5m: 91, uptime30m: 91, uptime1d: 91 });
  });

  it('is the share of successes among successes and faults', () => {
    const { answer, fail, view } = observe();
    answer(150);
    fail(50);
    fail(500, new GatewayError('rate_limited', 'Wait.'));
    fail(500, new GatewayError('upstream_rejected', 'No.'));
    expect(view().uptime).toBe(75);
  });

  it('is reported over 5 minutes, 30 minutes and a day', () => {
    const { answer, fail, pass, figures } = observe();
    fail(100);
    pass(31 * MINUTE);
    answer(100);
    expect(figures()).toMatchObject({ uptime5m: 100, uptime30m: 100, uptime1d: 50 });
    pass(6 * MINUTE);
    fail(100);
    expect(figures()).toMatchObject({ uptime5m: 0, uptime30m: 50 });
    pass(25 * 60 * MINUTE);
    expect(figures()).toMatchObject({ uptime5m: null, uptime30m: null, uptime1d: null });
  });
});

describe('speed', () => {
  const measured = (values: readonly number[], at = observe()) => {
    for (const value of values) at.answer(1, { firstOutputMs: value, durationMs: 2000, outputTokens: 2 * value });
    return at;
  };
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

  it('is time to the first output, and tokens per second from dispatch to the end', () => {
    const { view } = measured([250]);
    expect(view().latencyMs('p50')).toBe(250);
    expect(view().throughput('p50')).toBe(250);
  });

  it('has percentiles: that share was at least as quick, or as fast', () => {
    const { view } = measured(hundred.toReversed());
    for (const [percentile, share] of [
      ['p50', 50],
      ['p75', 75],
      ['p90', 90],
      ['p99', 99],
    ] as const) {
      expect(view().latencyMs(percentile)).toBe(share);
      const min = view().throughput(percentile)!;
      expect(hundred.filter((speed) => speed >= min).length).toBeGreaterThanOrEqual(share);
      expect(hundred.filter((speed) => speed >= min).length).toBeLessThanOrEqual(share + 1);
    }
  });

  it('is unknown without successes, and after five minutes', () => {
    const { fail, pass, view } = measured([250]);
    pass(5 * MINUTE - 1);
    expect(view().latencyMs('p99')).toBe(250);
    pass(1);
    expect(view().latencyMs('p99')).toBeUndefined();
    expect(view().throughput('p50')).toBeUndefined();
    const other = observe();
    other.fail();
    expect(other.view().latencyMs('p50')).toBeUndefined();
    fail();
    expect(view().throughput('p50')).toBeUndefined();
  });

  it('needs a duration and tokens', () => {
    const { answer, view } = observe();
    answer(1, { durationMs: 0, outputTokens: 5 });
    answer(1, { durationMs: 1000, outputTokens: 0 });
    answer(1, { durationMs: 1000 });
    answer(1, { outputTokens: 5 });
    expect(view().throughput('p50')).toBeUndefined();
  });

  it('is reported over 30 minutes, to a tenth', () => {
    const { figures, pass } = measured([100.04, 200.06]);
    pass(30 * MINUTE - 1);
    expect(figures().latency30m).toEqual({ p50: 100, p75: 200.1, p90: 200.1, p99: 200.1 });
    expect(figures().throughput30m).toMatchObject({ p50: 200.1, p99: 100 }); // reached by that share
    pass(1);
    expect(figures()).toMatchObject({ latency30m: null, throughput30m: null });
  });

  it('is comparable from 100 successes within 30 minutes on', () => {
    const { answer, pass, view } = measured(hundred.slice(0, 99));
    expect(view().ratedThroughput).toBeUndefined();
    pass(1000);
    answer(1, { durationMs: 1000, outputTokens: 100 });
    expect(view().ratedThroughput).toBe(50);
    pass(30 * MINUTE);
    expect(view().ratedThroughput).toBeUndefined();
  });
});

describe('the share of broken tool calls', () => {
  it('refers to requests that ended with calls, from 200 on', () => {
    const { answer, view } = observe();
    answer(149, { toolCalls: 'sound' });
    answer(50, { toolCalls: 'broken' });
    answer(500, { toolCalls: 'none' });
    answer(500);
    expect(view().toolErrorShare).toBeUndefined();
    answer(1, { toolCalls: 'sound' });
    expect(view().toolErrorShare).toBe(0.25);
  });

  it('covers the last two hours', () => {
    const { answer, pass, view } = observe();
    answer(200, { toolCalls: 'broken' });
    pass(60 * MINUTE);
    answer(200, { toolCalls: 'sound' });
    expect(view().toolErrorShare).toBe(0.5);
    pass(61 * MINUTE);
    expect(view().toolErrorShare).toBe(0);
    pass(60 * MINUTE);
    expect(view().toolErrorShare).toBeUndefined();
  });

  it('broken calls are not a failure of the endpoint', () => {
    const { answer, view } = observe();
    answer(200, { toolCalls: 'broken' });
    expect(view()).toMatchObject({ isStable: true, uptime: 100, toolErrorShare: 1 });
  });
});

it('an endpoint without requests has no health', () => {
  expect(new Health().figures('m@a')).toEqual({
    uptime5m: null,
    uptime30m: null,
    uptime1d: null,
    latency30m: null,
    throughput30m: null,
  });
});

it('forgets the least recent endpoint if there are too many', () => {
  const { health } = observe();
  for (let count = 0; count <= 2000; count++) {
    health.record(`m@${count}`, { atMs: 1_800_000_000_000, error: undefined });
  }
  expect([0, 1, 2000].map((count) => health.view({ id: `m@${count}` }) !== undefined)).toEqual([false, true, true]);
});
