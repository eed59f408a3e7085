import { type GuardrailRules, type ModelGroup, modelGroups } from '../../domain/guardrail.ts';
import { deriveUuid } from '../../domain/ids.ts';
import { nanoUsdOf, usdOf } from '../../metering/cost.ts';
import type { GuardrailRecord, ListedAssignment } from '../../platform/storage/ports/guardrails.ts';
import { writeNullableTime, writeTime } from '../write-time.ts';
import type { GuardrailSettingsBody } from './schema.ts';

/** `Guardrail` of the interface. @see docs/reference/management.md#guardrails */
export function writeGuardrail(guardrail: GuardrailRecord): Record<string, unknown> {
  return {
    id: guardrail.id,
    workspace_id: guardrail.workspaceId,
    ...writeGuardrailSettings(guardrail),
    allowed_data_regions: null,
    content_filters: null,
    content_filter_builtins: null,
    created_at: writeTime(guardrail.createdAtMs),
    updated_at: writeNullableTime(guardrail.updatedAtMs),
  };
}

/** What can be said of a guardrail, as it is written into the audit log, too. */
export function writeGuardrailSettings(guardrail: GuardrailRecord): Record<string, unknown> {
  const { name, description, rules, limitNanoUsd, resetInterval, includeByokInBudgets } = guardrail;
  const { zeroRetention } = rules;
  const [first] = modelGroups;
  const isCommon = modelGroups.every((group) => zeroRetention[group] === zeroRetention[first]);
  return {
    name,
    description,
    limit_usd: limitNanoUsd === null ? null : usdOf(limitNanoUsd),
    reset_interval: resetInterval,
    include_byok_in_budgets: includeByokInBudgets,
    allowed_models: rules.allowedModels,
    ignored_models: rules.ignoredModels,
    allowed_providers: rules.allowedProviders,
    ignored_providers: rules.ignoredProviders,
    enforce_zdr: isCommon ? zeroRetention[first] : null,
    ...Object.fromEntries(modelGroups.map((group) => [`enforce_zdr_${group}`, zeroRetention[group]])),
    enable_paid_model_training: rules.paidTraining,
    enable_free_model_training: rules.freeTraining,
    enable_free_model_publication: rules.freePublication,
  };
}

/** The guardrail with what a checked body says of it; what it leaves out stays. */
export function readGuardrailSettings(body: GuardrailSettingsBody, before: GuardrailRecord): GuardrailRecord {
  const said = <Value>(value: Value | undefined, otherwise: Value): Value => (value === undefined ? otherwise : value);
  const { rules } = before;
  const { zeroRetention } = rules;
  const after: GuardrailRules = {
    allowedModels: said(body.allowed_models, rules.allowedModels),
    ignoredModels: said(body.ignored_models, rules.ignoredModels),
    allowedProviders: said(body.allowed_providers, rules.allowedProviders),
    ignoredProviders: said(body.ignored_providers, rules.ignoredProviders),
    zeroRetention: Object.fromEntries(
      modelGroups.map((group) => [
        group,
        said(said(body[`enforce_zdr_${group}`], body.enforce_zdr), zeroRetention[group]),
      ]),
    ) as Record<ModelGroup, boolean | null>,
    paidTraining: said(body.enable_paid_model_training, rules.paidTraining),
    freeTraining: said(body.enable_free_model_training, rules.freeTraining),
    freePublication: said(body.enable_free_model_publication, rules.freePublication),
  };
  return {
    ...before,
    name: body.name ?? before.name,
    description: said(body.description, before.description),
    rules: after,
    limitNanoUsd: body.limit_usd == null ? said(body.limit_usd, before.limitNanoUsd) : nanoUsdOf(body.limit_usd),
    resetInterval: said(body.reset_interval, before.resetInterval),
    includeByokInBudgets: body.include_byok_in_budgets ?? before.includeByokInBudgets,
  };
}

/** `KeyAssignment` of the interface. */
export const writeKeyAssignment = (assignment: ListedAssignment): Record<string, unknown> => ({
  ...writeAssignment(assignment),
  key_hash: assignment.holder,
  key_name: assignment.keyName ?? '',
  key_label: assignment.keyLabel ?? '',
});

/** `MemberAssignment` of the interface; there is one organization, and it has no other id. */
export const writeMemberAssignment = (assignment: ListedAssignment): Record<string, unknown> => ({
  ...writeAssignment(assignment),
  user_id: assignment.holder,
  organization_id: 'default',
});

const writeAssignment = ({ kind, holder, guardrailId, createdAtMs }: ListedAssignment) => ({
  id: deriveUuid('assignment', kind, holder, guardrailId),
  guardrail_id: guardrailId,
  assigned_by: null, // a management key, which is nobody
  created_at: writeTime(createdAtMs),
});
