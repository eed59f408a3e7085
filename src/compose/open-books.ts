import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import { type ContentLog, openContentLog } from '../contents/content-log.ts';
import { openRetention } from '../contents/retention.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { foldSpending } from '../metering/fold-spending.ts';
import type { Leftover } from '../metering/journal.ts';
import { type Ledger, openLedger } from '../metering/ledger.ts';
import { openLeftJournals, tellCutOff, tellSetAside } from '../metering/left-journals.ts';
import { createTraffic } from '../metering/traffic.ts';
import { repeatHourly } from '../platform/hourly.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { nameError } from '../platform/telemetry/describe-failure.ts';
import type { Log } from '../platform/telemetry/open-log.ts';
import { within } from '../platform/within.ts';
import { FLUSH_MS } from './time-limits.ts';

const DAY_MS = 86_400_000;

export interface BooksParts {
  config: () => Config;
  storage: Storage;
  /** Folder of the journal. */
  journal: string;
  /** Where lines of it are put that no store will ever take: the same for all workers. */
  asideFolder: string;
  log: Logger;
  /** Hides the secrets of the configuration in a text. */
  mask: Log['mask'];
  /** Stores what workers of an earlier run left: done by a process that is alone. */
  takesLeftJournals: boolean;
  /** Told what processes left that have ended: it is stored by then. */
  onLeft: (entries: readonly LedgerEntry[]) => void;
  /** Deletes contents that are too old, and puts days of spending together: one of several workers does it for all. */
  cleans: boolean;
}

/** What is written down of every run: the ledger, and contents where a workspace wants them kept. */
export interface Books {
  ledger: Ledger;
  contents: ContentLog;
  traffic: ReturnType<typeof createTraffic>['traffic'];
  /** Resolves when all that was booked and kept so far is in the store. @throws the store's error */
  flush(): Promise<void>;
}

/** @param held takes what must be given back at the end */
export async function openBooks(parts: BooksParts, held: AsyncDisposableStack): Promise<Books> {
  const { config, storage, journal, asideFolder, log, mask } = parts;
  const onLeft = (left: Leftover): void => {
    tellCutOff(log, left);
    parts.onLeft(left.entries);
  };
  const onSetAside = (message: string, cause?: unknown): void => tellSetAside(log, message, cause);
  if (parts.takesLeftJournals) {
    const left = openLeftJournals({
      folder: journal,
      store: storage.ledger,
      isInUse: () => false,
      asideFolder,
      onSetAside,
      onTrouble: (error) => log.error({ err: error }, 'Entries that workers left stay in their journals.'),
      onLeft,
    });
    held.defer(left.close);
    await left.store();
  }
  const ledger = await openLedger({
    folder: journal,
    store: storage.ledger,
    onTrouble: (message, error) => log.error({ err: error }, message),
    onRecovery: (message) => log.info(message),
    asideFolder,
    onSetAside,
    onLeft,
  });
  held.defer(() =>
    within(FLUSH_MS, ledger.close()).catch((error) => log.error({ err: error }, 'Ledger entries stay in the journal.')),
  );
  const { traffic, close: closeTraffic } = createTraffic({
    read: (since) => storage.ledger.readTraffic(since),
    onTrouble: (error) => log.warn({ err: error }, 'The store does not tell what models were used for.'),
  });
  held.defer(closeTraffic);
  const contents = openContentLog({
    store: storage.contents,
    settings: () => config().io_logging,
    mask,
    // By name alone: a database may repeat the row that it refuses.
    onTrouble: (message, error) => log.warn(error instanceof Error ? { cause: nameError(error) } : {}, message),
  });
  held.defer(() =>
    within(FLUSH_MS, contents.close()).catch((error) =>
      log.warn({ cause: nameError(error) }, 'The last contents were not kept.'),
    ),
  );
  if (parts.cleans) {
    const retention = openRetention({
      deleteBefore: storage.contents.deleteBefore,
      keepMs: () => config().io_logging.retention_days * DAY_MS,
      onTrouble: (error) => log.warn({ err: error }, 'Old contents were not deleted.'),
    });
    held.defer(retention.close);
    const folding = repeatHourly(
      () => foldSpending(storage.ledger, Date.now()),
      (error) => log.warn({ err: error }, 'Days of spending were not put together; it is tried again in an hour.'),
    );
    held.defer(folding.close);
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
