import { GatewayError } from '../../domain/errors.ts';
import { defaultGuardrailId, defaultGuardrailName } from '../../domain/guardrail.ts';
import type { GuardrailRecord } from '../../platform/storage/ports/guardrails.ts';
import { createEmptyGuardrail } from './change-guardrail.ts';

/** Where guardrails are looked for: the store, or a change of it. */
export interface GuardrailSource {
  findGuardrail(id: string): Promise<GuardrailRecord | undefined>;
  listWorkspaces(page: { offset: number; limit: number }): Promise<{ rows: { id: string; createdAtMs: number }[] }>;
}

/**
 * A guardrail by its id; a default one that nobody has written yet says nothing.
 *
 * @throws {GatewayError} `not_found`
 */
export async function getGuardrail(from: GuardrailSource, id: string): Promise<GuardrailRecord> {
  const found = await from.findGuardrail(id);
  if (found) return found;
  const { rows } = await from.listWorkspaces({ offset: 0, limit: Number.MAX_SAFE_INTEGER });
  const workspace = rows.find((row) => defaultGuardrailId(row.id) === id);
  if (!workspace) throw new GatewayError('not_found', `There is no guardrail with the id ${id.slice(0, 100)}.`);
  const { id: workspaceId, createdAtMs } = workspace;
  return createEmptyGuardrail({ id, workspaceId, name: defaultGuardrailName(workspaceId), createdAtMs });
}
