import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeEntry } from '../platform/storage/ledger-contract.ts';
import { openJournal } from './journal.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const files = () => readdirSync(folder).map((name) => join(folder, name));
const sizes = () => files().map((file) => statSync(file).size);
/** What a process that is started now would find. */
const readLeft = () => {
  const { journal, left } = openJournal(folder);
  journal.close();
  return left;
};

it('keeps every field of what is appended, from the return of append on', () => {
  const { journal, left } = openJournal(folder);
  expect(left).toEqual([]);
  const entries = [
    makeEntry({ costNanoUsd: 2n ** 63n - 1n, inputCostNanoUsd: 2n ** 62n + 1n, requestedModel: 'a\nb"\u2028\0' }),
    makeEntry({ router: 'router/auto', task: 'code:review' }),
    makeEntry({ special: { webSearches: 2 }, isByok: true, upstreamCostNanoUsd: 5, tier: 'flex' }),
    makeEntry({ memberId: null, model: null, firstOutputMs: null }),
  ];
  for (const entry of entries) journal.append(entry);
  expect(readLeft()).toEqual(entries);
});

it('reads what a build left that knew no routers and no cost of input', () => {
  const { router, task, inputCostNanoUsd, ...rest } = makeEntry();
  const { providerId, endpointId, tier, isByok, upstreamCostNanoUsd, ...known } = rest;
  writeFileSync(
    join(folder, 'ledger-1-old.jsonl'),
    `${JSON.stringify({ ...known, costNanoUsd: String(known.costNanoUsd) })}\n`,
  );
  const unknown = { router: null, task: null, providerId: null, endpointId: null, tier: null };
  expect(readLeft()).toEqual([
    { ...known, ...unknown, isByok: false, upstreamCostNanoUsd: null, inputCostNanoUsd: 0n },
  ]);
});

it('passes a torn last line over, and lines that are none', () => {
  const { journal } = openJournal(folder);
  const entry = makeEntry();
  journal.append(entry);
  const [file] = files();
  appendFileSync(file!, 'null\n{}\n\0\0\0\n{"id":"gen-torn"}\n{"id":"gen-cut","costNanoUsd":"1');
  expect(readLeft()).toEqual([entry]);
});

it('looks at no other file of its folder', () => {
  writeFileSync(join(folder, 'README'), 'not mine\n');
  writeFileSync(join(folder, 'ledger-1.jsonl.bak'), '{"costNanoUsd":"1"}\n');
  expect(readLeft()).toEqual([]);
  expect(readdirSync(folder)).toEqual(['README', 'ledger-1.jsonl.bak']);
});

it('forgets what stood before the mark once nothing stands behind it', () => {
  const { journal } = openJournal(folder);
  journal.append(makeEntry());
  const mark = journal.mark();
  const later = makeEntry();
  journal.append(later);
  journal.forget(mark);
  expect(readLeft()).toContainEqual(later);
  journal.forget(journal.mark());
  expect(sizes()).toEqual([0]);
  journal.append(later);
  expect(readLeft()).toEqual([later]);
});

it('goes on in a new file when one is large, and removes the old one with its last entry', () => {
  const { journal } = openJournal(folder);
  const large = makeEntry({ requestedModel: 'm'.repeat(3_000_000) });
  for (let at = 0; at < 2; at++) journal.append(large);
  let mark = journal.mark();
  journal.append(large);
  journal.forget(mark);
  expect(sizes()).toHaveLength(2);
  const last = makeEntry();
  journal.append(last);
  expect(readLeft()).toContainEqual(last);
  mark = journal.mark();
  journal.forget(mark);
  expect(sizes()).toEqual([0]);
  journal.close();
  expect(files()).toEqual([]);
});

it('removes what an earlier process left only when told that it is stored', () => {
  const before = openJournal(folder);
  const entry = makeEntry();
  before.journal.append(entry);
  const after = openJournal(folder);
  expect(after.left).toEqual([entry]);
  expect(readLeft()).toEqual([entry]);
  after.forgetLeft();
  after.journal.close();
  expect(readLeft()).toEqual([]);
});

it('says so when it cannot be written', () => {
  const { journal } = openJournal(folder);
  journal.close();
  expect(() => journal.append(makeEntry())).toThrow(/EBADF/);
});
