import { currentTimeMs } from '../../domain/clock.ts';
import { deriveUuid } from '../../domain/ids.ts';
import { usdOf } from '../../metering/cost.ts';
import { startOfDay } from '../../metering/windows.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { ActivityRow } from '../../platform/storage/ports/activity.ts';
import { type QueryReader, readQuery } from '../management/read-query.ts';
import type { ManagementHandler, ManagementApiParts } from '../management/route-handler.ts';

const DAY_MS = 86_400_000;
const DAYS = 30;

/**
 * `GET /activity`: the last 30 completed UTC days, by day, model and provider. The current day is added on request.
 *
 * @see docs/reference/management.md#activity
 */
export function createActivityHandler({ ledger }: Pick<ManagementApiParts, 'ledger'>): ManagementHandler {
  return async function listActivity(request) {
    const query = readQuery(request, (reader) => ({
      ...readDays(reader, startOfDay(currentTimeMs())),
      keyHash: reader.shaped('api_key_hash', /^[0-9a-f]{64}$/, 'the hash of a key: 64 lower-case hex digits'),
      memberId: reader.text('user_id'),
      workspaceId: reader.text('workspace_id'),
      byWorkspace: reader.word('group_by', ['workspace']) !== undefined,
    }));
    const rows = await callStore(() => ledger.readActivity(query));
    return { data: sortRows(rows).map((row) => writeRow(row)) };
  };
}

/**
 * Returns the days of the query: one, or the last 30 completed ones, with the current one if `include_today` is true.
 */
function readDays(reader: QueryReader, today: number): { fromMs: number; toMs: number } {
  const includesToday = reader.word('include_today', ['true', 'false']) === 'true';
  const all = { fromMs: today - DAYS * DAY_MS, toMs: includesToday ? today + DAY_MS : today };
  const date = reader.text('date');
  if (date === undefined) return all;
  const fromMs = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(date) : Number.NaN;
  if (fromMs >= all.fromMs && fromMs < all.toMs && writeDay(fromMs / DAY_MS) === date) {
    return { fromMs, toMs: fromMs + DAY_MS };
  }
  const [first, last] = [writeDay(all.fromMs / DAY_MS), writeDay(all.toMs / DAY_MS - 1)];
  const rule = `one of the last ${DAYS} days (UTC) that are over${includesToday ? ', or today' : ''}: ${first} to ${last}`;
  reader.refuse('date', date, includesToday ? rule : `${rule}; include_today=true adds today`);
  return all;
}

const writeDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** The newest day first; within it by model, provider and workspace. */
function sortRows(rows: readonly ActivityRow[]): ActivityRow[] {
  const nameOf = (row: ActivityRow) => `${row.model}\0${row.provider}\0${row.workspaceId ?? ''}`;
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
    ...(row.workspaceId === null ? undefined : { workspace_id: row.workspaceId }),
  };
}
