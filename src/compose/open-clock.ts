import { correctClock } from '../domain/clock.ts';
import { ClockWatch } from '../platform/clock-watch.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { isSharedStore } from './open-storage.ts';

export interface ClockParts {
  storage: Pick<Storage, 'readTime'>;
  /** `storage.url`. */
  url: string;
  log: WriteLog;
  /** Whether the clock of the gateway follows that of the store. Otherwise a difference is only reported. */
  corrects: boolean;
}

/**
 * Compares the clock of this host with the clock of a store that several hosts share.
 *
 * @param resources collects the resources to close at the end
 * @returns undefined if only this host's clock counts
 */
export async function openClock(
  { storage, url, log, corrects }: ClockParts,
  resources: AsyncDisposableStack,
): Promise<ClockWatch | undefined> {
  if (!isSharedStore(url)) return undefined;
  const watch = new ClockWatch({
    readTime: () => storage.readTime(),
    correct: corrects ? correctClock : () => {},
    onSkew: (aheadMs) => log('clock skew detected', { ahead_ms: Math.round(aheadMs) }),
    onAgreement: () => log('clock skew ended'),
  });
  resources.defer(() => watch.close());
  await watch.open();
  return watch;
}
