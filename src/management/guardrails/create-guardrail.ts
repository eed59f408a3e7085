import { randomUUID } from 'node:crypto';
import { DEFAULT_WORKSPACE } from '../../access/bootstrap.ts';
import { invalidRequest } from '../../domain/errors.ts';
import type { GuardrailRecord } from '../../platform/storage/ports/guardrails.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import { applyChange } from '../apply-change.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { explainUnknownWorkspace } from '../workspaces/find-workspace.ts';
import { rejectBadFilters } from './check-filters.ts';
import { createEmptyGuardrail } from './find-guardrail.ts';
import { rejectHalfLimit, storeGuardrail } from './save-guardrail.ts';
import type { CreateGuardrailBody } from './schema.ts';
import { rejectUnsupportedFields } from './unsupported-fields.ts';
import { readGuardrailSettings, writeGuardrailSettings } from './write-guardrail.ts';

/** @throws {GatewayError} `invalid_request` for an unknown workspace, an incomplete limit or a filter that cannot work; `not_offered` */
export const createGuardrail = async (
  parts: ManagementParts,
  actor: Actor,
  body: CreateGuardrailBody,
): Promise<GuardrailRecord> => {
  rejectUnsupportedFields(body);
  await rejectBadFilters(parts, body);
  return applyChange(parts, actor, async (edit) => {
    const workspaceId = await findWorkspaceId(edit.transaction, body.workspace_id);
    const id = randomUUID();
    const empty = createEmptyGuardrail({ id, workspaceId, name: body.name, createdAtMs: edit.nowMs });
    const created = readGuardrailSettings(body, empty);
    rejectHalfLimit(created);
    await storeGuardrail(edit, 'guardrail.create', created, listChanges(undefined, writeGuardrailSettings(created)));
    return created;
  });
};

async function findWorkspaceId(transaction: ManagementTransaction, id: string | undefined): Promise<string> {
  const found = await (id === undefined
    ? transaction.findDefaultWorkspace(DEFAULT_WORKSPACE)
    : transaction.findWorkspace(id));
  if (found && (id === undefined || found.id === id)) return found.id; // a slug is not an id
  const message =
    id === undefined ? 'There is no workspace yet; create one first.' : explainUnknownWorkspace(id, found);
  throw invalidRequest([{ path: 'workspace_id', message }]);
}
