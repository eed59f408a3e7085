import { useNavigate } from '@tanstack/react-router';
import type { JSX } from 'react';
import type { SpendRow } from '../api/types.ts';
import { csvRow } from '../logic/csv.ts';
import { formatMoney } from '../logic/money.ts';
import { formatCount, formatShare } from '../logic/numbers.ts';
import { addDays } from '../logic/time.ts';
import { nameOfInterval, startOfDate } from '../logic/zone.ts';
import { saveFile } from '../requests/export-requests.ts';
import type { RequestSearch } from '../requests/filters.ts';
import { Icon } from '../ui/icon.tsx';
import { MenuButton } from '../ui/menu.tsx';
import { Panel } from '../ui/page.tsx';
import { Money } from '../ui/values.tsx';
import { dimensions, type Dimension, type SpendSearch, type SpendView } from './spend-search.ts';
import { costOf, sumRows, type Totals } from './stack-rows.ts';

interface Props {
  view: SpendView;
  totals: readonly SpendRow[];
  rows: readonly SpendRow[];
  intervals: readonly string[];
  labels: readonly string[];
  field: keyof SpendRow;
  show: (value: string | null) => string;
  isAdmin: boolean;
  onChange: (part: SpendSearch) => void;
}

/** Rows of the table of values that are shown. The file has all. */
const MAX_ROWS = 200;

/** The numbers of the chart: by value, and by interval. */
export function SpendTables({ view, totals, rows, intervals, labels, field, show, onChange }: Props): JSX.Element {
  const navigate = useNavigate();
  const { by, since, until, isPast, zone, interval, filters } = view;
  const filter = by.startsWith('tag:') ? 'tag' : dimensions[by as Dimension].filter;
  const label = by.startsWith('tag:') ? by.slice(4) : dimensions[by as Dimension].label;
  const sorted = [...totals].sort((a, b) => (costOf(a) < costOf(b) ? 1 : -1));
  const sum = sumRows(totals);
  const values = sorted.map((row) => ({ row, value: (row[field] ?? null) as string | null }));
  const filterValue = (value: string) => (filter === 'tag' ? `${by.slice(4)}:${value}` : value);
  const requestsOf = (value: string): RequestSearch => ({
    ...filters,
    [filter]: filterValue(value),
    since: new Date(startOfDate(since, zone)).toISOString(),
    ...(isPast ? { until: new Date(startOfDate(addDays(until, 1), zone)).toISOString() } : {}),
  });

  function save(): void {
    const head = csvRow([
      label.toLowerCase(),
      'requests',
      'failed',
      'input_tokens',
      'cached_tokens',
      'output_tokens',
      'cost_usd',
    ]);
    const lines = values.map(({ row, value }) => {
      const one = sumRows([row]);
      const cost = formatMoney(one.costNano).replaceAll(/[$,]/g, '');
      return csvRow([show(value), one.requests, one.failed, one.inputTokens, one.cachedTokens, one.outputTokens, cost]);
    });
    saveFile(
      new Blob([head, ...lines], { type: 'text/csv;charset=utf-8' }),
      `spend-${since}-${until}-${zone.replaceAll('/', '-')}.csv`,
    );
  }

  const byInterval = new Map<string, SpendRow[]>();
  for (const row of rows) {
    const name = nameOfInterval(row.start, interval);
    byInterval.set(name, [...(byInterval.get(name) ?? []), row]);
  }
  return (
    <>
      <Panel
        title={`By ${label.toLowerCase()}`}
        padded={false}
        aside={
          <button type="button" className="button small spread" onClick={save}>
            <Icon name="download" size={14} /> CSV
          </button>
        }
      >
        <table>
          <Head label={label} hasLinks />
          <tbody>
            {values.slice(0, MAX_ROWS).map(({ row, value }) => (
              <Row key={value ?? ''} label={show(value)} sum={sumRows([row])} total={sum}>
                <td className="actions">
                  {value !== null && (
                    <MenuButton
                      label={<Icon name="more" />}
                      name={`Actions for ${show(value)}`}
                      title={show(value)}
                      className="button quiet icon-only"
                      choices={[
                        { id: 'requests', label: 'Its requests' },
                        { id: 'only', label: 'Only this' },
                      ]}
                      onAction={(id) =>
                        id === 'requests'
                          ? void navigate({ to: '/requests', search: requestsOf(value) })
                          : onChange({ [filter]: filterValue(value) })
                      }
                    />
                  )}
                </td>
              </Row>
            ))}
          </tbody>
          <tfoot>
            <Row label={values.length > MAX_ROWS ? `All ${formatCount(values.length)}` : 'Total'} sum={sum} total={sum}>
              <td />
            </Row>
          </tfoot>
        </table>
      </Panel>
      <Panel title={`By ${interval}`} padded={false}>
        <table>
          <Head label={interval} />
          <tbody>
            {intervals
              .map((name, at) => ({ name, label: labels[at]!, found: byInterval.get(name) }))
              .filter(({ found }) => found !== undefined)
              .reverse()
              .map(({ name, label: text, found }) => (
                <Row key={name} label={text} sum={sumRows(found!)} total={sum} />
              ))}
          </tbody>
        </table>
      </Panel>
    </>
  );
}

function Head({ label, hasLinks = false }: { label: string; hasLinks?: boolean }): JSX.Element {
  const columns = ['Cost', 'Share', 'Requests', 'Failed', 'Input tokens', 'From a cache', 'Output tokens'];
  return (
    <thead>
      <tr>
        <th scope="col">{label.charAt(0).toUpperCase() + label.slice(1)}</th>
        {columns.map((each) => (
          <th key={each} scope="col" className="number">
            {each}
          </th>
        ))}
        {hasLinks && (
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        )}
      </tr>
    </thead>
  );
}

function Row({
  label,
  sum,
  total,
  children,
}: {
  label: string;
  sum: Totals;
  total: Totals;
  children?: React.ReactNode;
}): JSX.Element {
  const share = total.costNano === 0n ? 0 : Number((sum.costNano * 1_000_000n) / total.costNano);
  return (
    <tr>
      <th scope="row" className="short-name" title={label}>
        {label}
      </th>
      <td className="number">
        <Money amount={sum.costNano} />
      </td>
      <td className="number">{formatShare(share, 1_000_000)}</td>
      <td className="number">{formatCount(sum.requests)}</td>
      <td className="number">{formatCount(sum.failed)}</td>
      <td className="number">{formatCount(sum.inputTokens)}</td>
      <td className="number">{formatShare(sum.cachedTokens, sum.inputTokens)}</td>
      <td className="number">{formatCount(sum.outputTokens)}</td>
      {children}
    </tr>
  );
}
