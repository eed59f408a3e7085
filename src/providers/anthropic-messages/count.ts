import { createTokenCount } from '../kit/count-call.ts';

/** `POST /messages/count_tokens` of a provider. */
export const messagesCount = createTokenCount('count_tokens', [
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
