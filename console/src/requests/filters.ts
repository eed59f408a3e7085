import { isRange, rangeStart } from '../logic/time.ts';
import type { Search } from '../logic/search.ts';

interface Filter {
  /** The name in the URL and in the API. */
  name: string;
  label: string;
  kind: 'text' | 'choice' | 'money' | 'ms' | 'yes-no' | 'key' | 'member' | 'workspace' | 'model' | 'provider';
  choices?: readonly string[];
  /** An example value, shown in the empty field. */
  example?: string;
  /** Whether only management sessions have it. */
  isForAdmins?: true;
}

const outcomes = ['completed', 'incomplete', 'failed', 'cancelled'] as const;

/** All conditions of `GET /generations`. */
export const filters = [
  { name: 'status', label: 'Status', kind: 'text', example: '5xx or 429' },
  { name: 'outcome', label: 'Outcome', kind: 'choice', choices: outcomes },
  { name: 'model', label: 'Model', kind: 'model', example: 'openai/gpt-5-mini' },
  { name: 'provider', label: 'Provider', kind: 'provider', example: 'OpenAI' },
  { name: 'api_key_hash', label: 'Key', kind: 'key', isForAdmins: true },
  { name: 'user_id', label: 'Member', kind: 'member', isForAdmins: true },
  { name: 'workspace_id', label: 'Workspace', kind: 'workspace', isForAdmins: true },
  { name: 'error_type', label: 'Error type', kind: 'text', example: 'rate_limited' },
  { name: 'finish_reason', label: 'Finish reason', kind: 'choice', choices: ['stop', ...outcomes.slice(1)] },
  { name: 'tool', label: 'Tool', kind: 'text', example: 'router:web_search' },
  { name: 'tag', label: 'Tag', kind: 'text', example: 'team:search' },
  { name: 'session_id', label: 'Session', kind: 'text' },
  { name: 'external_user', label: 'End user', kind: 'text' },
  { name: 'min_cost', label: 'Cost at least', kind: 'money', example: '0.01' },
  { name: 'max_cost', label: 'Cost at most', kind: 'money', example: '1' },
  { name: 'min_duration', label: 'Duration at least', kind: 'ms', example: '5000' },
  { name: 'max_duration', label: 'Duration at most', kind: 'ms', example: '60000' },
  { name: 'streamed', label: 'Streamed', kind: 'yes-no' },
  { name: 'cached', label: 'From a cache', kind: 'yes-no' },
] as const satisfies readonly Filter[];

export type FilterName = (typeof filters)[number]['name'];

/** The filters as a list of one type, for loops. */
export const allFilters: readonly (Filter & { name: FilterName })[] = filters;

const filterNames = new Set<string>(filters.map(({ name }) => name));
const otherNames = new Set(['range', 'since', 'until', 'sort', 'order', 'columns', 'paused']);

/** The state of the list of requests in the URL. */
export type RequestSearch = Partial<
  Record<FilterName | 'range' | 'since' | 'until' | 'sort' | 'order' | 'columns' | 'paused', string>
>;

/** Takes the known names from a URL. Others are dropped. */
export function readRequestSearch(search: Record<string, unknown>): RequestSearch {
  const known = Object.entries(search).filter(
    ([name, value]) => typeof value === 'string' && value !== '' && (filterNames.has(name) || otherNames.has(name)),
  );
  return Object.fromEntries(known) as RequestSearch;
}

/** @returns the filters that are set, in the order of the list */
export const activeFilters = (search: RequestSearch) =>
  allFilters.flatMap((filter) => {
    const value = search[filter.name];
    return value === undefined ? [] : [{ ...filter, value }];
  });

/** @returns the conditions that the list and the live list share */
export const feedQuery = (search: RequestSearch): Search =>
  Object.fromEntries(activeFilters(search).map(({ name, value }) => [name, value]));

/** @returns the query of `GET /generations`. The most expensive and the slowest requests are those of a day by default */
export function listQuery(search: RequestSearch, now: number = Date.now()): Search {
  const query = feedQuery(search);
  const isByValue = search.sort === 'cost' || search.sort === 'duration';
  const range = isRange(search.range) ? search.range : isByValue && search.since === undefined ? '24h' : undefined;
  const since = search.since ?? (range === undefined ? undefined : rangeStart(range, now));
  return {
    ...query,
    ...(since === undefined ? {} : { since }),
    ...(search.until === undefined ? {} : { until: search.until }),
    ...(search.sort === undefined ? {} : { sort: search.sort }),
    ...(search.order === undefined ? {} : { order: search.order }),
  };
}

/** Whether new requests can appear in the list: it has no end, and the newest are first. */
export const isFollowed = (search: RequestSearch): boolean =>
  search.until === undefined && (search.sort ?? 'time') === 'time' && search.order !== 'asc';

/** Names that a filter is searched by in the search field: `status:5xx model:openai/gpt-5-mini`. */
const shortNames: Record<string, FilterName> = {
  ...Object.fromEntries(filters.map(({ name }) => [name, name])),
  key: 'api_key_hash',
  member: 'user_id',
  user: 'user_id',
  workspace: 'workspace_id',
  session: 'session_id',
  error: 'error_type',
};

/**
 * Reads a text of the search field.
 *
 * @returns the id of a request to open, filters to set, or undefined if the text has another form
 */
export function readSearchText(text: string): { id: string } | { set: RequestSearch } | undefined {
  const words = text.trim().split(/\s+/).filter(Boolean);
  const [first] = words;
  if (first === undefined) return undefined;
  if (words.length === 1 && /^gen-[\w-]+$/.test(first)) return { id: first };
  const set: RequestSearch = {};
  for (const word of words) {
    const [, name, value] = /^(\w+):(.+)$/.exec(word) ?? [];
    const filter = name === undefined ? undefined : shortNames[name];
    if (filter !== undefined) set[filter] = value;
    else if (/^[1-5](\d\d|xx)$/.test(word)) set.status = word;
    else if (name !== undefined) set.tag = set.tag === undefined ? word : `${set.tag},${word}`;
    else if (word.includes('/')) set.model = word;
    else if ((outcomes as readonly string[]).includes(word)) set.outcome = word;
    else return undefined;
  }
  return { set };
}
