import { type ChatDescription, strictChat } from '../chat.ts';
import type { StrictRules } from '../rules.ts';
import { envelopes } from '../words.ts';

const half = 'Failed to parse the request body as JSON: lone leading surrogate in hex escape';

/**
 * Sources: deepseek-ai/DeepSeek-V3#1376 (choice), llm-exe/llm-exe#662 (schema), browserbase/stagehand#1204 (word),
 * earendil-works/pi#3635 (reasoning), Gitlawb/openclaude#806, SillyTavern/SillyTavern#5964 (parts)
 */
const deepseek: ChatDescription = {
  id: 'deepseek',
  model: 'deepseek-v4-flash',
  thinks: ({ thinking }) => (thinking as { type?: string } | undefined)?.type !== 'disabled',
  rules: {
    halfCharacters: half,
    numbers: {
      temperature: { min: 0, max: 2, says: 'Invalid temperature value, the valid range of temperature is [0, 2.0]' },
    },
    choice: { whileThinking: { only: ['auto', 'none'], says: 'Thinking mode does not support this tool_choice' } },
    format: {
      json_schema: 'This response_format type is unavailable now',
      word: "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.",
    },
    turns: {
      allReasoning: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
      missingResult:
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
      orphan: "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    },
    parts: {
      only: {
        kinds: ['text', 'image_url'],
        says: 'Failed to deserialize the JSON body into the target type: messages[{index}]: unknown variant `{value}`, expected `text` or `image_url`',
      },
      imagesInResults: 'Images are supported only in messages of the role user.',
    },
  },
  answer: {
    reasoning: 'reasoning_content',
    usage: 'with_finish',
    callId: (index) => `call_00_${String(index).padStart(20, 'D')}`,
  },
};

const dashscope = (message: string): string => `<400> InternalError.Algo.InvalidParameter: ${message}`;

/**
 * Sources: cloudwego/eino#994 (choice), QuantumNous/new-api#1109 (streams), google-gemini/gemini-cli#5031,
 * QwenLM/qwen-code#2360 (results), presenton/presenton#184 (format), tailcallhq/forgecode#1580 (names), moona3k/macparakeet#1087
 * (sampling), alibabacloud.com/help/en/model-studio/context-cache (marks; the page has no words of the refusal)
 */
const alibaba: ChatDescription = {
  id: 'alibaba',
  model: 'qwen3-235b-a22b',
  thinks: ({ enable_thinking: thinking }) => (typeof thinking === 'boolean' ? thinking : undefined),
  rules: {
    halfCharacters: half,
    thinksByDefault: true,
    marks: { max: 4, tooMany: dashscope('A request has at most 4 cache_control markers, got {value}') },
    thinkingUnstreamed: 'parameter.enable_thinking must be set to false for non-streaming calls',
    numbers: {
      temperature: { min: 0, below: 2, says: "'temperature' must be Float and in [0.0, 2.0)" },
      top_p: { above: 0, max: 1, says: "'top_p' must be Float and in (0.0, 1.0]" },
    },
    tools: {
      name: { pattern: /^(?!search$)[\w-]{1,64}$/, says: dashscope('Tool names are not allowed to be [search]') },
    },
    choice: {
      whileThinking: {
        only: ['auto', 'none'],
        says: dashscope('The tool_choice parameter does not support being set to required or object in thinking mode'),
      },
    },
    format: {
      whileThinking: 'Json mode response is not supported when enable_thinking is true',
      word: dashscope(
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
      ),
    },
    turns: {
      missingResult: dashscope(
        'An assistant message with "tool_calls" must be followed by tool messages responding to each "tool_call_id". The following tool_call_ids did not have response messages: message[{index}].role',
      ),
      orphan: dashscope('messages with role "tool" must be a response to a preceeding message with "tool_calls".'),
      badArguments: dashscope('The "function.arguments" parameter of the code model must be in JSON format.'),
    },
  },
  answer: { reasoning: 'reasoning_content' },
};

const flavored = (what: string): string =>
  `Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '{place}': ${what}>`;

/**
 * Sources: QuantumNous/new-api#5372, Warma10032/VideoAdGuard#34, ThinkInAIXYZ/deepchat#1507 (sampling), MoonshotAI/kimi-code#2661 and CommandCodeAI/command-code#594 (schemas),
 * MoonshotAI/kimi-cli#1903 and can1357/oh-my-pi#5952 (schemas), MoonshotAI/kimi-cli#1806 (names), AstrBotDevs/AstrBot#6614 (usage)
 */
const moonshot: ChatDescription = {
  id: 'moonshot',
  model: 'kimi-k2.5',
  thinks: ({ thinking }) => (thinking as { type?: string } | undefined)?.type !== 'disabled',
  rules: {
    halfCharacters: half,
    numbers: {
      temperature: [
        { only: [1], thinking: true, says: 'invalid temperature: only 1 is allowed for this model' },
        { only: [0.6], thinking: false, says: 'invalid temperature: only 0.6 is allowed for this model' },
      ],
      frequency_penalty: { only: [0], says: 'invalid frequency_penalty: only 0 is allowed for this model' },
      presence_penalty: { only: [0], says: 'invalid presence_penalty: only 0 is allowed for this model' },
      top_p: { only: [0.95], says: 'invalid top_p: only 0.95 is allowed for this model' },
    },
    tools: {
      name: {
        pattern: /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/,
        says: 'Invalid request: function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes',
      },
      schemas: {
        rootObject: flavored("the root type must be 'object'"),
        typeBesideUnion: flavored(
          'when using anyOf, type should be defined in anyOf items instead of the parent schema',
        ),
        references: flavored('references must start with #/$defs/'),
        typeBesideReference: flavored(
          'when using $ref, type should be defined in the referenced schema instead of the parent schema',
        ),
        besideReference: flavored('conflicting keywords found after $ref expansion: description'),
        enumTypes: flavored('type is not defined'),
        booleans: flavored('property schema must be an object'),
      },
    },
    turns: {
      emptyAssistant: "Invalid request: the message at position {index} with role 'assistant' must not be empty",
      missingResult:
        "Invalid request: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
      orphan: 'Invalid request: tool_call_id {value} is not found',
    },
  },
  answer: { reasoning: 'reasoning_content', usage: 'choice', callId: (index, name) => `functions.${name}:${index}` },
};

const zaiRules: StrictRules = {
  halfCharacters: half,
  numbers: {
    temperature: { min: 0, max: 1, says: 'Invalid API parameter, please check the documentation.' },
    top_p: { min: 0.01, max: 1, says: 'Invalid API parameter, please check the documentation.' },
  },
  stops: { max: 1, says: 'Invalid API parameter, please check the documentation.' },
  choice: { only: ['auto'], says: 'Invalid API parameter, please check the documentation.' },
  turns: { noUser: { message: 'The messages parameter is illegal. Please check the documentation.', code: '1214' } },
};

/** Sources: vectorize-io/hindsight#4246 (choice), zai-org/ChatGLM3#798 (stop), mnfst/modelparams.dev#23 (sampling), anomalyco/opencode#2557 (user) */
const zai: ChatDescription = {
  id: 'zai',
  model: 'glm-4.7',
  envelope: envelopes.zai,
  rules: zaiRules,
  answer: { reasoning: 'reasoning_content', usage: 'with_finish', callId: (index) => `call_-80000000000000${index}` },
};

/**
 * Sources: HKUDS/Vibe-Trading#33 (temperature), vellum-ai/vellum-assistant#34556 (tags), MiniMax-AI/MiniMax-M2#51
 * (system), QwenLM/qwen-code#11834 (parameters), MiniMax-AI/MiniMax-M2#76 (results), earendil-works/pi#5468 (arguments)
 */
const minimax: ChatDescription = {
  id: 'minimax',
  model: 'MiniMax-M2',
  envelope: envelopes.minimax,
  rules: {
    halfCharacters: half,
    numbers: { temperature: { above: 0, max: 1, says: 'invalid temperature' } },
    tools: { noParameters: 'function parameters is empty' },
    turns: {
      systemFirst: 'invalid chat setting',
      missingResult: 'tool call result does not follow tool call',
      orphan: "tool result's tool id({value}) not found",
      badArguments: 'invalid function arguments json string, tool_call_id: {index}',
    },
  },
  answer: { reasoning: 'tags', callId: (index) => `call_function_${String(index).padStart(12, 'm')}_1` },
};

const alternating =
  'messages 中 user（tool） 和 assistant 角色需交替出现 (一问一答)，以 user 提问开始， user（tool）提问结束, tool 可以连续出现多次';

/** Source: FoundationAgents/OpenManus#894 (turns) */
const tencent: ChatDescription = {
  id: 'tencent',
  model: 'hunyuan-turbos-latest',
  rules: {
    halfCharacters: half,
    turns: { alternate: { message: alternating, code: '1001', status: 400 }, noUser: alternating },
  },
};

/** Sources: langgenius/dify#5572 (temperature), baidubce/bce-qianfan-sdk#866 (turns) */
const baidu: ChatDescription = {
  id: 'baidu',
  model: 'ernie-4.5-turbo-128k',
  rules: {
    halfCharacters: half,
    numbers: { temperature: { above: 0, max: 1, says: 'temperature must be in (0, 1.0]' } },
    turns: {
      alternate: 'the length of messages must be an odd number',
      noUser: 'the length of messages must be an odd number',
    },
  },
};

/** Sources: anomalyco/models.dev#2356 (efforts), chatboxai/chatbox#3548 (thinking) */
const bytedance: ChatDescription = {
  id: 'bytedance',
  model: 'doubao-seed-2-0-pro-260215',
  thinks: ({ thinking }) => (thinking as { type?: string } | undefined)?.type !== 'disabled',
  rules: {
    halfCharacters: half,
    values: {
      effort: {
        only: ['minimal', 'low', 'medium', 'high'],
        says: 'The parameter `reasoning_effort` specified in the request are not valid: invalid value {value}.',
      },
    },
  },
  answer: { reasoning: 'reasoning_content' },
};

/** Servers of DeepSeek, Alibaba, Moonshot, Z.ai, MiniMax, Tencent, Baidu and ByteDance. */
export const chinaProviders = [deepseek, alibaba, moonshot, zai, minimax, tencent, baidu, bytedance].map(strictChat);
