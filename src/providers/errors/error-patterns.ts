import patterns from './error-patterns.json' with { type: 'json' };

/** What an error means for the caller, for the next attempt and for the operator. */
export const errorMeanings = {
  account: 'The account is empty, locked or not permitted. Another key or provider is tried. Waiting does not help.',
  rate: 'A rate limit was reached. Another endpoint is tried, then the same one after the wait.',
  context: 'The input does not fit into the context. Another model is tried.',
  content: 'The provider refuses the content. Another model is tried.',
  model: 'The provider does not have the model. Another endpoint is tried.',
  key: 'The key is wrong. Another key or endpoint is tried.',
  region: 'The provider does not serve the country of the gateway. Another endpoint is tried.',
  path: 'The path is wrong, and the operator corrects the address. Another endpoint is tried.',
  overloaded: 'The provider has no capacity. Another endpoint is tried, then the same one.',
  timeout: 'The provider was too slow. Another endpoint is tried, then the same one.',
  retry: 'A second attempt may succeed, whatever the status says.',
  failed: 'The provider failed. Another endpoint is tried.',
  too_large: 'The server takes no request of this size. Another model is tried.',
  rejected: 'The provider refuses the request. Another model is tried.',
  unprocessable: 'The request contradicts itself. Another model is tried.',
} as const;

export type ErrorMeaning = keyof typeof errorMeanings;

/** How an error is recognized. All conditions that a pattern names must hold, except that code or words suffice. */
export interface ErrorPattern {
  id: string;
  means: ErrorMeaning;
  /** Statuses, if the meaning depends on them. */
  status: readonly number[] | undefined;
  /** Matches code, type and reasons of the error in lower case, with spaces between them. */
  code: RegExp | undefined;
  /** Matches the message in any case. The groups `input` and `max` are numbers of tokens. */
  words: RegExp | undefined;
}

interface WrittenPattern {
  id: string;
  means: string;
  status?: number[];
  code?: string;
  words?: string;
}

/** The patterns of errors. The first one that matches decides. */
export const errorPatterns: readonly ErrorPattern[] = (patterns as WrittenPattern[]).map(
  ({ id, means, status, code, words }) => ({
    id,
    means: means as ErrorMeaning, // checked by a test
    status,
    code: code === undefined ? undefined : new RegExp(code),
    words: words === undefined ? undefined : new RegExp(words, 'i'),
  }),
);
