import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import { type ContentLog, openContentLog } from '../contents/content-log.ts';
import { openRetention } from '../contents/retention.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { rollUpSpending } from '../metering/roll-up-spending.ts';
import type { OrphanedRecords } from '../metering/journal.ts';
import { type Ledger, openLedger } from '../metering/ledger.ts';
import { openOrphanedJournals, logInterrupted, logQuarantined } from '../metering/orphaned-journals.ts';
import { createTraffic } from '../metering/traffic.ts';
import { repeatHourly } from '../platform/hourly.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { nameError } from '../platform/telemetry/describe-failure.ts';
import type { Log } from '../platform/telemetry/open-log.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { FLUSH_MS } from './time-limits.ts';

const DAY_MS = 86_400_000;

export interface AccountingParts {
  config: () => Config;
  storage: Storage;
  /** Folder of the journal. */
  journal: string;
  /** Where lines of it are put that no store will ever take: the same for all workers. */
  quarantineFolder: string;
  log: Logger;
  /** Hides the secrets of the configuration in a text. */
  mask: Log['mask'];
  /** Stores what workers of an earlier run left: done by a process that is alone. */
  takesOrphanedJournals: boolean;
  /** Told what processes left that have ended: it is stored by then. */
  onOrphaned: (entries: readonly LedgerEntry[]) => void;
  /** Deletes contents that are too old, and puts days of spending together: one of several workers does it for all. */
  cleans: boolean;
}

/** What is written down of every run: the ledger, and contents where a workspace wants them kept. */
export interface Accounting {
  ledger: Ledger;
  contents: ContentLog;
  traffic: ReturnType<typeof createTraffic>['traffic'];
  /** Resolves when all that was booked and kept so far is in the store. @throws the store's error */
  flush(): Promise<void>;
}

/** @param held takes what must be given back at the end */
export async function openAccounting(parts: AccountingParts, resources: AsyncDisposableStack): Promise<Accounting> {
  const { config, storage, journal, quarantineFolder, log, mask } = parts;
  const onOrphaned = (left: OrphanedRecords): void => {
    logInterrupted(log, left);
    parts.onOrphaned(left.entries);
  };
  const onQuarantined = (message: string, cause?: unknown): void => logQuarantined(log, message, cause);
  if (parts.takesOrphanedJournals) {
    const left = openOrphanedJournals({
      folder: journal,
      store: storage.ledger,
      isInUse: () => false,
      quarantineFolder,
      onQuarantined,
      onTrouble: (error) => log.error({ err: error }, 'Entries that workers left stay in their journals.'),
      onOrphaned,
    });
    resources.defer(left.close);
    await left.store();
  }
  const ledger = await openLedger({
    folder: journal,
    store: storage.ledger,
    onTrouble: (message, error) => log.error({ err: error }, message),
    onRecovery: (message) => log.info(message),
    quarantineFolder,
    onQuarantined,
    onOrphaned,
  });
  resources.defer(() =>
    withTimeout(FLUSH_MS, ledger.close()).catch((error) =>
      log.error({ err: error }, 'Ledger entries stay in the journal.'),
    ),
  );
  const { traffic, close: closeTraffic } = createTraffic({
    read: (since) => storage.ledger.readTraffic(since),
    onTrouble: (error) => log.warn({ err: error }, 'The store does not tell what models were used for.'),
  });
  resources.defer(closeTraffic);
  const contents = openContentLog({
    store: storage.contents,
    settings: () => config().io_logging,
    mask,
    // By name alone: a database may repeat the row that it refuses.
    onTrouble: (message, error) => log.warn(error instanceof Error ? { cause: nameError(error) } : {}, message),
  });
  resources.defer(() =>
    withTimeout(FLUSH_MS, contents.close()).catch((error) =>
      log.warn({ cause: nameError(error) }, 'The last contents were not kept.'),
    ),
  );
  if (parts.cleans) {
    const retention = openRetention({
      deleteBefore: storage.contents.deleteBefore,
      keepMs: () => config().io_logging.retention_days * DAY_MS,
      onTrouble: (error) => log.warn({ err: error }, 'Old contents were not deleted.'),
    });
    resources.defer(retention.close);
    const folding = repeatHourly(
      () => rollUpSpending(storage.ledger, Date.now()),
      (error) => log.warn({ err: error }, 'Days of spending were not put together; it is tried again in an hour.'),
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
