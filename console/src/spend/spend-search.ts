import { addDays, localDate } from '../logic/time.ts';
import type { Interval } from '../logic/zone.ts';

export const spendRanges = {
  today: { label: 'Today', days: 1, interval: 'hour' },
  '7d': { label: 'Last 7 days', days: 7, interval: 'day' },
  '31d': { label: 'Last 31 days', days: 31, interval: 'day' },
  '90d': { label: 'Last 90 days', days: 90, interval: 'week' },
  '12m': { label: 'Last 365 days', days: 365, interval: 'month' },
} as const satisfies Record<string, { label: string; days: number; interval: Interval }>;
export type SpendRange = keyof typeof spendRanges;

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
  Record<'range' | 'interval' | 'by' | 'measure' | 'zone' | (typeof filterNames)[number], string>
>;

export function readSpendSearch(search: Record<string, unknown>): SpendSearch {
  const names = new Set<string>(['range', 'interval', 'by', 'measure', 'zone', ...filterNames]);
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
  filters: Partial<Record<(typeof filterNames)[number], string>>;
}

const has = <T extends object>(table: T, name: string | undefined): name is keyof T & string =>
  name !== undefined && Object.hasOwn(table, name);

/** Whether the runtime knows a zone of the URL. */
function isZone(zone: string | undefined): zone is string {
  if (zone === undefined) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/** Completes the state of the URL. Unknown values are those by default. */
export function readSpendView(search: SpendSearch, viewerZone: string, now: number): SpendView {
  const range = has(spendRanges, search.range) ? search.range : '31d';
  const { days, interval } = spendRanges[range];
  const zone = isZone(search.zone) ? search.zone : viewerZone;
  const until = localDate(now, zone);
  const chosen = (['hour', 'day', 'week', 'month'] as const).find((each) => each === search.interval);
  const isTooFine = chosen === 'hour' && days > 31;
  return {
    range,
    interval: chosen === undefined || isTooFine ? interval : chosen,
    by: has(dimensions, search.by) || /^tag:[A-Za-z][\w.-]{0,39}$/.test(search.by ?? '') ? search.by! : 'model',
    measure: has(measures, search.measure) ? search.measure : 'cost',
    zone,
    since: addDays(until, 1 - days),
    until,
    filters: Object.fromEntries(filterNames.flatMap((name) => (search[name] ? [[name, search[name]]] : []))),
  };
}
