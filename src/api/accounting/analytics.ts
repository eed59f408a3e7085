import { type Static, Type } from 'typebox';
import { currentTimeMs } from '../../domain/clock.ts';
import { GatewayError, invalidRequest } from '../../domain/errors.ts';
import { TAG_KEY } from '../../domain/tags.ts';
import {
  type Interval,
  intervals,
  openTimeZone,
  parseTimeIn,
  splitRange,
  startOfDayIn,
  type TimeZone,
  writeTimeIn,
} from '../../domain/time-zone.ts';
import { filterShapes } from '../../management/generations/read-filters.ts';
import { usdOf } from '../../metering/cost.ts';
import { named } from '../../openapi/schema-writer.ts';
import { inData, number, numberOrNull, text, textOrNull, time } from '../../openapi/shapes.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import {
  durationBoundsMs,
  SLOT_MS,
  type UsageDimension,
  type UsageQuery,
  type UsageRow,
} from '../../platform/storage/ports/usage.ts';
import { type QueryReader, readQuery } from '../management/read-query.ts';
import type { ManagementApiParts, ManagementHandler } from '../management/route.ts';

/** Intervals of a report. A year has 366 days, and two months have 1,488 hours. */
const MAX_INTERVALS = 1500;
/** Days of a report without `since`. */
const DAYS = 31;
/** More rows would take too much memory. */
const MAX_ROWS = 100_000;

/** Words of `group_by`, each with its dimension and the field of its rows. */
export const usageGroups = {
  model: { dimension: 'model', field: 'model' },
  provider: { dimension: 'provider', field: 'provider_name' },
  workspace: { dimension: 'workspace', field: 'workspace_id' },
  api_key: { dimension: 'key', field: 'api_key_hash' },
  user: { dimension: 'member', field: 'user_id' },
} as const satisfies Record<string, { dimension: UsageDimension; field: string }>;
type GroupWord = keyof typeof usageGroups;

const latency = Type.Object({
  average: numberOrNull,
  p50: numberOrNull,
  p95: numberOrNull,
  p99: numberOrNull,
});

const usageRow = Type.Object({
  start: time,
  model: Type.Optional(textOrNull),
  provider_name: Type.Optional(textOrNull),
  workspace_id: Type.Optional(textOrNull),
  api_key_hash: Type.Optional(textOrNull),
  user_id: Type.Optional(textOrNull),
  tag: Type.Optional(textOrNull),
  requests: number,
  errors: number,
  rejected: number,
  cancelled: number,
  incomplete: number,
  unpriced: number,
  prompt_tokens: number,
  cached_tokens: number,
  cache_write_tokens: number,
  completion_tokens: number,
  reasoning_tokens: number,
  usage: number,
  byok_usage_inference: number,
  usage_nano_usd: text,
  byok_usage_nano_usd: text,
  generation_time: Type.Optional(latency),
  latency: Type.Optional(Type.Omit(latency, ['average'])),
});

/** @see docs/reference/management.md#analytics */
export const analytics = inData(Type.Array(named('UsageSum', usageRow)));

/**
 * `GET /analytics`: sums of requests by interval of local time and by dimension. A management key sees all, an inference
 * key those of its workspace.
 *
 * @see docs/reference/management.md#analytics
 */
export function createAnalyticsHandler({
  ledger,
  flushLedger,
}: Pick<ManagementApiParts, 'ledger' | 'flushLedger'>): ManagementHandler {
  return async function showAnalytics(request): Promise<Static<typeof analytics>> {
    const caller = request.caller!;
    const { zone, words, ...query } = readQuery(request, readReport, { isStrict: true });
    const only = { ...query.only };
    if (caller.kind !== 'management') {
      if (only.workspace !== undefined && only.workspace !== caller.workspaceId) {
        throw new GatewayError('permission_denied', 'An inference key can read only the sums of its own workspace.');
      }
      const isForeignKey = only.key !== undefined && only.key !== caller.keyHash;
      if (words.includes('api_key') || words.includes('user') || only.member !== undefined || isForeignKey) {
        const text =
          'An inference key can read the sums of its workspace and its own, but not those of other keys and members.';
        throw new GatewayError('permission_denied', text);
      }
      only.workspace = caller.workspaceId;
      if (caller.internId !== undefined) only.key = caller.keyHash; // it sees its own
    }
    const rows = await callStore(async () => {
      await flushLedger();
      return ledger.readUsage({ ...query, only, maxRows: MAX_ROWS + 1 });
    });
    if (rows.length > MAX_ROWS) {
      const text = `The report has more than ${MAX_ROWS} rows. Ask for a shorter range or longer intervals, or filter.`;
      throw new GatewayError('invalid_request', text);
    }
    const write = (row: UsageRow) => writeUsage(row, writeTimeIn(zone, query.boundsMs[row.interval]!), words);
    return { data: sortUsage(rows).map(write) };
  };
}

function readReport(reader: QueryReader): UsageQuery & { zone: TimeZone; words: readonly GroupWord[] } {
  const zoneName = reader.text('time_zone') ?? 'UTC';
  const zone = openTimeZone(zoneName);
  if (!zone) reader.refuse('time_zone', zoneName, 'a time zone of the IANA database, such as Europe/Berlin');
  const interval = reader.word('interval', intervals) ?? 'day';
  const { words, tagKey } = readGroups(reader);
  const tag = reader.shaped('tag', tagShape, 'a tag with its value, such as team:search');
  if (tag !== undefined && tagKey !== undefined) {
    reader.refuse('tag', tag, 'possible with `group_by` of a tag: the sums have one tag at a time');
  }
  return {
    zone: zone ?? openTimeZone('UTC')!,
    boundsMs: readBounds(reader, zone ?? openTimeZone('UTC')!, interval),
    words,
    groupBy: [...words.map((word) => usageGroups[word].dimension), ...(tagKey === undefined ? [] : ['tag' as const])],
    tagKey,
    only: {
      workspace: reader.text('workspace_id'),
      model: reader.text('model'),
      provider: reader.text('provider'),
      key: reader.shaped('api_key_hash', /^[0-9a-f]{64}$/, 'the hash of a key: 64 lower-case hex digits'),
      member: reader.text('user_id'),
      tag,
    },
    histograms: reader.word('percentiles', ['true', 'false']) === 'true',
  };
}

const tagShape = new RegExp(`^(?:${filterShapes.tag})$`);

/** Reads `group_by=model,tag:team`. */
function readGroups(reader: QueryReader): { words: GroupWord[]; tagKey: string | undefined } {
  const list = reader.text('group_by');
  const words = new Set<GroupWord>();
  let tagKey: string | undefined;
  for (const word of list?.split(',') ?? []) {
    const key = word.startsWith('tag:') ? word.slice(4) : undefined;
    if (key !== undefined && tagKey === undefined && new RegExp(TAG_KEY).test(key)) tagKey = key;
    else if (Object.hasOwn(usageGroups, word)) words.add(word as GroupWord);
    else {
      const known = Object.keys(usageGroups).join(', ');
      reader.refuse('group_by', list!, `a list of ${known}, and at most one tag, such as tag:team`);
      break;
    }
  }
  return { words: [...words], tagKey };
}

function readBounds(reader: QueryReader, zone: TimeZone, interval: Interval): number[] {
  const now = Math.ceil(currentTimeMs() / SLOT_MS) * SLOT_MS;
  const readTime = (name: string): number | undefined => {
    const value = reader.text(name);
    const ms = value === undefined ? undefined : parseTimeIn(zone, value);
    if (value === undefined || (ms !== undefined && ms >= 0 && ms % SLOT_MS === 0)) return ms;
    const rule =
      'a date like 2026-10-31, or a quarter of an hour like 2026-10-31T12:15:00Z or 2026-10-31T12:15:00+02:00';
    reader.refuse(name, value, rule);
    return undefined;
  };
  const since = readTime('since');
  const until = readTime('until');
  const toMs = until ?? Math.max(now, (since ?? 0) + SLOT_MS);
  const fromMs = since ?? startOfDayIn(zone, toMs - 1, 1 - DAYS);
  if (fromMs >= toMs) throw invalidRequest([{ path: 'until', message: '`until` must be after `since`.' }]);
  const bounds = splitRange(zone, interval, { fromMs, toMs, max: MAX_INTERVALS });
  if (bounds) return bounds;
  const message = `The range has more than ${MAX_INTERVALS} intervals. Ask for a shorter range or longer intervals.`;
  throw invalidRequest([{ path: 'interval', message }]);
}

/** The oldest interval first; within it the most expensive first. */
function sortUsage(rows: readonly UsageRow[]): UsageRow[] {
  const costOf = ({ costNanoUsd, byokNanoUsd }: UsageRow) => costNanoUsd + byokNanoUsd;
  const nameOf = ({ of }: UsageRow) => JSON.stringify(of);
  return rows.toSorted((a, b) => {
    if (a.interval !== b.interval) return a.interval - b.interval;
    const more = costOf(b) - costOf(a);
    if (more !== 0n) return more > 0n ? 1 : -1;
    return nameOf(a) < nameOf(b) ? -1 : 1;
  });
}

function writeUsage(row: UsageRow, start: string, words: readonly GroupWord[]): Static<typeof usageRow> {
  const { of, requests, durations, firstOutputs } = row;
  return {
    start,
    ...Object.fromEntries(words.map((word) => [usageGroups[word].field, of[usageGroups[word].dimension] ?? null])),
    ...(of.tag !== undefined && { tag: of.tag }),
    requests,
    errors: row.errors,
    rejected: row.rejected,
    cancelled: row.cancelled,
    incomplete: row.incomplete,
    unpriced: row.unpriced,
    prompt_tokens: Number(row.inputTokens),
    cached_tokens: Number(row.cachedTokens),
    cache_write_tokens: Number(row.cacheWriteTokens),
    completion_tokens: Number(row.outputTokens),
    reasoning_tokens: Number(row.reasoningTokens),
    usage: usdOf(row.costNanoUsd),
    byok_usage_inference: usdOf(row.byokNanoUsd),
    usage_nano_usd: String(row.costNanoUsd),
    byok_usage_nano_usd: String(row.byokNanoUsd),
    ...(durations && {
      generation_time: {
        average: requests === 0 ? null : Math.round(row.durationMs / requests),
        ...estimatePercentiles(durations),
      },
    }),
    ...(firstOutputs && { latency: estimatePercentiles(firstOutputs) }),
  };
}

const estimatePercentiles = (counts: readonly number[]) => ({
  p50: estimatePercentile(counts, 0.5),
  p95: estimatePercentile(counts, 0.95),
  p99: estimatePercentile(counts, 0.99),
});

/** Estimates a percentile in milliseconds, between the bounds of its bucket. The last bucket has its lower bound. */
function estimatePercentile(counts: readonly number[], part: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let rest = part * total;
  for (const [bucket, count] of counts.entries()) {
    const from = bucket === 0 ? 0 : durationBoundsMs[bucket - 1]!;
    const to = durationBoundsMs[bucket] ?? from;
    if (count > 0 && rest <= count) return Math.round(from + ((to - from) * rest) / count);
    rest -= count;
  }
  return durationBoundsMs.at(-1)!;
}
