/**
 * Measures the cost of keys, limits, budgets and the ledger per request: CPU time of this process, including commits.
 *
 *     node bench/accounts.ts              µs per request, the median of the rounds
 *     node bench/accounts.ts --rounds 20
 *
 * Each line adds one step to the line above. With `strict` (`ledger.durability`), a response waits for an `fdatasync`
 * that it shares with others.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openAccess } from '../src/access/access.ts';
import { createKeyText, hashKey, createKeyLabel } from '../src/access/key-text.ts';
import { RateLimiter } from '../src/access/rate-limits.ts';
import type { Caller } from '../src/domain/caller.ts';
import { createTimedId } from '../src/domain/ids.ts';
import type { LedgerEntry } from '../src/domain/ledger-entry.ts';
import type { MaybePromise } from '../src/domain/maybe-promise.ts';
import type { ResponseRequest } from '../src/domain/request.ts';
import { openLedger } from '../src/metering/ledger.ts';
import { type CostReservation, Spending, type SpendingLimit } from '../src/metering/spending.ts';
import { MemoryCounters } from '../src/platform/counters/memory/memory-counters.ts';
import { openSqliteStorage } from '../src/platform/storage/sqlite/open.ts';
import { defaultKeySettings } from '../src/platform/storage/ports/keys.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } });
const requestsPerRound = 20_000;
/** Requests in flight before the event loop turns. */
const batch = 16;
const never = (error: unknown): never => {
  throw error;
};

const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
const storage = await openSqliteStorage(join(folder, 'headgate.db'));
await storage.migrate();
const workspaceId = '00000000-0000-4000-8000-0000000000a1';
await storage.access.putWorkspace({ id: workspaceId, name: 'main', createdAtMs: 1 });
const keys = Array.from({ length: 100 }, () => createKeyText('inference'));
for (const [index, text] of keys.entries()) {
  await storage.access.putKey({
    ...defaultKeySettings,
    hash: hashKey(text),
    name: `key ${index}`,
    label: createKeyLabel(text),
    kind: 'member',
    workspaceId,
    memberId: 'ada',
    creatorUserId: 'ada',
    disabled: false,
    createdAtMs: 1,
  });
}
const access = await openAccess(storage.access, {
  onTrouble: never,
  internReach: { mayUse: never, mayOpen: never },
});

const plenty = { requests_per_minute: 1e9, tokens_per_minute: 1e12, concurrent_requests: 1e6 };
const counters = new MemoryCounters();
const limits = new RateLimiter({
  counters,
  settings: () => ({ ...plenty, member: plenty, workspace: plenty, models: [{ model: 'acme/*', ...plenty }] }),
  findRateLimits: () => undefined,
  requestMs: () => 600_000,
});
let durability: 'standard' | 'strict' = 'standard';
const ledger = await openLedger({
  folder: join(folder, 'journal'),
  quarantineFolder: folder,
  store: storage.ledger,
  durability: () => durability,
  log: never,
});
const limit = (kind: SpendingLimit['kind'], scope: SpendingLimit['scope']): SpendingLimit[] =>
  (['daily', 'monthly'] as const).map((window) => ({
    kind,
    scope,
    window,
    limitNanoUsd: 10n ** 18n,
    name: kind,
    includesByok: false,
  }));
const spending = new Spending({
  counters,
  flush: ledger.flush,
  read: storage.ledger.readSpending,
  readReductions: () => Promise.resolve(0),
  listLimits: async () => [
    ...keys.flatMap((text) => limit('key', { keyHash: hashKey(text) })),
    ...limit('workspace', { workspaceId }),
    ...limit('organization', 'everything'),
  ],
  requestMs: () => 600_000,
  onTrouble: never,
});
await spending.open();

const request = { model: 'acme/mock-model', input: [] } as unknown as ResponseRequest;

function makeEntry(caller: Caller, id: string): LedgerEntry {
  return {
    id,
    createdAtMs: Date.now(),
    workspaceId,
    keyHash: caller.keyHash,
    memberId: caller.memberId,
    requestedModel: 'acme/mock-model',
    router: null,
    task: null,
    model: 'acme/mock-model',
    provider: 'Mock',
    providerId: 'mock',
    endpointId: 'acme/mock-model@mock',
    tier: null,
    isByok: false,
    outcome: 'completed',
    status: 200,
    errorType: null,
    streamed: false,
    inputTokens: 500,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 100,
    reasoningTokens: 0,
    costNanoUsd: 325_000n,
    inputCostNanoUsd: 125_000n,
    priced: true,
    upstreamCostNanoUsd: null,
    estimated: false,
    firstOutputMs: 5,
    durationMs: 6,
    sessionId: null,
    endUser: null,
  } as LedgerEntry;
}

type Step = 'keys' | 'limits' | 'budgets' | 'ledger' | 'strict';
const steps: readonly Step[] = ['keys', 'limits', 'budgets', 'ledger', 'strict'];

/** Runs the accounts for one request, up to a step. @returns a promise if its response must wait for the disk */
function serve(headers: readonly string[], index: number, last: Step): MaybePromise<void> {
  const caller = access.authenticate(headers[index % headers.length]);
  if (last === 'keys') return;
  const id = createTimedId('gen-');
  const ticket = limits.admit(caller, { model: request.model, isConcurrent: true, estimateTokens: () => 600 }, id);
  if (ticket instanceof Promise) throw new Error('Counters in memory must be synchronous.');
  const recorded = last === 'limits' ? undefined : spend(caller, id, last);
  ticket?.end(600, false);
  return recorded;
}

/** Reserves the cost of a request, records the request if the step includes the ledger, and settles the cost. */
function spend(caller: Caller, id: string, last: Step): MaybePromise<void> {
  const costs = { nanoUsd: 8_300_000n, sharedNanoUsd: 8_300_000n };
  const reservation = spending.reserve(caller, id, costs) as CostReservation;
  const entry = makeEntry(caller, id);
  const recorded = last === 'budgets' ? undefined : record(entry, last === 'strict' ? 'strict' : 'standard');
  reservation.settle(entry);
  return recorded;
}

function record(entry: LedgerEntry, how: typeof durability): MaybePromise<void> {
  durability = how;
  const begun = ledger.begin(entry); // before it is sent, so that a kill -9 loses nothing
  return ledger.record(entry, begun);
}

const headers = keys.map((text) => `Bearer ${text}`);
/** Concurrent responses that wait for the disk. */
const concurrency = 64;
const samples = new Map(steps.map((step) => [step, [] as number[]]));
const latencies: number[] = [];

async function waitForDisk(recorded: Promise<void>): Promise<void> {
  const startedAt = performance.now();
  await recorded;
  latencies.push(performance.now() - startedAt);
}

for (let round = 0; round < Number(options.rounds) + 1; round++) {
  for (const step of steps) {
    const before = process.cpuUsage();
    const waiting = new Set<Promise<void>>();
    for (let index = 0; index < requestsPerRound; index++) {
      const recorded = serve(headers, index, step);
      if (recorded) {
        const response = waitForDisk(recorded).finally(() => waiting.delete(response));
        waiting.add(response);
        if (waiting.size >= concurrency) await Promise.race(waiting);
      }
      if (index % batch === 0) await nextTurn();
    }
    await Promise.all(waiting);
    await ledger.flush();
    const { user, system } = process.cpuUsage(before);
    if (round > 0) samples.get(step)!.push((user + system) / requestsPerRound); // the first one warms up
  }
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
for (const [step, values] of samples) console.log(`${median(values).toFixed(2).padStart(7)} µs  … ${step}`);
const sorted = latencies.toSorted((a, b) => a - b);
const at = (share: number) => sorted[Math.floor(sorted.length * share)]!.toFixed(2);
console.log(`With strict, a response waits ${at(0.5)} ms for the disk (99%: ${at(0.99)} ms), ${concurrency} at once.`);

spending.close();
access.close();
await ledger.close();
await storage.close();
rmSync(folder, { recursive: true });
