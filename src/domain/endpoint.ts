/** USD per unit as integer nano-dollars per million units: 0.00000025 USD a token is 250_000_000. */
export interface Pricing {
  promptNanoUsdPerMillion: number;
  completionNanoUsdPerMillion: number;
  /** Absent: cached input costs what other input costs. */
  cacheReadNanoUsdPerMillion?: number;
  cacheWriteNanoUsdPerMillion?: number;
  /** Nano-dollars per request. */
  requestNanoUsd?: number;
}

/** What an endpoint can do; undefined means that nobody said. */
export interface Capabilities {
  tools?: boolean;
  structuredOutputs?: boolean;
  reasoning?: boolean;
  input?: readonly string[];
  output?: readonly string[];
}
