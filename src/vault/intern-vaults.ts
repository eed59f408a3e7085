import { GatewayError } from '../domain/errors.ts';
import type { InternVaults } from '../interns/ports.ts';
import { createVault } from './create-vault.ts';
import type { VaultParts } from './secrets.ts';

/** Creates the port through which the lifecycle of interns owns their vaults. */
export const createInternVaults = (parts: VaultParts): InternVaults => ({
  async create({ vaultId, workspaceId }) {
    const vault = await createVault(parts, { id: vaultId, kind: 'intern', workspaceId });
    if (vault?.workspaceId === workspaceId) return;
    throw new GatewayError('not_found', 'The workspace of the intern does not exist.');
  },
  async destroy(vaultId) {
    await parts.vaults.deleteVault(vaultId);
  },
});
