/** Ways to sort the list of models. Popularity across models is not recorded, so `most-popular` is `newest`. */
export const modelSorts = [
  'newest',
  'most-popular',
  'pricing-low-to-high',
  'pricing-high-to-low',
  'context-high-to-low',
  'throughput-high-to-low',
  'latency-low-to-high',
] as const;
export type ModelSort = (typeof modelSorts)[number];
