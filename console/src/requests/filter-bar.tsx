import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type JSX, lazy, Suspense, useState } from 'react';
import type { RangeName } from '../logic/time.ts';
import { useIsAdmin } from '../shell/use-session.ts';
import { Icon } from '../ui/icon.tsx';
import { activeFilters, type FilterName, readSearchText, type RequestSearch } from './filters.ts';
import type { Names } from './use-names.ts';

const FilterDialog = lazy(() => import('./filter-dialog.tsx').then(({ FilterDialog }) => ({ default: FilterDialog })));

const rangeLabels: Record<RangeName, string> = {
  '15m': 'Last 15 minutes',
  '1h': 'Last hour',
  '6h': 'Last 6 hours',
  today: 'Today',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
};
const sortLabels = { time: 'Newest first', cost: 'Most expensive first', duration: 'Slowest first' };

/** The search field, the time range, the order and the filters that are set. */
export function FilterBar({
  search,
  names,
  problem,
  onLeave,
}: {
  search: RequestSearch;
  names: Names;
  /** Why the gateway rejects the filters. Undefined: it accepts them. */
  problem: string | undefined;
  /** Called when the search field has done its work, so that the focus can go to the list. */
  onLeave: () => void;
}): JSX.Element {
  const navigate = useNavigate();
  const isAdmin = useIsAdmin();
  const [hint, setHint] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const active = activeFilters(search);
  const change = (part: RequestSearch) => void navigate({ to: '/requests', search: { ...search, ...part } });

  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const form = event.currentTarget;
    const found = readSearchText(String(new FormData(form).get('text')));
    setHint(found === undefined);
    if (found === undefined) return;
    form.reset();
    if ('id' in found) void navigate({ to: '/requests/$id', params: { id: found.id } });
    else {
      change(found.set);
      onLeave();
    }
  }

  const show = (name: FilterName, value: string): string => {
    if (name === 'api_key_hash') return names.key(value);
    if (name === 'workspace_id') return names.workspace(value);
    if (name === 'min_cost' || name === 'max_cost') return `$${value}`;
    if (name === 'min_duration' || name === 'max_duration') return `${value} ms`;
    return value === 'true' ? 'yes' : value === 'false' ? 'no' : value;
  };

  return (
    <>
      <div className="toolbar">
        <search className="search">
          <form onSubmit={onSubmit}>
            <Icon name="search" />
            <input
              className="input"
              name="text"
              data-search
              autoComplete="off"
              spellCheck={false}
              aria-label="Search requests"
              aria-describedby={hint ? 'search-hint' : undefined}
              placeholder="Id, 5xx, model:…, team:search"
              onChange={() => setHint(false)}
              onKeyDown={({ key }) => {
                if (key === 'Escape') onLeave();
              }}
            />
            <kbd>/</kbd>
          </form>
        </search>
        <select
          className="select"
          aria-label="Time range"
          value={search.since !== undefined || search.until !== undefined ? 'own' : (search.range ?? '')}
          onChange={({ target }) =>
            target.value === 'own' ? setOpen(true) : change({ range: target.value, since: '', until: '' })
          }
        >
          <option value="">All time</option>
          {Object.entries(rangeLabels).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          <option value="own">From … to …</option>
        </select>
        <select
          className="select"
          aria-label="Order"
          value={search.sort ?? 'time'}
          onChange={({ target }) => change({ sort: target.value === 'time' ? '' : target.value })}
        >
          {Object.entries(sortLabels).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        <button type="button" className="button" onClick={() => setOpen(true)}>
          <Icon name="filter" /> Filters{active.length > 0 ? ` (${active.length})` : ''}
        </button>
      </div>
      {hint && (
        <p id="search-hint" role="alert" className="soft">
          Search for the id of a request, a status such as <code>5xx</code>, a model such as{' '}
          <code>openai/gpt-5-mini</code>, a tag such as <code>team:search</code>, or a filter such as{' '}
          <code>error:rate_limited</code>.
        </p>
      )}
      {active.length > 0 && (
        <ul className="row" aria-label="Filters that are set">
          {active.map(({ name, label, value }) => (
            <li key={name} className={problem?.startsWith(`${name}:`) ? 'chip bad' : 'chip'}>
              <span title={value}>
                {label}: <strong>{show(name, value)}</strong>
              </span>
              <button type="button" aria-label={`Remove the filter ${label}`} onClick={() => change({ [name]: '' })}>
                <Icon name="close" size={14} />
              </button>
            </li>
          ))}
          <li>
            <button
              type="button"
              className="button quiet small"
              onClick={() => change(Object.fromEntries(active.map(({ name }) => [name, ''])))}
            >
              Remove all
            </button>
          </li>
        </ul>
      )}
      {problem !== undefined && (
        <p role="alert" className="notice bad">
          <Icon name="failed" /> <span className="wrap">{problem}</span>
        </p>
      )}
      <Suspense fallback={null}>
        {isOpen && (
          <FilterDialog
            search={search}
            isAdmin={isAdmin}
            onClose={() => setOpen(false)}
            onApply={(part) => {
              setOpen(false);
              change(part);
            }}
          />
        )}
      </Suspense>
    </>
  );
}
