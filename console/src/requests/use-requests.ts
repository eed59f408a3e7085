import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { call } from '../api/client.ts';
import { type FeedState, followFeed } from '../api/live-feed.ts';
import type { Generation, GenerationsQuery } from '../api/types.ts';
import { feedQuery, isFollowed, listQuery, type RequestSearch } from './filters.ts';
import { addArrivals, createGapCheck, type LiveRows, mergeRows, noRows, REPEATED, reveal } from './live-list.ts';

export interface Requests {
  rows: readonly Generation[];
  /** New requests that are not shown yet. */
  waiting: number;
  feed: FeedState | 'off' | 'paused';
  error: unknown;
  isLoading: boolean;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
  retry: () => void;
  /** Shows the requests that wait. */
  showNew: () => void;
}

/**
 * Reads the list of requests in pages, and follows the new ones.
 *
 * @param isOpen whether new rows may appear at once, because the reader is at the top
 */
export function useRequests(search: RequestSearch, isOpen: () => boolean): Requests {
  const { columns: _, paused, ...conditions } = search;
  const name = JSON.stringify(conditions);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the name stands for the conditions, and a named range begins once
  const query = useMemo(() => listQuery(conditions), [name]);
  const client = useQueryClient();
  const queryKey = ['generations', query];
  const pages = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      call('get', '/api/v1/generations', {
        query: { ...query, limit: 100, ...(pageParam === '' ? {} : { cursor: pageParam }) } as GenerationsQuery,
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    staleTime: Number.POSITIVE_INFINITY, // the feed has what is new
    gcTime: 300_000,
  });
  const read = useMemo(() => pages.data?.pages.flatMap(({ data }) => data) ?? [], [pages.data]);
  const [live, setLive] = useState<LiveRows>(noRows);
  const [state, setState] = useState<FeedState>('connecting');
  const latest = useRef({ read, isOpen });
  useEffect(() => {
    latest.current = { read, isOpen };
  });

  const isOn = isFollowed(conditions) && paused !== 'yes';
  const isReady = pages.isSuccess;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the name stands for the conditions
  useEffect(() => {
    if (!isOn || !isReady) return;
    const stop = new AbortController();
    setState('connecting');
    const isGap = createGapCheck(latest.current.read.map(({ id }) => id));
    void followFeed({
      query: feedQuery(conditions),
      last: REPEATED,
      signal: stop.signal,
      onState: setState,
      onEntries(entries) {
        if (isGap(entries.map(({ id }) => id))) {
          setLive(noRows);
          void client.resetQueries({ queryKey });
          return;
        }
        const listed = new Set(latest.current.read.map(({ id }) => id));
        // Rows that are older than what was read belong to a later page.
        const oldest = latest.current.read.at(-1)?.created_at;
        const since = oldest ?? query['since'];
        setLive((rows) => addArrivals(rows, entries, { listed, isOpen: latest.current.isOpen(), since }));
      },
    });
    return () => stop.abort();
  }, [name, isOn, isReady]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other conditions are another list
  useEffect(() => setLive(noRows), [name]);

  const hasMore = pages.hasNextPage;
  const rows = useMemo(() => mergeRows(live.shown, read, hasMore), [live.shown, read, hasMore]);
  return {
    rows,
    waiting: live.waiting.length,
    feed: !isFollowed(conditions) ? 'off' : paused === 'yes' ? 'paused' : state,
    error: pages.error,
    isLoading: pages.isPending,
    hasMore,
    isLoadingMore: pages.isFetchingNextPage,
    loadMore: () => void pages.fetchNextPage(),
    retry: () => void pages.refetch(),
    showNew: () => setLive(reveal),
  };
}
