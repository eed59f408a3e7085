import { useElementScrollRestoration, useLocation, useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type JSX, memo, type RefObject, useCallback, useEffect, useRef } from 'react';
import type { Generation } from '../api/types.ts';
import { isTyping } from '../shell/use-shortcuts.ts';
import { toneOf } from '../ui/status.tsx';
import type { Column } from './columns.tsx';
import type { Names } from './use-names.ts';

/** The name of the list for the router, which restores how far it was scrolled. */
export const LIST_NAME = 'requests';

/** The row that had the focus last, and the entry of the history that showed it. */
let lastFocused: { visit: string; id: string | undefined } = { visit: '', id: undefined };

function focusRow(frame: HTMLElement | null, id: string | undefined): void {
  if (id !== undefined) frame?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`)?.focus();
}

const ROW = 40;
const HEAD = 36;

interface Props {
  rows: readonly Generation[];
  columns: readonly Column[];
  names: Names;
  hasMore: boolean;
  isLoadingMore: boolean;
  onEnd: () => void;
  /** The element that scrolls. */
  frame: RefObject<HTMLDivElement | null>;
}

/** The table of requests. Only the rows in view exist; `j` and `k` move between them. */
export function RequestTable({ rows, columns, names, hasMore, isLoadingMore, onEnd, frame }: Props): JSX.Element {
  const restored = useElementScrollRestoration({ id: LIST_NAME });
  const visit = useLocation({ select: ({ state }) => state.__TSR_key ?? '' });
  const focused = useRef<string | undefined>(lastFocused.visit === visit ? lastFocused.id : undefined);
  const onFocus = useCallback(
    (id: string) => {
      focused.current = id;
      lastFocused = { visit, id };
    },
    [visit],
  );
  const navigate = useNavigate();
  const onOpen = useCallback(
    (id: string) => {
      onFocus(id);
      void navigate({ to: '/requests/$id', params: { id } });
    },
    [navigate, onFocus],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    getItemKey: (index) => rows[index]!.id,
    overscan: 12,
    // Back from a request, the list is where it was.
    initialOffset: () => restored?.scrollY ?? 0,
    scrollPaddingStart: HEAD,
  });
  const items = virtual.getVirtualItems();
  const first = items[0];
  const last = items.at(-1);
  const isAtEnd = hasMore && !isLoadingMore && (last === undefined || last.index >= rows.length - 30);
  useEffect(() => {
    if (isAtEnd) onEnd();
  }, [isAtEnd, onEnd]);
  // Back from a request, the focus is on its row.
  const isRestored = useRef(false);
  const hasItems = items.length > 0;
  useEffect(() => {
    if (isRestored.current || !hasItems) return;
    isRestored.current = true;
    if (document.activeElement === document.body) focusRow(frame.current, focused.current);
  }, [frame, hasItems]);
  useRowKeys({ rows, frame, focused, show: (index) => virtual.scrollToIndex(index) });

  const width = columns.reduce((sum, column) => sum + column.width, 0);
  const before = first?.start ?? 0;
  const after = virtual.getTotalSize() - (last?.end ?? 0);
  return (
    <table
      aria-label="Requests"
      aria-rowcount={hasMore ? -1 : rows.length + 1}
      style={{ minWidth: columns.length > 4 ? width : undefined }}
    >
      <colgroup>
        {columns.map((column) => (
          <col key={column.id} style={{ width: `${(column.width / width) * 100}%` }} />
        ))}
      </colgroup>
      <thead>
        <tr>
          {columns.map(({ id, label, isNumber }) => (
            <th key={id} scope="col" className={isNumber ? 'number' : undefined}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        <Filler height={before} span={columns.length} />
        {items.map(({ index, key }) => (
          <Row
            key={key}
            entry={rows[index]!}
            index={index}
            columns={columns}
            names={names}
            onFocus={onFocus}
            onOpen={onOpen}
          />
        ))}
        <Filler height={after} span={columns.length} />
      </tbody>
    </table>
  );
}

interface RowProps {
  entry: Generation;
  index: number;
  columns: readonly Column[];
  names: Names;
  onFocus: (id: string) => void;
  onOpen: (id: string) => void;
}

/** A request. Rows that stay in view are not drawn again while the list scrolls. */
const Row = memo(function Row({ entry, index, columns, names, onFocus, onOpen }: RowProps): JSX.Element {
  return (
    // A click anywhere does what the link of the row does. A click for a new tab is that of the browser.
    <tr
      aria-rowindex={index + 2}
      className={toneOf(entry) === 'bad' ? 'failed' : undefined}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || getSelection()?.isCollapsed === false) return;
        event.preventDefault();
        onOpen(entry.id);
      }}
    >
      {columns.map(({ id, isNumber, cell }, at) => (
        <td key={id} className={isNumber ? 'number' : undefined}>
          {at === 0 ? (
            // A plain link, because links of the router make rows slow. The address is relative to the base of the document.
            <a href={`requests/${encodeURIComponent(entry.id)}`} data-row={entry.id} onFocus={() => onFocus(entry.id)}>
              {cell(entry, names)}
            </a>
          ) : (
            cell(entry, names)
          )}
        </td>
      ))}
    </tr>
  );
});

/** Takes the place of the rows that do not exist. */
function Filler({ height, span }: { height: number; span: number }): JSX.Element | null {
  if (height <= 0) return null;
  return (
    <tr className="filler">
      <td colSpan={span} style={{ height }} />
    </tr>
  );
}

/** Moves the focus between rows with `j` and `k`. The row under the focus stays the same when new ones appear. */
function useRowKeys({
  rows,
  frame,
  focused,
  show,
}: {
  rows: readonly Generation[];
  frame: RefObject<HTMLDivElement | null>;
  focused: RefObject<string | undefined>;
  show: (index: number) => void;
}): void {
  const latest = useRef({ rows, show });
  useEffect(() => {
    latest.current = { rows, show };
  });
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if ((event.key !== 'j' && event.key !== 'k') || event.ctrlKey || event.metaKey || event.altKey || isTyping(event))
        return;
      const { rows: all, show: scrollTo } = latest.current;
      const at = all.findIndex(({ id }) => id === focused.current);
      const next = Math.min(all.length - 1, Math.max(0, at === -1 ? 0 : at + (event.key === 'j' ? 1 : -1)));
      const id = all[next]?.id;
      if (id === undefined) return;
      scrollTo(next);
      const focus = () => focusRow(frame.current, id);
      focus();
      requestAnimationFrame(focus); // the row may exist only after the list has scrolled
    }
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [frame, focused]);
}
