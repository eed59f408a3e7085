import { defaultGuardrailId } from '../../domain/guardrail.ts';
import { deriveUuid } from '../../domain/ids.ts';
import { usdOf } from '../../metering/cost.ts';
import type { LimitUsage } from '../../metering/read-limit-usage.ts';
import type { BudgetRecord } from '../../platform/storage/ports/budgets.ts';
import type { WorkspaceMemberRecord } from '../../platform/storage/ports/members.ts';
import type { WorkspaceDetails, WorkspaceSettings } from '../../platform/storage/ports/workspaces.ts';
import { readRateLimits, writeRateLimits } from '../rate-limit-fields.ts';
import { writeNullableTime, writeTime } from '../write-time.ts';
import { writeLimitUsage } from '../write-limit-usage.ts';
import type { UpdateWorkspaceBody } from './schema.ts';

/** `Workspace` of the interface. @see docs/reference/management.md#workspaces */
export function writeWorkspace(workspace: WorkspaceDetails): Record<string, unknown> {
  return {
    id: workspace.id,
    ...writeWorkspaceSettings(workspace),
    default_guardrail_id: defaultGuardrailId(workspace.id),
    created_at: writeTime(workspace.createdAtMs),
    created_by: null, // a management key, which is nobody
    updated_at: writeNullableTime(workspace.updatedAtMs),
  };
}

/** What can be said of a workspace, as it is written into the audit log, too. */
export function writeWorkspaceSettings({ name, slug, settings }: WorkspaceDetails): Record<string, unknown> {
  return {
    name,
    slug,
    description: settings.description,
    default_text_model: settings.defaultTextModel,
    default_image_model: settings.defaultImageModel,
    default_provider_sort: settings.defaultProviderSort,
    is_observability_io_logging_enabled: settings.ioLogging,
    is_observability_broadcast_enabled: settings.broadcast,
    is_data_discount_logging_enabled: settings.dataDiscountLogging,
    io_logging_sampling_rate: settings.ioLoggingSamplingRate,
    io_logging_api_key_ids: settings.ioLoggingApiKeyIds,
    include_byok_in_budgets: settings.includeByokInBudgets,
    ...writeRateLimits(settings.rateLimits),
  };
}

/** The settings with what a checked body says of them; what it leaves out stays. */
export function readWorkspaceSettings(
  body: UpdateWorkspaceBody,
  before: Readonly<WorkspaceSettings>,
): WorkspaceSettings {
  const said = <Value>(value: Value | undefined, otherwise: Value): Value => (value === undefined ? otherwise : value);
  return {
    description: said(body.description, before.description),
    defaultTextModel: said(body.default_text_model, before.defaultTextModel),
    defaultImageModel: said(body.default_image_model, before.defaultImageModel),
    defaultProviderSort: said(body.default_provider_sort, before.defaultProviderSort),
    ioLogging: said(body.is_observability_io_logging_enabled, before.ioLogging),
    broadcast: said(body.is_observability_broadcast_enabled, before.broadcast),
    dataDiscountLogging: said(body.is_data_discount_logging_enabled, before.dataDiscountLogging),
    ioLoggingSamplingRate: said(body.io_logging_sampling_rate, before.ioLoggingSamplingRate),
    ioLoggingApiKeyIds: said(body.io_logging_api_key_ids, before.ioLoggingApiKeyIds),
    includeByokInBudgets: before.includeByokInBudgets,
    rateLimits: readRateLimits(body, before.rateLimits),
  };
}

/** `WorkspaceBudget` of the interface, with what is spent of it. */
export const writeBudget = (budget: BudgetRecord, usage: LimitUsage): Record<string, unknown> => ({
  id: budget.id,
  workspace_id: budget.workspaceId,
  limit_usd: usdOf(budget.limitNanoUsd),
  reset_interval: budget.interval === 'lifetime' ? null : budget.interval,
  ...writeLimitUsage(usage),
  created_at: writeTime(budget.createdAtMs),
  updated_at: writeTime(budget.updatedAtMs),
});

/** `WorkspaceMember` of the interface. */
export const writeWorkspaceMember = ({ workspaceId, memberId, role, createdAtMs }: WorkspaceMemberRecord) => ({
  id: deriveUuid('membership', workspaceId, memberId),
  workspace_id: workspaceId,
  user_id: memberId,
  role,
  created_at: writeTime(createdAtMs),
});
