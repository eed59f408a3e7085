import { countLockedKeys, openVaultOnce } from '../compose/open-vault.ts';
import type { LoadedConfig } from '../config/load.ts';
import { GatewayError } from '../domain/errors.ts';
import { copySecrets, deleteSecret, putSecret } from '../management/vault/change-secrets.ts';
import type { VaultCaller, VaultManagementParts, VaultPlace } from '../management/vault/find-vault.ts';
import { listEffectiveSecrets, listVaultSecrets } from '../management/vault/list-secrets.ts';
import { checkCopySecrets, checkPutSecret, checkSecretName } from '../management/vault/schema.ts';
import { writeEffectiveSecret, writeSecret } from '../management/vault/write-secret.ts';
import { rewrapVaultKeys, rotateAllVaults } from '../vault/rotate.ts';
import { readLocations } from '../vault/secrets.ts';
import { formatDay } from './format-time.ts';
import { requireStore, withStore } from './open-store.ts';
import { operator } from './operate.ts';
import { type JsonOption, printObject } from './print-object.ts';
import { resolveWorkspace } from './resolve-workspace.ts';
import { readIssues } from './read-issues.ts';
import { readNeededMasterKeys } from './read-needed-master-keys.ts';
import { readSecretValue } from './read-secret-value.ts';
import { drawTable } from './table.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';

/** The vault of a workspace, or of an intern. */
export interface VaultOptions {
  /** Name, slug or id of the workspace. Absent: the default one. */
  workspace?: string;
  /** Id. */
  intern?: string;
}

interface OpenedVaults {
  parts: VaultManagementParts;
  caller: VaultCaller;
  place: VaultPlace;
}

const ALL = { offset: 0, limit: 1_000_000 };

/** Opens the store with the master key. @throws {CommandError} */
async function withVaults<Result>(
  { stderr }: Pick<Terminal, 'stderr'>,
  loaded: LoadedConfig,
  { workspace, intern }: VaultOptions,
  use: (opened: OpenedVaults) => Promise<Result>,
): Promise<Result> {
  requireStore(loaded.config);
  const texts = readNeededMasterKeys(loaded);
  return withStore({ config: loaded.config, stderr }, async (storage) => {
    try {
      const parts = { ...openVaultOnce(storage.vaults, texts), interns: storage.interns };
      const found = intern === undefined ? undefined : await storage.interns.findIntern(intern);
      if (intern !== undefined && !found) throw new CommandError(`There is no intern with the id ${intern}.`);
      const workspaceId = found?.workspaceId ?? (await resolveWorkspace(storage.management, workspace)).id;
      const caller = { ...operator, workspaceId, memberId: null };
      return await use({ parts, caller, place: intern === undefined ? {} : { internId: intern } });
    } catch (error) {
      if (error instanceof GatewayError) throw new CommandError(readIssues(error), { cause: error });
      if (error instanceof CommandError) throw error;
      throw new CommandError(readMessage(error), { cause: error });
    }
  });
}

/** Prints the secrets of a vault by name, without values: as a table, or as a JSON list. */
export async function printSecrets(
  terminal: Terminal,
  config: LoadedConfig,
  options: VaultOptions & { json?: boolean },
): Promise<void> {
  const { rows } = await withVaults(terminal, config, options, ({ parts, caller, place }) =>
    listVaultSecrets(parts, caller, place, ALL),
  );
  if (options.json) return printJson(terminal, rows.map(writeSecret));
  if (rows.length === 0) {
    terminal.stdout.write('The vault has no secrets. "headgate vault set" adds one.\n');
    return;
  }
  const columns = ['NAME', 'HOSTS', 'IN', 'FINGERPRINT', 'CREATED'].map((title) => ({
    title,
    canWrap: title === 'NAME' || title === 'HOSTS',
  }));
  const cells = rows.map(({ name, hosts, locations, fingerprint, createdAtMs }) => [
    name,
    hosts.join(' '),
    readLocations({ locations }).join(' '),
    shorten(fingerprint),
    formatDay(createdAtMs),
  ]);
  terminal.stdout.write(drawTable(terminal, columns, cells));
}

/** Prints the secrets that an intern receives, with the vault that each comes from. */
export async function printEffectiveSecrets(
  terminal: Terminal,
  config: LoadedConfig,
  options: { intern: string; json?: boolean },
): Promise<void> {
  const { rows } = await withVaults(terminal, config, options, ({ parts, caller }) =>
    listEffectiveSecrets(parts, caller, options.intern, ALL),
  );
  if (options.json) return printJson(terminal, rows.map(writeEffectiveSecret));
  if (rows.length === 0) {
    terminal.stdout.write('The intern receives no secrets.\n');
    return;
  }
  const columns = ['NAME', 'SCOPE', 'HOSTS'].map((title) => ({ title, canWrap: title !== 'SCOPE' }));
  terminal.stdout.write(
    drawTable(
      terminal,
      columns,
      rows.map(({ name, scope, hosts }) => [name, scope, hosts.join(' ')]),
    ),
  );
}

/** Stores a secret whose value is on the standard input. Prints it without the value. */
export async function setSecret(
  terminal: Terminal,
  config: LoadedConfig,
  wanted: string,
  { hosts, locations, ...options }: VaultOptions & JsonOption & { hosts: string[]; locations?: string[] | undefined },
): Promise<void> {
  if (!terminal.openInput) throw new CommandError('There is no standard input to read the value from.');
  const value = await readSecretValue(terminal.openInput(), terminal.stderr);
  const stored = await withVaults(terminal, config, options, async ({ parts, caller, place }) => {
    const body = {
      ...checkPutSecret({ value, hosts, ...(locations && { locations }) }),
      ...checkSecretName({ name: wanted }),
    };
    return putSecret(parts, caller, place, body);
  });
  printObject(terminal, writeSecret(stored), options);
}

export async function removeSecret(
  terminal: Terminal,
  config: LoadedConfig,
  name: string,
  options: VaultOptions,
): Promise<void> {
  await withVaults(terminal, config, options, ({ parts, caller, place }) => deleteSecret(parts, caller, place, name));
  terminal.stdout.write(`Deleted "${name}". Requests no longer receive it.\n`);
}

/** Copies secrets of the workspace into the vault of an intern, all or none. */
export async function copyToIntern(
  terminal: Terminal,
  config: LoadedConfig,
  wanted: readonly string[],
  options: JsonOption & { intern: string },
): Promise<void> {
  const copied = await withVaults(terminal, config, options, async ({ parts, caller }) => {
    const { names } = checkCopySecrets({ names: wanted });
    return copySecrets(parts, caller, options.intern, names);
  });
  if (options.json) printJson(terminal, copied.map(writeSecret));
  else terminal.stdout.write(`Copied ${copied.map(({ name }) => `"${name}"`).join(', ')}.\n`);
}

/** Gives all vaults new data keys, or encrypts their data keys with the current master key. */
export async function rotateVaults(
  terminal: Terminal,
  config: LoadedConfig,
  { masterKey }: { masterKey?: boolean },
): Promise<void> {
  const { stdout } = terminal;
  await withVaults(terminal, config, {}, async ({ parts }) => {
    if (!masterKey) {
      stdout.write(`New data keys for ${count(await rotateAllVaults(parts), 'vault')}.\n`);
      return;
    }
    const rewrapped = await rewrapVaultKeys(parts);
    stdout.write(`Encrypted ${count(rewrapped, 'key')} with the current master key.\n`);
    const locked = await countLockedKeys(parts);
    if (locked > 0) {
      const remedy = 'Set secrets.previous_master_key to the one that they need, and run this again.';
      throw new CommandError(`${count(locked, 'key')} cannot be opened with either master key. ${remedy}`);
    }
  });
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** The first digits are enough to compare. */
const shorten = (fingerprint: string): string => fingerprint.slice(0, 'sha256:'.length + 12);

const printJson = ({ stdout }: Terminal, value: unknown): void => {
  stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
};
