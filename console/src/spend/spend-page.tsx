import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type JSX, useMemo } from 'react';
import { call } from '../api/client.ts';
import type { AnalyticsQuery, SpendRow } from '../api/types.ts';
import { shortMoney } from '../logic/money.ts';
import { formatCount, formatShare, shortCount } from '../logic/numbers.ts';
import { addDays, formatDay, viewerZone } from '../logic/time.ts';
import { listIntervals, writeInterval } from '../logic/zone.ts';
import { useNames } from '../requests/use-names.ts';
import { useIsAdmin } from '../shell/use-session.ts';
import { BarsPanel } from '../ui/bars-panel.tsx';
import { Icon } from '../ui/icon.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Tile } from '../ui/tile.tsx';
import { Money } from '../ui/values.tsx';
import { SpendControls } from './spend-controls.tsx';
import {
  dimensions,
  type Dimension,
  measures,
  readSpendView,
  type SpendSearch,
  type SpendView,
} from './spend-search.ts';
import { SpendTables } from './spend-tables.tsx';
import { stackRows, sumRows } from './stack-rows.ts';

const route = getRouteApi('/spend');

/** @returns the query of a report, without its interval */
const reportQuery = ({ since, until, isPast, zone, by, filters }: SpendView): AnalyticsQuery => ({
  since,
  ...(isPast ? { until: addDays(until, 1) } : {}),
  time_zone: zone,
  group_by: by,
  ...filters,
});

/** @returns the field of a row that has the value of a dimension */
const fieldOf = (by: string): keyof SpendRow => (by.startsWith('tag:') ? 'tag' : dimensions[by as Dimension].field);

/** What it means that a request has no value of a dimension. */
const noValue: Partial<Record<keyof SpendRow, string>> = {
  model: 'none (rejected before a model was chosen)',
  provider_name: 'none (no provider responded)',
};

/** Spending and usage over time. */
export function SpendPage(): JSX.Element {
  const search = route.useSearch();
  const navigate = useNavigate();
  const view = useMemo(() => readSpendView(search, viewerZone(), Date.now()), [search]);
  const change = (part: SpendSearch) => void navigate({ to: '/spend', search: { ...search, ...part } });
  const result = useQuery({
    queryKey: ['analytics', view],
    placeholderData: keepPreviousData,
    refetchInterval: 60_000,
    queryFn: async ({ signal }) => {
      const query = reportQuery(view);
      const [series, totals] = await Promise.all([
        call('get', '/api/v1/analytics', { query: { ...query, interval: view.interval }, signal }),
        call('get', '/api/v1/analytics', { query: { ...query, interval: 'total' }, signal }),
      ]);
      return { view, series: series.data, totals: totals.data };
    },
  });
  return (
    <Page
      title="Spend"
      about={
        <>
          The sums are those of the ledger, from {formatDay(`${view.since}T12:00:00Z`, 'UTC')} to{' '}
          {formatDay(`${view.until}T12:00:00Z`, 'UTC')} in the time zone {view.zone}.
        </>
      }
    >
      <SpendControls view={view} onChange={change} />
      <Loaded result={result}>
        {(data) => <Report view={data.view} series={data.series} totals={data.totals} onChange={change} />}
      </Loaded>
    </Page>
  );
}

function Report({
  view,
  series: rows,
  totals,
  onChange,
}: {
  view: SpendView;
  series: readonly SpendRow[];
  totals: readonly SpendRow[];
  onChange: (part: SpendSearch) => void;
}): JSX.Element {
  const isAdmin = useIsAdmin();
  const names = useNames();
  const { interval, zone, since, until, measure, by } = view;
  const field = fieldOf(by);
  const intervals = useMemo(
    () => listIntervals({ since, until, interval, zone }, Date.now()),
    [since, until, interval, zone],
  );
  const labels = useMemo(
    () => intervals.map((name) => writeInterval(name, interval, zone)),
    [intervals, interval, zone],
  );
  const show = useMemo(() => {
    const nameOf: Partial<Record<keyof SpendRow, (value: string) => string>> = {
      api_key_hash: names.key,
      workspace_id: names.workspace,
    };
    return (value: string | null) => (value === null ? (noValue[field] ?? 'none') : (nameOf[field]?.(value) ?? value));
  }, [names, field]);
  const series = useMemo(
    () =>
      stackRows(rows, { names: intervals, interval, field, measure }).map(({ value, values }, at) => ({
        label: value === undefined ? 'all others' : show(value),
        values,
        color: `--series-${at + 1}`,
      })),
    [rows, intervals, interval, field, measure, show],
  );
  const sum = sumRows(totals);
  if (sum.requests === 0) {
    return (
      <Empty icon="spend" title="There were no requests">
        <p>Choose a longer range or remove a filter. A request counts as soon as it ends.</p>
      </Empty>
    );
  }
  const tokens = `${shortCount(sum.inputTokens)} / ${shortCount(sum.outputTokens)}`;
  const exactTokens = `${formatCount(sum.inputTokens)} / ${formatCount(sum.outputTokens)}`;
  const title = `${measures[measure]} by ${by.startsWith('tag:') ? `tag ${by.slice(4)}` : dimensions[by as Dimension].label.toLowerCase()}`;
  return (
    <>
      <dl className="tiles">
        <Tile
          label="Cost"
          hint={
            sum.byokNano > 0n && (
              <>
                of it with own provider keys: <Money amount={sum.byokNano} />
              </>
            )
          }
        >
          <Money amount={sum.costNano} />
        </Tile>
        <Tile
          label="Requests"
          hint={`${formatCount(sum.failed)} failed or rejected (${formatShare(sum.failed, sum.requests)})`}
        >
          {formatCount(sum.requests)}
        </Tile>
        <Tile label="Tokens in / out" hint={tokens === exactTokens ? undefined : exactTokens}>
          {tokens}
        </Tile>
        <Tile label="Cache hit rate" hint={`${formatCount(sum.cachedTokens)} input tokens came from a cache`}>
          {formatShare(sum.cachedTokens, sum.inputTokens)}
        </Tile>
      </dl>
      {sum.unpriced > 0 && (
        <p className="notice warn">
          <Icon name="warning" />
          <span>
            {formatCount(sum.unpriced)} requests have no known price, so their cost is missing here. Add the price of
            their model to the catalog.
          </span>
        </p>
      )}
      <BarsPanel
        title={title}
        label={`${title}. The tables below have the same numbers.`}
        names={labels}
        series={series}
        format={measure === 'cost' ? shortMoney : shortCount}
      />
      <SpendTables
        view={view}
        totals={totals}
        rows={rows}
        intervals={intervals}
        labels={labels}
        field={field}
        show={show}
        isAdmin={isAdmin}
        onChange={onChange}
      />
    </>
  );
}
