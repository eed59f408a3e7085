/** The keys by which endpoints may be sorted. @see docs/reference/routing.md#provider-preferences */
export const sortKeys = ['price', 'throughput', 'latency', 'exacto'] as const;
export type SortKey = (typeof sortKeys)[number];

/** Values of a workspace for fields that a request does not have. */
export interface RequestDefaults {
  /** Slugs, including suffixes, routers and aliases. It is not checked that the models exist. */
  textModel: string | undefined;
  imageModel: string | undefined;
  providerSort: SortKey | undefined;
}

/** The workspace setting that named a model for the request. */
export type ModelDefault = 'default_text_model' | 'default_image_model';
