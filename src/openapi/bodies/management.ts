import { Type } from 'typebox';
import { nullable } from '../../schema/shapes.ts';
import { named } from '../schema-writer.ts';
import {
  anything,
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
  rateLimitAmounts,
  text,
  textOrNull,
  time,
  timeOrNull,
} from './shapes.ts';

const keyAmounts = {
  limit_remaining: numberOrNull,
  usage: number,
  usage_daily: number,
  usage_weekly: number,
  usage_monthly: number,
  byok_usage: number,
  byok_usage_daily: number,
  byok_usage_weekly: number,
  byok_usage_monthly: number,
};

/** @see docs/reference/management.md#keys */
const key = named(
  'Key',
  Type.Object({
    hash: text,
    id: number,
    label: text,
    name: text,
    workspace_id: text,
    disabled: flag,
    limit: numberOrNull,
    limit_reset: interval,
    include_byok_in_limit: flag,
    ...rateLimitAmounts,
    expires_at: timeOrNull,
    creator_user_id: textOrNull,
    external_user: textOrNull,
    ...keyAmounts,
    created_at: time,
    updated_at: timeOrNull,
  }),
);

export const oneKey = inData(key);
export const keyList = inData(Type.Array(key));
export const createdKey = inData(key, { key: Type.String({ description: 'The key. It is shown only once.' }) });
export const rotatedKey = inData(key, { key: text, previous: key });

export const currentKey = inData(
  named(
    'CurrentKey',
    Type.Object({
      label: text,
      limit: numberOrNull,
      limit_reset: interval,
      include_byok_in_limit: flag,
      creator_user_id: textOrNull,
      expires_at: timeOrNull,
      ...keyAmounts,
      ...rateLimitAmounts,
      is_free_tier: flag,
      is_management_key: flag,
      is_provisioning_key: flag,
      organization_id: Type.Null(),
      workspace_id: textOrNull,
      rate_limit: Type.Object({ requests: number, interval: text, note: text }),
      allowed_data_regions: Type.Array(text),
      free_model_daily_requests: Type.Object({ used: number, limit: number, remaining: number }),
    }),
  ),
);

/** @see docs/reference/management.md#workspaces */
const workspace = named(
  'Workspace',
  Type.Object({
    id: text,
    name: text,
    slug: text,
    description: textOrNull,
    default_text_model: textOrNull,
    default_image_model: textOrNull,
    default_provider_sort: textOrNull,
    default_plugins: nullable(Type.Array(openObject)),
    disabled_server_tools: nullable(Type.Array(text)),
    is_observability_io_logging_enabled: flag,
    is_observability_broadcast_enabled: flag,
    is_data_discount_logging_enabled: flag,
    io_logging_sampling_rate: number,
    io_logging_api_key_ids: nullable(Type.Array(number)),
    include_byok_in_budgets: flag,
    ...rateLimitAmounts,
    default_guardrail_id: text,
    created_at: time,
    created_by: Type.Null(),
    updated_at: timeOrNull,
  }),
);

const warnings = { warnings: Type.Optional(Type.Array(anything)) };
export const oneWorkspace = inData(workspace);
export const savedWorkspace = inData(workspace, warnings);
export const workspaceList = listOf(workspace);

const budget = named(
  'Budget',
  Type.Object({
    id: text,
    workspace_id: text,
    limit_usd: number,
    reset_interval: interval,
    ...limitUsage,
    created_at: time,
    updated_at: time,
  }),
);
export const oneBudget = inData(budget, { include_byok_in_budgets: flag });
export const budgetList = inData(Type.Array(budget), { include_byok_in_budgets: flag });

const workspaceMember = named(
  'WorkspaceMember',
  Type.Object({ id: text, workspace_id: text, user_id: text, role: text, created_at: time }),
);
export const workspaceMemberList = listOf(workspaceMember);
export const addedMembers = inData(Type.Array(workspaceMember), { added_count: count });
export const removedMembers = Type.Object({ removed_count: count });

const member = named('Member', Type.Object({ id: text, ...rateLimitAmounts, created_at: time }));
export const oneMember = inData(member);
export const memberList = listOf(member);

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

const version = named(
  'PresetVersion',
  Type.Object({
    id: text,
    preset_id: text,
    version: number,
    config: openObject,
    system_prompt: textOrNull,
    creator_id: textOrNull,
    created_at: time,
    updated_at: time,
  }),
);

const presetFields = {
  id: text,
  slug: text,
  name: text,
  description: textOrNull,
  status: text,
  status_updated_at: timeOrNull,
  designated_version_id: textOrNull,
  creator_user_id: textOrNull,
  workspace_id: text,
  created_at: time,
  updated_at: time,
};
const foundPreset = named('PresetWithVersion', Type.Object({ ...presetFields, designated_version: version }));

/** @see docs/reference/presets.md */
export const presetList = listOf(named('Preset', Type.Object(presetFields)));
export const onePreset = inData(foundPreset);
export const presetFromRequest = inData(foundPreset, { ignored_fields: Type.Optional(Type.Array(text)) });
export const presetVersionList = listOf(version);
export const onePresetVersion = inData(version);
