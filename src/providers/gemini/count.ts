import type { TokenCount } from '../text-wire.ts';

/**
 * `countTokens` of a provider, with the whole request.
 *
 * @see https://ai.google.dev/api/tokens
 */
export const contentCount: TokenCount = {
  writeRequest({ path, body }) {
    const model = path.slice(1).replace(/:\w+(?:\?.*)?$/, '');
    return { path: `/${model}:countTokens`, body: { generateContentRequest: { model, ...(body as object) } } };
  },
  read(body) {
    const tokens = (body as { totalTokens?: unknown } | null)?.totalTokens;
    return Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? (tokens as number) : undefined;
  },
};
