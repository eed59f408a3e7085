import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { intervals, openTimeZone, parseTimeIn, splitRange, startOfDayIn, writeTimeIn } from './time-zone.ts';

const at = (text: string): number => Date.parse(text);
const open = (name: string) => openTimeZone(name)!;
const starts = (name: string, interval: (typeof intervals)[number], from: string, to: string) => {
  const zone = open(name);
  const range = { fromMs: parseTimeIn(zone, from)!, toMs: parseTimeIn(zone, to)!, max: 1000 };
  return splitRange(zone, interval, range)!.map((ms) => writeTimeIn(zone, ms));
};

describe('time zones', () => {
  it('knows the zones of the IANA database alone', () => {
    expect(openTimeZone('Europe/Atlantis')).toBeUndefined();
    expect(openTimeZone('')).toBeUndefined();
    expect(open('Asia/Kathmandu').offsetMs(at('2026-01-01T00:00:00Z'))).toBe(5.75 * 3_600_000);
    expect(open('America/St_Johns').offsetMs(at('2026-01-01T00:00:00Z'))).toBe(-3.5 * 3_600_000);
    expect(open('UTC').offsetMs(0)).toBe(0);
  });

  it('splits a range at local midnights, also where the clocks change', () => {
    expect(starts('Europe/Berlin', 'day', '2026-10-24', '2026-10-27')).toEqual([
      '2026-10-24T00:00:00+02:00',
      '2026-10-25T00:00:00+02:00',
      '2026-10-26T00:00:00+01:00',
      '2026-10-27T00:00:00+01:00',
    ]);
    // The day begins at one o'clock, because the zone skips midnight.
    expect(starts('Africa/Cairo', 'day', '2026-04-23', '2026-04-25')).toEqual([
      '2026-04-23T00:00:00+02:00',
      '2026-04-24T01:00:00+03:00',
      '2026-04-25T00:00:00+03:00',
    ]);
    // The first of two midnights begins the day.
    expect(starts('America/Havana', 'day', '2026-10-31', '2026-11-02')).toEqual([
      '2026-10-31T00:00:00-04:00',
      '2026-11-01T00:00:00-04:00',
      '2026-11-02T00:00:00-05:00',
    ]);
  });

  it('splits into weeks from Monday on, months and hours', () => {
    expect(starts('Asia/Kolkata', 'week', '2026-11-25', '2026-12-08')).toEqual([
      '2026-11-25T00:00:00+05:30',
      '2026-11-30T00:00:00+05:30',
      '2026-12-07T00:00:00+05:30',
      '2026-12-08T00:00:00+05:30',
    ]);
    expect(starts('America/New_York', 'month', '2026-10-15', '2027-01-01')).toEqual([
      '2026-10-15T00:00:00-04:00',
      '2026-11-01T00:00:00-04:00',
      '2026-12-01T00:00:00-05:00',
      '2027-01-01T00:00:00-05:00',
    ]);
    expect(starts('Asia/Kathmandu', 'hour', '2026-11-25T00:00:00Z', '2026-11-25T02:00:00Z')).toEqual([
      '2026-11-25T05:45:00+05:45',
      '2026-11-25T06:00:00+05:45',
      '2026-11-25T07:00:00+05:45',
      '2026-11-25T07:45:00+05:45',
    ]);
    // Two hours have the same name, and one half of an hour is repeated.
    expect(starts('Europe/Berlin', 'hour', '2026-10-25T00:00:00Z', '2026-10-25T03:00:00Z')).toEqual([
      '2026-10-25T02:00:00+02:00',
      '2026-10-25T02:00:00+01:00',
      '2026-10-25T03:00:00+01:00',
      '2026-10-25T04:00:00+01:00',
    ]);
    expect(starts('Asia/Kolkata', 'total', '2026-01-01', '2026-12-31')).toHaveLength(2);
  });

  it('covers any range without a gap, in steps of a quarter of an hour', () => {
    const zones = ['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'America/Havana', 'Africa/Cairo'];
    const time = fc.integer({ min: at('2024-01-01T00:00:00Z') / 900_000, max: at('2030-01-01T00:00:00Z') / 900_000 });
    const range = fc.tuple(
      fc.constantFrom(...zones),
      fc.constantFrom(...intervals),
      time,
      fc.integer({ min: 1, max: 20_000 }),
    );
    fc.assert(
      fc.property(range, ([name, interval, slot, slots]) => {
        const [fromMs, toMs] = [slot * 900_000, (slot + slots) * 900_000];
        const bounds = splitRange(open(name), interval, { fromMs, toMs, max: 10_000 })!;
        expect([bounds[0], bounds.at(-1)]).toEqual([fromMs, toMs]);
        for (const [index, ms] of bounds.entries()) {
          if (index > 0) expect(ms).toBeGreaterThan(bounds[index - 1]!);
          expect(ms % 900_000).toBe(0);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('refuses too many intervals, days that do not exist and times without an offset', () => {
    const zone = open('Europe/Berlin');
    expect(splitRange(zone, 'hour', { fromMs: 0, toMs: 5 * 3_600_000, max: 4 })).toBeUndefined();
    expect(splitRange(zone, 'hour', { fromMs: 0, toMs: 4 * 3_600_000, max: 4 })).toHaveLength(5);
    expect(parseTimeIn(zone, '2026-02-30')).toBeUndefined();
    expect(parseTimeIn(zone, '2026-10-31T12:00:00')).toBeUndefined();
    expect(parseTimeIn(zone, '2026-10-31T25:00:00Z')).toBeUndefined();
    expect(parseTimeIn(zone, 'yesterday')).toBeUndefined();
    expect(parseTimeIn(zone, '2026-07-01')).toBe(at('2026-06-30T22:00:00Z'));
    expect(parseTimeIn(zone, '2026-07-01T12:00:00+02:00')).toBe(at('2026-07-01T10:00:00Z'));
    expect(startOfDayIn(zone, at('2026-10-25T12:00:00Z'), -1)).toBe(at('2026-10-23T22:00:00Z'));
  });
});
