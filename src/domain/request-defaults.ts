/** By what endpoints may be sorted. @see docs/reference/routing.md#provider-preferences */
export const sortKeys = ['price', 'throughput', 'latency', 'exacto'] as const;
export type SortKey = (typeof sortKeys)[number];

/** What a workspace says in place of a request that does not say it. */
export interface RequestDefaults {
  /** Slugs, with suffixes or those of routers and aliases, too. Nobody has looked whether there are such models. */
  textModel: string | undefined;
  imageModel: string | undefined;
  providerSort: SortKey | undefined;
}

/** The setting of a workspace that named a model in place of the request. */
export type ModelDefault = 'default_text_model' | 'default_image_model';
