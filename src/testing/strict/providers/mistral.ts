import { type ChatDescription, strictChat } from '../chat.ts';
import { envelopes, type SpokenWords } from '../words.ts';

const order = (message: string): SpokenWords => ({ message, type: 'invalid_request_message_order', code: '3230' });

/**
 * Sources: anomalyco/opencode#1680 (ids), mistralai/mistral-common#169 (user after a result), 0xPlaygrounds/rig#1130
 * (prefix), OpenHands/OpenHands#8685 and github/copilot-cli#4884 (content or calls), ericc-ch/copilot-api#273 (last
 * role), langchain-ai/langchain-azure#82 and Gitlawb/openclaude#739 (fields), partITech/php-mistral#76 (empty list),
 * devoxx/DevoxxGenieIDEAPlugin#338 (greedy)
 */
const description: ChatDescription = {
  id: 'mistral',
  model: 'mistral-large-latest',
  envelope: envelopes.mistral,
  rules: {
    fields: {
      known: [
        ...['model', 'messages', 'temperature', 'top_p', 'max_tokens', 'stream', 'stop', 'random_seed'],
        ...['response_format', 'tools', 'tool_choice', 'presence_penalty', 'frequency_penalty', 'n', 'prediction'],
        ...['parallel_tool_calls', 'prompt_mode', 'safe_prompt', 'metadata', 'guardrails'],
      ],
      says: { message: 'Extra inputs are not permitted: {name}', status: 422, type: 'extra_forbidden', code: '1800' },
    },
    numbers: {
      temperature: { min: 0, max: 1.5, says: { message: 'Input should be less than or equal to 1.5', status: 422 } },
      top_p: { only: [1], greedy: true, says: 'top_p must be 1 when using greedy sampling.' },
    },
    ids: {
      pattern: /^[A-Za-z0-9]{9}$/,
      says: {
        message: 'Tool call id was {value} but must be a-z, A-Z, 0-9, with a length of 9.',
        type: 'invalid_function_call',
      },
    },
    tools: {
      empty: 'Tools list must not be empty.',
      name: {
        pattern: /^[a-zA-Z0-9_-]{1,64}$/,
        says: {
          message:
            'Function name was {value} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.',
          type: 'invalid_function_call',
        },
      },
    },
    turns: {
      userAfterTool: order("Unexpected role 'user' after role 'tool'"),
      emptyAssistant: 'Assistant message must have either content or tool_calls, but not none.',
      textAndCalls: 'Assistant message must have either content or tool_calls, but not both.',
      last: {
        only: ['user', 'tool'],
        says: order('Expected last role User or Tool (or Assistant with prefix True) for serving but got {role}'),
      },
      missingResult: order('Not the same number of function calls and responses'),
      orphan: order('Unexpected tool call id {value} in tool results'),
    },
    parts: {
      only: {
        kinds: ['text', 'image_url', 'document_url', 'input_audio', 'thinking', 'reference', 'file'],
        says: {
          message: "Input tag '{value}' found using 'type' does not match any of the expected tags",
          status: 422,
        },
      },
    },
  },
  answer: { callId: (index) => `mis${String(index).padStart(6, '0')}`, usage: 'with_finish' },
};

/** Source: docs.mistral.ai/api */
export const mistral = strictChat(description);
