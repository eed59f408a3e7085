import { GatewayError } from '../domain/errors.ts';
import type { InternVaults } from '../interns/ports.ts';
import type { InternStore } from '../platform/storage/ports/interns.ts';
import { createVault } from './create-vault.ts';
import type { VaultParts } from './secrets.ts';

/** Creates the port through which the lifecycle of interns owns their vaults. */
export const createInternVaults = (
  parts: VaultParts & { interns: Pick<InternStore, 'findInternByVault'> },
): InternVaults => ({
  async create({ vaultId, workspaceId }) {
    const vault = await createVault(parts, { id: vaultId, kind: 'intern', workspaceId });
    if (vault?.workspaceId === workspaceId) return;
    throw new GatewayError('not_found', 'The workspace of the intern does not exist.');
  },
  async canAttach(vaultId, workspaceId) {
    const vault = await parts.vaults.findVault(vaultId);
    if (vault?.kind !== 'intern' || vault.workspaceId !== workspaceId) return false;
    const owner = await parts.interns.findInternByVault(vaultId);
    return owner !== undefined && owner.status !== 'destroying' && owner.status !== 'destroy_failed';
  },
  async destroy(vaultId) {
    await parts.vaults.deleteVault(vaultId);
  },
});
