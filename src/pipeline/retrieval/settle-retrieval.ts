import type { InFlightEntry, LedgerEntry } from '../../domain/ledger-entry.ts';
import { addUsage, isCredible } from '../../domain/usage.ts';
import { costOf, estimateUsage } from '../../metering/cost.ts';
import { isPaidByRouter, sumCosts, usedNothing, zeroCost } from '../accounting/attempt-cost.ts';
import { addAttempts, writeEntry, writeInFlight } from '../accounting/write-entry.ts';
import type { AttemptCost, RetrievalAttempt } from '../run/attempt.ts';
import type { RetrievalRun } from '../run/retrieval-run.ts';
import type { RunBase } from '../run/run.ts';
import { attemptsOf, committedOf } from '../run/step.ts';

/** Measures the usage and cost of an attempt: those of all calls that succeeded. */
export function measureRetrieval(run: RunBase, { endpoint, counted }: RetrievalAttempt): AttemptCost {
  const usage = counted.length === 0 ? usedNothing() : counted.reduce(addUsage);
  const cost = isPaidByRouter(run, endpoint)
    ? zeroCost
    : costOf(isCredible(usage) ? endpoint.pricing : undefined, usage);
  return { usage, cost, tier: endpoint.tier ?? null };
}

/** Creates the ledger entry of an ended run, regardless of its outcome. */
export function createRetrievalEntry(run: RetrievalRun, apiType: LedgerEntry['apiType']): LedgerEntry {
  const committed = committedOf(run);
  if (committed && run.result) committed.spent = measureRetrieval(run, committed);
  const attempts = attemptsOf(run);
  run.usage = committed?.spent?.usage ?? usedNothing();
  run.cost = sumCosts(attempts);
  const outcome = run.result ? 'completed' : run.error?.kind === 'client_closed' ? 'cancelled' : 'failed';
  const last = committed ?? attempts.findLast(({ spent }) => spent !== undefined);
  const entry: LedgerEntry = { ...writeEntry(run, last?.endpoint, outcome), apiType };
  if (attempts.some((attempt) => attempt !== committed && attempt.spent !== undefined)) addAttempts(entry, run);
  return entry;
}

/** Creates the entry that is recorded if the process dies now: the input of all calls. */
export function writeInFlightRetrieval(
  run: RetrievalRun,
  { endpoint }: RetrievalAttempt,
  apiType: LedgerEntry['apiType'],
  tokens: number,
): InFlightEntry {
  const usage = estimateUsage(tokens, 0);
  const cost = isPaidByRouter(run, endpoint) ? zeroCost : costOf(endpoint.pricing, usage);
  return { ...writeInFlight(run, endpoint, { usage, cost, tier: endpoint.tier ?? null }), apiType };
}
