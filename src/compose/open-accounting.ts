import type { Config } from '../config/schema.ts';
import { type ContentLog, openContentLog } from '../contents/content-log.ts';
import { openRetention } from '../contents/retention.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { OrphanedRecords } from '../metering/journal-lines.ts';
import { type Ledger, openLedger } from '../metering/ledger.ts';
import { logInterrupted, openOrphanedJournals } from '../metering/orphaned-journals.ts';
import { rollUpSpending } from '../metering/roll-up-spending.ts';
import { createTraffic } from '../metering/traffic.ts';
import { HOUR_MS, repeatHourly } from '../platform/hourly.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { nameError } from '../platform/telemetry/describe-failure.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Log } from '../platform/telemetry/open-log.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { FLUSH_MS } from './time-limits.ts';

const DAY_MS = 86_400_000;

export interface AccountingParts {
  config: () => Config;
  storage: Pick<Storage, 'contents' | 'ledger'>;
  /** Folder of the journal. */
  journal: string;
  /** Folder of the quarantine file, which all workers share. */
  quarantineFolder: string;
  log: WriteLog;
  /** Hides the secrets of the configuration in a text. */
  mask: Log['mask'];
  /** Whether it stores the journals of workers of an earlier run. Only a single process does so. */
  takesOrphanedJournals: boolean;
  /** How long entries and contents are collected for one transaction. Absent: the default of each. */
  gatherMs: number | undefined;
  /** Called with the stored entries of ended processes. */
  onOrphaned: (entries: readonly LedgerEntry[]) => void;
  /** Whether it deletes old contents and rolls up spending. One of several workers does so for all. */
  cleans: boolean;
}

/** The records of runs: the ledger, and contents of workspaces that opt in. */
export interface Accounting {
  ledger: Ledger;
  contents: ContentLog;
  traffic: ReturnType<typeof createTraffic>['traffic'];
  /** Resolves when all entries and contents so far are in the store. @throws the store's error */
  flush(): Promise<void>;
}

/** @param resources collects the resources to close at the end */
export async function openAccounting(parts: AccountingParts, resources: AsyncDisposableStack): Promise<Accounting> {
  const { config, storage, journal, quarantineFolder, log, mask } = parts;
  const onOrphaned = (left: OrphanedRecords): void => {
    logInterrupted(log, left);
    parts.onOrphaned(left.entries);
  };
  if (parts.takesOrphanedJournals) {
    const left = openOrphanedJournals({
      folder: journal,
      store: storage.ledger,
      isInUse: () => false,
      quarantineFolder,
      log,
      onOrphaned,
    });
    resources.defer(left.close);
    await left.store();
  }
  const ledger = await openLedger({
    folder: journal,
    store: storage.ledger,
    quarantineFolder,
    durability: () => config().ledger.durability,
    gatherMs: parts.gatherMs,
    log,
    onOrphaned,
  });
  resources.defer(() =>
    withTimeout(FLUSH_MS, ledger.close()).catch((error) => log('ledger flush failed', { err: error })),
  );
  const { traffic, close: closeTraffic } = createTraffic({
    read: (since) => storage.ledger.readTraffic(since),
    onTrouble: (error) => log('traffic refresh failed', { err: error }),
  });
  resources.defer(closeTraffic);
  const contents = openContentLog({
    store: storage.contents,
    settings: () => config().io_logging,
    gatherMs: parts.gatherMs,
    mask,
    log,
  });
  resources.defer(() =>
    withTimeout(FLUSH_MS, contents.close()).catch((error) => log('content flush failed', { cause: nameError(error) })),
  );
  if (parts.cleans) {
    const retention = openRetention({
      deleteBefore: storage.contents.deleteBefore,
      keepMs: () => config().io_logging.retention_days * DAY_MS,
      onTrouble: (error) => log('content deletion failed', { err: error }),
    });
    resources.defer(retention.close);
    const folding = repeatHourly(
      () => rollUpSpending(storage.ledger, currentTimeMs()),
      (error) => log('spending rollup failed', { err: error, retry_in_ms: HOUR_MS }),
    );
    resources.defer(folding.close);
  }
  return {
    ledger,
    contents,
    traffic,
    async flush() {
      await Promise.all([ledger.flush(), contents.flush()]);
    },
  };
}
