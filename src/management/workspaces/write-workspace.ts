import { defaultGuardrailId } from '../../domain/guardrail.ts';
import type { WorkspaceDetails, WorkspaceSettings } from '../../platform/storage/ports/workspaces.ts';
import { readRateLimits, writeRateLimits } from '../rate-limit-fields.ts';
import { writeNullableTime, writeTime } from '../write-time.ts';
import type { WorkspaceSettingsBody } from './schema.ts';

/** `Workspace` of the interface. @see docs/reference/management.md#workspaces */
export function writeWorkspace(workspace: WorkspaceDetails) {
  return {
    id: workspace.id,
    ...writeWorkspaceSettings(workspace),
    default_guardrail_id: defaultGuardrailId(workspace.id),
    created_at: writeTime(workspace.createdAtMs),
    created_by: null, // a management key is not a member
    updated_at: writeNullableTime(workspace.updatedAtMs),
  };
}

/** The settings of a workspace, as the API and the audit log show them. */
export function writeWorkspaceSettings({ name, slug, settings }: WorkspaceDetails) {
  return {
    name,
    slug,
    description: settings.description,
    default_text_model: settings.defaultTextModel,
    default_image_model: settings.defaultImageModel,
    default_provider_sort: settings.defaultProviderSort,
    default_plugins: settings.defaultPlugins,
    disabled_server_tools: settings.disabledServerTools,
    is_observability_io_logging_enabled: settings.ioLogging,
    is_observability_broadcast_enabled: settings.broadcast,
    is_data_discount_logging_enabled: settings.dataDiscountLogging,
    io_logging_sampling_rate: settings.ioLoggingSamplingRate,
    io_logging_api_key_ids: settings.ioLoggingApiKeyIds,
    include_byok_in_budgets: settings.includeByokInBudgets,
    ledger_retention_days: settings.ledgerRetentionDays,
    ...writeRateLimits(settings.rateLimits),
  };
}

/** Returns the settings after a checked body: a field that is absent keeps its value. */
export function readWorkspaceSettings(
  body: WorkspaceSettingsBody,
  before: Readonly<WorkspaceSettings>,
): WorkspaceSettings {
  const choose = <Value>(value: Value | undefined, old: Value): Value => (value === undefined ? old : value);
  return {
    description: choose(body.description, before.description),
    defaultTextModel: choose(body.default_text_model, before.defaultTextModel),
    defaultImageModel: choose(body.default_image_model, before.defaultImageModel),
    defaultProviderSort: choose(body.default_provider_sort, before.defaultProviderSort),
    defaultPlugins: choose(body.default_plugins, before.defaultPlugins),
    disabledServerTools: choose(body.disabled_server_tools, before.disabledServerTools),
    ioLogging: choose(body.is_observability_io_logging_enabled, before.ioLogging),
    broadcast: choose(body.is_observability_broadcast_enabled, before.broadcast),
    dataDiscountLogging: choose(body.is_data_discount_logging_enabled, before.dataDiscountLogging),
    ioLoggingSamplingRate: choose(body.io_logging_sampling_rate, before.ioLoggingSamplingRate),
    ioLoggingApiKeyIds: choose(body.io_logging_api_key_ids, before.ioLoggingApiKeyIds),
    includeByokInBudgets: before.includeByokInBudgets,
    ledgerRetentionDays: choose(body.ledger_retention_days, before.ledgerRetentionDays),
    rateLimits: readRateLimits(body, before.rateLimits),
  };
}
