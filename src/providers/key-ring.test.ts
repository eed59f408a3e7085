import { array, assert, constantFrom, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../domain/errors.ts';
import { KeyRing } from './key-ring.ts';

const refused = new GatewayError('upstream_failed', 'No.', { blamesKey: true });
const limited = (retryAfterSeconds?: number) =>
  new GatewayError('rate_limited', 'Wait.', {
    blamesKey: true,
    ...(retryAfterSeconds === undefined ? undefined : { retryAfterSeconds }),
  });

function ring(size: number) {
  let now = 1_800_000_000_000;
  const keys = new KeyRing(size, () => now);
  return {
    keys,
    pass: (ms: number) => {
      now += ms;
    },
    take: (times: number) => Array.from({ length: times }, () => keys.take()),
  };
}

describe('the keys of a provider', () => {
  it('take turns', () => {
    const taken = ring(3).take(9);
    expect(taken.slice(0, 3).toSorted()).toEqual([0, 1, 2]);
    expect(taken.slice(3, 6)).toEqual(taken.slice(0, 3));
    expect(taken.slice(6)).toEqual(taken.slice(0, 3));
  });

  it('are one where there is one, which never rests', () => {
    const { keys, take } = ring(1);
    expect(take(3)).toEqual([0, 0, 0]);
    expect(keys.rest(0, refused)).toBe(false);
    expect(take(1)).toEqual([0]);
    expect(keys.size).toBe(1);
  });

  it('rest for a minute when they are refused, while the others take turns', () => {
    const { keys, pass, take } = ring(3);
    expect(keys.rest(1, refused)).toBe(true);
    expect(new Set(take(20))).toEqual(new Set([0, 2]));
    pass(59_999);
    expect(take(20)).not.toContain(1);
    pass(1);
    expect(take(3)).toContain(1);
  });

  it.each([
    [undefined, 10_000],
    [3, 3000],
    [0, 1000],
    [0.5, 1000],
    [86_400, 600_000],
  ])('rest as long as the rate limit requests (%s s), bounded from a second to ten minutes: %i ms', (seconds, ms) => {
    const { keys, pass, take } = ring(2);
    keys.rest(0, limited(seconds));
    pass(ms - 1);
    expect(take(4)).toEqual([1, 1, 1, 1]);
    pass(1);
    expect(take(2)).toContain(0);
  });

  it('show whether one is left to try', () => {
    const { keys, pass } = ring(2);
    expect(keys.rest(0, refused)).toBe(true);
    expect(keys.rest(1, limited(5))).toBe(false);
    pass(5000);
    expect(keys.rest(0, refused)).toBe(true);
  });

  it('take turns all the same when all of them rest', () => {
    const { keys, take } = ring(3);
    for (const index of [0, 1, 2]) keys.rest(index, refused);
    expect(new Set(take(3))).toEqual(new Set([0, 1, 2]));
  });

  it('never give one that rests while another does not', () => {
    const step = record({
      key: integer({ min: 0, max: 3 }),
      seconds: integer({ min: 1, max: 9 }),
      wait: constantFrom(0, 500, 4000),
    });
    assert(
      property(array(step, { maxLength: 30 }), (steps) => {
        const { keys, pass } = ring(4);
        let now = 0;
        const until = [0, 0, 0, 0];
        for (const { key, seconds, wait } of steps) {
          expect(keys.rest(key, limited(seconds))).toBe(until.some((ms, index) => index !== key && ms <= now));
          until[key] = now + seconds * 1000;
          pass(wait);
          now += wait;
          const taken = keys.take();
          if (until.some((ms) => ms <= now)) expect(until[taken]).toBeLessThanOrEqual(now);
        }
      }),
    );
  });
});
