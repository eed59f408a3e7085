import { isDeepStrictEqual } from 'node:util';
import { defaultGuardrailId } from '../../domain/guardrail.ts';
import { deriveUuid } from '../../domain/ids.ts';
import type { GuardrailAssignee, GuardrailRecord } from '../../platform/storage/ports/guardrails.ts';
import { applyChange } from '../apply-change.ts';
import { listChanges } from '../list-changes.ts';
import type { ManagementParts } from '../parts.ts';
import { assignGuardrailTo, unassignGuardrailFrom } from './assign-guardrail.ts';
import { rejectBadFilters } from './check-filters.ts';
import { createEmptyGuardrail } from './find-guardrail.ts';
import { rejectHalfLimit, storeGuardrail } from './save-guardrail.ts';
import { checkUpdateGuardrail, type UpdateGuardrailBody } from './schema.ts';
import { rejectUnsupportedFields } from './unsupported-fields.ts';
import { readGuardrailSettings, writeGuardrailSettings } from './write-guardrail.ts';

/** A guardrail of the configuration, checked. It has exactly these rules. */
export interface BootstrapGuardrail {
  readonly name: string;
  readonly workspaceId: string;
  /** Whether it is the default guardrail of its workspace. */
  readonly isDefault: boolean;
  readonly body: UpdateGuardrailBody;
  /** Hashes. Exactly these keys have it. Undefined: as assigned otherwise. */
  readonly keys: readonly string[] | undefined;
  readonly members: readonly string[] | undefined;
}

/** Checks the rules of a guardrail of the configuration. @throws {GatewayError} as for the API */
export async function checkBootstrapRules(
  parts: Pick<ManagementParts, 'contentFilters'>,
  name: string,
  rules: Record<string, unknown>,
): Promise<UpdateGuardrailBody> {
  const body = checkUpdateGuardrail({ ...rules, name });
  rejectUnsupportedFields(body);
  await rejectBadFilters(parts, body);
  rejectHalfLimit(readGuardrailSettings(body, createEmptyGuardrail({ id: '', workspaceId: '', name, createdAtMs: 0 })));
  return body;
}

/** Creates or updates a guardrail of the configuration and its assignments. Idempotent. @throws the store's error */
export async function saveBootstrapGuardrail(parts: ManagementParts, guardrail: BootstrapGuardrail): Promise<void> {
  const { name, workspaceId, isDefault, body } = guardrail;
  const id = isDefault ? defaultGuardrailId(workspaceId) : deriveUuid('bootstrap guardrail', workspaceId, name);
  const before = await parts.management.findGuardrail(id);
  const { assignments } = await parts.access.listAppliedGuardrails();
  const empty = createEmptyGuardrail({ id, workspaceId, name, createdAtMs: before?.createdAtMs ?? parts.now() });
  const after: GuardrailRecord = { ...readGuardrailSettings(body, empty), updatedAtMs: before?.updatedAtMs ?? null };
  const holders = (kind: GuardrailAssignee['kind']): string[] =>
    assignments.filter((each) => each.kind === kind && each.guardrailId === id).map(({ holder }) => holder);
  const changes = (['key', 'member'] as const).map((kind) => {
    const wanted = (kind === 'key' ? guardrail.keys : guardrail.members) ?? holders(kind);
    return {
      kind,
      added: wanted.filter((holder) => !holders(kind).includes(holder)),
      removed: holders(kind).filter((holder) => !wanted.includes(holder)),
    };
  });
  const isSame = before !== undefined && isDeepStrictEqual(before, after);
  if (isSame && changes.every(({ added, removed }) => added.length + removed.length === 0)) return;
  await applyChange(parts, { keyHash: null }, async (edit) => {
    if (!isSame) {
      const saved = before ? { ...after, updatedAtMs: edit.nowMs } : after;
      const fields = listChanges(before && writeGuardrailSettings(before), writeGuardrailSettings(saved));
      await storeGuardrail(edit, before ? 'guardrail.update' : 'guardrail.create', saved, fields);
    }
    for (const { kind, added, removed } of changes) {
      for (const holder of added) await assignGuardrailTo(edit, { kind, holder }, after);
      for (const holder of removed) await unassignGuardrailFrom(edit, { kind, holder }, after);
    }
  });
}
