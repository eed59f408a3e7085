import type { TokenCount } from '../text-wire.ts';

/**
 * Describes a call below the path of the responses, which takes some fields of their body and returns `input_tokens`.
 *
 * @param name of the last part of the path
 * @param fields that the call accepts. It rejects every other field
 */
export function createTokenCount(name: string, fields: readonly string[]): TokenCount {
  const counted = new Set(fields);
  return {
    writeRequest: ({ path, body }) => ({
      path: `${path}/${name}`,
      body: Object.fromEntries(Object.entries(body as object).filter(([field]) => counted.has(field))),
    }),
    read(body) {
      const tokens = (body as { input_tokens?: unknown } | null)?.input_tokens;
      return Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? (tokens as number) : undefined;
    },
  };
}
