import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type JSX, useCallback, useEffect, useRef, useSyncExternalStore } from 'react';
import { ApiError } from '../api/client.ts';
import { formatCount } from '../logic/numbers.ts';
import { isTyping } from '../shell/use-shortcuts.ts';
import { useIsAdmin } from '../shell/use-session.ts';
import { Icon } from '../ui/icon.tsx';
import { MenuButton } from '../ui/menu.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Failed, Loading } from '../ui/states.tsx';
import { chosenColumns, columns as allColumns } from './columns.tsx';
import { ExportButton } from './export-button.tsx';
import { FilterBar } from './filter-bar.tsx';
import { activeFilters, type RequestSearch } from './filters.ts';
import { LIST_NAME, RequestTable } from './request-table.tsx';
import { useNames } from './use-names.ts';
import { type Requests, useRequests } from './use-requests.ts';

const route = getRouteApi('/requests');
const narrow = matchMedia('(max-width: 640px)');
const useIsNarrow = () =>
  useSyncExternalStore(
    (listener) => {
      narrow.addEventListener('change', listener);
      return () => narrow.removeEventListener('change', listener);
    },
    () => narrow.matches,
  );

/** The live list of requests. */
export function RequestsPage(): JSX.Element {
  const search = route.useSearch();
  const navigate = useNavigate();
  const isAdmin = useIsAdmin();
  const isNarrow = useIsNarrow();
  const names = useNames();
  const frame = useRef<HTMLDivElement>(null);
  /** The reader is at the top, and neither the pointer nor the focus is on a row. */
  const isOpen = useCallback(() => {
    const body = frame.current?.querySelector('tbody');
    return (frame.current?.scrollTop ?? 0) < 4 && !body?.matches(':hover') && !body?.contains(document.activeElement);
  }, []);
  const requests = useRequests(search, isOpen);
  const columns = chosenColumns(search.columns, { isAdmin, isNarrow });
  const change = (part: RequestSearch) =>
    void navigate({ to: '/requests', search: { ...search, ...part }, replace: true });

  const { loadMore, showNew } = requests;
  const more = useRef(loadMore);
  more.current = loadMore;
  const onEnd = useCallback(() => more.current(), []);
  const reveal = useCallback(() => {
    showNew();
    frame.current?.scrollTo({ top: 0 });
  }, [showNew]);
  useNewRowsKey(requests.waiting > 0, reveal);

  const problem = isInvalid(requests.error) ? requests.error.message : undefined;

  return (
    <Page
      title="Requests"
      fills
      actions={
        <>
          <FeedSign feed={requests.feed} />
          <div className="row spread">
            <ExportButton search={search} columns={columns} names={names} />
            {(requests.feed === 'paused' || requests.feed === 'live' || requests.feed === 'lost') && (
              <button
                type="button"
                className="button"
                onClick={() => change({ paused: search.paused === 'yes' ? '' : 'yes' })}
              >
                <Icon name={search.paused === 'yes' ? 'play' : 'pause'} />
                {search.paused === 'yes' ? 'Resume' : 'Pause'}
              </button>
            )}
            <MenuButton
              icon="columns"
              label="Columns"
              title="Columns"
              choices={allColumns.filter(({ isForAdmins }) => isAdmin || !isForAdmins)}
              selected={new Set(columns.map(({ id }) => id))}
              onSelect={(ids) =>
                change({ columns: allColumns.flatMap(({ id }) => (ids.has(id) ? [id] : [])).join(',') })
              }
            />
          </div>
        </>
      }
    >
      <FilterBar search={search} names={names} problem={problem} onLeave={() => frame.current?.focus()} />
      <div className="list-frame">
        {requests.waiting > 0 && (
          <button type="button" className="button primary new-rows" onClick={reveal}>
            <Icon name="up" /> Show {formatCount(requests.waiting)} new{' '}
            {requests.waiting === 1 ? 'request' : 'requests'}
          </button>
        )}
        <output className="hidden">
          {requests.waiting > 0 ? `${requests.waiting} new requests wait. Press n to show them.` : ''}
        </output>
        <section
          ref={frame}
          data-scroll-restoration-id={LIST_NAME}
          className="list"
          aria-label="List of requests"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
          tabIndex={0}
        >
          <List requests={requests} search={search}>
            <RequestTable
              rows={requests.rows}
              columns={columns}
              names={names}
              hasMore={requests.hasMore}
              isLoadingMore={requests.isLoadingMore}
              onEnd={onEnd}
              frame={frame}
            />
          </List>
        </section>
      </div>
    </Page>
  );
}

function List({
  requests,
  search,
  children,
}: {
  requests: Requests;
  search: RequestSearch;
  children: JSX.Element;
}): JSX.Element {
  const { rows, error, isLoading, hasMore, isLoadingMore, retry, loadMore } = requests;
  if (isLoading) return <Loading label="Loading requests…" />;
  if (isInvalid(error)) {
    return (
      <Empty icon="filter" title="A filter has no valid value">
        <p>Change or remove the filter, and the list appears.</p>
      </Empty>
    );
  }
  if (error !== null && rows.length === 0) return <Failed error={error} onRetry={retry} />;
  if (rows.length === 0 && !hasMore) return <NoRequests search={search} />;
  return (
    <>
      {children}
      <p className="list-end">
        {error !== null ? (
          <button type="button" className="button" onClick={loadMore}>
            The next page failed. Try again
          </button>
        ) : isLoadingMore || hasMore ? (
          'Loading more…'
        ) : rows.length === 1 ? (
          'The only request is shown.'
        ) : (
          `All ${formatCount(rows.length)} requests are shown.`
        )}
      </p>
    </>
  );
}

function NoRequests({ search }: { search: RequestSearch }): JSX.Element {
  const isFiltered = activeFilters(search).length > 0 || search.range !== undefined || search.since !== undefined;
  if (isFiltered) {
    return (
      <Empty icon="filter" title="No request matches">
        <p>Remove a filter or choose a longer time range. New requests that match appear here by themselves.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="requests" title="There are no requests yet">
      <p>A request appears here as soon as it ends. Leave this page open and send the first one:</p>
      <pre className="mono wrap">{`curl ${new URL('../api/v1/responses', document.baseURI).href} \\
  -H "Authorization: Bearer $HEADGATE_KEY" -H "Content-Type: application/json" \\
  -d '{"model": "simulator/echo", "input": "Hello"}'`}</pre>
    </Empty>
  );
}

/** Whether the gateway rejects the conditions of the list. */
const isInvalid = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 400;

const feedTexts = {
  off: 'Not live: the list is sorted or has an end',
  paused: 'Paused',
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Connection lost. Trying again…',
} as const;

function FeedSign({ feed }: { feed: Requests['feed'] }): JSX.Element {
  return (
    <output className={`live ${feed === 'live' ? 'on' : feed}`}>
      <span className="dot" aria-hidden="true" />
      {feedTexts[feed]}
    </output>
  );
}

/** `n` shows the new requests. */
function useNewRowsKey(isOn: boolean, reveal: () => void): void {
  useEffect(() => {
    if (!isOn) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'n' && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event)) reveal();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [isOn, reveal]);
}
