import { queryOptions } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import { keysQuery, workspacesQuery } from '../api/queries.ts';
import { addDays } from '../logic/time.ts';
import { startOfInterval } from '../logic/zone.ts';

export interface Limit {
  id: string;
  name: string;
  kind: 'workspace' | 'key';
  /** The id of the workspace or the hash of the key. Undefined: the key of the session. */
  target: string | undefined;
  interval: 'daily' | 'weekly' | 'monthly' | null;
  /** USD. */
  limit: number;
  used: number;
  resetsAt: string | null;
}

/** @returns the part of a limit that is used, from 0 on; above 1 if it was exceeded */
export const usedShare = ({ limit, used }: Pick<Limit, 'limit' | 'used'>): number =>
  limit > 0 ? used / limit : used > 0 ? 1 : 0;

/** @returns the midnight in UTC at which a limit starts over: of the next day, Monday or first of a month. Null: never */
export function nextStart(interval: Limit['interval'], now: number): string | null {
  if (interval === null) return null;
  const today = new Date(now).toISOString().slice(0, 10);
  const monday = startOfInterval(today, 'week');
  const next = {
    daily: addDays(today, 1),
    weekly: addDays(monday, 7),
    monthly: startOfInterval(addDays(startOfInterval(today, 'month'), 31), 'month'),
  }[interval];
  return `${next}T00:00:00.000Z`;
}

/** All budgets of workspaces and limits of keys, the one closest to its end first. */
export const limitsQuery = queryOptions({
  queryKey: ['limits'],
  refetchInterval: 60_000,
  queryFn: async ({ signal, client }): Promise<Limit[]> => {
    const [workspaces, keys] = await Promise.all([
      client.ensureQueryData({ ...workspacesQuery, revalidateIfStale: true }),
      client.fetchQuery(keysQuery),
    ]);
    const budgets = await Promise.all(
      workspaces.map(async ({ id, name }) => {
        const { data } = await call('get', '/api/v1/workspaces/{id}/budgets', { params: { id }, signal });
        return data.map(
          (budget): Limit => ({
            id: budget.id,
            name,
            kind: 'workspace',
            target: id,
            interval: budget.reset_interval,
            limit: budget.limit_usd,
            used: budget.usage_usd,
            resetsAt: budget.resets_at,
          }),
        );
      }),
    );
    const ofKeys = keys.flatMap((key): Limit[] =>
      key.limit === null || key.disabled
        ? []
        : [
            {
              id: key.hash,
              name: key.name || key.label,
              kind: 'key',
              target: key.hash,
              interval: key.limit_reset,
              limit: key.limit,
              used: key.limit - (key.limit_remaining ?? key.limit),
              resetsAt: nextStart(key.limit_reset, Date.now()),
            },
          ],
    );
    return [...budgets.flat(), ...ofKeys].sort((a, b) => usedShare(b) - usedShare(a));
  },
});

export const intervalWords = { daily: 'each day', weekly: 'each week', monthly: 'each month' } as const;
