import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadCatalogRecords, REFRESHED_FILE } from '../../catalog/load-catalog.ts';
import { type CatalogFile, type CatalogRecords, checkCatalogFile, keyOfEndpoint } from '../../catalog/records.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { CommandError, readMessage, type Terminal } from '../terminal.ts';
import { convertList } from './convert-list.ts';
import { fetchText } from './fetch-list.ts';
import { parseList } from './public-list.ts';

/** A public list with many maintainers. @see https://models.dev */
const DEFAULT_LIST = 'https://models.dev/api.json';
/** A list with fewer models is rejected. */
const MIN_MODELS = 20;
/** A price that differs by this factor is more likely an error than a change. */
const SUSPICIOUS_FACTOR = 10;

/**
 * Fetches a public list of models and stores it in the data folder, where it overrides the built-in catalog.
 *
 * @param from address of the list
 * @param limits milliseconds and bytes
 * @throws {CommandError} if the list cannot be fetched or is not plausible; the stored list stays
 */
export async function refreshModels(
  { stdout, stderr }: Terminal,
  { config, dataDir }: Pick<LoadedConfig, 'config' | 'dataDir'>,
  { from = DEFAULT_LIST }: { from?: string },
  limits: { fetchMs?: number; maxBytes?: number } = {},
): Promise<void> {
  const path = join(dataDir, REFRESHED_FILE);
  const kept = 'The catalog is unchanged.';
  try {
    const url = readUrl(from);
    const text = await fetchText(url, limits);
    const known = loadCatalogRecords({ builtin: true, dataDir }, () => {}); // an invalid file is about to be replaced
    const { file, skipped } = convertList(parseList(text), known, {
      source: url.origin + url.pathname,
      today: new Date().toISOString().slice(0, 10),
    });
    refuseBadData(file, known);
    writeAtomically(path, dataDir, `${JSON.stringify(file, undefined, 1)}\n`);
    const providers = new Set(file.endpoints?.map(({ provider }) => provider)).size;
    stdout.write(
      `Stored ${countModels(file)} models at ${providers} providers from ${url.host} (${skipped} skipped): ${path}\n` +
        'A running gateway applies it at the next reload (SIGHUP) or start.\n',
    );
  } catch (error) {
    throw new CommandError(`models refresh: ${readMessage(error)} ${kept}`, { cause: error });
  }
  if (!config.catalog.builtin) {
    stderr.write('headgate: catalog.builtin is false in the configuration, so this file is not used.\n');
  }
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url;
  const shown = text.replace(/\/\/.*@/s, '//…@').slice(0, 200); // without a password
  throw new CommandError(`--from is not an http or https URL without credentials: ${shown}.`);
}

const countModels = ({ endpoints = [] }: CatalogFile): number => new Set(endpoints.map(({ model }) => model)).size;

/** @throws {CommandError} if the values of the list are not plausible */
function refuseBadData(file: CatalogFile, known: CatalogRecords): void {
  const problems = checkCatalogFile(file);
  if (problems.length > 0) throw new CommandError(`The list cannot be used: ${problems.slice(0, 5).join('; ')}.`);
  const models = countModels(file);
  if (models < MIN_MODELS) {
    throw new CommandError(`The list has ${models} usable models. At least ${MIN_MODELS} are expected.`);
  }
  const factors = (file.endpoints ?? []).flatMap((record) => {
    const before = known.endpoints.get(keyOfEndpoint(record))?.usd_per_million;
    const after = record.usd_per_million;
    return (['prompt', 'completion'] as const).flatMap((name) => {
      const [old, now] = [before?.[name], after?.[name]];
      return old === undefined || now === undefined ? [] : [old === now ? 1 : Math.max(old, now) / Math.min(old, now)];
    });
  });
  const changed = factors.filter((factor) => factor > SUSPICIOUS_FACTOR).length;
  if (changed > factors.length / 2) {
    throw new CommandError(
      `${changed} of ${factors.length} known prices differ by more than a factor of ${SUSPICIOUS_FACTOR}, which is not plausible.`,
    );
  }
}

/** Replaces the file atomically. */
function writeAtomically(path: string, folder: string, text: string): void {
  const draft = join(folder, `.${REFRESHED_FILE}.${process.pid}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(draft, text, { mode: 0o600, flush: true });
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}
