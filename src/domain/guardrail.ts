import type { BuiltinFilter, CustomFilter } from './content-filter.ts';
import type { EndpointFacts, Model } from './endpoint.ts';
import { deriveUuid } from './ids.ts';

/** Authors of models. Retention rules apply to each group separately. */
export const modelGroups = ['anthropic', 'openai', 'google', 'xai', 'other'] as const;
export type ModelGroup = (typeof modelGroups)[number];

/** The rules of a guardrail for models, providers, data policies and contents. Null: no rule. */
export interface GuardrailRules {
  /** Slugs, or patterns with `*`. At least one. */
  allowedModels: readonly string[] | null;
  ignoredModels: readonly string[] | null;
  /** Ids, tags or display names. At least one. */
  allowedProviders: readonly string[] | null;
  ignoredProviders: readonly string[] | null;
  /** True: only endpoints that keep no data may serve models of the group. */
  zeroRetention: Readonly<Record<ModelGroup, boolean | null>>;
  /** False: endpoints that train on their input, or publish it, are forbidden. */
  paidTraining: boolean | null;
  freeTraining: boolean | null;
  freePublication: boolean | null;
  builtinFilters: readonly BuiltinFilter[] | null;
  customFilters: readonly CustomFilter[] | null;
}

/** A guardrail without rules. */
export const noRules: Readonly<GuardrailRules> = {
  allowedModels: null,
  ignoredModels: null,
  allowedProviders: null,
  ignoredProviders: null,
  zeroRetention: { anthropic: null, openai: null, google: null, xai: null, other: null },
  paidTraining: null,
  freeTraining: null,
  freePublication: null,
  builtinFilters: null,
  customFilters: null,
};

/** The guardrail of all keys of a workspace. It has an id even if it is not stored. */
export const defaultGuardrailId = (workspaceId: string): string => deriveUuid('guardrail', workspaceId);

/** Its name until one is set. @see docs/guides/guardrails.md#rules */
export const defaultGuardrailName = (workspaceId: string): string => `Workspace ${workspaceId} Default`;

/**
 * Describes a guardrail in an error message, after "the". It names the workspace, because callers do not know its id.
 */
export const titleOf = (guardrail: { name: string; workspaceId: string; workspaceName: string }): string =>
  guardrail.name === defaultGuardrailName(guardrail.workspaceId)
    ? `default guardrail of the workspace ${guardrail.workspaceName}`
    : `guardrail ${guardrail.name}`;

/** A compiled guardrail, in memory. */
export interface Guardrail {
  /**
   * Returns why an endpoint is forbidden. Undefined: this guardrail permits it.
   *
   * @param catalog the catalog of the endpoint
   */
  exclude(
    endpoint: EndpointFacts,
    catalog: { findModel(slug: string): Model | undefined },
  ): { code: string; reason: string } | undefined;
}
