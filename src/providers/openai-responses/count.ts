import { createTokenCount } from '../kit/count-call.ts';

/** `POST /responses/input_tokens` of a provider. Source: developers.openai.com/api/docs/guides/token-counting */
export const responsesCount = createTokenCount('input_tokens', [
  'model',
  'input',
  'instructions',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'truncation',
]);
