import type { Intern } from '../../domain/intern.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { InternStore } from '../../platform/storage/ports/interns.ts';
import type { VaultRecord } from '../../platform/storage/ports/vaults.ts';
import { findHolder, type SecretHolder } from '../../vault/effective.ts';
import { createVault } from '../../vault/create-vault.ts';
import type { VaultParts } from '../../vault/secrets.ts';
import type { Actor } from '../parts.ts';

export interface VaultManagementParts extends VaultParts {
  interns: Pick<InternStore, 'findIntern' | 'findInternByVault'>;
}

/** The party that uses vaults: the workspace of its key. */
export interface VaultCaller extends Actor {
  workspaceId: string;
  /** Sees the interns that it created. Null: the key acts as the organization, or it is the operator. */
  memberId: string | null;
  /** The intern that the key belongs to. It only reads its own secrets: choice 665. */
  internId?: string | undefined;
}

/** The vault of a workspace, or that of an intern. */
export type VaultPlace = { internId?: undefined } | { internId: string };

/** Returns an intern that the caller may see. @throws {GatewayError} `not_found` */
async function getIntern({ interns }: VaultManagementParts, caller: VaultCaller, id: string): Promise<Intern> {
  const intern = await interns.findIntern(id);
  const isOwn = caller.internId === undefined || caller.internId === id;
  const isVisible = caller.memberId === null || caller.internId === id || intern?.creatorId === caller.memberId;
  if (intern && intern.workspaceId === caller.workspaceId && isOwn && isVisible) return intern;
  throw new GatewayError('not_found', 'There is no such intern.');
}

/** Returns what decides about the secrets of an intern. @throws {GatewayError} `not_found` */
export async function getSecretHolder(
  parts: VaultManagementParts,
  caller: VaultCaller,
  internId: string,
): Promise<SecretHolder> {
  const { holder } = await findHolder(parts.interns, await getIntern(parts, caller, internId));
  return holder;
}

/**
 * Returns a vault to read.
 *
 * @returns undefined: the workspace has none yet
 * @throws {GatewayError} `not_found` if the intern is not visible, or has no vault
 */
export async function findReadableVault(
  parts: VaultManagementParts,
  caller: VaultCaller,
  { internId }: VaultPlace,
): Promise<VaultRecord | undefined> {
  if (internId === undefined) {
    if (caller.internId !== undefined) throw new GatewayError('not_found', 'There is no such vault.');
    return parts.vaults.findWorkspaceVault(caller.workspaceId);
  }
  const { vaultId } = await getIntern(parts, caller, internId);
  const vault = await parts.vaults.findVault(vaultId);
  if (vault) return vault;
  throw new GatewayError('not_found', 'The vault of the intern does not exist.');
}

/**
 * Returns a vault to change. Creates that of a workspace.
 *
 * @throws {GatewayError} `not_found`; `permission_denied` for the key of an intern
 */
export async function getWritableVault(
  parts: VaultManagementParts,
  caller: VaultCaller,
  place: VaultPlace,
): Promise<VaultRecord> {
  const found = await findReadableVault(parts, caller, place);
  if (caller.internId !== undefined) {
    throw new GatewayError('permission_denied', 'The key of an intern cannot change secrets. Use the key of a member.');
  }
  const vault = found ?? (await createVault(parts, { kind: 'workspace', workspaceId: caller.workspaceId }));
  if (vault) return vault;
  throw new GatewayError('permission_denied', 'The workspace of the key does not exist.');
}
