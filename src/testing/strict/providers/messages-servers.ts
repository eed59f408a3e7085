import { type MessagesDescription, strictMessages } from '../messages.ts';
import type { StrictRules } from '../rules.ts';

/** What all servers of the format reject. Source: anomalyco/opencode#3230 */
const base: StrictRules = {
  halfCharacters: 'The request body is not valid JSON: no low surrogate in string',
  output: { needed: true, says: 'max_tokens: Field required' },
  turns: {
    none: 'messages: at least one message is required',
    missingResult: 'messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}.',
    orphan: 'messages.{index}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {value}.',
    badArguments: 'messages.{index}.content.0.tool_use.input: Input should be a valid dictionary',
  },
};

/** Sources: NousResearch/hermes-agent#17510 and earendil-works/pi#3635 (thinking), esengine/DeepSeek-Reasonix#8756 (end) */
const deepseek: MessagesDescription = {
  id: 'deepseek-messages',
  provider: 'deepseek',
  model: 'deepseek-v4-pro',
  rules: {
    ...base,
    thinksByDefault: true,
    choice: { whileThinking: { only: ['auto', 'none'], says: 'Thinking mode does not support this tool_choice' } },
    turns: {
      ...base.turns!,
      allReasoning: 'The `content[].thinking` in the thinking mode must be passed back to the API.',
    },
  },
  answer: { signed: false, thinksByDefault: true, stop: false },
};

/** Sources: NousResearch/hermes-agent#85251 (thinking), maximhq/bifrost#1558 (scope) */
const kimi: MessagesDescription = {
  id: 'kimi-messages',
  provider: 'moonshot',
  model: 'kimi-k2.5',
  rules: {
    ...base,
    marks: { scope: 'Invalid request: cache_control.scope is not supported' },
    tools: {
      name: {
        pattern: /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/,
        says: 'Invalid request: function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes',
      },
    },
  },
  answer: { signed: false, callId: (index, name) => `${name}:${index}` },
};

/** Sources: MiniMax-AI/MiniMax-M2#76 (results), BerriAI/litellm#26075 (usage), can1357/oh-my-pi#2928 (thinking) */
const minimax: MessagesDescription = {
  id: 'minimax-messages',
  provider: 'minimax',
  model: 'MiniMax-M2',
  rules: {
    ...base,
    numbers: { temperature: { above: 0, max: 1, says: 'invalid params, invalid temperature (2013)' } },
    thinkingTypes: { only: ['adaptive', 'disabled'], says: 'invalid params, invalid thinking type {value} (2013)' },
    turns: { ...base.turns!, orphan: "invalid params, tool result's tool id({value}) not found (2013)" },
  },
  answer: { signed: false, inputLast: true, callId: (index) => `call_function_${String(index).padStart(12, 'm')}_1` },
};

/** Sources: mnfst/modelparams.dev#23 (temperature), NousResearch/hermes-agent#91006 (thinking) */
const zai: MessagesDescription = {
  id: 'zai-messages',
  provider: 'zai',
  model: 'glm-4.7',
  rules: {
    ...base,
    numbers: {
      temperature: { min: 0, max: 1, says: '[1210][Invalid API parameter, please check the documentation.]' },
    },
  },
  answer: { signed: false, inputLast: true },
};

/** Source: anthropics/claude-code#29531 */
const qwen: MessagesDescription = {
  id: 'qwen-messages',
  provider: 'alibaba',
  model: 'qwen3-max',
  rules: {
    ...base,
    thinkingTypes: {
      only: ['enabled', 'disabled'],
      says: '<400> InternalError.Algo.InvalidParameter: thinking.type: Input should be enabled or disabled, got {value}',
    },
  },
  answer: { signed: false, callId: (index) => `call_${String(index).padStart(24, 'w')}` },
};

/** Servers of other makers with the format of Anthropic. */
export const messagesServers = [deepseek, kimi, minimax, zai, qwen].map(strictMessages);
