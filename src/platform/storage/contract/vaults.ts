import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { SealedSecret, SecretPut, VaultKeyRecord, VaultRecord } from '../ports/vaults.ts';
import { allRows, change, createWorkspaceDetails, happening, saveTestWorkspace, type StoragePair } from './samples.ts';

const now = 1_790_000_000_000;

/** Tests the contract of vaults. */
export function testVaults(pair: () => StoragePair): void {
  async function addWorkspace(): Promise<string> {
    const workspace = createWorkspaceDetails();
    await saveTestWorkspace(pair(), workspace);
    return workspace.id;
  }
  const createVault = (workspaceId: string, fields: Partial<VaultRecord> = {}): VaultRecord => ({
    id: randomUUID(),
    workspaceId,
    kind: 'intern',
    generation: 1,
    createdAtMs: now,
    ...fields,
  });
  const createKey = (vaultId: string, fields: Partial<VaultKeyRecord> = {}): VaultKeyRecord => ({
    vaultId,
    generation: 1,
    masterKeyId: 'm1',
    wrapped: `wrapped ${randomUUID()}`,
    ...fields,
  });
  const createSecret = (vaultId: string, name: string, fields: Partial<SealedSecret> = {}): SealedSecret => ({
    vaultId,
    name,
    version: 1,
    generation: 1,
    hosts: ['api.example.com'],
    locations: ['header'],
    fingerprint: 'sha256:a',
    createdAtMs: now,
    sealed: `sealed ${name}`,
    ...fields,
  });
  async function open(workspaceId?: string): Promise<VaultRecord> {
    const vault = createVault(workspaceId ?? (await addWorkspace()));
    await pair().storage.vaults.addVault(vault, createKey(vault.id));
    return vault;
  }
  const put = (vaultId: string, secrets: SealedSecret[], fields: Partial<SecretPut> = {}, by = pair().storage) =>
    by.vaults.putSecrets({ vaultId, generation: 1, secrets, maxSecrets: 100, ...fields }, change);
  const withoutValue = ({ sealed: _, generation: _generation, ...rest }: SealedSecret) => rest;

  describe('vaults', () => {
    it('are added once: a workspace has one, and another one has its id', async () => {
      const { storage, other } = pair();
      const workspaceId = await addWorkspace();
      const [first, second] = [0, 1].map(() => createVault(workspaceId, { kind: 'workspace' })) as [
        VaultRecord,
        VaultRecord,
      ];
      expect(await other.vaults.findWorkspaceVault(workspaceId)).toBeUndefined();
      const added = await Promise.all([
        storage.vaults.addVault(first, createKey(first.id)),
        other.vaults.addVault(second, createKey(second.id)),
      ]);
      expect(added[0]).toEqual(added[1]);
      expect(await other.vaults.findWorkspaceVault(workspaceId)).toEqual(added[0]);

      const vault = await open(workspaceId);
      const key = createKey(vault.id);
      expect(await other.vaults.addVault({ ...vault, createdAtMs: 5 }, key)).toEqual(vault);
      expect(await other.vaults.findVault(vault.id)).toEqual(vault);
      expect(await other.vaults.listVaultKeys(vault.id)).toHaveLength(1);
      expect(await other.vaults.findVault('none\0')).toBeUndefined();
      const lost = createVault(randomUUID());
      expect(await storage.vaults.addVault(lost, createKey(lost.id))).toBeUndefined();

      const after = [vault.id, added[0]!.id].sort()[0]!;
      const listed = await other.vaults.listVaults({ after, limit: 1_000_000 });
      expect(listed.map(({ id }) => id)).toContain([vault.id, added[0]!.id].sort()[1]);
      expect(listed.every(({ id }) => id > after)).toBe(true);
      expect(await other.vaults.listVaults({ limit: 1 })).toHaveLength(1);
    });

    it('are deleted with their keys and secrets, alone or with their workspace', async () => {
      const { storage, other } = pair();
      const [one, two] = [await open(), await open()];
      for (const { id } of [one, two]) await put(id, [createSecret(id, 'a')]);
      expect(await other.vaults.deleteVault(one.id)).toBe(true);
      expect(await other.vaults.deleteVault(one.id)).toBe(false);
      await storage.management.change(change, async (transaction) => {
        await transaction.deleteWorkspace(two.workspaceId);
        await transaction.record(happening());
      });
      for (const { id } of [one, two]) {
        expect(await storage.vaults.findVault(id)).toBeUndefined();
        expect(await storage.vaults.listVaultKeys(id)).toEqual([]);
        expect(await storage.vaults.listSecrets({ vaultId: id, ...allRows })).toEqual([]);
      }
    });

    it('keep secrets, with audit entries that have no value', async () => {
      const { storage, other } = pair();
      const { id, workspaceId } = await open();
      const revision = await other.access.readRevision();
      const first = createSecret(id, 'b');
      expect(await put(id, [first, createSecret(id, 'a')])).toBeUndefined();
      const second: SealedSecret = {
        ...first,
        version: 2,
        hosts: ['x.example', 'y.example'],
        locations: ['header', 'body'],
        sealed: 'sealed again',
      };
      expect(await put(id, [second], {}, other)).toBeUndefined();

      const { vaults } = other;
      expect(await vaults.findSecrets(id, ['b', 'none', '\0'])).toEqual([second]);
      expect(await vaults.findSecrets(id, [])).toEqual([]);
      expect(await vaults.findSecrets(randomUUID(), ['b'])).toEqual([]);
      expect(await vaults.listSecrets({ vaultId: id, ...allRows })).toEqual([
        withoutValue(createSecret(id, 'a')),
        withoutValue(second),
      ]);
      expect(await vaults.listSecrets({ vaultId: id, offset: 1, limit: 1 })).toEqual([withoutValue(second)]);
      expect(await vaults.deleteSecret(id, 'b', change)).toBe(true);
      expect(await storage.vaults.deleteSecret(id, 'b', change)).toBe(false);
      expect(await storage.vaults.deleteSecret('none', 'b', change)).toBe(false);

      const { rows } = await storage.management.listAudit(allRows);
      const told = rows.filter(({ objectId }) => objectId === `${id}/b`).reverse();
      const hosts = { before: first.hosts, after: second.hosts };
      const locations = { before: first.locations, after: second.locations };
      expect(told.map(({ action, changes }) => [action, changes])).toEqual([
        [
          'vault_secret.create',
          {
            hosts: { before: null, after: first.hosts },
            locations: { before: null, after: first.locations },
            fingerprint: { before: null, after: 'sha256:a' },
          },
        ],
        ['vault_secret.update', { hosts, locations }],
        [
          'vault_secret.delete',
          {
            hosts: { before: second.hosts, after: null },
            locations: { before: second.locations, after: null },
            fingerprint: { before: 'sha256:a', after: null },
          },
        ],
      ]);
      expect(told[0]).toMatchObject({ ...change, objectKind: 'vault_secret', workspaceId });
      expect(JSON.stringify(told)).not.toContain('sealed');
      expect(await other.access.readRevision()).toBe(revision);
    });

    it('find the names of several vaults, all or those of exactly one host', async () => {
      const { id, workspaceId } = await open();
      const second = await open(workspaceId);
      await put(id, [createSecret(id, 'a', { hosts: ['one.example', 'api.one.example'] }), createSecret(id, 'b')]);
      await put(second.id, [createSecret(second.id, 'a', { hosts: ['xone.example'] })]);
      const list = async (host?: string) =>
        (await pair().other.vaults.listSecretNames([id, second.id], host)).map(({ vaultId, name }) =>
          vaultId === id ? name : `second ${name}`,
        );
      expect((await list()).toSorted()).toEqual(['a', 'b', 'second a']);
      expect(await list('one.example')).toEqual(['a']);
      expect(await list('api.one.example')).toEqual(['a']);
      for (const host of ['example', '%', 'one_example', 'ONE.EXAMPLE', '","', 'one.example","api.one.example', '\0']) {
        expect(await list(host), host).toEqual([]);
      }
      expect(await pair().other.vaults.listSecretNames([], 'one.example')).toEqual([]);
    });

    it('take all secrets of a write or none', async () => {
      const { storage, other } = pair();
      const { id } = await open();
      const list = async () => (await other.vaults.listSecrets({ vaultId: id, ...allRows })).map(({ name }) => name);
      const [a, b] = [createSecret(id, 'a'), createSecret(id, 'b')];
      expect(await put(id, [a])).toBeUndefined();
      expect(await put(id, [b, a])).toBe('stale');
      expect(await put(id, [b, { ...a, version: 3 }])).toBe('stale');
      expect(await put(id, [b], { generation: 2 })).toBe('stale');
      expect(await put(id, [b], { maxSecrets: 1 })).toBe('limit');
      expect(await put(id, [{ ...a, version: 2 }], { maxSecrets: 1 })).toBeUndefined();
      expect(await put(randomUUID(), [b])).toBe('vault');
      expect(await list()).toEqual(['a']);

      const results = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          put(id, [{ ...b, sealed: `of ${index}` }], {}, index % 2 === 0 ? storage : other),
        ),
      );
      expect(results.filter((result) => result === undefined)).toHaveLength(1);
      expect(results.filter((result) => result === 'stale')).toHaveLength(5);
    });

    it('rotate their data keys while secrets are written', async () => {
      const { storage, other } = pair();
      const { id } = await open();
      const [a, b] = [createSecret(id, 'a', { locations: null }), createSecret(id, 'b')];
      await put(id, [a, b]);
      const next = createKey(id, { generation: 2 });
      const added = await Promise.all([storage.vaults.addVaultKey(next), other.vaults.addVaultKey(next)]);
      expect(added.toSorted()).toEqual([false, true]);
      expect(await other.vaults.findVault(id)).toMatchObject({ generation: 2 });
      expect(await put(id, [createSecret(id, 'c')])).toBe('stale');

      await storage.vaults.deleteUnusedKeys(id);
      expect((await other.vaults.listVaultKeys(id)).map(({ generation }) => generation)).toEqual([1, 2]);
      const stale = { vaultId: id, generation: 2 };
      expect(await other.vaults.listStaleSecrets({ ...stale, limit: 1 })).toEqual([a]);
      expect(await storage.vaults.resealSecret({ ...a, generation: 2, sealed: 'new a' })).toBe(true);
      const written = { ...b, version: 2, generation: 2 };
      expect(await put(id, [written], { generation: 2 })).toBeUndefined();
      expect(await storage.vaults.resealSecret({ ...b, generation: 2, sealed: 'lost' })).toBe(false);
      expect(await storage.vaults.resealSecret({ ...written, generation: 1 })).toBe(false);
      expect(await other.vaults.listStaleSecrets({ ...stale, limit: 9 })).toEqual([]);
      expect(await other.vaults.findSecrets(id, ['a', 'b'])).toEqual([
        { ...a, generation: 2, sealed: 'new a' },
        written,
      ]);
      await storage.vaults.deleteUnusedKeys(id);
      expect(await other.vaults.listVaultKeys(id)).toEqual([next]);
      expect(await other.vaults.findVaultKey(id, 1)).toBeUndefined();
      expect(await other.vaults.findVaultKey(id, 2)).toEqual(next);
    });

    it('have keys of several master keys while these are rotated', async () => {
      const { vaults } = pair().other;
      const { id } = await open();
      await open();
      const masterKeyId = randomUUID();
      const [before] = await vaults.listVaultKeys(id);
      const list = async () =>
        (await vaults.listWrappedKeys({ masterKeyId: 'm1', limit: 1_000_000 })).filter(({ vaultId }) => vaultId === id);
      expect(await list()).toEqual([before]);
      expect(await vaults.listWrappedKeys({ masterKeyId: 'm1', limit: 1 })).toHaveLength(1);
      expect(await vaults.listWrappedKeys({ masterKeyId, limit: 1 })).toEqual([]);
      const after = createKey(id, { masterKeyId });
      expect(await vaults.rewrapVaultKey(after, 'another')).toBe(false);
      expect(await vaults.rewrapVaultKey(after, 'm1')).toBe(true);
      expect(await vaults.rewrapVaultKey(after, 'm1')).toBe(false);
      expect(await list()).toEqual([]);
      expect(await vaults.findVaultKey(id, 1)).toEqual(after);
      expect(await vaults.countVaultKeys()).toContainEqual({ masterKeyId, keys: 1 });
    });
  });
}
