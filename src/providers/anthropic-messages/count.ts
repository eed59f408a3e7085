import type { TokenCount } from '../text-wire.ts';

/** The fields of a request that the call accepts. It rejects every other field. */
const counted = new Set([
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'cache_control',
  'context_management',
  'mcp_servers',
]);

/** `POST /messages/count_tokens` of a provider. */
export const messagesCount: TokenCount = {
  writeRequest: ({ path, body }) => ({
    path: `${path}/count_tokens`,
    body: Object.fromEntries(Object.entries(body as object).filter(([name]) => counted.has(name))),
  }),
  read(body) {
    const tokens = (body as { input_tokens?: unknown } | null)?.input_tokens;
    return Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? (tokens as number) : undefined;
  },
};
