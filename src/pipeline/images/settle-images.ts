import { countImages } from '../../domain/images.ts';
import type { InFlightEntry, LedgerEntry } from '../../domain/ledger-entry.ts';
import { costOfGeneration } from '../../metering/image-cost.ts';
import { variantOf } from '../../routing/image-needs.ts';
import type { AttemptCost, ImageAttempt } from '../run/attempt.ts';
import { isPaidByRouter, usedNothing, zeroCost } from '../accounting/attempt-cost.ts';
import type { ImageRun } from '../run/image-run.ts';
import { committedOf } from '../run/step.ts';
import { writeEntry, writeInFlight } from '../accounting/write-entry.ts';

/** Settles the usage and cost of a generation: all of it, or nothing. @see docs/reference/images.md#cost */
function settle(run: ImageRun): void {
  const attempt = committedOf(run);
  if (attempt && run.isComplete) attempt.spent = measure(run, attempt);
  run.usage = attempt?.spent?.usage ?? usedNothing();
  run.cost = attempt?.spent?.cost ?? zeroCost;
}

function measure(run: ImageRun, { endpoint, finish, made }: ImageAttempt): AttemptCost {
  const reported = finish?.usage;
  const images = countImages(made, run.references, variantOf(run.request));
  return {
    usage: reported ?? usedNothing(),
    cost: isPaidByRouter(run, endpoint) ? zeroCost : costOfGeneration(endpoint, { pictures: images, usage: reported }),
    tier: endpoint.tier ?? null,
    pictures: images,
  };
}

/** Creates the ledger entry of an ended generation, regardless of its outcome. */
export function createImageEntry(run: ImageRun): LedgerEntry {
  settle(run);
  const outcome = run.isComplete ? 'completed' : run.error?.kind === 'client_closed' ? 'cancelled' : 'failed';
  return { ...writeEntry(run, committedOf(run)?.endpoint, outcome), apiType: 'image' };
}

/** Creates the entry that is recorded if the process dies now: a generation that was not delivered. */
export const writeInFlightImages = (run: ImageRun, { endpoint }: ImageAttempt): InFlightEntry => ({
  ...writeInFlight(run, endpoint, { usage: usedNothing(), cost: zeroCost, tier: null }),
  apiType: 'image',
});
