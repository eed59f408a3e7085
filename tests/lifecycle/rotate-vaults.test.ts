import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { createWorkspaceDetails, happening, change } from '../../src/platform/storage/contract/samples.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite/open.ts';
import type { SealedSecret } from '../../src/platform/storage/ports/vaults.ts';
import { createVault } from '../../src/vault/create-vault.ts';
import { createMasterKeys } from '../../src/vault/master-keys.ts';
import { rewrapVaultKeys, rotateAllVaults, rotateVault } from '../../src/vault/rotate.ts';
import { openVaultKey, SecretReader, sealSecret, type VaultParts } from '../../src/vault/secrets.ts';

const texts = ['the first master key of the test', 'the second master key of the test'];
const planted = 'planted-value-of-the-test';
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const createKeys = (current: number, previous?: number) =>
  createMasterKeys(Buffer.from(texts[current]!), previous === undefined ? undefined : Buffer.from(texts[previous]!));

/** A store with a vault of some secrets. */
async function open(secrets: number) {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-rotate-'));
  folders.push(folder);
  const path = join(folder, 'vaults.db');
  const storage = await openSqliteStorage(path);
  await storage.migrate();
  const workspace = createWorkspaceDetails();
  await storage.management.change(change, async (transaction) => {
    await transaction.saveWorkspace(workspace);
    await transaction.record(happening());
  });
  const parts: VaultParts = { vaults: storage.vaults, masterKeys: createKeys(0), now: () => 5 };
  const { id } = (await createVault(parts, { kind: 'workspace', workspaceId: workspace.id }))!;
  const names = Array.from({ length: secrets }, (_, at) => `secret_${at}`);
  for (const name of names) await put({ ...parts, id, name, version: 1 });
  /** Returns all values. */
  const read = async (masterKeys: VaultParts['masterKeys']) => {
    using reader = new SecretReader({ vaults: storage.vaults, masterKeys });
    const rows = await storage.vaults.findSecrets(id, names);
    const values = [];
    for (const row of rows) values.push((await reader.read(row))!.value.toString());
    return { rows, values };
  };
  return { folder, path, storage, parts, id, names, read, [Symbol.asyncDispose]: () => storage.close() };
}

async function put({ id, name, version, ...parts }: VaultParts & { id: string; name: string; version: number }) {
  const vault = (await parts.vaults.findVault(id))!;
  using key = await openVaultKey(parts, vault);
  const value = Buffer.from(`${planted} ${name} ${version}`);
  const locations: SealedSecret['locations'] = version === 1 ? null : ['header', 'path'];
  const secret = sealSecret(key, { name, version, hosts: ['a.example'], locations, createdAtMs: 5 }, value);
  return parts.vaults.putSecrets(
    { vaultId: id, generation: key.generation, secrets: [secret], maxSecrets: 1000 },
    change,
  );
}

describe('a rotation', () => {
  it('of data keys keeps values and fingerprints, and deletes the old keys', async () => {
    await using opened = await open(60);
    const { parts, id, read, storage } = opened;
    const before = await read(parts.masterKeys);
    expect(await rotateVault(parts, id)).toBe(true);
    const after = await read(parts.masterKeys);
    expect(after.values).toEqual(before.values);
    expect(after.rows.map(({ fingerprint }) => fingerprint)).toEqual(before.rows.map(({ fingerprint }) => fingerprint));
    expect(after.rows.every(({ generation }) => generation === 2)).toBe(true);
    expect(after.rows[0]!.sealed).not.toBe(before.rows[0]!.sealed);
    expect(await storage.vaults.listVaultKeys(id)).toMatchObject([{ generation: 2 }]);
    expect(await rotateVault(parts, 'none')).toBe(false);
  });

  it('goes on where another one ended, while secrets are written', async () => {
    await using opened = await open(4);
    const { parts, id, read, storage } = opened;
    using key = await openVaultKey(parts, { id, generation: 1 });
    using next = key.rotate();
    await storage.vaults.addVaultKey(next.wrap(parts.masterKeys.current)); // and the process was killed
    expect((await read(parts.masterKeys)).values).toHaveLength(4);
    expect(await put({ ...parts, id, name: 'secret_0', version: 2 })).toBeUndefined();
    await Promise.all([rotateVault(parts, id), rotateVault(parts, id)]);
    const { rows, values } = await read(parts.masterKeys);
    expect(new Set(rows.map(({ generation }) => generation))).toEqual(new Set([2]));
    expect(values[0]).toBe(`${planted} secret_0 2`);
    expect(await storage.vaults.listVaultKeys(id)).toHaveLength(1);
  });

  it('of the master key needs both keys, and then only the new one', async () => {
    await using opened = await open(2);
    const { parts, read, storage } = opened;
    const both = createKeys(1, 0);
    expect((await read(both)).values).toHaveLength(2);
    expect(await rewrapVaultKeys({ ...parts, masterKeys: createKeys(1) })).toBe(0);
    expect(await rewrapVaultKeys({ ...parts, masterKeys: createKeys(1, 1) })).toBe(0);
    expect(await rewrapVaultKeys({ ...parts, masterKeys: both })).toBe(1);
    expect(await rewrapVaultKeys({ ...parts, masterKeys: both })).toBe(0);
    expect((await read(createKeys(1))).values).toHaveLength(2);
    await expect(read(createKeys(0))).rejects.toThrow('another master key');
    expect(await storage.vaults.countVaultKeys()).toMatchObject([{ keys: 1 }]);
  });

  it('that is killed at any time loses nothing, and leaves no value on the disk', async () => {
    await using opened = await open(8);
    const { parts, id, read, storage, folder, path } = opened;
    const script = fileURLToPath(new URL('rotate-until-killed.ts', import.meta.url));
    const expected = (await read(parts.masterKeys)).values;
    for (let kill = 0; kill < 4; kill++) {
      const child = spawn(process.execPath, [script, path, ...texts], { stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = once(child, 'exit');
      await once(child.stdout, 'data');
      for (let wait = 0; wait < kill * 3; wait++) await new Promise(setImmediate); // at another place each time
      child.kill('SIGKILL');
      await ended;
      expect((await read(createKeys(0, 1))).values).toEqual(expected);
    }
    await rewrapVaultKeys({ ...parts, masterKeys: createKeys(0, 1) });
    await rotateAllVaults({ ...parts, masterKeys: createKeys(0, 1) });
    expect((await read(createKeys(0))).values).toEqual(expected);
    expect(await storage.vaults.listVaultKeys(id)).toHaveLength(1);
    for (const file of readdirSync(folder)) {
      expect(readFileSync(join(folder, file)).includes(planted), file).toBe(false);
    }
  });
});
