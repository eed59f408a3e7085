import { SUMMARY_PREFIX, type SummarySeal } from '../domain/compaction.ts';
import { createTextSeal } from './text-seal.ts';

/** Creates the seal of summaries. The previous master key still opens those that it has sealed. */
export function createSummarySeal(keys: { current: Buffer; previous: Buffer | undefined }): SummarySeal {
  const texts = createTextSeal(keys, 'summaries');
  return {
    seal: (workspaceId, summary) => SUMMARY_PREFIX + texts.seal(workspaceId, summary),
    open: (workspaceId, sealed) => texts.open(workspaceId, sealed.slice(SUMMARY_PREFIX.length)),
  };
}
