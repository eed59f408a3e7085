import { isIncomplete } from '../../domain/chunks.ts';
import type { InFlightEntry, LedgerEntry } from '../../domain/ledger-entry.ts';
import { addUsage, isCredible, type Usage } from '../../domain/usage.ts';
import { addCost, estimateUsage } from '../../metering/cost.ts';
import type { Attempt, TextAttempt } from '../run/attempt.ts';
import { estimateInput, measureAttempt, priceAttempt, sumCosts, usedNothing, zeroCost } from './attempt-cost.ts';
import { chargesOf, sumCharges, usageOfCharges } from './sum-charges.ts';
import type { Run } from '../run/run.ts';
import { attemptsOf, committedOf, type Step } from '../run/step.ts';
import { addAttempts, writeEntry, writeInFlight } from './write-entry.ts';

/** Settles the usage and cost of a run: the tokens of its model calls, and the cost of all its attempts. */
export function settleRun(run: Run): void {
  if (run.cost) return;
  const last = run.steps.at(-1);
  if (last) settleStep(run, last);
  let used: Usage | undefined;
  for (const { committed } of run.steps) {
    const { usage } = committed?.spent ?? {};
    if (usage) used = used ? addUsage(used, usage) : usage;
  }
  const isUnknown = last !== undefined && !last.committed && isAbandoned(run, last);
  if (isUnknown) {
    const counted = settleAbandoned(run, last);
    if (counted) used = used ? addUsage(used, counted) : counted;
  }
  run.usage = used ?? usedNothing();
  if (isUnknown) run.usage = { ...run.usage, estimated: true };
  const attempts = attemptsOf(run);
  run.cost = attempts.length === 1 && attempts[0]!.spent ? attempts[0]!.spent.cost : sumCosts(attempts);
  const charges = run.charges && chargesOf(run);
  if (!charges) return;
  run.usage = addUsage(run.usage, usageOfCharges(charges));
  run.cost = addCost(run.cost, sumCharges(charges));
}

/** Settles the usage and the cost of the committed attempt. */
export function settleStep(run: Run, step: Step<TextAttempt>): void {
  const { committed, firstItem } = step;
  if (!committed || committed.spent) return;
  const items = run.builder?.items ?? [];
  committed.spent = measureAttempt(run, committed, firstItem === 0 ? items : items.slice(firstItem)) ?? {
    usage: usedNothing(isAbandoned(run, step)),
    cost: zeroCost,
    tier: committed.endpoint.tier ?? null,
  };
}

/**
 * Settles the attempt that was open when the client disconnected: what the provider had counted, or else an estimate of the
 * input, which most providers charge.
 */
function settleAbandoned(run: Run, { attempts }: Step<TextAttempt>): Usage | undefined {
  const open = attempts.at(-1);
  if (!open?.isSent || open.spent) return undefined;
  const isCounted = open.counted !== undefined && isCredible(open.counted);
  const { missing: _, ...counted } = isCounted ? open.counted! : estimateInput(run, open);
  open.spent = priceAttempt(run, open, { ...counted, estimated: true });
  return open.spent.usage;
}

/** Whether the client disconnected while a provider worked on the step. */
const isAbandoned = ({ error }: Run, { attempts }: Step): boolean =>
  error?.kind === 'client_closed' && attempts.some(({ isSent }) => isSent);

/** Creates the ledger entry of an ended response, regardless of its outcome. */
export function writeResponseEntry(run: Run): LedgerEntry {
  settleRun(run);
  const attempts = attemptsOf(run);
  const committed = committedOf(run);
  const last = committed ?? attempts.findLast(hasSpent);
  const entry = writeEntry(run, last?.endpoint, outcomeOf(run));
  if (last?.spent) entry.tier = last.spent.tier;
  const isSplit =
    chargesOf(run) !== undefined || attempts.some((attempt) => attempt !== committed && hasSpent(attempt));
  if (isSplit) addAttempts(entry, run);
  return entry;
}

const hasSpent = ({ spent }: Attempt): boolean => spent !== undefined;

function outcomeOf(run: Run): LedgerEntry['outcome'] {
  const { builder, error } = run;
  if (error) return error.kind === 'client_closed' ? 'cancelled' : 'failed';
  if (!builder?.ended) return 'failed';
  const finish = committedOf(run)?.finish;
  return finish && isIncomplete(finish) ? 'incomplete' : 'completed';
}

/** Creates the entry that is recorded if the process dies now. @param attempt about to be sent */
export const writeInFlightResponse = (run: Run, attempt: TextAttempt): InFlightEntry =>
  writeInFlight(run, attempt.endpoint, priceAttempt(run, attempt, estimateUsage(attempt.sent.tokens, 0)));
