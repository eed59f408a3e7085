import { expect, it } from 'vitest';
import { endOfWindow, windowStarts } from './windows.ts';

it.each([
  ['2026-11-21T08:30:00Z', '2026-11-21', '2026-11-16', '2026-11-01'], // a Saturday
  ['2026-11-16T00:00:00Z', '2026-11-16', '2026-11-16', '2026-11-01'], // the first moment of a Monday
  ['2026-11-15T23:59:59.999Z', '2026-11-15', '2026-11-09', '2026-11-01'], // the last of a Sunday
  ['2026-12-02T12:00:00Z', '2026-12-02', '2026-11-30', '2026-12-01'], // the week is older than the month
  ['2028-02-29T00:00:01Z', '2028-02-29', '2028-02-28', '2028-02-01'],
])('at %s the day started on %s, the week on %s, the month on %s', (now, daily, weekly, monthly) => {
  const starts = windowStarts(Date.parse(now));
  expect(starts).toEqual({ daily: Date.parse(daily), weekly: Date.parse(weekly), monthly: Date.parse(monthly) });
});

it.each([
  ['2026-11-21T08:30:00Z', '2026-11-22', '2026-11-23', '2026-12-01'],
  ['2026-12-31T23:59:59.999Z', '2027-01-01', '2027-01-04', '2027-01-01'],
  ['2028-02-28T00:00:00Z', '2028-02-29', '2028-03-06', '2028-03-01'],
])('at %s the day ends on %s, the week on %s, the month on %s', (now, daily, weekly, monthly) => {
  const end = (window: 'daily' | 'weekly' | 'monthly') => new Date(endOfWindow(window, Date.parse(now))).toISOString();
  expect([end('daily'), end('weekly'), end('monthly')]).toEqual(
    [daily, weekly, monthly].map((day) => `${day}T00:00:00.000Z`),
  );
});
