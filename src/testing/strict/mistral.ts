import { answerChat, type ChatCheck, type StrictChatBody, textOf } from './chat.ts';
import type { Refusal, StrictProvider } from './strict-provider.ts';

const refuse = (message: string, code = 'invalid_request_error', status = 400): Refusal => ({
  status,
  body: { object: 'error', message, type: code, param: null, code: '3000' },
});

/** The fields of the request; others are refused as extra inputs. Source: docs.mistral.ai/api */
const known = new Set([
  ...['model', 'messages', 'temperature', 'top_p', 'max_tokens', 'stream', 'stop', 'random_seed', 'response_format'],
  ...['tools', 'tool_choice', 'presence_penalty', 'frequency_penalty', 'n', 'prediction', 'parallel_tool_calls'],
  ...['prompt_mode', 'safe_prompt', 'reasoning_effort', 'metadata', 'guardrails'],
]);

/** Source: langchain-ai/langchain-azure#82, Gitlawb/openclaude#739 */
const checkFields: ChatCheck = (body) => {
  const extra = Object.keys(body).find((name) => !known.has(name));
  if (extra === undefined) return undefined;
  const detail = [{ type: 'extra_forbidden', loc: ['body', extra], msg: 'Extra inputs are not permitted' }];
  return { status: 422, body: { object: 'error', message: { detail }, type: 'invalid_request_error', code: '1800' } };
};

/** Source: anomalyco/opencode#1680 */
const checkIds: ChatCheck = ({ messages }) => {
  const ids = messages.flatMap(({ tool_calls: calls, tool_call_id: id }) => [
    ...(calls ?? []).map((call) => call.id),
    ...(id === undefined ? [] : [id]),
  ]);
  const wrong = ids.find((id) => !/^[A-Za-z0-9]{9}$/.test(id));
  return wrong === undefined
    ? undefined
    : refuse(`Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`, 'invalid_function_call');
};

/**
 * Sources: mistralai/mistral-common#169 (no user after a result), 0xPlaygrounds/rig#1130 (prefix),
 * OpenHands/OpenHands#8685 and github/copilot-cli#4884 (content or calls), ericc-ch/copilot-api#273 (the last role)
 */
const checkOrder: ChatCheck = ({ messages }) => {
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1];
    if (message.role === 'user' && before?.role === 'tool') {
      return refuse("Unexpected role 'user' after role 'tool'", 'invalid_request_message_order');
    }
    if (message.role !== 'assistant') continue;
    const hasText = textOf(message) !== '';
    const hasCalls = (message.tool_calls?.length ?? 0) > 0;
    if (!hasText && !hasCalls) return refuse('Assistant message must have either content or tool_calls, but not none.');
    if (hasText && hasCalls) return refuse('Assistant message must have either content or tool_calls, but not both.');
  }
  const last = messages.at(-1);
  if (last?.role === 'user' || last?.role === 'tool') return undefined;
  if (last?.role === 'assistant' && last.prefix === true) return undefined;
  return refuse(
    `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${last?.role}`,
    'invalid_request_message_order',
  );
};

/** Source: partITech/php-mistral#76 */
const checkTools: ChatCheck = ({ tools }) =>
  tools?.length === 0 ? refuse('Tools list must not be empty.') : undefined;

export const mistral: StrictProvider<StrictChatBody> = {
  id: 'mistral',
  wire: 'openai-chat',
  model: 'mistral-large-latest',
  checks: [checkFields, checkIds, checkOrder, checkTools],
  callId: (index) => `mis${String(index).padStart(6, '0')}`,
  answer: answerChat,
};
