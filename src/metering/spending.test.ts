import { readOrphanedRequest } from '../access/rate-limits.ts';
import { describe, expect, it, vi } from 'vitest';
import type { Caller } from '../domain/caller.ts';
import { MemoryCounters } from '../platform/counters/memory/memory-counters.ts';
import { createTestEntry, createTestLine } from '../platform/storage/contract/samples.ts';
import type { SpendingScope, SpendingSums } from '../platform/storage/ports/spending.ts';
import { type CostReservation, Spending, type SpendingLimit } from './spending.ts';

const limit = (scope: SpendingScope, fields: Partial<SpendingLimit> = {}): SpendingLimit => ({
  kind: 'key',
  scope,
  window: 'daily',
  limitNanoUsd: 100n,
  name: 'The key k',
  includesByok: false,
  ...fields,
});
const caller = (keyHash: string): Caller => ({ keyHash, memberId: null, workspaceId: 'w' }) as Caller; // the used methods

function open(
  limits: () => SpendingLimit[],
  read: (scopes: readonly SpendingScope[], sinceMs: readonly number[]) => SpendingSums[],
) {
  const asked = vi.fn(async (scopes: readonly SpendingScope[], sinceMs: readonly number[]) => read(scopes, sinceMs));
  const spending = new Spending({
    counters: new MemoryCounters(),
    flush: async () => {},
    read: asked,
    readReductions: async () => 0,
    listLimits: async () => limits(),
    requestMs: () => 1000,
    onTrouble: (error) => expect.unreachable(String(error)),
  });
  return { spending, asked };
}
const nothing = (scopes: readonly SpendingScope[], sinceMs: readonly number[]) =>
  scopes.map(() => ({ costNanoUsd: sinceMs.map(() => 0n), byokNanoUsd: sinceMs.map(() => 0n) }));

describe('spending', () => {
  it('reads the store as often for a thousand limited keys as for one, and full history only for lifetime limits', async () => {
    const limits = Array.from({ length: 1000 }, (_, at) =>
      limit({ keyHash: `k${at}` }, at < 3 ? { window: 'lifetime' } : {}),
    );
    const { spending, asked } = open(() => limits, nothing);
    await spending.refresh();
    const questions = asked.mock.calls.map(([scopes, sinceMs]) => [scopes.length, Math.min(...sinceMs) === 0]);
    expect(questions).toEqual([
      [3, true],
      [997, false],
    ]);
  });

  it('counts all earlier spending of a key with a new lifetime limit, even if only limits are reloaded', async () => {
    let window: SpendingLimit['window'] = 'daily';
    const { spending } = open(
      () => [limit({ keyHash: 'k' }, { window })],
      (scopes, sinceMs) =>
        scopes.map(() => ({
          costNanoUsd: sinceMs.map((since) => (since === 0 ? 95n : 0n)), // before the current windows
          byokNanoUsd: sinceMs.map(() => 0n),
        })),
    );
    await spending.refresh();
    const ask = (id: string) => spending.reserve(caller('k'), id, { nanoUsd: 10n, sharedNanoUsd: 10n });
    expect(ask('gen-1')).toBeDefined();
    window = 'lifetime';
    await spending.refreshLimits();
    expect(() => ask('gen-2')).toThrow(/has spent 0\.000000095 USD/);
  });

  it('reserves the cost of failed attempts once, in the matching accounts, and releases it at the end', async () => {
    const { spending } = open(
      () => [limit({ keyHash: 'k' }), limit({ workspaceId: 'w' }, { includesByok: true, kind: 'workspace' })],
      nothing,
    );
    await spending.refresh();
    const ask = (id: string, nanoUsd: bigint) =>
      spending.reserve(caller('k'), id, { nanoUsd, sharedNanoUsd: nanoUsd }) as CostReservation;
    const held = ask('gen-1', 10n);
    const [own, shared] = [
      { costNanoUsd: 50n, isByok: true },
      { costNanoUsd: 5n, isByok: false },
    ];
    const explain = (cost: string) => `failed attempts have cost ${cost}`;
    await held.raise([own], explain);
    await held.raise([own], explain); // an endpoint that was not tried in between
    await held.raise([own, shared], explain);
    expect(() => held.raise([own, shared, { costNanoUsd: 36n, isByok: true }], explain)).toThrow(
      /^The key k may spend .* has spent 0 USD, and 0\.000000065 USD is reserved .*; failed attempts have cost 0\.000000091 USD/,
    );
    expect(() => ask('gen-2', 36n)).toThrow('may cost up to'); // 65 of the workspace are reserved
    held.settle(
      createTestEntry({ createdAtMs: Date.now(), lines: [createTestLine({ ...own }), createTestLine({ ...shared })] }),
    );
    expect(() => ask('gen-3', 46n)).toThrow('has spent 0.000000055 USD;');
    expect(ask('gen-4', 45n)).toBeDefined();
  });

  it('reserves charges before a plan exists, then adds the model calls, and releases all of it', async () => {
    const { spending } = open(() => [limit({ keyHash: 'k' })], nothing);
    await spending.refresh();
    const reserve = (id: string, nanoUsd: bigint) =>
      spending.reserve(caller('k'), id, { nanoUsd, sharedNanoUsd: nanoUsd }) as CostReservation;
    const explain = (cost: string) => `tools cost ${cost}`;
    const search = { costNanoUsd: 30n, isByok: false };
    const held = reserve('gen-1', 0n);
    expect(() => held.raise([{ ...search, costNanoUsd: 101n }], explain)).toThrow('tools cost 0.000000101 USD');
    await held.raise([search], explain);
    expect(() => held.extend({ nanoUsd: 71n, sharedNanoUsd: 71n, describe: () => 'a basis' })).toThrow(
      'this request may cost up to 0.000000071 USD (a basis)',
    );
    expect(await held.extend({ nanoUsd: 60n, sharedNanoUsd: 60n })).toBe(held);
    expect(() => reserve('gen-2', 11n)).toThrow('0.00000009 USD is reserved');
    held.settle(createTestEntry({ createdAtMs: Date.now(), costNanoUsd: 40n }));
    expect(() => reserve('gen-3', 61n)).toThrow('has spent 0.00000004 USD');
    expect(reserve('gen-4', 60n)).toBeDefined();
  });

  it('releases the reservation of a tag when the process of a request has ended', async () => {
    const release = vi.fn(async () => {});
    const spending = new Spending({
      counters: { reserve: () => undefined, settle: () => undefined, release },
      flush: async () => {},
      read: async (scopes, sinceMs) => nothing(scopes, sinceMs),
      readReductions: async () => 0,
      listLimits: async () => [limit({ tag: 'team:search' }, { kind: 'tag' })],
      requestMs: () => 1000,
      onTrouble: (error) => expect.unreachable(String(error)),
    });
    const left = [{ team: 'search' }, undefined].map((tags) =>
      readOrphanedRequest({ ...createTestEntry(), ...(tags && { tags }) }),
    );
    await spending.release(left);
    expect(release).toHaveBeenCalledExactlyOnceWith(
      left.map(({ id }) => id),
      [expect.objectContaining({ account: 'tag team:search', nanoUsd: 0n, isCurrent: true })],
    );
  });
});
