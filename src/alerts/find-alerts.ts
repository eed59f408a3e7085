import { createHash } from 'node:crypto';
import { usdOf } from '../metering/cost.ts';
import { type LimitSources, listSpendingLimits } from '../metering/list-limits.ts';
import { readLimitUsage } from '../metering/read-limit-usage.ts';
import { windowStarts } from '../metering/windows.ts';
import type { LedgerStore } from '../platform/storage/ports/ledger.ts';
import { SLOT_MS, type UsageQuery, type UsageRow } from '../platform/storage/ports/usage.ts';
import type { AlertSettings } from './alert-settings.ts';

export const alertKinds = [
  'budget',
  'provider_down',
  'provider_up',
  'error_rate',
  'spend',
  'unpriced',
  'key_expiry',
  'test',
] as const;

/** Something that an operator should know. */
export interface Alert {
  /** The same event has the same id. */
  id: string;
  kind: (typeof alertKinds)[number];
  /** A sentence. */
  message: string;
  data: Record<string, string | number | null>;
  /** Whether the id belongs to this occurrence alone, so that the alert is raised once. */
  isOnce: boolean;
}

export interface AlertSources {
  settings: () => AlertSettings;
  limits: () => LimitSources;
  ledger: Pick<LedgerStore, 'readSpending' | 'readUsage'>;
  /** Endpoints of the current configuration: whether they have an outage, and whether their last attempt failed. */
  endpoints: () => readonly {
    id: string;
    model: string;
    provider: string;
    isStable: boolean;
    hasFailedLast: boolean;
  }[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Creates a function that finds what is worth an alert now. It remembers the outages that it has found, so that it finds
 * their ends.
 */
export function createAlertFinder(sources: AlertSources): (nowMs: number) => Promise<Alert[]> {
  const down = new Map<string, { model: string; provider: string }>();
  return async (nowMs) => {
    const settings = sources.settings();
    const found = await Promise.all([
      findBudgets(sources, nowMs),
      settings.providers ? findOutages(sources, down) : [],
      findErrors(sources, nowMs),
      findSpending(sources, nowMs),
      settings.unpriced ? findUnpriced(sources, nowMs) : [],
      findExpiries(sources, nowMs),
    ]);
    return found.flat();
  };
}

async function findBudgets({ settings, limits, ledger }: AlertSources, nowMs: number): Promise<Alert[]> {
  const percentages = settings().budgets.toSorted((a, b) => b - a);
  if (percentages.length === 0) return [];
  const all = await listSpendingLimits(limits());
  const usages = await readLimitUsage(ledger, all, nowMs);
  const starts = { ...windowStarts(nowMs), lifetime: 0 };
  return all.flatMap((limit, index): Alert[] => {
    const { usageNanoUsd } = usages[index]!; // one for each limit
    const { limitNanoUsd, window, name, kind, scope } = limit;
    if (limitNanoUsd <= 0n) return [];
    const used = Number((usageNanoUsd * 100n) / limitNanoUsd);
    const reached = percentages.find((percent) => used >= percent);
    if (reached === undefined) return [];
    const whose = createHash('sha256')
      .update(JSON.stringify([kind, scope, window, String(limitNanoUsd)]))
      .digest('hex');
    const [usage, most] = [usdOf(usageNanoUsd), usdOf(limitNanoUsd)];
    const period = window === 'lifetime' ? 'in total' : window;
    return [
      {
        id: `budget:${whose.slice(0, 16)}:${starts[window]}:${reached}`,
        kind: 'budget',
        message: `${name} has used ${used} % of its limit: ${usage} of ${most} USD (${period}).`,
        data: { limit: kind, name, percent: reached, usage_usd: usage, limit_usd: most, window },
        isOnce: true,
      },
    ];
  });
}

function findOutages({ endpoints }: AlertSources, down: Map<string, { model: string; provider: string }>): Alert[] {
  const current = new Map(endpoints().map((endpoint) => [endpoint.id, endpoint]));
  const unstable = new Map([...current].filter(([, { isStable }]) => !isStable));
  // Requests are sent again after a while without one. The outage has ended when one of them succeeds.
  const ended = [...down].filter(([id]) => {
    const endpoint = current.get(id);
    return endpoint?.isStable === true && !endpoint.hasFailedLast;
  });
  for (const id of down.keys()) if (!current.has(id)) down.delete(id);
  for (const [id] of ended) down.delete(id);
  for (const [id, { model, provider }] of unstable) down.set(id, { model, provider });
  const write = (
    kind: 'provider_down' | 'provider_up',
    id: string,
    { model, provider }: { model: string; provider: string },
  ): Alert => ({
    id: `provider:${id}`, // the same for both, so that each is sent after the other without a quiet time
    kind,
    message:
      kind === 'provider_down'
        ? `${model} at ${provider} has an outage. Requests go to other endpoints if there are any.`
        : `${model} at ${provider} works again.`,
    data: { endpoint: id, model, provider },
    isOnce: false,
  });
  return [
    ...[...unstable].map(([id, endpoint]) => write('provider_down', id, endpoint)),
    ...ended.map(([id, endpoint]) => write('provider_up', id, endpoint)),
  ];
}

/** Reads the sums of the last quarters of an hour and of the one that has begun. */
async function readRecent(
  { ledger }: AlertSources,
  nowMs: number,
  lengthMs: number,
  more: Partial<UsageQuery> = {},
): Promise<UsageRow[]> {
  const endMs = Math.ceil((nowMs + 1) / SLOT_MS) * SLOT_MS;
  return await ledger.readUsage({ boundsMs: [endMs - SLOT_MS - lengthMs, endMs], groupBy: [], only: {}, ...more });
}

async function findErrors(sources: AlertSources, nowMs: number): Promise<Alert[]> {
  const { error_percent: most, error_requests: fewest } = sources.settings();
  if (most === undefined) return [];
  const [row] = await readRecent(sources, nowMs, SLOT_MS);
  if (!row || row.requests < fewest) return [];
  const percent = Math.round((row.errors * 1000) / row.requests) / 10;
  if (percent < most) return [];
  const message = `${percent} % of the last ${row.requests} requests failed.`;
  const data = { percent, requests: row.requests, errors: row.errors };
  return [{ id: 'error_rate', kind: 'error_rate', message, data, isOnce: false }];
}

async function findSpending(sources: AlertSources, nowMs: number): Promise<Alert[]> {
  const { spend_factor: factor, spend_usd: least } = sources.settings();
  if (factor === undefined) return [];
  const endMs = Math.ceil((nowMs + 1) / SLOT_MS) * SLOT_MS;
  const boundsMs = [endMs - HOUR_MS - DAY_MS, endMs - HOUR_MS, endMs];
  const rows = await readRecent(sources, nowMs, 0, { boundsMs });
  const [before, hour] = [0, 1].map((index) => {
    const row = rows.find(({ interval }) => interval === index);
    return row ? usdOf(row.costNanoUsd + row.byokNanoUsd) : 0;
  }) as [number, number];
  const usual = before / 24;
  if (hour < least || hour <= factor * usual) return [];
  const round = (usd: number) => Math.round(usd * 100) / 100;
  const message = `The last hour cost ${round(hour)} USD. The mean hour of the day before cost ${round(usual)} USD.`;
  return [{ id: 'spend', kind: 'spend', message, data: { usd: round(hour), usual_usd: round(usual) }, isOnce: false }];
}

/** Finds one alert for each provider, because a caller can invent names of models that a wildcard matches. */
async function findUnpriced(sources: AlertSources, nowMs: number): Promise<Alert[]> {
  const rows = await readRecent(sources, nowMs, SLOT_MS, { groupBy: ['model', 'provider'], maxRows: MAX_UNPRICED });
  const unpriced = rows.filter(
    // A failed request has no price either.
    ({ of, unpriced, requests, errors, rejected }) =>
      of.model && of.provider && unpriced > 0 && requests > errors + rejected,
  );
  return [...Map.groupBy(unpriced, ({ of }) => of.provider!)].map(([provider, those]): Alert => {
    const models = those.map(({ of }) => of.model!).toSorted();
    const others = models.length > LISTED_MODELS ? ` and ${models.length - LISTED_MODELS} more` : '';
    const names = models.slice(0, LISTED_MODELS).join(', ') + others;
    return {
      id: `unpriced:${provider}`,
      kind: 'unpriced',
      message: `Models of ${provider} have no price, so limits and reports leave out their cost: ${names}. Set \`pricing\`.`,
      data: { provider, models: names, requests: those.reduce((sum, row) => sum + row.unpriced, 0) },
      isOnce: false,
    };
  });
}

const MAX_UNPRICED = 1000;
const LISTED_MODELS = 5;

async function findExpiries({ settings, limits }: AlertSources, nowMs: number): Promise<Alert[]> {
  const days = settings().key_expiry_days;
  if (days === 0) return [];
  const keys = await limits().access.listKeys();
  return keys.flatMap(({ hash, name, expiresAtMs, disabled }): Alert[] => {
    if (disabled || expiresAtMs === null || expiresAtMs <= nowMs || expiresAtMs > nowMs + days * DAY_MS) return [];
    const expires_at = new Date(expiresAtMs).toISOString();
    return [
      {
        id: `key_expiry:${hash}:${expiresAtMs}`,
        kind: 'key_expiry',
        message: `The key "${name}" expires at ${expires_at}.`,
        data: { key_hash: hash, name, expires_at },
        isOnce: true,
      },
    ];
  });
}
