import { Type } from 'typebox';
import { nullable } from '../../schema/shapes.ts';
import { named } from '../../openapi/schema-writer.ts';
import {
  count,
  flag,
  flagOrNull,
  inData,
  interval,
  limitUsage,
  listOf,
  number,
  numberOrNull,
  openObject,
  text,
  textOrNull,
  time,
  timeOrNull,
  warnings,
} from '../../openapi/shapes.ts';

const names = nullable(Type.Array(text));

/** @see docs/reference/management.md#guardrails */
const guardrail = named(
  'Guardrail',
  Type.Object({
    id: text,
    workspace_id: text,
    name: text,
    description: textOrNull,
    limit_usd: numberOrNull,
    reset_interval: interval,
    include_byok_in_budgets: flag,
    allowed_models: names,
    ignored_models: names,
    allowed_providers: names,
    ignored_providers: names,
    allowed_data_regions: Type.Null(),
    enforce_zdr: flagOrNull,
    enforce_zdr_anthropic: flagOrNull,
    enforce_zdr_openai: flagOrNull,
    enforce_zdr_google: flagOrNull,
    enforce_zdr_xai: flagOrNull,
    enforce_zdr_other: flagOrNull,
    enable_paid_model_training: flagOrNull,
    enable_free_model_training: flagOrNull,
    enable_free_model_publication: flagOrNull,
    content_filter_builtins: nullable(Type.Array(openObject)),
    content_filters: nullable(Type.Array(openObject)),
    created_at: time,
    updated_at: timeOrNull,
  }),
);
export const oneGuardrail = inData(guardrail);
export const savedGuardrail = inData(guardrail, warnings);
export const guardrailList = listOf(guardrail);

export const guardrailTest = inData(
  named(
    'GuardrailTest',
    Type.Object({
      action: text,
      text: textOrNull,
      error: nullable(openObject),
      findings: Type.Array(openObject),
      skipped: textOrNull,
    }),
  ),
);

export const guardrailBudgetList = listOf(
  named(
    'GuardrailBudget',
    Type.Object({
      key_hash: textOrNull,
      key_name: textOrNull,
      key_label: textOrNull,
      user_id: textOrNull,
      limit_usd: number,
      reset_interval: interval,
      ...limitUsage,
    }),
  ),
  { include_byok_in_budgets: flag },
);

const assignment = { id: text, guardrail_id: text, assigned_by: Type.Null(), created_at: time };
export const keyAssignmentList = listOf(
  named('KeyAssignment', Type.Object({ ...assignment, key_hash: text, key_name: text, key_label: text })),
);
export const memberAssignmentList = listOf(
  named('MemberAssignment', Type.Object({ ...assignment, user_id: text, organization_id: text })),
);
export const assigned = Type.Object({ assigned_count: count });
export const unassigned = Type.Object({ unassigned_count: count });
