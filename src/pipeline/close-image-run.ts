import { countImages } from '../domain/images.ts';
import type { LedgerEntry, InFlightEntry } from '../domain/ledger-entry.ts';
import { usage as emptyUsage } from '../domain/usage.ts';
import { costOfGeneration } from '../metering/image-cost.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import { variantOf } from '../routing/image-needs.ts';
import { describeOrigin, createBaseEntry } from './close-run.ts';
import type { ImageRun } from './run.ts';
import { zeroCost } from './attempt-cost.ts';

/** Settles what a generation used and cost: all of it, or nothing. @see images.md section 7 */
function settle(run: ImageRun): void {
  const { finish, selected, made, references } = run;
  const reported = finish?.usage;
  run.usage = (run.isComplete && reported) || emptyUsage({ inputTokens: 0, outputTokens: 0 });
  run.cost = zeroCost;
  if (!run.isComplete || !selected) return;
  run.pictures = countImages(made, references, variantOf(run.request));
  if (run.plan?.choiceOf(selected)?.isFree) return;
  run.cost = costOfGeneration(selected, { pictures: run.pictures, usage: reported });
}

/** The ledger's entry of a generation that has ended, however it ended. */
export function createImageEntry(run: ImageRun): LedgerEntry {
  settle(run);
  const outcome = run.isComplete ? 'completed' : run.error?.kind === 'client_closed' ? 'cancelled' : 'failed';
  return {
    ...createBaseEntry(run, run.selected, outcome),
    apiType: 'image',
  };
}

/** What would be booked if the process died now: a generation that nobody got. @param endpoint where it goes */
export const createInFlightImageEntry = (run: ImageRun, endpoint: Endpoint): InFlightEntry => ({
  ...describeOrigin(run, endpoint),
  ...{ apiType: 'image', inputTokens: 0, outputTokens: 0, costNanoUsd: 0n, inputCostNanoUsd: 0n, priced: true },
});
