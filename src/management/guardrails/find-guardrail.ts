import { GatewayError } from '../../domain/errors.ts';
import { defaultGuardrailId, defaultGuardrailName, noRules } from '../../domain/guardrail.ts';
import type { GuardrailRecord } from '../../platform/storage/ports/guardrails.ts';

/** The store, or a change of it. */
export interface GuardrailSource {
  findGuardrail(id: string): Promise<GuardrailRecord | undefined>;
  listWorkspaces(page: { offset: number; limit: number }): Promise<{ rows: { id: string; createdAtMs: number }[] }>;
}

/**
 * Returns a guardrail by its id. A default guardrail that was never changed has no rules.
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

/** Creates a guardrail without rules. */
export const createEmptyGuardrail = (parts: { id: string; workspaceId: string; name: string; createdAtMs: number }) =>
  ({
    ...parts,
    description: null,
    rules: noRules,
    limitNanoUsd: null,
    resetInterval: null,
    includeByokInBudgets: false,
    updatedAtMs: null,
  }) satisfies GuardrailRecord;
