import { createCatalog } from '../catalog/catalog.ts';
import { loadCatalogRecords } from '../catalog/load-catalog.ts';
import { buildEndpoints } from '../compose/build-endpoints.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { type RecordedEntry, summedCost } from '../domain/ledger-entry.ts';
import { totalOf } from '../metering/cost.ts';
import { writePerPiece } from '../metering/price.ts';
import { findCorrection, isSettled, type PricedEndpoint, reprice } from '../metering/reprice.ts';
import { lockDataFolder } from '../platform/data-folder/data-folder.ts';
import type { Correction, EntryQuery } from '../platform/storage/ports/entries.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { findStoreFile } from './describe-store.ts';
import { readStore, withStore } from './open-store.ts';
import { type JsonOption, printObject } from './print-object.ts';
import { drawTable } from './table.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';
import { readTimeOption } from './time-option.ts';
import { writeLedgerEntry } from './write-ledger-entry.ts';

export interface RecomputeOptions {
  /** A date or a time. A date is its whole day in UTC. */
  since?: string;
  until?: string;
  model?: string;
  /** Id in the configuration. */
  provider?: string;
  /** Records the difference. Without it, the command changes nothing. */
  apply?: boolean;
}

/** Number of entries that are read and corrected at once. */
const PAGE = 500;

/**
 * Prices entries again with current prices, prints the sums of each model, and with `apply` records the differences as
 * corrections. Existing entries never change. The next run continues one that was interrupted.
 *
 * @throws {CommandError} if an option is invalid, or the embedded store is in use
 */
export async function recompute(
  terminal: Pick<Terminal, 'env' | 'stdout' | 'stderr'>,
  { config, dataDir }: Pick<LoadedConfig, 'config' | 'dataDir'>,
  options: RecomputeOptions,
): Promise<void> {
  const { stdout, stderr } = terminal;
  const query = readQuery(options, config);
  const { provider } = options;
  if (provider !== undefined && !config.providers.some(({ id }) => id === provider)) {
    const known = config.providers.map(({ id }) => id).join(', ') || 'none';
    stderr.write(`headgate: the configuration has no provider "${provider}" (it has: ${known}).\n`);
  }
  const unlock = options.apply ? takeStore(config, dataDir) : () => {};
  try {
    const open = options.apply ? withStore : readStore;
    await open({ config, stderr }, async (storage) => {
      const find = await openPrices(config, dataDir, storage, (message) => stderr.write(`headgate: ${message}\n`));
      const sums = new Sums();
      let recorded = 0;
      for await (const entries of readPages(storage, query)) {
        const corrections = entries.flatMap((entry) => sums.add(entry, find) ?? []);
        if (options.apply) recorded += await storage.ledger.correct(corrections, currentTimeMs());
      }
      stdout.write(sums.write(terminal));
      if (!sums.isEmpty) stdout.write(emitEnd(sums.corrections, options.apply ? recorded : undefined));
    });
  } finally {
    unlock();
  }
}

function emitEnd(found: number, recorded: number | undefined): string {
  if (found === 0) return 'Every entry with a current price agrees with it.\n';
  const count = (number: number) => `${number} correction${number === 1 ? '' : 's'}`;
  if (recorded === undefined) return `Nothing was changed. --apply records the difference as ${count(found)}.\n`;
  const others = found - recorded;
  const reason = 'another process has corrected their entries, or is archiving their days';
  return `Recorded ${count(recorded)}.${others === 0 ? '' : ` ${others} more were not recorded: ${reason}.`}\n`;
}

/** Locks the embedded store. A running gateway owns that store. */
function takeStore(config: Config, dataDir: string): () => void {
  if (findStoreFile(config) === undefined) return () => {};
  try {
    return lockDataFolder(dataDir);
  } catch (error) {
    throw new CommandError(
      `Stop the gateway to correct a ledger in SQLite. With PostgreSQL it may run. ${readMessage(error)}`,
      { cause: error },
    );
  }
}

function readQuery({ since, until, model, provider }: RecomputeOptions, config: Config): Omit<EntryQuery, 'limit'> {
  const fromMs = since === undefined ? undefined : readTimeOption('--since', since).startMs;
  const toMs = until === undefined ? undefined : readTimeOption('--until', until).endMs;
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs) {
    throw new CommandError(`--since ${since} is after --until ${until}.`);
  }
  const known = config.providers.find(({ id }) => id === provider);
  return {
    fromMs,
    toMs,
    model: model?.toLowerCase(),
    provider: provider === undefined ? undefined : { id: provider, name: known?.name ?? provider },
  };
}

/** @returns a function that returns the current endpoints of a model */
async function openPrices(
  config: Config,
  dataDir: string,
  storage: Storage,
  warn: (message: string) => void,
): Promise<(model: string) => readonly PricedEndpoint[]> {
  const { builtin, overrides } = config.catalog;
  const records = loadCatalogRecords({ builtin, overrides, dataDir }, warn);
  const workspaces = await storage.access.listWorkspaces();
  const built = buildEndpoints(
    config,
    records,
    (named) => workspaces.find(({ id, name }) => id === named || name === named)?.id ?? named,
  );
  await Promise.all(built.providers.map((provider) => provider.close(true)));
  const catalog = createCatalog(built.endpoints, built.models, records);
  return (model) => catalog.find(model);
}

async function* readPages(storage: Storage, query: Omit<EntryQuery, 'limit'>): AsyncGenerator<RecordedEntry[]> {
  for (let after: string | undefined; ; ) {
    const page = await storage.ledger.list({ ...query, after, limit: PAGE });
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)!.id;
  }
}

/** The old and new cost of one model. */
interface Sum {
  entries: number;
  corrections: number;
  oldNanoUsd: bigint;
  newNanoUsd: bigint;
}

const nothing: Sum = { entries: 0, corrections: 0, oldNanoUsd: 0n, newNanoUsd: 0n };

class Sums {
  corrections = 0;
  private readonly models = new Map<string, Sum>();
  /** Models without a price, with the number of their entries. */
  private readonly unpriced = new Map<string, number>();
  /** Number of entries whose images were not counted. */
  private uncounted = 0;

  add(entry: RecordedEntry, find: (model: string) => readonly PricedEndpoint[]): Correction | undefined {
    const { model } = entry;
    if (model === null) return undefined; // no provider responded
    const priced = isSettled(entry) ? undefined : reprice(entry, find);
    const cost = typeof priced === 'object' ? priced : undefined;
    const old = summedCost(entry);
    if (priced === 'unpriced') this.unpriced.set(model, (this.unpriced.get(model) ?? 0) + 1);
    if (priced === 'uncounted') this.uncounted++;
    const correction = cost && findCorrection(entry, cost);
    if (correction) this.corrections++;
    const sum = this.models.get(model) ?? nothing;
    this.models.set(model, {
      entries: sum.entries + 1,
      corrections: sum.corrections + (correction ? 1 : 0),
      oldNanoUsd: sum.oldNanoUsd + old,
      newNanoUsd: sum.newNanoUsd + (cost ? totalOf(cost) : old),
    });
    return correction;
  }

  get isEmpty(): boolean {
    return this.models.size === 0;
  }

  write(terminal: Pick<Terminal, 'env' | 'stdout'>): string {
    if (this.isEmpty) return 'No entry matches.\n';
    const rows = [...this.models].sort(([a], [b]) => (a < b ? -1 : 1));
    const total = rows.reduce(
      (all, [, sum]) => ({
        entries: all.entries + sum.entries,
        corrections: all.corrections + sum.corrections,
        oldNanoUsd: all.oldNanoUsd + sum.oldNanoUsd,
        newNanoUsd: all.newNanoUsd + sum.newNanoUsd,
      }),
      nothing,
    );
    const table = drawTable(terminal, sumColumns, [
      ...rows.map(([model, sum]) => writeSum(model, sum)),
      writeSum('all', total),
    ]);
    return table + this.reportUncounted() + this.reportUnpriced();
  }

  private reportUncounted(): string {
    if (this.uncounted === 0) return '';
    return `Unchanged, because their images were not counted or measured: ${this.uncounted}.\n`;
  }

  private reportUnpriced(): string {
    if (this.unpriced.size === 0) return '';
    const named = [...this.unpriced]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([model, count]) => `${model} (${count})`);
    return `Unchanged, because the model has no current price: ${named.join(', ')}.\n`;
  }
}

const sumColumns = [
  { title: 'MODEL' },
  ...['ENTRIES', 'TO CORRECT', 'OLD USD', 'NEW USD', 'DIFFERENCE'].map((title) => ({ title, isNumber: true })),
];

const writeSum = (name: string, { entries, corrections, oldNanoUsd, newNanoUsd }: Sum): string[] => [
  name,
  String(entries),
  String(corrections),
  writeUsd(oldNanoUsd),
  writeUsd(newNanoUsd),
  `${newNanoUsd > oldNanoUsd ? '+' : ''}${writeUsd(newNanoUsd - oldNanoUsd)}`,
];

const writeUsd = (nanoUsd: bigint): string => (nanoUsd < 0n ? `-${writePerPiece(-nanoUsd)}` : writePerPiece(nanoUsd));

/** Prints an entry with its corrections. @throws {CommandError} if there is none with this id */
export async function showEntry(
  terminal: Pick<Terminal, 'stdout' | 'stderr'>,
  config: Pick<Config, 'storage'>,
  id: string,
  options: JsonOption,
): Promise<void> {
  const { stderr } = terminal;
  const entry = await readStore({ config, stderr }, ({ ledger }) => ledger.find(undefined, id));
  if (!entry) throw new CommandError(`The ledger has no entry ${id.slice(0, 100)}.`);
  printObject(terminal, writeLedgerEntry(entry), options);
}
