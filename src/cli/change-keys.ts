import { createKeyText, hashKey } from '../access/key-text.ts';
import { deleteKey, rotateKey, updateKey } from '../management/keys/change-key.ts';
import { readKeySpending, writeKey } from '../management/keys/write-key.ts';
import { readRateLimits } from '../management/rate-limit-fields.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { rateLimitNames } from '../domain/rate-limits.ts';
import { nanoUsdOf } from '../metering/cost.ts';
import type { KeyRecord, LimitReset } from '../platform/storage/ports/keys.ts';
import type { ManagementTransaction } from '../platform/storage/ports/management.ts';
import { readStore } from './open-store.ts';
import { operate } from './operate.ts';
import { type RateOptions, readRateOptions } from './rate-options.ts';
import { CommandError, type Terminal } from './terminal.ts';

/** What a key may spend, as an operator writes it. */
export interface LimitOptions {
  /** USD, or `none`. */
  limit?: string;
  /** `daily`, `weekly`, `monthly`, or `never`. */
  limitReset?: string;
  includeByok?: boolean;
}

export interface UpdateKeyOptions extends LimitOptions, RateOptions {
  name?: string;
  enable?: boolean;
  disable?: boolean;
}

const resets = ['daily', 'weekly', 'monthly'] as const satisfies readonly LimitReset[];

/**
 * The settings that were named, and no others.
 *
 * @throws {CommandError} when one is none
 */
export function readLimits({
  limit,
  limitReset,
  includeByok,
}: LimitOptions): Partial<Pick<KeyRecord, 'limitNanoUsd' | 'limitReset' | 'includeByokInLimit'>> {
  const settings: ReturnType<typeof readLimits> = {};
  if (limit !== undefined) settings.limitNanoUsd = limit === 'none' ? null : readDollars('--limit', limit);
  if (limitReset !== undefined) {
    const found = resets.find((each) => each === limitReset);
    if (!found && limitReset !== 'never') {
      throw new CommandError(`--limit-reset ${limitReset}: give ${resets.join(', ')} or never.`);
    }
    settings.limitReset = found ?? null;
  }
  if (includeByok !== undefined) settings.includeByokInLimit = includeByok;
  return settings;
}

/** Above it JSON has no numbers for nano-dollars. */
const MAX_DOLLARS = 9_000_000;

/** @throws {CommandError} when it is no sum of dollars, to the nano-dollar */
export function readDollars(option: string, text: string): bigint {
  const dollars = Number(text);
  if (dollars > MAX_DOLLARS) throw new CommandError(`${option} ${text}: the most is ${MAX_DOLLARS} USD.`);
  if (!/^\d+(\.\d{1,9})?$/.test(text)) {
    throw new CommandError(`${option} ${text}: give a sum in USD, like 25 or 0.50, with at most nine decimals.`);
  }
  return nanoUsdOf(dollars);
}

/** Prints a key as the management API gives it, with what it has spent. */
export async function showKey({ stdout, stderr }: Terminal, config: Config, wanted: string): Promise<void> {
  const shown = await readStore({ config, stderr }, async ({ access, ledger }) => {
    const key = resolveKey(await access.listKeys(), wanted);
    const [spending] = await readKeySpending(ledger, [key.hash], currentTimeMs());
    return writeKey(key, spending!);
  });
  stdout.write(`${JSON.stringify(shown, undefined, 2)}\n`);
}

/** @throws {CommandError} when nothing is asked for, or not exactly one key is meant */
export async function changeKey(
  { stdout, stderr }: Terminal,
  config: Config,
  wanted: string,
  options: UpdateKeyOptions,
): Promise<void> {
  if (options.enable && options.disable) throw new CommandError('Give one of --enable and --disable.');
  const asked: Partial<KeyRecord> = readLimits(options);
  if (options.name !== undefined) asked.name = options.name;
  if (options.enable || options.disable) asked.disabled = options.disable === true;
  const rates = readRateOptions(options);
  const changed = Object.keys({ ...asked, ...rates });
  if (changed.length === 0) throw new CommandError('Say what to change; see "headgate keys update --help".');
  const { before, after } = await withKey({ config, stderr }, wanted, async (transaction, key, nowMs) => {
    const wished = { ...key, ...asked, rateLimits: readRateLimits(rates, key.rateLimits) };
    return { before: key, after: await updateKey(transaction, key, wished, nowMs) };
  });
  const isSame = before === after;
  stdout.write(`${isSame ? 'Nothing to change for' : 'Changed'} "${after.name}" (${after.label}).\n`);
  warnOfBootstrap({ stderr }, config, after, changed);
}

/** Disables the one key that is meant: by hash, by the first 4 or more digits of it, or by name. */
export async function disableKey({ stdout, stderr }: Terminal, config: Config, wanted: string): Promise<void> {
  const key = await withKey({ config, stderr }, wanted, (transaction, found, nowMs) =>
    updateKey(transaction, found, { ...found, disabled: true }, nowMs),
  );
  stdout.write(`Disabled "${key.name}" (${key.label}). A running gateway refuses it within a second.\n`);
  warnOfBootstrap({ stderr }, config, key, ['disabled']);
}

/**
 * Puts a new key in the place of one. The new text goes to stdout, alone and once.
 *
 * @param options.grace `1h`, `30m`, … up to a day: how long the old one may still be used
 */
export async function replaceKey(
  { stdout, stderr }: Terminal,
  config: Config,
  wanted: string,
  { grace }: { grace?: string },
): Promise<void> {
  const graceSeconds = grace === undefined ? 0 : readGrace(grace);
  const rotated = await withKey({ config, stderr }, wanted, async (transaction, key, nowMs) => {
    const text = createKeyText(key.kind === 'management' ? 'management' : 'inference');
    return { text, ...(await rotateKey(transaction, key, { text, graceSeconds, nowMs })) };
  });
  stdout.write(`${rotated.text}\n`);
  const { before } = rotated;
  const end = before.disabled ? 'is refused from now on' : `ends on ${new Date(before.expiresAtMs!).toISOString()}`;
  stderr.write(
    `"${before.name}": the old key (${before.label}) ${end}. This is the only time the new text is shown.\n`,
  );
  warnOfBootstrap({ stderr }, config, before, ['disabled']);
}

/** Its ledger entries stay. */
export async function removeKey({ stdout, stderr }: Terminal, config: Config, wanted: string): Promise<void> {
  const key = await withKey({ config, stderr }, wanted, async (transaction, found) => {
    await deleteKey(transaction, found);
    return found;
  });
  stdout.write(`Deleted "${key.name}" (${key.label}). What it has spent stays in the ledger.\n`);
  warnOfBootstrap({ stderr }, config, key, ['name']);
}

/** Finds the key and changes it in one transaction. */
function withKey<Result>(
  { config, stderr }: { config: Config; stderr: Terminal['stderr'] },
  wanted: string,
  work: (transaction: ManagementTransaction, key: KeyRecord, nowMs: number) => Promise<Result>,
): Promise<Result> {
  return operate({ config, stderr }, async ({ access }, change) => {
    const { hash } = resolveKey(await access.listKeys(), wanted);
    return change(async (transaction, nowMs) => {
      const key = await transaction.findKey(hash);
      if (!key) throw new CommandError(`The key "${wanted}" is gone.`);
      return work(transaction, key, nowMs);
    });
  });
}

function readGrace(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * ({ s: 1, m: 60, h: 3600, d: 86_400 }[unit] ?? Number.NaN);
  if (!(seconds <= 86_400)) throw new CommandError(`--grace ${text}: give 30m, 12h, … up to 1d.`);
  return seconds;
}

/** The configuration is applied at every start: what it says of a key comes back. @param changed fields of a `KeyRecord`, and rate limits */
function warnOfBootstrap(
  { stderr }: Pick<Terminal, 'stderr'>,
  config: Config,
  key: KeyRecord,
  changed: readonly string[],
): void {
  const entry = config.bootstrap.keys.find((one) => hashKey(one.key) === key.hash);
  const said: string[] = [
    'name',
    'disabled',
    ...(entry?.credit_usd === undefined ? [] : ['limitNanoUsd', 'limitReset']),
  ];
  if (entry) said.push(...rateLimitNames.filter((name) => name in entry));
  if (!entry || !changed.some((field) => said.includes(field)) || (key.disabled && entry.disabled === true)) return;
  const what = key.disabled ? 'write "disabled: true" there, too' : 'change it there, too';
  stderr.write(`It stands in bootstrap.keys: ${what}, or the next start or reload brings it back as it was.\n`);
}

/** @throws {CommandError} when none or several are meant */
export function resolveKey(keys: readonly KeyRecord[], wanted: string): KeyRecord {
  const byHash = keys.filter(({ hash }) => /^[0-9a-f]{4,64}$/.test(wanted) && hash.startsWith(wanted));
  const named = keys.filter(({ name, label }) => name === wanted || label === wanted);
  // Who rotates a key has two of its name: the one that lives is meant.
  const alive = byHash.length > 0 ? [] : named.filter((key) => isAlive(key, currentTimeMs()));
  const found = alive.length === 1 ? alive : [...new Set([...byHash, ...named])];
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new CommandError(`No key has the hash, prefix or name "${wanted}"; see "headgate keys list".`);
  const which = found.map(({ hash, name }) => `${hash.slice(0, 12)} (${name})`).join(', ');
  throw new CommandError(`"${wanted}" could be one of several keys; give the hash: ${which}.`);
}

const isAlive = ({ disabled, expiresAtMs }: KeyRecord, nowMs: number): boolean =>
  !disabled && (expiresAtMs === null || expiresAtMs > nowMs);
