import { addDays, localDate } from '../logic/time.ts';
import { type Interval, startOfInterval } from '../logic/zone.ts';

/** The days of the ranges that end today. */
const lastDays = { today: 1, '7d': 7, '31d': 31, '90d': 90, '12m': 365 } as const;

/** The ranges of the menu, in their order. `own` has the dates of the URL. */
export const rangeLabels = {
  today: 'Today',
  '7d': 'Last 7 days',
  '31d': 'Last 31 days',
  month: 'This month',
  'last-month': 'Last month',
  '90d': 'Last 90 days',
  '12m': 'Last 365 days',
  own: 'From … to …',
} as const;
export type SpendRange = keyof typeof rangeLabels;

/** The first date that a report can begin with. */
export const FIRST_DATE = '2020-01-01';
/** Longer reports have no intervals of an hour, or of a day. */
const MAX_HOUR_DAYS = 31;
const MAX_DAY_DAYS = 366;

export const dimensions = {
  model: { label: 'Model', field: 'model', filter: 'model', isForAdmins: false },
  provider: { label: 'Provider', field: 'provider_name', filter: 'provider', isForAdmins: false },
  api_key: { label: 'Key', field: 'api_key_hash', filter: 'api_key_hash', isForAdmins: true },
  user: { label: 'Member', field: 'user_id', filter: 'user_id', isForAdmins: true },
  workspace: { label: 'Workspace', field: 'workspace_id', filter: 'workspace_id', isForAdmins: true },
} as const;
export type Dimension = keyof typeof dimensions;

export const measures = { cost: 'Cost', requests: 'Requests', tokens: 'Tokens' } as const;
export type Measure = keyof typeof measures;

const filterNames = ['model', 'provider', 'api_key_hash', 'user_id', 'workspace_id', 'tag'] as const;

/** The state of the page in the URL. */
export type SpendSearch = Partial<
  Record<'range' | 'since' | 'until' | 'interval' | 'by' | 'measure' | 'zone' | (typeof filterNames)[number], string>
>;

export function readSpendSearch(search: Record<string, unknown>): SpendSearch {
  const names = new Set<string>(['range', 'since', 'until', 'interval', 'by', 'measure', 'zone', ...filterNames]);
  return Object.fromEntries(
    Object.entries(search).filter(([name, value]) => names.has(name) && typeof value === 'string' && value !== ''),
  ) as SpendSearch;
}

export interface SpendView {
  range: SpendRange;
  interval: Interval;
  /** A dimension, or `tag:KEY`. */
  by: string;
  measure: Measure;
  zone: string;
  /** The first and the last date in the zone, inclusive. */
  since: string;
  until: string;
  /** Whether the report ends before today. */
  isPast: boolean;
  filters: Partial<Record<(typeof filterNames)[number], string>>;
}

const has = <T extends object>(table: T, name: string | undefined): name is keyof T & string =>
  name !== undefined && Object.hasOwn(table, name);

/** @returns the name that the runtime uses for a zone. Undefined: there is no such zone */
export function canonicalZone(zone: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** @returns a date of the URL that a report can have. Undefined: it is none */
function readDate(text: string | undefined, today: string): string | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text) || Number.isNaN(Date.parse(text))) return undefined;
  // A date such as 2026-02-31 becomes the day that a calendar has.
  const date = addDays(text, 0);
  return date < FIRST_DATE ? FIRST_DATE : date > today ? today : date;
}

function readRange(search: SpendSearch, today: string): Pick<SpendView, 'range' | 'since' | 'until'> {
  const [since, until] = [readDate(search.since, today), readDate(search.until, today)];
  if (since !== undefined || until !== undefined) {
    const [from, to] = [since ?? startOfInterval(until!, 'month'), until ?? today];
    return { range: 'own', since: from, until: to < from ? from : to };
  }
  const firstOfMonth = startOfInterval(today, 'month');
  if (search.range === 'month') return { range: 'month', since: firstOfMonth, until: today };
  if (search.range === 'last-month') {
    const last = addDays(firstOfMonth, -1);
    return { range: 'last-month', since: startOfInterval(last, 'month'), until: last };
  }
  const range = has(lastDays, search.range) ? search.range : '31d';
  return { range, since: addDays(today, 1 - lastDays[range]), until: today };
}

/** @returns the intervals that a report of a number of days can have, the shortest first */
export const possibleIntervals = ({ since, until }: Pick<SpendView, 'since' | 'until'>): Interval[] => {
  const days = countDays(since, until);
  return [
    ...(days <= MAX_HOUR_DAYS ? (['hour'] as const) : []),
    ...(days <= MAX_DAY_DAYS ? (['day'] as const) : []),
    'week',
    'month',
  ];
};

const countDays = (since: string, until: string): number => (Date.parse(until) - Date.parse(since)) / 86_400_000 + 1;

/** Completes the state of the URL. Unknown values are those by default. */
export function readSpendView(search: SpendSearch, viewerZone: string, now: number): SpendView {
  const zone = canonicalZone(search.zone ?? viewerZone) ?? viewerZone;
  const today = localDate(now, zone);
  const dates = readRange(search, today);
  const days = countDays(dates.since, dates.until);
  const byDefault = days <= 2 ? 'hour' : days <= 62 ? 'day' : days <= 180 ? 'week' : 'month';
  return {
    ...dates,
    interval: possibleIntervals(dates).find((each) => each === search.interval) ?? byDefault,
    by: has(dimensions, search.by) || /^tag:[A-Za-z][\w.-]{0,39}$/.test(search.by ?? '') ? search.by! : 'model',
    measure: has(measures, search.measure) ? search.measure : 'cost',
    zone,
    isPast: dates.until < today,
    filters: Object.fromEntries(filterNames.flatMap((name) => (search[name] ? [[name, search[name]]] : []))),
  };
}
