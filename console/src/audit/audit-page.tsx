import { useInfiniteQuery } from '@tanstack/react-query';
import type { JSX } from 'react';
import { call } from '../api/client.ts';
import type { AuditEntry } from '../api/types.ts';
import { formatCount } from '../logic/numbers.ts';
import { type Names, useNames } from '../requests/use-names.ts';
import { Page } from '../ui/page.tsx';
import { Empty, Failed, Loading } from '../ui/states.tsx';
import { Absent, Time } from '../ui/values.tsx';
import { TableHead } from '../ui/table-head.tsx';

const PAGE = 50;

/** The changes by management, the newest first. */
export function AuditPage(): JSX.Element {
  const names = useNames();
  const pages = useInfiniteQuery({
    queryKey: ['audit'],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call('get', '/api/v1/audit', { query: { offset: pageParam, limit: PAGE }, signal }),
    getNextPageParam: ({ total_count }, all) => (all.length * PAGE < total_count ? all.length * PAGE : undefined),
  });
  const entries = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Page title="Audit" about="Each change of keys, workspaces, members, budgets and guardrails has an entry.">
      {pages.isPending && <Loading />}
      {pages.error !== null && <Failed error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.isSuccess && entries.length === 0 && (
        <Empty icon="audit" title="There are no changes yet">
          <p>The first change of a key, a workspace or a budget appears here.</p>
        </Empty>
      )}
      {entries.length > 0 && <AuditTable entries={entries} names={names} />}
      {pages.hasNextPage && (
        <p>
          <button
            type="button"
            className="button"
            disabled={pages.isFetchingNextPage}
            onClick={() => void pages.fetchNextPage()}
          >
            Show more of {formatCount(pages.data?.pages[0]?.total_count ?? 0)}
          </button>
        </p>
      )}
    </Page>
  );
}

function AuditTable({ entries, names }: { entries: readonly AuditEntry[]; names: Names }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
    <section className="panel table-scroll" aria-label="Changes" tabIndex={0}>
      <table>
        <TableHead columns={['Time', 'Change', 'Object', 'Workspace', 'By', 'Fields']} />
        <tbody>
          {entries.map(({ id, at, action, object_kind, object_id, workspace_id, actor_key_hash, changes }) => (
            <tr key={id}>
              <td>
                <Time at={at} />
              </td>
              <td>{action}</td>
              <td title={object_id}>
                {nameOf({ object_kind, object_id, workspace_id }, names) ?? (
                  <span className="mono">{object_id.slice(0, 18)}</span>
                )}
              </td>
              <td>{workspace_id === null ? <Absent /> : names.workspace(workspace_id)}</td>
              <td>{actor_key_hash === null ? 'command line' : names.key(actor_key_hash)}</td>
              <td className="wrap changes">{writeChanges(changes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** @returns the name of an object. A budget has that of its workspace. Undefined: only its id is known */
function nameOf(
  { object_kind, object_id, workspace_id }: Pick<AuditEntry, 'object_kind' | 'object_id' | 'workspace_id'>,
  names: Names,
): string | undefined {
  if (object_kind === 'key') return names.key(object_id);
  if (object_kind === 'workspace') return names.workspace(object_id);
  if (object_kind === 'budget' && workspace_id !== null) return names.workspace(workspace_id);
  return undefined;
}

/** Writes the changed fields: `limit: 20 → 50`. Fields of a new object that have no value are left out. */
function writeChanges(changes: unknown): string {
  if (typeof changes !== 'object' || changes === null) return '';
  return Object.entries(changes as Record<string, { before?: unknown; after?: unknown } | null>)
    .map(([name, change]) => ({ name, before: change?.before ?? null, after: change?.after ?? null }))
    .filter(({ name, before, after }) => name !== 'workspace_id' && (before !== null || after !== null))
    .map(({ name, before, after }) => {
      return before === null ? `${name}: ${write(after)}` : `${name}: ${write(before)} → ${write(after)}`;
    })
    .join(', ');
}

const write = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
