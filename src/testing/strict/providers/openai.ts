import { type ChatDescription, strictChat } from '../chat.ts';
import { strictResponses } from '../responses.ts';
import type { StrictRules } from '../rules.ts';
import type { SpokenWords } from '../words.ts';

/** Words of OpenAI about one parameter. */
const about = (param: string, message: string, code = 'invalid_value'): SpokenWords => ({ message, param, code });

/** Sources: cline/cline#11885 (names), icebear0828/codex-proxy#22 (properties) */
const name = { pattern: /^[a-zA-Z0-9_-]{1,64}$/ };
const noProperties = (param: string): SpokenWords =>
  about(
    param,
    "Invalid schema for function '{tool}': In context=(), object schema missing properties.",
    'invalid_function_parameters',
  );
const half =
  'We could not parse the JSON body of your request. (HINT: This likely means you aren’t using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)';

/** Sources: zed-industries/zed#32946, getsentry/sentry-mcp#106, camel-ai/camel#3706, BerriAI/litellm#15244, BigDawnGhost/wenyi#66 */
export const openaiChatRules: StrictRules = {
  halfCharacters: half,
  fields: {
    refused: ['top_k', 'min_p', 'top_a', 'repetition_penalty', 'random_seed', 'enable_thinking', 'cache_control'],
    says: { message: 'Unrecognized request argument supplied: {name}', param: '{name}' },
  },
  numbers: {
    temperature: {
      min: 0,
      max: 2,
      says: about(
        'temperature',
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got {value} instead.",
      ),
    },
  },
  stops: {
    max: 4,
    says: about(
      'stop',
      "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length {count} instead.",
      'array_above_max_length',
    ),
  },
  tools: {
    name: {
      ...name,
      says: about(
        'tools[{index}].function.name',
        "Invalid 'tools[{index}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
      ),
    },
    description: {
      max: 1024,
      says: about(
        'tools[{index}].function.description',
        "Invalid 'tools[{index}].function.description': string too long. Expected a string with maximum length 1024, but got a string with length {value} instead.",
        'string_above_max_length',
      ),
    },
    max: {
      count: 128,
      says: about(
        'tools',
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length {count} instead.",
        'array_above_max_length',
      ),
    },
    empty: about(
      'tools',
      "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      'empty_array',
    ),
    schemas: {
      properties: noProperties('tools[{index}].function.parameters'),
      rootObject: about(
        'tools[{index}].function.parameters',
        "Invalid schema for function '{tool}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {value}'.",
        'invalid_function_parameters',
      ),
    },
  },
  choice: {
    alone: about(
      'tool_choice',
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
    ),
    unknown: about('tool_choice', "Tool choice '{value}' not found in 'tools' parameter."),
  },
  parallelAlone: about(
    'parallel_tool_calls',
    "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
  ),
  format: {
    word: about(
      'messages',
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    ),
  },
  turns: {
    name: {
      pattern: /^[^\s<|\\/>]+$/,
      says: about(
        'messages[{index}].name',
        "Invalid 'messages[{index}].name': string does not match pattern. Expected a string that matches the pattern '^[^\\s<|\\\\/>]+$'.",
      ),
    },
    missingResult: about(
      'messages',
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
    ),
    orphan: about(
      'messages.[{index}].role',
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ),
  },
  parts: {
    only: {
      kinds: ['text', 'image_url', 'file', 'input_audio', 'refusal'],
      says: about(
        'messages[{index}].content',
        "Invalid value: '{value}'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.",
      ),
    },
    imagesInResults: about(
      'messages[{index}]',
      "Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
    ),
    imageTypes: {
      only: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
      says: {
        message:
          "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
        code: 'image_parse_error',
      },
    },
  },
};

/** Sources: opencode-ai/opencode#140 (output), BerriAI/litellm#38842 (effort), google-deepmind/concordia#164 (verbosity) */
const gpt4oRules: StrictRules = {
  ...openaiChatRules,
  output: {
    max: 16_384,
    says: about(
      'max_completion_tokens',
      'max_tokens is too large: {value}. This model supports at most 16384 completion tokens, whereas you provided {value}.',
    ),
  },
  fields: { refused: [...openaiChatRules.fields!.refused!, 'reasoning_effort'], says: openaiChatRules.fields!.says },
  values: {
    verbosity: {
      only: ['medium'],
      says: about(
        'verbosity',
        "Unsupported value: 'verbosity' does not support '{value}' with this model. Supported values are: 'medium'.",
        'unsupported_value',
      ),
    },
  },
};

const openai: ChatDescription = {
  id: 'openai-chat',
  provider: 'openai',
  model: 'gpt-4o-2024-08-06',
  rules: gpt4oRules,
};

/** Sources: tmc/langchaingo#1355, BerriAI/litellm#15244, farion1231/cc-switch#5215, enricoros/big-AGI#1159 */
const only = (field: string) =>
  about(
    field,
    `Unsupported value: '${field}' does not support {value} with this model. Only the default (1) value is supported.`,
    'unsupported_value',
  );
const unsupported = [
  'stop',
  'max_tokens',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
];
const gpt5: ChatDescription = {
  id: 'openai-gpt-5',
  provider: 'openai',
  model: 'gpt-5-2025-08-07',
  rules: {
    ...openaiChatRules,
    numbers: { temperature: { only: [1], says: only('temperature') }, top_p: { only: [1], says: only('top_p') } },
    fields: {
      refused: unsupported,
      says: about(
        '{name}',
        "Unsupported parameter: '{name}' is not supported with this model.",
        'unsupported_parameter',
      ),
    },
    values: {
      effort: {
        only: ['minimal', 'low', 'medium', 'high'],
        says: about(
          'reasoning_effort',
          "Unsupported value: 'reasoning_effort' does not support '{value}' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.",
          'unsupported_value',
        ),
      },
    },
    output: {
      max: 128_000,
      says: about(
        'max_completion_tokens',
        'max_tokens is too large: {value}. This model supports at most 128000 completion tokens, whereas you provided {value}.',
      ),
    },
  },
};

/** Sources: developers.openai.com/api/docs/guides/deployment-checklist, anomalyco/opencode#36141 */
const gpt56: ChatDescription = {
  ...gpt5,
  id: 'openai-gpt-5-6',
  model: 'gpt-5.6-sol',
  rules: {
    ...gpt5.rules,
    effortWithTools: about(
      'reasoning_effort',
      "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    ),
    thinksByDefault: true,
    numbers: {},
    fields: { ...gpt5.rules.fields!, refused: unsupported.filter((name) => !name.endsWith('logprobs')) },
    whileThinking: {
      fields: { temperature: 1, top_p: 1, logprobs: undefined, top_logprobs: undefined },
      says: only('{name}'),
    },
    values: {
      effort: {
        only: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
        says: about(
          'reasoning_effort',
          "Unsupported value: 'reasoning_effort' does not support '{value}' with this model. Supported values are: 'none', 'low', 'medium', 'high', 'xhigh', and 'max'.",
          'unsupported_value',
        ),
      },
    },
  },
};

/** Sources: langchain-ai/open_deep_research#80, owndev/Open-WebUI-Functions#98 */
const azure: ChatDescription = { ...openai, id: 'azure-chat', provider: 'azure' };

/** Sources: Aider-AI/aider#2296, docs.github.com/en/rest/models/inference */
const github: ChatDescription = {
  ...openai,
  id: 'github',
  provider: 'github',
  model: 'openai/gpt-4o',
  rules: {
    ...gpt4oRules,
    fields: {
      refused: [...gpt4oRules.fields!.refused!, 'service_tier', 'prompt_cache_key', 'prompt_cache_retention', 'user'],
      says: { message: 'Unknown parameter: {name}', param: '{name}', code: 'unknown_parameter' },
    },
  },
};

/** Sources: BerriAI/litellm#31451 (output), decolua/9router#393 (ids), danny-avila/LibreChat#7435 (names), stanford-crfm/helm#927 (stop) */
const responsesRules: StrictRules = {
  halfCharacters: half,
  fields: {
    refused: ['stop', 'seed', 'top_k', 'frequency_penalty', 'presence_penalty', 'logit_bias', 'messages'],
    says: { message: "Unknown parameter: '{name}'.", param: '{name}', code: 'unknown_parameter' },
  },
  output: {
    min: 16,
    says: about(
      'max_output_tokens',
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {value} instead.",
      'integer_below_min_value',
    ),
  },
  ids: {
    pattern: /^.{1,64}$/s,
    says: about(
      'input',
      "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length {value} instead.",
      'string_above_max_length',
    ),
  },
  tools: {
    name: {
      ...name,
      says: about(
        'tools[{index}].name',
        "Invalid 'tools[{index}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
      ),
    },
    max: openaiChatRules.tools!.max!,
    schemas: {
      properties: noProperties('tools[{index}].parameters'),
      rootObject: about(
        'tools[{index}].parameters',
        "Invalid schema for function '{tool}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {value}'.",
        'invalid_function_parameters',
      ),
    },
  },
  choice: {
    alone: about('tool_choice', "Tool choice '{value}' must be specified with 'tools' parameter."),
    unknown: about('tool_choice', "Tool choice '{value}' not found in 'tools' parameter."),
  },
  parallelAlone: about('parallel_tool_calls', "'parallel_tool_calls' is only allowed when 'tools' are specified."),
  format: {
    word: about(
      'input',
      "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
    ),
  },
};

const effortsOf = (efforts: string[]): NonNullable<StrictRules['values']> => ({
  effort: {
    only: efforts,
    says: about(
      'reasoning.effort',
      `Unsupported value: '{value}' is not supported with this model. Supported values are: ${efforts.map((effort) => `'${effort}'`).join(', ')}.`,
      'unsupported_value',
    ),
  },
});

const openaiResponses = strictResponses({
  id: 'openai-responses',
  provider: 'openai',
  compacts: true,
  model: 'o4-mini',
  rules: {
    ...responsesRules,
    numbers: {
      temperature: {
        only: [1],
        says: about(
          'temperature',
          "Unsupported parameter: 'temperature' is not supported with this model.",
          'unsupported_parameter',
        ),
      },
    },
    values: effortsOf(['low', 'medium', 'high']),
  },
});

/** Source: owndev/Open-WebUI-Functions#98 */
const azureResponses = strictResponses({
  id: 'azure-responses',
  provider: 'azure',
  model: 'gpt-5.1-2025-11-13',
  rules: { ...responsesRules, values: effortsOf(['none', 'low', 'medium', 'high']) },
  otherItemIds: true,
});

/** Sources: UKGovernmentBEIS/inspect_ai#3869 (effort), yym68686/uni-api#105 (penalties, stop) */
const xai = strictResponses({
  id: 'xai',
  model: 'grok-4-0709',
  rules: {
    ...responsesRules,
    fields: {
      refused: [...responsesRules.fields!.refused!],
      says: { message: 'Argument not supported on this model: {name}', code: 'Client specified an invalid argument' },
    },
    values: { effort: { only: [], says: 'Model grok-4-0709 does not support parameter reasoningEffort.' } },
  },
});
const { description: _, ...xaiTools } = openaiChatRules.tools!;
const { format: __, ...xaiRules } = openaiChatRules;
const xaiChat = strictChat({
  id: 'xai-chat',
  provider: 'xai',
  model: 'grok-4-0709',
  rules: {
    ...xaiRules,
    tools: xaiTools,
    fields: {
      refused: ['stop', 'presence_penalty', 'frequency_penalty', 'reasoning_effort', 'logit_bias'],
      says: { message: 'Argument not supported on this model: {name}', code: 'Client specified an invalid argument' },
    },
  },
  answer: { reasoning: 'reasoning_content', usage: 'with_finish' },
});

/** Servers of OpenAI and of the formats in its words. */
export const openaiProviders = [
  strictChat(openai),
  strictChat(gpt5),
  strictChat(gpt56),
  strictChat(azure),
  strictChat(github),
  openaiResponses,
  azureResponses,
  xai,
  xaiChat,
];
