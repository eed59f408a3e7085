import type { EndpointFacts, Model } from './endpoint.ts';
import { deriveUuid } from './ids.ts';

/** Who made a model; what is asked of retention is asked of each of them. */
export const modelGroups = ['anthropic', 'openai', 'google', 'xai', 'other'] as const;
export type ModelGroup = (typeof modelGroups)[number];

/** What a guardrail says of models, providers and what they do with data. Null: nothing. */
export interface GuardrailRules {
  /** Slugs, or patterns with `*`. At least one. */
  allowedModels: readonly string[] | null;
  ignoredModels: readonly string[] | null;
  /** Ids, tags or display names. At least one. */
  allowedProviders: readonly string[] | null;
  ignoredProviders: readonly string[] | null;
  /** True: only endpoints that keep nothing may serve models of the group. */
  zeroRetention: Readonly<Record<ModelGroup, boolean | null>>;
  /** False: endpoints that learn from what they are sent, or publish it, may not be used. */
  paidTraining: boolean | null;
  freeTraining: boolean | null;
  freePublication: boolean | null;
}

/** A guardrail that says nothing. */
export const noRules: Readonly<GuardrailRules> = {
  allowedModels: null,
  ignoredModels: null,
  allowedProviders: null,
  ignoredProviders: null,
  zeroRetention: { anthropic: null, openai: null, google: null, xai: null, other: null },
  paidTraining: null,
  freeTraining: null,
  freePublication: null,
};

/** The guardrail that holds for all keys of a workspace, whether it was ever written or not. */
export const defaultGuardrailId = (workspaceId: string): string => deriveUuid('guardrail', workspaceId);

/** What it is called until somebody names it. @see docs/guides/guardrails.md#rules */
export const defaultGuardrailName = (workspaceId: string): string => `Workspace ${workspaceId} Default`;

/** A guardrail in the words of a refusal, after "the": nobody knows a workspace by its id. */
export const titleOf = (guardrail: { name: string; workspaceId: string; workspaceName: string }): string =>
  guardrail.name === defaultGuardrailName(guardrail.workspaceId)
    ? `default guardrail of the workspace ${guardrail.workspaceName}`
    : `guardrail ${guardrail.name}`;

/** A guardrail made ready, in memory. */
export interface Guardrail {
  /**
   * Why an endpoint may not be used; undefined: as far as this guardrail goes, it may.
   *
   * @param catalog the one that the endpoint is of
   */
  exclude(
    endpoint: EndpointFacts,
    catalog: { findModel(slug: string): Model | undefined },
  ): { code: string; reason: string } | undefined;
}
