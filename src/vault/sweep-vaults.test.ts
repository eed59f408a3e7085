import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { openSqliteStorage } from '../platform/storage/sqlite/open.ts';
import { createVault } from './create-vault.ts';
import { createMasterKeys } from './master-keys.ts';
import { sweepVaults } from './sweep-vaults.ts';

const workspaceId = randomUUID();

it('deletes the vaults of interns that are gone, and no others', async () => {
  const storage = await openSqliteStorage(':memory:');
  await storage.migrate();
  await storage.access.putWorkspace({ id: workspaceId, name: 'main', createdAtMs: 1 });
  const parts = { vaults: storage.vaults, masterKeys: createMasterKeys(Buffer.from('of the test')), now: () => 1 };
  const [kept, orphan] = [randomUUID(), randomUUID()];
  await createVault(parts, { kind: 'workspace', workspaceId });
  for (const id of [kept, orphan]) await createVault(parts, { id, kind: 'intern', workspaceId });
  await storage.interns.addIntern({
    intern: {
      id: randomUUID(),
      workspaceId,
      creatorId: 'ada',
      name: 'scout',
      vaultId: kept,
      hasVault: true,
      description: null,
      instructions: null,
      model: null,
      status: 'stopped',
      hostname: null,
      step: null,
      attachedVaultId: null,
      lastFailureMessage: null,
      failureReason: null,
      runtimeAddress: null,
      isStopRequested: false,
      acknowledgesLoss: false,
      createdAtMs: 1,
      updatedAtMs: 1,
    },
    requestHash: 'r',
    bodyHash: 'b',
    maxPerMember: 9,
    canAttach: true,
    change: { atMs: 1, actorKeyHash: null },
  });
  expect(await sweepVaults(storage, new AbortController().signal)).toBe(1);
  expect(await storage.vaults.findVault(orphan)).toBeUndefined();
  expect(await storage.vaults.findVault(kept)).toBeDefined();
  expect(await storage.vaults.findWorkspaceVault(workspaceId)).toBeDefined();
  expect(await storage.vaults.listVaultKeys(orphan)).toEqual([]);
  await storage.close();
});
