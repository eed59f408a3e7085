import { describe, expect, it } from 'vitest';
import { addArrivals, createGapCheck, type LiveRows, mergeRows, noRows, REPEATED, reveal } from './live-list.ts';

interface Row {
  id: string;
  created_at: string;
}
const row = (n: number): Row => ({ id: `gen-${n}`, created_at: `2026-11-30T12:00:0${n}.000Z` });
const ids = (rows: readonly Row[]) => rows.map(({ id }) => Number(id.slice(4)));
const empty: LiveRows<Row> = noRows;
const listed = new Set<string>();

describe('rows that arrive', () => {
  it('wait while the reader is elsewhere, and appear on demand', () => {
    const waiting = addArrivals(empty, [row(1), row(2)], { listed, isOpen: false });
    expect(ids(waiting.shown)).toEqual([]);
    expect(ids(waiting.waiting)).toEqual([2, 1]);
    const shown = reveal(waiting);
    expect(ids(shown.shown)).toEqual([2, 1]);
    expect(shown.waiting).toEqual([]);
  });

  it('appear at once for a reader at the top, with those that waited', () => {
    const waiting = addArrivals(empty, [row(1)], { listed, isOpen: false });
    expect(ids(addArrivals(waiting, [row(2)], { listed, isOpen: true }).shown)).toEqual([2, 1]);
  });

  it('are ignored if they repeat, are in a page, or are older than the list', () => {
    const one = addArrivals(empty, [row(3)], { listed, isOpen: true });
    expect(addArrivals(one, [row(3)], { listed, isOpen: true })).toBe(one);
    expect(addArrivals(one, [row(4)], { listed: new Set(['gen-4']), isOpen: true })).toBe(one);
    expect(addArrivals(one, [row(1)], { listed, isOpen: true, since: row(2).created_at })).toBe(one);
  });

  it('have the order of the list, although a long request ends late', () => {
    const rows = addArrivals(empty, [row(5), row(2), row(4)], { listed, isOpen: true });
    expect(ids(rows.shown)).toEqual([5, 4, 2]);
  });
});

it('a gap is noticed if the feed repeats only unknown requests', () => {
  const ids = Array.from({ length: REPEATED }, (_, at) => `gen-${at}`);
  const check = createGapCheck(['gen-old']);
  expect(check(ids.slice(0, 50))).toBe(false);
  expect(check(ids.slice(50))).toBe(true);
  expect(check(ids)).toBe(false);
  expect(createGapCheck(['gen-7'])(ids)).toBe(false);
  expect(createGapCheck([])(ids)).toBe(false);
});

describe('merged rows', () => {
  it('have each request once', () => {
    expect(ids(mergeRows([row(5), row(3)], [row(4), row(3), row(2)], false))).toEqual([5, 4, 3, 2]);
  });

  it('leave out a request that a later page has', () => {
    expect(ids(mergeRows([row(1)], [row(4), row(3)], true))).toEqual([4, 3]);
    expect(ids(mergeRows([row(1)], [row(4), row(3)], false))).toEqual([4, 3, 1]);
  });
});
