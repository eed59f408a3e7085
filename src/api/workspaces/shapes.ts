import { Type } from 'typebox';
import { nullable } from '../../schema/shapes.ts';
import { named } from '../../openapi/schema-writer.ts';
import {
  count,
  flag,
  inData,
  interval,
  limitUsage,
  listOf,
  number,
  openObject,
  rateLimitAmounts,
  text,
  textOrNull,
  time,
  timeOrNull,
  warnings,
} from '../../openapi/shapes.ts';

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
    ledger_retention_days: nullable(Type.Number()),
    ...rateLimitAmounts,
    default_guardrail_id: text,
    created_at: time,
    created_by: Type.Null(),
    updated_at: timeOrNull,
  }),
);

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
