import { hashKey } from '../access/key-text.ts';
import { deleteKey } from '../management/keys/delete-key.ts';
import { getKey } from '../management/keys/find-key.ts';
import { rotateKey } from '../management/keys/rotate-key.ts';
import { checkUpdateKey } from '../management/keys/schema.ts';
import { updateKey } from '../management/keys/update-key.ts';
import { writeKey } from '../management/keys/write-key.ts';
import type { Config } from '../config/schema.ts';
import { rateLimitNames } from '../domain/rate-limits.ts';
import type { KeyRecord } from '../platform/storage/ports/keys.ts';
import { type LimitOptions, readLimits } from './limit-options.ts';
import { readStore } from './open-store.ts';
import { createParts, type OperatorParts, operate, operator } from './operate.ts';
import { type JsonOption, printObject } from './print-object.ts';
import { type RateOptions, readRateOptions } from './rate-options.ts';
import { resolveKey } from './resolve-key.ts';
import { CommandError, type Terminal } from './terminal.ts';

export interface UpdateKeyOptions extends LimitOptions, RateOptions {
  name?: string;
  enable?: boolean;
  disable?: boolean;
}

/** Prints a key with its spending. */
export async function showKey(terminal: Terminal, config: Config, wanted: string, options: JsonOption): Promise<void> {
  const { stderr } = terminal;
  const found = await readStore({ config, stderr }, async (storage) => {
    const { hash } = resolveKey(await storage.access.listKeys(), wanted);
    return getKey(await createParts(storage, config), operator, hash);
  });
  printObject(terminal, writeKey(found), options);
}

/** @throws {CommandError} if no option says what to change, or the name of the key is ambiguous */
export async function changeKey(
  { stdout, stderr }: Terminal,
  config: Config,
  wanted: string,
  options: UpdateKeyOptions,
): Promise<void> {
  if (options.enable && options.disable) throw new CommandError('Use either --enable or --disable, not both.');
  const asked = {
    ...(options.name !== undefined && { name: options.name }),
    ...((options.enable || options.disable) && { disabled: options.disable === true }),
    ...readLimits(options),
    ...readRateOptions(options),
  };
  const changed = Object.keys(asked);
  if (changed.length === 0) throw new CommandError('Nothing would change. See "headgate keys update --help".');
  const { before, after } = await withKey({ config, stderr }, wanted, (parts, hash) =>
    updateKey(parts, operator, hash, checkUpdateKey(asked)),
  );
  const isSame = before === after;
  stdout.write(`${isSame ? 'Nothing to change for' : 'Changed'} "${after.name}" (${after.label}).\n`);
  warnOfBootstrap({ stderr }, config, after, changed);
}

/** Disables one key, named by its hash, the first 4 or more digits of the hash, or its name. */
export async function disableKey({ stdout, stderr }: Terminal, config: Config, wanted: string): Promise<void> {
  const { after } = await withKey({ config, stderr }, wanted, (parts, hash) =>
    updateKey(parts, operator, hash, checkUpdateKey({ disabled: true })),
  );
  stdout.write(`Disabled "${after.name}" (${after.label}). A running gateway rejects it within a second.\n`);
  warnOfBootstrap({ stderr }, config, after, ['disabled']);
}

/**
 * Replaces a key. Writes the text of the new key to stdout once, with nothing else.
 *
 * @param options.grace `1h`, `30m`, … up to a day: how long the old key stays valid
 */
export async function replaceKey(
  { stdout, stderr }: Terminal,
  config: Config,
  wanted: string,
  { grace }: { grace?: string },
): Promise<void> {
  const graceSeconds = grace === undefined ? 0 : readGrace(grace);
  const { previous, text } = await withKey({ config, stderr }, wanted, (parts, hash) =>
    rotateKey(parts, operator, hash, { graceSeconds }),
  );
  stdout.write(`${text}\n`);
  const end = previous.disabled ? 'is disabled' : `ends on ${new Date(previous.expiresAtMs!).toISOString()}`;
  stderr.write(
    `"${previous.name}": the old key (${previous.label}) ${end}. This is the only time the new text is shown.\n`,
  );
  warnOfBootstrap({ stderr }, config, previous, ['disabled']);
}

/** Deletes a key. Keeps its ledger entries. */
export async function removeKey({ stdout, stderr }: Terminal, config: Config, wanted: string): Promise<void> {
  const key = await withKey({ config, stderr }, wanted, (parts, hash) => deleteKey(parts, operator, hash));
  stdout.write(`Deleted "${key.name}" (${key.label}). Its ledger entries stay.\n`);
  warnOfBootstrap({ stderr }, config, key, ['name']);
}

/** Calls a use case with the hash of the named key. */
const withKey = <Result>(
  where: { config: Config; stderr: Terminal['stderr'] },
  wanted: string,
  use: (parts: OperatorParts, hash: string) => Promise<Result>,
): Promise<Result> =>
  operate(where, async (parts) => use(parts, resolveKey(await parts.access.listKeys(), wanted).hash));

function readGrace(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * ({ s: 1, m: 60, h: 3600, d: 86_400 }[unit] ?? Number.NaN);
  if (!(seconds <= 86_400)) throw new CommandError(`--grace ${text}: give 30m, 12h, … up to 1d.`);
  return seconds;
}

/**
 * Warns that the configuration, which is applied at every start, restores a setting of the key.
 *
 * @param changed names in the API
 */
function warnOfBootstrap(
  { stderr }: Pick<Terminal, 'stderr'>,
  config: Config,
  key: KeyRecord,
  changed: readonly string[],
): void {
  const entry = config.bootstrap.keys.find((one) => hashKey(one.key) === key.hash);
  const said: string[] = ['name', 'disabled', ...(entry?.credit_usd === undefined ? [] : ['limit', 'limit_reset'])];
  if (entry) said.push(...rateLimitNames.filter((name) => name in entry));
  if (!entry || !changed.some((field) => said.includes(field)) || (key.disabled && entry.disabled === true)) return;
  const what = key.disabled ? 'write "disabled: true" there, too' : 'change it there, too';
  stderr.write(`It is in bootstrap.keys: ${what}, or the next start or reload restores it.\n`);
}
