import {
  type BuiltinFilter,
  type CustomFilter,
  type FilterSide,
  filterSides,
  INJECTION_SLUG,
} from '../../domain/content-filter.ts';
import { type GuardrailRules, type ModelGroup, modelGroups } from '../../domain/guardrail.ts';
import { deriveUuid } from '../../domain/ids.ts';
import { builtinTexts } from '../../guardrails/builtin-filters.ts';
import { nanoUsdOf, usdOf } from '../../metering/cost.ts';
import type { GuardrailRecord, ListedAssignment } from '../../platform/storage/ports/guardrails.ts';
import { writeNullableTime, writeTime } from '../write-time.ts';
import type { GuardrailSettingsBody } from './schema.ts';

/** `Guardrail` of the interface. @see docs/reference/management.md#guardrails */
export function writeGuardrail(guardrail: GuardrailRecord) {
  return {
    id: guardrail.id,
    workspace_id: guardrail.workspaceId,
    ...writeGuardrailSettings(guardrail),
    allowed_data_regions: null,
    created_at: writeTime(guardrail.createdAtMs),
    updated_at: writeNullableTime(guardrail.updatedAtMs),
  };
}

/** The settings of a guardrail, as the API and the audit log show them. */
export function writeGuardrailSettings(guardrail: GuardrailRecord) {
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
    content_filter_builtins: rules.builtinFilters?.map(writeBuiltinFilter) ?? null,
    content_filters: rules.customFilters?.map(writeCustomFilter) ?? null,
  };
}

/** Returns the guardrail after a checked body: a field that is absent keeps its value. */
export function readGuardrailSettings(body: GuardrailSettingsBody, before: GuardrailRecord): GuardrailRecord {
  const choose = <Value>(value: Value | undefined, old: Value): Value => (value === undefined ? old : value);
  const { rules } = before;
  const { zeroRetention } = rules;
  const after: GuardrailRules = {
    allowedModels: choose(body.allowed_models, rules.allowedModels),
    ignoredModels: choose(body.ignored_models, rules.ignoredModels),
    allowedProviders: choose(body.allowed_providers, rules.allowedProviders),
    ignoredProviders: choose(body.ignored_providers, rules.ignoredProviders),
    zeroRetention: Object.fromEntries(
      modelGroups.map((group) => [
        group,
        choose(choose(body[`enforce_zdr_${group}`], body.enforce_zdr), zeroRetention[group]),
      ]),
    ) as Record<ModelGroup, boolean | null>,
    paidTraining: choose(body.enable_paid_model_training, rules.paidTraining),
    freeTraining: choose(body.enable_free_model_training, rules.freeTraining),
    freePublication: choose(body.enable_free_model_publication, rules.freePublication),
    builtinFilters: choose(readList(body.content_filter_builtins, readBuiltinFilter), rules.builtinFilters),
    customFilters: choose(readList(body.content_filters, readCustomFilter), rules.customFilters),
  };
  return {
    ...before,
    name: body.name ?? before.name,
    description: choose(body.description, before.description),
    rules: after,
    limitNanoUsd: body.limit_usd == null ? choose(body.limit_usd, before.limitNanoUsd) : nanoUsdOf(body.limit_usd),
    resetInterval: choose(body.reset_interval, before.resetInterval),
    includeByokInBudgets: body.include_byok_in_budgets ?? before.includeByokInBudgets,
  };
}

const inputOnly: readonly FilterSide[] = ['input'];

const writeBuiltinFilter = ({ slug, action, scanScope, applyTo = inputOnly }: BuiltinFilter) => ({
  slug,
  action,
  label: builtinTexts[slug].label,
  ...(slug === INJECTION_SLUG && { scan_scope: scanScope ?? 'all_messages' }),
  apply_to: applyTo,
});

const writeCustomFilter = ({ pattern, action, label, applyTo = inputOnly }: CustomFilter) => ({
  pattern,
  action,
  label,
  apply_to: applyTo,
});

/** A label of the caller is ignored: each built-in filter has its own. */
const readBuiltinFilter = ({
  slug,
  action,
  scan_scope,
  apply_to,
}: NonNullable<GuardrailSettingsBody['content_filter_builtins']>[number]): BuiltinFilter => ({
  slug,
  action,
  ...(scan_scope !== undefined && { scanScope: scan_scope }),
  ...(apply_to !== undefined && { applyTo: sortSides(apply_to) }),
});

const readCustomFilter = ({
  pattern,
  action,
  label,
  apply_to,
}: NonNullable<GuardrailSettingsBody['content_filters']>[number]): CustomFilter => ({
  pattern,
  action,
  label: label ?? null,
  ...(apply_to !== undefined && { applyTo: sortSides(apply_to) }),
});

/** An empty list is null, and absent stays absent. */
const readList = <Body, Filter>(list: readonly Body[] | null | undefined, read: (each: Body) => Filter) =>
  list?.length === 0 ? null : (list?.map(read) ?? (list as null | undefined));

const sortSides = (sides: readonly FilterSide[]): FilterSide[] => filterSides.filter((side) => sides.includes(side));

/** `KeyAssignment` of the interface. */
export const writeKeyAssignment = (assignment: ListedAssignment) => ({
  ...writeAssignment(assignment),
  key_hash: assignment.holder,
  key_name: assignment.keyName ?? '',
  key_label: assignment.keyLabel ?? '',
});

/** `MemberAssignment` of the interface; there is one organization, and it has no other id. */
export const writeMemberAssignment = (assignment: ListedAssignment) => ({
  ...writeAssignment(assignment),
  user_id: assignment.holder,
  organization_id: 'default',
});

const writeAssignment = ({ kind, holder, guardrailId, createdAtMs }: ListedAssignment) => ({
  id: deriveUuid('assignment', kind, holder, guardrailId),
  guardrail_id: guardrailId,
  assigned_by: null, // a management key is not a member
  created_at: writeTime(createdAtMs),
});
