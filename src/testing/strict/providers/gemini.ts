import { type ChatDescription, strictChat } from '../chat.ts';
import { type GeminiDescription, strictGemini } from '../gemini.ts';
import type { StrictRules } from '../rules.ts';
import { envelopes } from '../words.ts';

/**
 * Sources: 21st-dev/magic-mcp#37, cline/cline#7339 (names), BerriAI/litellm#15244 (stops), crewAIInc/crewAI#6973
 * (last turn), lbjlaq/Antigravity-Manager#3396 (empty), anthropics/claude-code#24451 (output), google-gemini/cookbook#1290
 */
const geminiRules: StrictRules = {
  halfCharacters: 'Invalid JSON payload received. Unexpected token. Invalid surrogate pair.',
  fields: {
    refused: ['frequencyPenalty', 'presencePenalty'],
    says: 'Penalty is not enabled for this model',
  },
  numbers: {
    temperature: {
      min: 0,
      max: 2,
      says: 'Unable to submit request because it has a temperature value of {value} but the supported range is from 0 (inclusive) to 2.0 (inclusive).',
    },
    topP: {
      min: 0,
      max: 1,
      says: 'Unable to submit request because it has a topP value of {value} but the supported range is from 0 (inclusive) to 1 (inclusive).',
    },
  },
  stops: { max: 5, says: 'Unable to submit request because it has {count} stop_sequences but the maximum is 5.' },
  output: {
    max: 65_536,
    says: 'Unable to submit request because it has a maxOutputTokens value of {value} but the supported range is from 1 (inclusive) to 65537 (exclusive).',
  },
  tools: {
    name: {
      pattern: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
      says: 'GenerateContentRequest.tools[0].function_declarations[{index}].name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.',
    },
  },
  choice: {
    alone: 'Function calling config is set without function_declarations.',
    unknown: 'Function calling config: allowed_function_names {value} is not in function_declarations.',
  },
  turns: {
    none: 'GenerateContentRequest.contents: contents is not specified',
    last: {
      only: ['user'],
      says: 'Please ensure that single turn requests end with a user role or that multiturn requests end with a user role.',
    },
  },
  parts: {
    imageTypes: {
      only: [
        'image/png',
        'image/jpeg',
        'image/webp',
        'image/heic',
        'image/heif',
        'image/gif',
        'application/pdf',
        'text/plain',
      ],
      says: 'Unsupported MIME type: {value}',
    },
  },
};

/** Sources: langgenius/dify-official-plugins#2088 (signatures) */
const gemini3: GeminiDescription = {
  id: 'gemini',
  provider: 'google',
  model: 'gemini-3-pro-preview',
  signed: true,
  callIds: true,
  rules: {
    ...geminiRules,
    turns: {
      ...geminiRules.turns!,
      unsigned:
        'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance.',
    },
  },
};

/** Sources: symfony/ai#803, snailyp/gemini-balance#264 (JSON and functions) */
const gemini2: GeminiDescription = {
  id: 'gemini-2.5',
  provider: 'google',
  model: 'gemini-2.5-flash',
  rules: {
    ...geminiRules,
    format: { withTools: "Function calling with a response mime type: 'application/json' is unsupported" },
  },
};

/** Source: docs.cloud.google.com/vertex-ai/generative-ai/docs/flex-paygo */
const vertex: GeminiDescription = {
  ...gemini3,
  id: 'vertex',
  provider: 'vertex',
  model: 'gemini-3.5-flash',
  rules: {
    ...gemini3.rules,
    fields: {
      refused: ['serviceTier'],
      says: 'Invalid JSON payload received. Unknown name "{name}": Cannot find field.',
    },
  },
};

/** Sources: tinyhumansai/openhuman#3548 (signatures), bytedance/deer-flow#1515 (fields), BerriAI/litellm#11529 (files), ollama/ollama#14214 (names) */
const chat: ChatDescription = {
  id: 'gemini-chat',
  provider: 'google',
  model: 'gemini-3-pro-preview',
  envelope: envelopes.googleChat,
  rules: {
    halfCharacters: geminiRules.halfCharacters!,
    fields: {
      refused: [
        'frequency_penalty',
        'presence_penalty',
        'logit_bias',
        'seed',
        'metadata',
        'prompt_cache_key',
        'prompt_cache_retention',
        'service_tier',
        'thinking',
        'verbosity',
        'user',
        'top_k',
      ],
      says: 'Invalid JSON payload received. Unknown name "{name}": Cannot find field.',
    },
    tools: { name: geminiRules.tools!.name! },
    turns: {
      unsigned:
        'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance.',
      unnamedResult: 'GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.',
      missingResult:
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      orphan: 'Please ensure that function response turn comes immediately after a function call turn.',
    },
    parts: {
      only: { kinds: ['text', 'image_url', 'input_audio'], says: "Invalid content part type: '{value}'." },
    },
  },
  answer: {
    usage: 'with_finish',
    callExtra: { extra_content: { google: { thought_signature: 'c3RyaWN0' } } },
    callId: (index) => `function-call-${1000 + index}`,
  },
};

/** Servers of Gemini. */
export const geminiProviders = [strictGemini(gemini3), strictGemini(gemini2), strictGemini(vertex), strictChat(chat)];
