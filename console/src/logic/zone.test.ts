import { describe, expect, it } from 'vitest';
import { listIntervals, nameOfInterval, startOfDate, startOfInterval } from './zone.ts';

const late = Number.MAX_SAFE_INTEGER - 1;
const list = (since: string, until: string, interval: 'hour' | 'day' | 'week' | 'month', zone = 'UTC') =>
  listIntervals({ since, until, interval, zone }, late);

describe('the begin of a date', () => {
  it.each([
    ['2026-10-25', 'Europe/Berlin', '2026-10-24T22:00:00.000Z'],
    ['2026-10-26', 'Europe/Berlin', '2026-10-25T23:00:00.000Z'],
    ['2026-10-25', 'Asia/Kathmandu', '2026-10-24T18:15:00.000Z'],
    ['2026-10-25', 'Pacific/Kiritimati', '2026-10-24T10:00:00.000Z'],
    ['2026-10-25', 'America/Los_Angeles', '2026-10-25T07:00:00.000Z'],
    ['2026-10-25', 'UTC', '2026-10-25T00:00:00.000Z'],
  ])('%s in %s', (date, zone, at) => expect(new Date(startOfDate(date, zone)).toISOString()).toBe(at));
});

describe('intervals', () => {
  it('have as many hours as the day, although the clocks change', () => {
    expect(list('2026-10-25', '2026-10-25', 'hour', 'Europe/Berlin')).toHaveLength(25);
    expect(list('2026-03-29', '2026-03-29', 'hour', 'Europe/Berlin')).toHaveLength(23);
    expect(list('2026-10-25', '2026-10-25', 'hour', 'Asia/Kathmandu')).toHaveLength(24);
  });

  it('end with the hour that runs', () => {
    const now = Date.parse('2026-10-25T02:30:00Z');
    expect(
      listIntervals({ since: '2026-10-25', until: '2026-10-25', interval: 'hour', zone: 'UTC' }, now),
    ).toHaveLength(3);
  });

  it('are days, weeks from Monday on, and months', () => {
    expect(list('2026-10-30', '2026-11-02', 'day')).toEqual(['2026-10-30', '2026-10-31', '2026-11-01', '2026-11-02']);
    expect(list('2026-10-30', '2026-11-10', 'week')).toEqual(['2026-10-30', '2026-11-02', '2026-11-09']);
    expect(list('2025-12-15', '2026-02-01', 'month')).toEqual(['2025-12-15', '2026-01-01', '2026-02-01']);
    expect(startOfInterval('2026-11-01', 'week')).toBe('2026-10-26'); // a Sunday
  });

  it('have the names of the rows of the gateway', () => {
    expect(nameOfInterval('2026-10-25T00:00:00+02:00', 'day')).toBe('2026-10-25');
    expect(nameOfInterval('2026-10-25T00:00:00+02:00', 'hour')).toBe(
      String(startOfDate('2026-10-25', 'Europe/Berlin')),
    );
  });
});
