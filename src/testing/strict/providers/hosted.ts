import { type ChatDescription, strictChat } from '../chat.ts';
import type { StrictRules } from '../rules.ts';
import { envelopes } from '../words.ts';

const half = 'Invalid JSON: lone surrogate found';
const results: NonNullable<StrictRules['turns']> = {
  missingResult:
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
  orphan: "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
};

/** Sources: console.groq.com/docs/openai (fields, names), jgravelle/GroqApiLibrary#33 (format), charmbracelet/crush#2764 (effort) */
const groq: ChatDescription = {
  id: 'groq',
  model: 'llama-3.3-70b-versatile',
  rules: {
    halfCharacters: half,
    fields: {
      refused: [
        'logprobs',
        'top_logprobs',
        'logit_bias',
        'prompt_cache_key',
        'prompt_cache_retention',
        'verbosity',
        'reasoning_effort',
        'top_k',
      ],
      says: "property '{name}' is unsupported",
    },
    stops: { max: 4, says: "'stop' : maximum number of items is 4" },
    format: {
      withTools: 'json mode cannot be combined with tool/function calling',
      word: "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    },
    turns: {
      ...results,
      name: {
        says: "'messages.{index}' : for 'role:user' the following must be satisfied[('messages.{index}' : property 'name' is unsupported)]",
      },
    },
  },
};

/** Source: earendil-works/pi#1745 */
const groqQwen: ChatDescription = {
  ...groq,
  id: 'groq-qwen',
  provider: 'groq',
  model: 'qwen/qwen3-32b',
  rules: {
    ...groq.rules,
    fields: {
      refused: groq.rules.fields!.refused!.filter((name) => name !== 'reasoning_effort'),
      says: groq.rules.fields!.says,
    },
    values: { effort: { only: ['none', 'default'], says: '`reasoning_effort` must be one of `none` or `default`' } },
  },
  answer: { reasoning: 'reasoning' },
};

/** Sources: RooCodeInc/Roo-Code#10334 (strict), egoist/chatwise-releases#1325 (effort), elizaOS/eliza#18079 (text), burin-labs/harn (format) */
const cerebras: ChatDescription = {
  id: 'cerebras',
  model: 'gpt-oss-120b',
  rules: {
    halfCharacters: 'Request body contains invalid UTF-8: surrogates not allowed',
    fields: {
      refused: [
        'frequency_penalty',
        'presence_penalty',
        'prompt_cache_key',
        'prompt_cache_retention',
        'service_tier',
        'verbosity',
        'top_k',
      ],
      says: { message: "property '{name}' is unsupported", code: 'wrong_api_format' },
    },
    format: { withTools: { message: '"tools" is incompatible with "response_format"', code: 'wrong_api_format' } },
    values: {
      effort: {
        only: ['low', 'medium', 'high'],
        says: { message: "Input should be 'low', 'medium' or 'high'", param: 'reasoning_effort' },
      },
    },
    tools: {
      mixedStrict: {
        message:
          "Tools with mixed values for 'strict' are not allowed. Please set all tools to 'strict: true' or 'strict: false'",
        status: 422,
        code: 'wrong_api_format',
      },
    },
    turns: results,
  },
  answer: { reasoning: 'reasoning' },
};

/** Source: UKGovernmentBEIS/inspect_ai#3029 */
const fireworks: ChatDescription = {
  id: 'fireworks',
  model: 'accounts/fireworks/models/kimi-k2-instruct',
  rules: {
    halfCharacters: half,
    fields: {
      refused: ['verbosity', 'prompt_cache_retention'],
      says: "Extra inputs are not permitted, field: '{name}'",
    },
    output: { maxUnstreamed: 16_000, says: 'Requests with max_tokens > 16000 must have stream=true' },
    turns: results,
  },
  answer: { usage: 'with_finish' },
};

/** Source: docs.together.ai/reference/chat-completions-1 */
const together: ChatDescription = {
  id: 'together',
  model: 'meta-llama/Llama-3.3-70B-Instruct-Turbo',
  rules: {
    halfCharacters: half,
    fields: {
      refused: ['prompt_cache_key', 'prompt_cache_retention', 'service_tier', 'user', 'verbosity'],
      says: "Unrecognized key(s) in object: '{name}'",
    },
    turns: results,
  },
  answer: { usage: 'with_finish' },
};

/** Source: deepinfra.com/docs/openai_api */
const deepinfra: ChatDescription = {
  id: 'deepinfra',
  model: 'Qwen/Qwen3-235B-A22B-Instruct-2507',
  envelope: envelopes.pydantic,
  rules: {
    halfCharacters: half,
    fields: {
      refused: ['service_tier', 'verbosity', 'prompt_cache_retention'],
      says: { message: 'Extra inputs are not permitted', type: 'extra_forbidden', param: '{name}' },
    },
    turns: results,
  },
};

/** Source: anomalyco/models.dev#2077 */
const novita: ChatDescription = {
  id: 'novita',
  model: 'deepseek/deepseek-v3.1',
  rules: {
    halfCharacters: half,
    fields: {
      refused: ['prompt_cache_key', 'prompt_cache_retention', 'service_tier', 'verbosity'],
      says: 'invalid parameter: {name}',
    },
    turns: results,
  },
  answer: { reasoning: 'reasoning_content' },
};

/** Source: ogx-ai/ogx#515 */
const sambanova: ChatDescription = {
  id: 'sambanova',
  model: 'Meta-Llama-3.3-70B-Instruct',
  rules: {
    halfCharacters: half,
    fields: {
      refused: [
        'frequency_penalty',
        'presence_penalty',
        'logprobs',
        'top_logprobs',
        'parallel_tool_calls',
        'prompt_cache_key',
        'prompt_cache_retention',
        'service_tier',
        'verbosity',
      ],
      says: { message: 'Unsupported parameter: {name}', param: '{name}' },
    },
    turns: results,
  },
  answer: { usage: 'with_finish' },
};

/** Sources: OpenRouterTeam/openrouter-examples#71 (strict), maximhq/bifrost#55 (choice) */
const cohere: ChatDescription = {
  id: 'cohere',
  model: 'command-a-03-2025',
  envelope: envelopes.cohere,
  rules: {
    halfCharacters: half,
    stops: { max: 5, says: 'invalid request: stop_sequences must have at most 5 entries.' },
    values: { effort: { only: ['none', 'high'], says: 'invalid request: reasoning_effort must be none or high.' } },
    fields: {
      refused: [
        'parallel_tool_calls',
        'prompt_cache_key',
        'prompt_cache_retention',
        'service_tier',
        'user',
        'verbosity',
      ],
      says: { message: "unknown field: parameter '{name}' is not a valid field", status: 422 },
    },
    tools: {
      strict: {
        message: "unknown field: parameter 'tools[{index}].function.strict' is not a valid field",
        status: 422,
      },
    },
    choice: {
      only: ['required', 'none'],
      says: "invalid tool_choice: '{value}' is not supported; must be 'REQUIRED' or 'NONE'",
    },
    turns: results,
  },
};

/** Sources: perplexityai/api-discussion#265, suitenumerique/conversations#197 */
const perplexity: ChatDescription = {
  id: 'perplexity',
  model: 'sonar-pro',
  rules: {
    halfCharacters: half,
    numbers: { temperature: { min: 0, below: 2, says: 'temperature must be at least 0 and less than 2' } },
    format: { json_object: "response_format: Input tag 'json_object' does not match any of the expected tags" },
    turns: {
      first: {
        only: ['user', 'system'],
        says: {
          message:
            'After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).',
          type: 'invalid_message',
          code: 400,
        },
      },
      alternate: {
        message:
          'After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).',
        type: 'invalid_message',
        code: 400,
      },
      last: {
        only: ['user', 'tool'],
        says: { message: 'Last message must have role `user` or `tool`.', type: 'invalid_message', code: 400 },
      },
    },
  },
  answer: { usage: 'with_finish' },
};

/** Sources: router-for-me/CLIProxyAPI#897 (fields), NVIDIA/nim-deploy#182 (ids), earendil-works/pi#1528 (content) */
const nvidia: ChatDescription = {
  id: 'nvidia',
  model: 'meta/llama-3.3-70b-instruct',
  envelope: envelopes.vllm,
  rules: {
    halfCharacters: half,
    fields: {
      refused: ['prompt_cache_key', 'prompt_cache_retention', 'service_tier', 'user', 'verbosity', 'tool_stream'],
      says: "[{'type': 'extra_forbidden', 'loc': ('body', '{name}'), 'msg': 'Extra inputs are not permitted'}]",
    },
    turns: results,
    parts: {
      stringContent:
        '1 validation error for ChatCompletionRequest messages.{index}.content Input should be a valid string [type=string_type]',
    },
  },
  answer: { callId: () => '', usage: 'with_finish' },
};

/** Source: huggingface.co/docs/inference-providers */
const huggingface: ChatDescription = {
  id: 'huggingface',
  model: 'openai/gpt-oss-120b:groq',
  envelope: envelopes.text,
  rules: {
    halfCharacters: half,
    fields: {
      refused: ['prompt_cache_key', 'prompt_cache_retention', 'service_tier', 'verbosity'],
      says: "property '{name}' is unsupported",
    },
    turns: results,
  },
};

/** Source: huggingface/text-generation-inference#1236 */
const tgi: ChatDescription = {
  id: 'tgi',
  model: 'tgi',
  envelope: envelopes.text,
  rules: {
    halfCharacters: half,
    numbers: {
      temperature: {
        above: 0,
        says: { message: 'Input validation error: `temperature` must be strictly positive', status: 422 },
      },
      top_p: {
        above: 0,
        below: 1,
        says: { message: 'Input validation error: `top_p` must be > 0.0 and < 1.0', status: 422 },
      },
    },
  },
  answer: { usage: 'with_finish', pieces: true },
};

/** Source: openrouter.ai/docs/api-reference/chat-completion */
const openrouter: ChatDescription = {
  id: 'openrouter',
  model: 'anthropic/claude-sonnet-4.5',
  envelope: envelopes.openrouter,
  rules: {
    halfCharacters: half,
    fields: { refused: ['thinking', 'enable_thinking'], says: 'Unrecognized key: {name}' },
    turns: results,
  },
  answer: { reasoning: 'reasoning_details', pieces: true },
};

/** Sources: cloudflare/cloudflare-docs#15116 (envelope), vercel/ai#4031 (index) */
const cloudflare: ChatDescription = {
  id: 'cloudflare',
  model: '@cf/meta/llama-3.3-70b-instruct-fp8-fast',
  envelope: envelopes.cloudflare,
  rules: { halfCharacters: half },
  answer: { withoutIndex: true, usage: 'with_finish' },
};

/** Sources: BerriAI/litellm#36931 (effort, links), maximhq/bifrost#6958 (reasoning) */
const databricks: ChatDescription = {
  id: 'databricks',
  model: 'databricks-claude-sonnet-4-5',
  envelope: envelopes.databricks,
  rules: {
    halfCharacters: half,
    fields: {
      refused: ['reasoning_effort', 'prompt_cache_key', 'prompt_cache_retention', 'service_tier', 'verbosity'],
      says: 'Invalid request parameters: {name}: Extra inputs are not permitted',
    },
    budget: { min: 1024, says: '`max_tokens` must be greater than `thinking.budget_tokens`.' },
    turns: results,
    parts: { links: 'Image URLs are not supported. Provide the image as base64 data.' },
  },
  answer: { reasoning: 'part' },
};

/** Servers that host the models of others. */
export const hostedProviders = [
  ...[groq, groqQwen, cerebras, fireworks, together, deepinfra, novita, sambanova, cohere, perplexity, nvidia],
  ...[huggingface, tgi, openrouter, cloudflare, databricks],
].map(strictChat);
