import { describe, expect, it } from 'vitest';
import { addDays, formatAge, formatTime, localDate, rangeStart } from './time.ts';

const now = Date.parse('2026-11-30T12:00:30Z');

describe('times', () => {
  it('show the date only if the day is another one in the zone', () => {
    expect(formatTime('2026-11-30T00:30:00Z', now, 'UTC')).toBe('00:30:00');
    expect(formatTime('2026-11-30T00:30:00Z', now, 'America/New_York')).toBe('29 Nov, 19:30:00');
    expect(formatTime('2025-11-30T10:00:00Z', now, 'UTC')).toBe('30 Nov, 10:00:00');
  });

  it('have an age', () => {
    expect(
      ['2026-11-30T12:00:10Z', '2026-11-30T11:56:00Z', '2026-11-29T12:00:00Z'].map((at) => formatAge(at, now)),
    ).toEqual(['just now', '5 min ago', '24 h ago']);
  });
});

describe('dates', () => {
  it('are those of the zone', () => {
    const late = Date.parse('2026-10-24T22:30:00Z');
    expect(localDate(late, 'UTC')).toBe('2026-10-24');
    expect(localDate(late, 'Europe/Berlin')).toBe('2026-10-25');
    expect(localDate(late, 'Asia/Kathmandu')).toBe('2026-10-25');
  });

  it('are added without regard to the clock', () => {
    expect(addDays('2026-10-25', 1)).toBe('2026-10-26'); // the day has 25 hours in Berlin
    expect(addDays('2026-03-01', -1)).toBe('2026-02-28');
  });
});

it('a range begins at a full minute', () => expect(rangeStart('1h', now)).toBe('2026-11-30T11:00:00.000Z'));
