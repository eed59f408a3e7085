import type { EndedRun } from '../contents/content-log.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { ObservedRun } from '../platform/telemetry/observed.ts';
import type { PipelinesParts } from './assemble-pipelines.ts';

/** Creates the function that reports an ended run to telemetry, and keeps its contents if its workspace opted in. */
export const createRunObserver =
  ({ telemetry, accounting: { contents } }: Pick<PipelinesParts, 'telemetry' | 'accounting'>) =>
  (run: ObservedRun, entry: LedgerEntry, describe: () => EndedRun): void => {
    const isKept = run.caller.contentSampling !== undefined;
    telemetry.observe(run, entry, isKept ? (maxBytes) => contents.describe(describe(), maxBytes) : undefined);
    if (isKept) contents.record(describe());
  };
