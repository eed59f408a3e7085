import { currentTimeMs } from '../../domain/clock.ts';
import { GatewayError } from '../../domain/errors.ts';
import { deriveUuid } from '../../domain/ids.ts';
import { usdOf } from '../../metering/cost.ts';
import { startOfDay } from '../../metering/windows.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { ActivityGroup, ActivityRow } from '../../platform/storage/ports/activity.ts';
import { readEndUser } from '../management/read-end-user.ts';
import { type QueryReader, readQuery } from '../management/read-query.ts';
import type { ManagementHandler, ManagementApiParts } from '../management/route.ts';

const DAY_MS = 86_400_000;
/** The longest month. */
const DAYS = 31;
/** Number of past days that a query can name. The whole previous year fits into it on the first of January. */
const MAX_DAYS = 366;
/** More rows would take too much memory. */
const MAX_ROWS = 100_000;

/** `group_by` of the query, and the field of its rows. */
const groups = {
  workspace: { groupBy: 'workspace', field: 'workspace_id' },
  api_key: { groupBy: 'key', field: 'api_key_hash' },
  user: { groupBy: 'member', field: 'user_id' },
  external_user: { groupBy: 'endUser', field: 'external_user' },
} as const satisfies Record<string, { groupBy: ActivityGroup; field: string }>;
const groupNames = Object.keys(groups) as (keyof typeof groups)[];

/**
 * `GET /activity`: completed UTC days, by default the last 31, by day, model and provider. The current day is added on
 * request.
 *
 * @see docs/reference/management.md#activity
 */
export function createActivityHandler({
  ledger,
  hashEndUser,
}: Pick<ManagementApiParts, 'ledger' | 'hashEndUser'>): ManagementHandler {
  return async function listActivity(request) {
    const { group, ...query } = readQuery(request, (reader) => {
      const workspaceId = reader.text('workspace_id');
      const name = reader.word('group_by', groupNames);
      return {
        ...readDays(reader, startOfDay(currentTimeMs())),
        keyHash: reader.shaped('api_key_hash', /^[0-9a-f]{64}$/, 'the hash of a key: 64 lower-case hex digits'),
        memberId: reader.text('user_id'),
        workspaceId,
        endUser: readEndUser(reader, hashEndUser, workspaceId),
        group: name && groups[name],
      };
    });
    const rows = await callStore(() => ledger.readActivity({ ...query, groupBy: group?.groupBy, maxRows: MAX_ROWS }));
    if (rows.length > MAX_ROWS) {
      const text = `The report has more than ${MAX_ROWS} rows. Ask for fewer days (since, until), or filter.`;
      throw new GatewayError('invalid_request', text);
    }
    return { data: sortRows(rows).map((row) => ({ ...writeRow(row), ...(group && { [group.field]: row.group }) })) };
  };
}

interface Days {
  /** Unix milliseconds, inclusive. */
  fromMs: number;
  /** Exclusive. */
  toMs: number;
}

/**
 * Returns the days of the query: one, those from `since` on and before `until`, or the last 31 completed ones. Those with
 * the current one if `include_today` is true.
 */
function readDays(reader: QueryReader, today: number): Days {
  const includesToday = reader.word('include_today', ['true', 'false']) === 'true';
  const endMs = includesToday ? today + DAY_MS : today;
  const all: Days = { fromMs: today - MAX_DAYS * DAY_MS, toMs: endMs };
  const [first, last] = [writeDay(all.fromMs / DAY_MS), writeDay(endMs / DAY_MS - 1)];
  const lastDays = `one of the last ${MAX_DAYS} days (UTC) that are over${includesToday ? ', or today' : ''}: ${first} to ${last}`;
  const rule = includesToday ? lastDays : `${lastDays}; include_today=true adds today`;

  const date = reader.text('date');
  const since = reader.text('since');
  const until = reader.text('until');
  if (date !== undefined) {
    if (since !== undefined) reader.refuse('since', since, 'possible beside `date`');
    if (until !== undefined) reader.refuse('until', until, 'possible beside `date`');
  }
  const fromMs = readDay(reader, since === undefined ? 'date' : 'since', since ?? date, { all, rule });
  if (date !== undefined && fromMs !== undefined) return { fromMs, toMs: fromMs + DAY_MS };
  const toMs = until === undefined ? endMs : parseDay(until);
  if (toMs === undefined || (fromMs !== undefined && toMs <= fromMs)) {
    reader.refuse('until', until!, 'a date after `since`, like 2026-11-01. The day itself is not in the report');
    return all;
  }
  const lastMs = Math.min(toMs, endMs);
  return { fromMs: fromMs ?? Math.max(all.fromMs, Math.min(lastMs, today) - DAYS * DAY_MS), toMs: lastMs };
}

/** @returns undefined if it is absent or not one of the days */
function readDay(
  reader: QueryReader,
  name: string,
  text: string | undefined,
  { all, rule }: { all: Days; rule: string },
): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDay(text);
  if (ms !== undefined && ms >= all.fromMs && ms < all.toMs) return ms;
  reader.refuse(name, text, rule);
  return undefined;
}

function parseDay(text: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(ms) && writeDay(ms / DAY_MS) === text ? ms : undefined;
}

const writeDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** The newest day first; within it by model, provider and group. */
function sortRows(rows: readonly ActivityRow[]): ActivityRow[] {
  const nameOf = (row: ActivityRow) => `${row.model}\0${row.provider}\0${row.group ?? ''}`;
  return rows.toSorted((a, b) => b.day - a.day || (nameOf(a) < nameOf(b) ? -1 : 1));
}

function writeRow(row: ActivityRow): Record<string, unknown> {
  return {
    date: writeDay(row.day),
    model: row.model,
    model_permaslug: row.model,
    endpoint_id: deriveUuid('endpoint', row.provider, row.model),
    provider_name: row.provider,
    usage: usdOf(row.costNanoUsd),
    byok_usage_inference: usdOf(row.byokNanoUsd),
    requests: row.requests,
    prompt_tokens: Number(row.inputTokens),
    completion_tokens: Number(row.outputTokens),
    reasoning_tokens: Number(row.reasoningTokens),
  };
}
