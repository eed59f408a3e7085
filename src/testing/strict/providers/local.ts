import { type ChatDescription, strictChat } from '../chat.ts';
import type { StrictRules } from '../rules.ts';
import { envelopes } from '../words.ts';

/** Sources: ggml-org/llama.cpp#27367, ollama/ollama#17774 (system), OpenHands/OpenHands#7700 (images), wtdcode/vllm-backport#95 (files) */
const template: StrictRules = {
  halfCharacters: "'utf-8' codec can't encode character: surrogates not allowed",
  turns: { systemFirst: 'System message must be at the beginning.', noUser: 'No user query found in messages.' },
  parts: {
    only: { kinds: ['text', 'image_url'], says: 'Unknown part type: {value}' },
    imagesInResults: 'Unexpected item type in content.',
  },
};
const templateTurns = template.turns!;

/** Source: code of vllm-project/vllm, `sampling_params.py` and `protocol.py` */
const vllm: ChatDescription = {
  id: 'vllm',
  model: 'Qwen/Qwen3.5-27B',
  envelope: envelopes.vllm,
  rules: {
    ...template,
    numbers: {
      top_p: { above: 0, max: 1, says: 'top_p must be in (0, 1], got {value}.' },
      temperature: { min: 0, says: 'temperature must be non-negative, got {value}.' },
    },
    choice: {
      alone: 'When using `tool_choice`, `tools` must be set.',
      unknown: 'The tool specified in `tool_choice` does not match any of the specified `tools`',
    },
  },
  answer: {
    reasoning: 'reasoning',
    callId: (index) => `chatcmpl-tool-${String(index).padStart(32, '0')}`,
    pieces: true,
  },
};

/** Source: suitenumerique/conversations#197 */
const vllmGemma: ChatDescription = {
  ...vllm,
  id: 'vllm-gemma',
  provider: 'vllm',
  model: 'google/gemma-3-27b-it',
  rules: {
    ...vllm.rules,
    turns: { ...templateTurns, alternate: 'Conversation roles must alternate user/assistant/user/assistant/...' },
  },
};

/** Source: router-for-me/CLIProxyAPI#1572 */
const sglang: ChatDescription = {
  id: 'sglang',
  model: 'Qwen/Qwen3-32B',
  envelope: envelopes.sglang,
  rules: {
    ...template,
    numbers: { top_p: { above: 0, max: 1, says: 'top_p must be in (0, 1], got {value}.' } },
    values: {
      effort: {
        only: ['low', 'medium', 'high'],
        says: "1 validation error: {'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\"}",
      },
    },
  },
  answer: { reasoning: 'reasoning_content', usage: 'with_finish' },
};

const anchored = "JSON schema conversion failed: Pattern must start with '^' and end with '$'";

/** Sources: ggml-org/llama.cpp#26930 (patterns), ggml-org/llama.cpp#27367 (template) */
const llamaCpp: ChatDescription = {
  id: 'llama-cpp',
  provider: 'llamacpp',
  model: 'qwen3.5-9b',
  envelope: envelopes.llamaCpp,
  rules: {
    ...template,
    tools: { schemas: { patterns: { message: anchored, status: 400, type: 'invalid_request_error' } } },
    format: { schemas: { patterns: { message: anchored, status: 400, type: 'invalid_request_error' } } },
    turns: { ...templateTurns, systemFirst: 'Jinja Exception: System message must be at the beginning.' },
    parts: {
      ...template.parts!,
      only: {
        kinds: ['text', 'image_url', 'input_audio'],
        says: { message: 'unsupported content[].type', status: 400 },
      },
    },
  },
  answer: { reasoning: 'reasoning_content', callId: (index) => `${index}`.padStart(32, 'q') },
};

/** Sources: ollama/ollama#17141 (effort), ollama/ollama#6753 (links), ollama/ollama#7881 (index) */
const ollama: ChatDescription = {
  id: 'ollama',
  model: 'qwen3:8b',
  rules: {
    ...template,
    values: {
      effort: {
        only: ['none', 'low', 'medium', 'high', 'max'],
        says: 'invalid reasoning value: \'{value}\' (must be "high", "medium", "low", "max", or "none")',
      },
    },
    parts: {
      ...template.parts!,
      only: { kinds: ['text', 'image_url'], says: 'invalid message format' },
      links: 'invalid image input',
    },
  },
  answer: { reasoning: 'reasoning', callId: (index) => `call_${String(index).padStart(8, 'o')}` },
};

/**
 * Sources: lmstudio-ai/lmstudio-bug-tracker#670 (choice), #189 (format), #1120 (links),
 * yoy123/lmstudio-copilot-provider#35 (effort)
 */
const lmStudio: ChatDescription = {
  id: 'lm-studio',
  provider: 'lmstudio',
  model: 'qwen3-8b',
  envelope: envelopes.text,
  rules: {
    ...template,
    values: {
      effort: {
        only: ['none', 'low', 'medium', 'high', 'xhigh'],
        says: "Invalid value for 'reasoning_effort': {value}",
      },
    },
    choice: {
      only: ['auto', 'none', 'required'],
      says: "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
    },
    format: { json_object: "'response_format.type' must be 'json_schema' or 'text'" },
    parts: { ...template.parts!, links: "'url' field must be a base64 encoded image." },
  },
  answer: { callId: (index) => String(100_000_000 + index), pieces: true },
};

/** Servers for one's own machine. Their templates are those of strict models. */
export const localProviders = [vllm, vllmGemma, sglang, llamaCpp, ollama, lmStudio].map(strictChat);
