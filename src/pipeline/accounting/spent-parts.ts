import type { Charge } from '../../domain/charge.ts';
import type { LedgerLine } from '../../domain/ledger-entry.ts';
import type { Attempt, AttemptCost } from '../run/attempt.ts';
import type { RunBase } from '../run/run.ts';
import { chargesOf } from './sum-charges.ts';

/** A part of a run that has a usage or a cost. */
type SpentPart =
  | { readonly charge: Charge }
  | { readonly attempt: Attempt; readonly kind: LedgerLine['kind']; readonly spent: AttemptCost };

/** Lists each attempt that used something and each charge, in the order in which they were made: the lines of the entry. */
export function listSpentParts(run: RunBase): SpentPart[] {
  const charges = [...((run.charges && chargesOf(run)) ?? [])];
  const parts: SpentPart[] = [];
  const addCharges = (attemptsBefore: number): void => {
    while (charges.length > 0 && charges[0]!.attemptsBefore <= attemptsBefore) parts.push({ charge: charges.shift()! });
  };
  let sent = 0;
  for (const { number, attempts, committed } of run.steps) {
    for (const attempt of attempts) {
      addCharges(sent);
      const kind = number > 0 && attempt === committed ? 'turn' : 'attempt';
      if (attempt.spent) parts.push({ attempt, kind, spent: attempt.spent });
      if (attempt.dispatchedAt !== undefined) sent++;
    }
  }
  addCharges(sent);
  return parts;
}
