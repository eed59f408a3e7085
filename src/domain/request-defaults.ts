import type { PluginSetting } from './request.ts';

/** The keys by which endpoints may be sorted. @see docs/reference/routing.md#provider-preferences */
export const sortKeys = ['price', 'throughput', 'latency', 'exacto'] as const;
export type SortKey = (typeof sortKeys)[number];

/** Values of a workspace for fields that a request does not have. */
export interface RequestDefaults {
  /** Slugs, including suffixes, routers and aliases. It is not checked that the models exist. */
  textModel: string | undefined;
  imageModel: string | undefined;
  providerSort: SortKey | undefined;
  /** Undefined: none are saved. */
  plugins?: readonly SavedPlugin[] | undefined;
  /** Types of server tools that its requests must not use. Undefined: they may use all. */
  disabledTools?: readonly string[] | undefined;
}

/** The setting of a plugin that applies to all requests of a workspace. */
export interface SavedPlugin extends PluginSetting {
  /** Whether a request can neither change it nor turn it off. */
  prevent_overrides?: boolean;
}

/** The workspace setting that named a model for the request. */
export type ModelDefault = 'default_text_model' | 'default_image_model';
