import { SUMMARY_PREFIX, type SummarySeal } from '../domain/compaction.ts';
import { deriveKey, SealError, seal, unseal } from './seal.ts';

/** Creates the seal of summaries. The previous master key still opens those that it has sealed. */
export function createSummarySeal({
  current,
  previous,
}: {
  current: Buffer;
  previous: Buffer | undefined;
}): SummarySeal {
  const purpose = 'summaries';
  const key = deriveKey(current, purpose);
  const keys = previous ? [key, deriveKey(previous, purpose)] : [key];
  const placeOf = (workspaceId: string) => [purpose, workspaceId];
  return {
    seal: (workspaceId, summary) => SUMMARY_PREFIX + seal(key, Buffer.from(summary, 'utf8'), placeOf(workspaceId)),
    open(workspaceId, sealed) {
      for (const each of keys) {
        try {
          return unseal(each, sealed.slice(SUMMARY_PREFIX.length), placeOf(workspaceId)).toString('utf8');
        } catch (error) {
          if (!(error instanceof SealError)) throw error;
        }
      }
      return undefined;
    },
  };
}
