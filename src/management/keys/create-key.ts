import { DEFAULT_WORKSPACE } from '../../access/bootstrap.ts';
import { createKeyLabel, createKeyText, hashKey } from '../../access/key-text.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { type KeyRecord, defaultKeySettings } from '../../platform/storage/ports/keys.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import { applyChange } from '../apply-change.ts';
import type { Actor, Edit, ManagementParts } from '../parts.ts';
import { explainUnknownWorkspace } from '../workspaces/find-workspace.ts';
import { readKeySettings } from './read-key-settings.ts';
import { rejectManagementLimits, saveNewKey } from './save-key.ts';
import type { CreateKeyBody, ProvisionKeyBody } from './schema.ts';

export interface CreatedKey {
  key: KeyRecord;
  /** Only its hash is stored. */
  text: string;
}

/**
 * Creates an inference key in a workspace that exists.
 *
 * @throws {GatewayError} `invalid_request` if the body names an unknown workspace or member, or a time that has passed
 */
export const createKey = (parts: ManagementParts, actor: Actor, body: CreateKeyBody): Promise<CreatedKey> =>
  applyChange(parts, actor, async (edit) => {
    const issues: Issue[] = [];
    const workspace = await findBodyWorkspace(edit.transaction, body, issues);
    if (body.creator_user_id != null) await checkMember(edit.transaction, body.creator_user_id, workspace, issues);
    issues.push(...checkNewKey(body, edit.nowMs));
    if (issues.length > 0 || !workspace) throw invalidRequest(issues);
    return insertKey(edit, { isManagement: false, workspaceId: workspace.id, body });
  });

/** Returns the problems of a body that its schema cannot find. */
export function checkNewKey({ expires_at, external }: ProvisionKeyBody, nowMs: number): Issue[] {
  const issues: Issue[] = [];
  if (expires_at != null && Date.parse(expires_at) <= nowMs) {
    issues.push({ path: 'expires_at', message: `\`expires_at\` is in the past: ${expires_at}.` });
  }
  if (external?.api_key !== undefined) {
    const message = '`api_key` is not offered: the gateway creates the text of a key. Leave it out.';
    issues.push({ path: 'external.api_key', message });
  }
  return issues;
}

/**
 * Generates the text of a key and stores the key. A key without a name is named for its hash.
 *
 * @throws {GatewayError} `invalid_request` if a management key gets a limit
 */
export async function insertKey(
  edit: Edit,
  { isManagement, workspaceId, body }: { isManagement: boolean; workspaceId: string; body: ProvisionKeyBody },
): Promise<CreatedKey> {
  const text = createKeyText(isManagement ? 'management' : 'inference');
  const hash = hashKey(text);
  const memberId = body.creator_user_id ?? null;
  const key: KeyRecord = {
    ...defaultKeySettings,
    ...readKeySettings(body),
    hash,
    name: body.name ?? `key-${hash.slice(0, 8)}`,
    label: createKeyLabel(text),
    kind: isManagement ? 'management' : memberId === null ? 'organization' : 'member',
    workspaceId,
    memberId,
    disabled: false,
    createdAtMs: edit.nowMs,
    expiresAtMs: body.expires_at == null ? null : Date.parse(body.expires_at),
    creatorUserId: memberId,
    externalUser: body.external?.user ?? null,
  };
  rejectManagementLimits(key);
  await saveNewKey(edit, key);
  return { key, text };
}

async function findBodyWorkspace(
  transaction: ManagementTransaction,
  { workspace_id: id }: CreateKeyBody,
  issues: Issue[],
): Promise<WorkspaceDetails | undefined> {
  if (id === undefined) {
    const found = await transaction.findDefaultWorkspace(DEFAULT_WORKSPACE);
    if (!found) issues.push({ path: 'workspace_id', message: 'There is no workspace yet; create one first.' });
    return found;
  }
  const found = await transaction.findWorkspace(id);
  if (found?.id === id) return found; // a slug is not an id
  issues.push({ path: 'workspace_id', message: explainUnknownWorkspace(id, found) });
  return undefined;
}

/** Every member is in the default workspace. @see docs/reference/management.md#members */
async function checkMember(
  transaction: ManagementTransaction,
  memberId: string,
  workspace: WorkspaceDetails | undefined,
  issues: Issue[],
): Promise<void> {
  const path = 'creator_user_id';
  if (!(await transaction.findMember(memberId))) {
    issues.push({ path, message: `\`creator_user_id\` names no member: ${JSON.stringify(memberId)}.` });
    return;
  }
  if (!workspace || (await transaction.findDefaultWorkspace(DEFAULT_WORKSPACE))?.id === workspace.id) return;
  if ((await transaction.findWorkspaceMembers(workspace.id, [memberId])).length > 0) return;
  const message = `\`creator_user_id\` names a member that is not in the workspace ${workspace.slug}: ${JSON.stringify(memberId)}.`;
  issues.push({ path, message });
}
