import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type JSX, useMemo } from 'react';
import { call } from '../api/client.ts';
import type { SpendRow } from '../api/types.ts';
import { toDollars } from '../logic/money.ts';
import { formatChange, formatCount, formatDuration, formatShare, shortCount } from '../logic/numbers.ts';
import { addDays, localDate, viewerZone } from '../logic/time.ts';
import { listIntervals, nameOfInterval, writeInterval } from '../logic/zone.ts';
import { sumRows } from '../spend/stack-rows.ts';
import { useIsAdmin } from '../shell/use-session.ts';
import { BarsPanel } from '../ui/bars-panel.tsx';
import { Page } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { Tile } from '../ui/tile.tsx';
import { Money } from '../ui/values.tsx';
import { FirstRun } from './first-run.tsx';
import { KeyLimit, NearLimits } from './near-limits.tsx';
import { ProviderStates } from './provider-states.tsx';
import { RecentAlerts } from './recent-alerts.tsx';

const QUARTER_MS = 900_000;

/** Today against yesterday, and what needs attention. */
export function OverviewPage(): JSX.Element {
  const isAdmin = useIsAdmin();
  const zone = viewerZone();
  const result = useQuery({
    queryKey: ['overview', zone],
    refetchInterval: 30_000,
    queryFn: async ({ signal }) => {
      const now = Date.now();
      const today = localDate(now, zone);
      const yesterday = addDays(today, -1);
      const sameTime = new Date(Math.floor((now - 86_400_000) / QUARTER_MS) * QUARTER_MS).toISOString();
      const read = (query: { since: string; until?: string; interval: string }) =>
        call('get', '/api/v1/analytics', { query: { ...query, time_zone: zone, percentiles: 'true' }, signal });
      const [current, before, hours, latest] = await Promise.all([
        read({ since: today, interval: 'total' }),
        // A day that has just begun has no earlier quarter of an hour to compare with.
        sameTime > `${yesterday}T` && localDate(Date.parse(sameTime) - 1, zone) === yesterday
          ? read({ since: yesterday, until: sameTime, interval: 'total' })
          : undefined,
        read({ since: yesterday, interval: 'hour' }),
        call('get', '/api/v1/generations', { query: { limit: 1 }, signal }),
      ]);
      return {
        today: current.data,
        before: before?.data ?? [],
        hours: hours.data,
        isEmpty: latest.data.length === 0,
        now,
      };
    },
  });
  return (
    <Page title="Overview">
      <Loaded result={result}>
        {({ today, before, hours, isEmpty, now }) =>
          isEmpty ? (
            <FirstRun />
          ) : (
            <>
              <Tiles today={today} before={before} />
              <Hours rows={hours} zone={zone} now={now} />
              <div className="two">
                <ProviderStates />
                {isAdmin ? <NearLimits /> : <KeyLimit />}
              </div>
              {isAdmin && <RecentAlerts />}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function Tiles({ today, before }: { today: readonly SpendRow[]; before: readonly SpendRow[] }): JSX.Element {
  const now = sumRows(today);
  const then = sumRows(before);
  const latency = today[0]?.latency;
  const earlier = before[0]?.latency;
  const change = (value: number, old: number) => {
    const text = formatChange(value, old);
    return text === undefined ? '' : `(${text})`;
  };
  const compare = (value: number, old: number, text: React.ReactNode) => (
    <>
      {text} by this time yesterday {change(value, old)}
    </>
  );
  const ms = (value: number | null | undefined) =>
    value === null || value === undefined ? '–' : formatDuration(value);
  return (
    <dl className="tiles">
      <Tile label="Requests today" hint={compare(now.requests, then.requests, formatCount(then.requests))}>
        {formatCount(now.requests)}
      </Tile>
      <Tile
        label="Spend today"
        hint={compare(toDollars(now.costNano), toDollars(then.costNano), <Money amount={then.costNano} />)}
      >
        <Money amount={now.costNano} />
      </Tile>
      <Tile
        label="Failed today"
        hint={compare(
          now.failed,
          then.failed,
          `${formatCount(then.failed)}, ${formatShare(then.failed, then.requests)}`,
        )}
      >
        {formatCount(now.failed)} <span className="tail">{formatShare(now.failed, now.requests)}</span>
      </Tile>
      <Tile label="First output, p50 / p99" hint={`${ms(earlier?.p50)} / ${ms(earlier?.p99)} by this time yesterday`}>
        {ms(latency?.p50)} <span className="tail">/ {ms(latency?.p99)}</span>
      </Tile>
    </dl>
  );
}

function Hours({ rows, zone, now }: { rows: readonly SpendRow[]; zone: string; now: number }): JSX.Element {
  const { names, series, failed } = useMemo(() => {
    const today = localDate(now, zone);
    const all = listIntervals({ since: addDays(today, -1), until: today, interval: 'hour', zone }, now);
    const intervals = all.slice(-24);
    const found = new Map(rows.map((row) => [nameOfInterval(row.start, 'hour'), row]));
    const read = (field: (row: SpendRow) => number) =>
      intervals.map((name) => {
        const row = found.get(name);
        return row === undefined ? 0 : field(row);
      });
    const bad = read((row) => row.errors + row.rejected);
    return {
      names: intervals.map((name) => writeInterval(name, 'hour', zone).split(', ').at(-1)!),
      series: [
        { label: 'completed', values: read((row) => row.requests - row.errors - row.rejected), color: '--series-1' },
        { label: 'failed or rejected', values: bad, color: '--bad' },
      ],
      failed: bad.reduce((sum, value) => sum + value, 0),
    };
  }, [rows, zone, now]);
  return (
    <BarsPanel
      title="Requests per hour"
      label={`Requests of each of the last 24 hours, ${failed} of them failed. The page Spend has a table.`}
      names={names}
      series={series}
      format={shortCount}
      aside={
        <span className="row spread">
          <Link to="/requests" search={{ outcome: 'failed', range: '24h' }} className="button small">
            Failed requests
          </Link>
          <Link to="/spend" search={{ range: 'today', measure: 'requests' }} className="button small">
            As a table
          </Link>
        </span>
      }
    />
  );
}
