import type { Intern } from '../domain/intern.ts';
import type { InternStore } from '../platform/storage/ports/interns.ts';
import type { VaultStore } from '../platform/storage/ports/vaults.ts';

/** Where the secrets of an intern come from. */
export interface SecretHolder {
  workspaceId: string;
  internId: string;
  /** The vault that the intern owns. */
  vaultId: string;
  /** The borrowed vault. */
  attachedVaultId: string | null;
}

/** A holder, and the vault that its intern must not borrow. */
export interface FoundHolder {
  holder: SecretHolder;
  ignoredVaultId: string | undefined;
}

/**
 * Finds where the secrets of an intern come from. A vault that belongs to an intern of another creator is ignored: an
 * earlier build let an intern borrow it.
 */
export async function findHolder(
  interns: Pick<InternStore, 'findInternByVault'>,
  intern: Intern,
): Promise<FoundHolder> {
  const { id: internId, workspaceId, vaultId, attachedVaultId, creatorId } = intern;
  const lender = attachedVaultId === null ? undefined : await interns.findInternByVault(attachedVaultId);
  const isForeign = lender !== undefined && lender.creatorId !== creatorId;
  return {
    holder: { workspaceId, internId, vaultId, attachedVaultId: isForeign ? null : attachedVaultId },
    ignoredVaultId: isForeign ? attachedVaultId! : undefined,
  };
}

/** The first vault that has a name decides about it. */
export const secretScopes = ['intern', 'attached', 'workspace'] as const;
export type SecretScope = (typeof secretScopes)[number];

export interface EffectiveName {
  name: string;
  scope: SecretScope;
  vaultId: string;
}

type Vaults = Pick<VaultStore, 'findVault' | 'findWorkspaceVault' | 'listSecretNames'>;

/**
 * Lists the secrets of an intern by name, with the vault that each comes from. A vault that an intern borrows shows its
 * own secrets alone.
 *
 * @returns undefined if the intern's vault or the borrowed one does not exist: the intern then receives no secrets
 */
export async function listEffectiveNames(vaults: Vaults, holder: SecretHolder): Promise<EffectiveName[] | undefined> {
  const scopes = await findScopes(vaults, holder);
  if (!scopes) return undefined;
  const rows = await vaults.listSecretNames([...scopes.keys()]);
  const found = new Map<string, EffectiveName>();
  for (const { vaultId, name } of rows) {
    const scope = scopes.get(vaultId)!; // one of those that were requested
    const known = found.get(name);
    if (known && secretScopes.indexOf(known.scope) < secretScopes.indexOf(scope)) continue;
    found.set(name, { name, scope, vaultId });
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function findScopes(
  vaults: Vaults,
  { workspaceId, vaultId, attachedVaultId }: SecretHolder,
): Promise<Map<string, SecretScope> | undefined> {
  const isThere = async (id: string): Promise<boolean> => (await vaults.findVault(id))?.workspaceId === workspaceId;
  if (!(await isThere(vaultId)) || (attachedVaultId !== null && !(await isThere(attachedVaultId)))) return undefined;
  const shared = await vaults.findWorkspaceVault(workspaceId);
  return new Map<string, SecretScope>([
    ...(shared ? [[shared.id, 'workspace'] as const] : []),
    ...(attachedVaultId === null ? [] : [[attachedVaultId, 'attached'] as const]),
    [vaultId, 'intern'],
  ]);
}
