import { DEFAULT_WORKSPACE } from '../../access/bootstrap.ts';
import { GatewayError, invalidRequest } from '../../domain/errors.ts';
import { applyChange } from '../apply-change.ts';
import { joinMembers } from '../members/change-members.ts';
import type { Actor, Edit, ManagementParts } from '../parts.ts';
import { insertWorkspace } from '../workspaces/create-workspace.ts';
import { checkCreateWorkspace } from '../workspaces/schema.ts';
import { insertKey, type CreatedKey, checkNewKey } from './create-key.ts';
import type { ProvisionKeyBody } from './schema.ts';

export interface KeyToProvision {
  isManagement: boolean;
  /** Id, slug or name. Undefined: the only workspace, or the default one. A management key has none. */
  workspace: string | undefined;
  body: ProvisionKeyBody;
}

/**
 * Creates a key of any kind, and everything that it needs: the first workspace, if there is none, and its member, which
 * joins the workspace.
 *
 * @throws {GatewayError} `invalid_request`, `not_found`
 */
export const provisionKey = (
  parts: ManagementParts,
  actor: Actor,
  { isManagement, workspace, body }: KeyToProvision,
): Promise<CreatedKey> =>
  applyChange(parts, actor, async (edit) => {
    const issues = checkNewKey(body, edit.nowMs);
    if (issues.length > 0) throw invalidRequest(issues);
    const workspaceId = isManagement ? '' : await settleWorkspace(edit, workspace);
    if (body.creator_user_id != null) await joinMembers(edit, workspaceId, [body.creator_user_id]);
    return insertKey(edit, { isManagement, workspaceId, body });
  });

async function settleWorkspace(edit: Edit, wanted: string | undefined): Promise<string> {
  const { rows: workspaces } = await edit.transaction.listWorkspaces({ offset: 0, limit: Number.MAX_SAFE_INTEGER });
  if (workspaces.length === 0 && (wanted === undefined || wanted === DEFAULT_WORKSPACE)) {
    const body = checkCreateWorkspace({ name: DEFAULT_WORKSPACE, slug: DEFAULT_WORKSPACE });
    return (await insertWorkspace(edit, body)).id;
  }
  const name = wanted ?? (workspaces.length === 1 ? workspaces[0]!.id : DEFAULT_WORKSPACE);
  const found =
    workspaces.find(({ id, slug }) => id === name || slug === name) ?? workspaces.find((one) => one.name === name);
  if (found) return found.id;
  const known = workspaces.map((one) => one.name).join(', ') || 'none';
  if (wanted === undefined)
    throw invalidRequest([{ path: '', message: `Name the workspace of the key, one of ${known}.` }]);
  throw new GatewayError('not_found', `There is no workspace "${wanted}" (known: ${known}). Create it first.`);
}
