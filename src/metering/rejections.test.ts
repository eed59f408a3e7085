import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { readHistory } from '../domain/request-history.ts';
import { createTestEntry } from '../platform/storage/contract/samples.ts';
import { MAX_REJECTIONS, openRejectionLog } from './rejections.ts';

let nowMs = 0;
let recorded: LedgerEntry[] = [];
let canRecord = true;
beforeEach(() => {
  vi.useFakeTimers();
  nowMs = 0;
  recorded = [];
  canRecord = true;
});
afterEach(() => vi.useRealTimers());

const open = () =>
  openRejectionLog(
    (entry) => recorded.push(entry),
    () => canRecord,
    () => nowMs,
  );
const reject = (keyHash: string): LedgerEntry => createTestEntry({ keyHash, history: '{"message":"No."}' });
function pass(ms: number): void {
  nowMs += ms;
  vi.advanceTimersByTime(ms);
}

it('records the first requests of a key in a minute, and then the last one with the number of the others', () => {
  const log = open();
  const entries = Array.from({ length: MAX_REJECTIONS + 5 }, () => reject('one'));
  for (const entry of entries) log.note(entry);
  expect(recorded).toEqual(entries.slice(0, MAX_REJECTIONS));
  pass(60_000);
  expect(recorded).toHaveLength(MAX_REJECTIONS + 1);
  const last = recorded.at(-1)!;
  expect(last.id).toBe(entries.at(-1)!.id);
  expect(readHistory(last.history)).toEqual({ message: 'No.', omittedRequests: 4 });
  pass(600_000);
  expect(recorded).toHaveLength(MAX_REJECTIONS + 1);
});

it('counts each key, and each minute, separately', () => {
  const log = open();
  for (let at = 0; at < MAX_REJECTIONS + 1; at++) for (const key of ['one', 'two']) log.note(reject(key));
  expect(recorded).toHaveLength(2 * MAX_REJECTIONS);
  pass(60_000);
  expect(recorded).toHaveLength(2 * MAX_REJECTIONS + 2); // none was left out
  expect(recorded.slice(-2).map(({ history }) => readHistory(history))).toEqual([
    { message: 'No.' },
    { message: 'No.' },
  ]);
  log.note(reject('one'));
  expect(recorded).toHaveLength(2 * MAX_REJECTIONS + 3);
});

it('ends a minute also if its timer is late', () => {
  const log = open();
  for (let at = 0; at < MAX_REJECTIONS + 3; at++) log.note(reject('one'));
  nowMs += 60_000;
  const next = reject('one');
  log.note(next);
  expect(recorded.slice(MAX_REJECTIONS).map(({ history }) => readHistory(history))).toEqual([
    { message: 'No.', omittedRequests: 2 },
    { message: 'No.' },
  ]);
  expect(recorded.at(-1)).toBe(next);
});

it('records what is left when it closes', () => {
  const log = open();
  for (let at = 0; at < MAX_REJECTIONS + 2; at++) log.note(reject('one'));
  log.close();
  expect(recorded).toHaveLength(MAX_REJECTIONS + 1);
  pass(600_000);
  expect(recorded).toHaveLength(MAX_REJECTIONS + 1);
});

it('records nothing while the ledger accepts nothing', () => {
  canRecord = false;
  const log = open();
  for (let at = 0; at < MAX_REJECTIONS + 2; at++) log.note(reject('one'));
  log.close();
  expect(recorded).toEqual([]);
});
