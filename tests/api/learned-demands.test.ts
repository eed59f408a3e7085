import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, type ScriptedResponse, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
const wires = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini'] as const;
type WireId = (typeof wires)[number];
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: wires.map((wire) => ({
      id: wire,
      wire,
      base_url: upstream.url,
      models: [{ model: `${wire}/*`, upstream_model: '*' }],
    })),
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

/** Text that also matches the formats below. */
const text = '{"a":"a Hello."}';
const usage = { prompt_tokens: 2, completion_tokens: 1 };
const said = { role: 'assistant', content: text };
const output = [
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  },
];
const done = { id: 'r', object: 'response', status: 'completed', model: 'm', output };
const block = { type: 'text', text };
const whole: Record<WireId, object> = {
  'openai-chat': { choices: [{ index: 0, finish_reason: 'stop', message: said }], usage },
  'openai-responses': done,
  'anthropic-messages': { type: 'message', role: 'assistant', content: [block], stop_reason: 'end_turn' },
  gemini: { candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }] },
};
const frames: Record<WireId, object[]> = {
  'openai-chat': [{ choices: [{ index: 0, finish_reason: 'stop', delta: said }], usage }],
  'openai-responses': [
    { type: 'response.created', response: { ...done, status: 'in_progress', output: [] } },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: text },
    { type: 'response.output_item.done', output_index: 0, item: output[0] },
    { type: 'response.completed', response: done },
  ],
  'anthropic-messages': [
    { type: 'message_start', message: { type: 'message', role: 'assistant', content: [], usage: {} } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ],
  gemini: [whole.gemini],
};
const answer = (wire: WireId, stream: boolean): ScriptedResponse =>
  stream ? sse(frames[wire], { named: wire !== 'gemini' && wire !== 'openai-chat' }) : json(whole[wire]);

// biome-ignore lint/suspicious/noExplicitAny: the bodies of four wires
type Sent = any;
interface Demand {
  /** A public report of it. */
  source: string;
  wire: WireId;
  path: string;
  body: object;
  /** The error of the server for a body that it refuses. */
  says: string | object;
  status?: number;
  refuses: (sent: Sent) => boolean;
  /** A subset of the accepted body. */
  sends?: object;
  /** Whether the lesson is about one conversation. */
  once?: true;
}

const asked = { role: 'user', content: 'Find it.' };
const call = (more: object = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find', arguments: '{}' } }],
  ...more,
});
const found = { role: 'tool', tool_call_id: 'call_1', content: 'Found.' };
const parameters = { type: 'object', properties: { a: { type: 'string', minLength: 1, pattern: '^a' } } };
const tools = [{ type: 'function', function: { name: 'find', parameters } }];
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'c2VhbGVk' };
const used = (...blocks: object[]) => [
  { role: 'user', content: 'Find it.' },
  { role: 'assistant', content: [...blocks, { type: 'tool_use', id: 't1', name: 'find', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'Found.' }] },
];
const offered = [{ name: 'find', input_schema: { type: 'object', properties: {} } }];
const hasThinking = ({ messages }: Sent) =>
  messages.some(({ content }: Sent) => content.some(({ type }: Sent) => type === 'thinking'));

const image = { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
const begun = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] };

const inserted = {
  max_tokens: 50,
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=2;' },
    { type: 'text', text: 'Be brief.' },
  ],
  messages: [asked, { role: 'system', content: 'Be kind.' }, asked],
};
const hasSystem = ({ messages }: Sent) => messages.some(({ role }: Sent) => role === 'system');
const kind = { content: [{}, { text: 'System:' }, { text: 'Be kind.' }, {}] };
const isEmpty = ({ role, content, tool_calls: calls }: Sent) => role === 'assistant' && !content?.trim() && !calls;

/** Two calls of one message, as the client of each format sends them. */
const pair = ['t1', 't2'];
const both = {
  chat: [
    asked,
    { role: 'assistant', content: null, tool_calls: pair.map((id) => ({ ...call().tool_calls[0], id })) },
    ...pair.toReversed().map((id) => ({ ...found, tool_call_id: id, content: id })),
  ],
  messages: [
    asked,
    { role: 'assistant', content: pair.map((id) => ({ type: 'tool_use', id, name: 'find', input: {} })) },
    {
      role: 'user',
      content: [
        ...pair.toReversed().map((id) => ({ type: 'tool_result', tool_use_id: id, content: id })),
        { type: 'text', text: 'Go on.' },
      ],
    },
  ],
};

const defined = {
  type: 'object',
  properties: { a: { $ref: '#/$defs/b', description: 'Some.' } },
  $defs: { b: { type: 'string', description: 'All.' } },
};
const conflicts = (schema: Sent): boolean => '$ref' in schema.properties.a;
const written = { properties: { a: { type: 'string', description: 'Some.' } } };
const flavored =
  "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.a': conflicting keywords found after $ref expansion: description>";

const hasAccess = ({ tools: given = [] }: Sent) => given.some((tool: Sent) => 'external_web_access' in tool);
const demands: Demand[] = [
  {
    source: 'NOirBRight/CodexHub#518',
    wire: 'openai-responses',
    path: '/responses',
    body: { input: 'Hi', tools: [{ type: 'web_search', external_web_access: true }] },
    says: { code: '400', error: 'Argument not supported: external_web_access' },
    refuses: hasAccess,
    sends: { tools: [{ type: 'web_search' }] },
  },
  {
    source: 'lidge-jun/opencodex#2240',
    wire: 'openai-responses',
    path: '/responses',
    body: {
      input: 'Hi',
      tools: [
        { type: 'web_search', external_web_access: false },
        { type: 'function', name: 'find', parameters },
      ],
    },
    says: "tools[0].external_web_access: 'external_web_access' is not supported",
    refuses: hasAccess,
    sends: { tools: [{ type: 'function', name: 'find' }] },
  },
  {
    source: 'MoonshotAI/kimi-cli#2061',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked], tools: [{ type: 'function', function: { name: 'find', parameters: defined } }] },
    says: flavored,
    refuses: ({ tools: [{ function: f }] }) => conflicts(f.parameters),
    sends: { tools: [{ function: { parameters: written } }] },
  },
  {
    source: 'MoonshotAI/kimi-cli#2061',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 50, messages: [asked], tools: [{ name: 'find', input_schema: defined }] },
    says: flavored,
    refuses: ({ tools: [tool] }) => conflicts(tool.input_schema),
    sends: { tools: [{ input_schema: written }] },
  },
  {
    source: 'vllm-project/vllm#25108',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: both.chat, tools },
    says: 'This model only supports single tool-calls at once!',
    refuses: ({ messages }) => messages.some(({ tool_calls: calls = [] }: Sent) => calls.length > 1),
    sends: {
      messages: [
        asked,
        { tool_calls: [{ id: 't1' }] },
        { tool_call_id: 't1', content: 't1' },
        { tool_calls: [{ id: 't2' }] },
        { tool_call_id: 't2', content: 't2' },
      ],
    },
  },
  {
    source: 'natefleming/dao-ai#94',
    wire: 'openai-chat',
    path: '/messages',
    body: { max_tokens: 50, messages: both.messages, tools: offered },
    says: 'Multiple tool calls are not supported for this model.',
    refuses: ({ messages }) => messages.some(({ tool_calls: calls = [] }: Sent) => calls.length > 1),
    sends: { messages: [asked, {}, { content: 't1' }, {}, { content: 't2' }, { content: 'Go on.' }] },
  },
  {
    source: 'vllm-project/vllm#25108',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 50, messages: both.messages, tools: offered },
    says: 'This model only supports single tool-calls at once!',
    refuses: ({ messages }) =>
      messages.some(({ content }: Sent) => content.filter(({ type }: Sent) => type === 'tool_use').length > 1),
    sends: {
      messages: [
        {},
        { content: [{ id: 't1' }] },
        { content: [{ tool_use_id: 't1' }] },
        { content: [{ id: 't2' }] },
        { content: [{ tool_use_id: 't2' }, { text: 'Go on.' }] },
      ],
    },
  },
  {
    source: 'ollama/ollama#16372',
    wire: 'anthropic-messages',
    path: '/messages',
    body: inserted,
    says: "unknown variant 'system', expected 'user' or 'assistant'",
    refuses: hasSystem,
    sends: { messages: [kind] },
  },
  {
    source: 'lmstudio-ai/lmstudio-bug-tracker#1399',
    wire: 'anthropic-messages',
    path: '/messages',
    body: inserted,
    says: "request.messages.1.role: Invalid discriminator value. Expected 'user' | 'assistant'",
    refuses: hasSystem,
    sends: { messages: [kind] },
  },
  {
    source: 'farion1231/cc-switch#761',
    wire: 'anthropic-messages',
    path: '/messages',
    body: inserted,
    says: 'x-anthropic-billing-header is a reserved keyword and may not be used in the system prompt.',
    refuses: ({ system }) => system.some(({ text }: Sent) => text.startsWith('x-anthropic-billing-header')),
    sends: { system: [{ text: 'Be brief.' }] },
  },
  {
    source: 'vllm-project/vllm#38738',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, call(), found, { role: 'assistant', content: ' ' }, asked], tools },
    says: "Invalid assistant message: role='assistant' content='' tool_calls=None prefix=False",
    refuses: ({ messages }) => messages.some(isEmpty),
    sends: { messages: [asked, {}, {}, asked] },
  },
  {
    source: 'abdulmominsakib/localmind#11',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, { role: 'assistant', content: '' }] },
    says: 'Assistant response prefill is incompatible with enable_thinking.',
    refuses: ({ messages }) => messages.at(-1).role === 'assistant',
    sends: { messages: [asked] },
  },
  {
    source: 'anthropics/claude-code#11678',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 50, messages: [asked], tools: [{ ...offered[0], input_examples: [{}] }] },
    says: 'tools.0.custom.input_examples: Extra inputs are not permitted',
    refuses: ({ tools: [tool] }) => 'input_examples' in tool,
  },
  {
    source: 'anthropics/claude-code#37746',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 50, messages: [asked], output_config: { format: { type: 'json_schema', schema: parameters } } },
    says: 'output_config: Extra inputs are not permitted',
    refuses: (sent) => 'output_config' in sent,
    sends: { system: [{ text: expect.stringContaining('JSON schema') }] },
  },
  {
    source: 'BerriAI/litellm#13420',
    wire: 'openai-responses',
    path: '/responses',
    body: {
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'g', status: 'completed' },
        begun,
        { role: 'user', content: 'Again.' },
      ],
    },
    says: { error: { message: "Unknown parameter: 'input[1].status'.", param: 'input[1].status' } },
    refuses: ({ input }) => 'status' in input[1],
    sends: { input: [{}, { encrypted_content: 'g' }, {}, {}] },
  },
  {
    source: 'pydantic/pydantic-ai#3653',
    wire: 'openai-responses',
    path: '/responses',
    body: {
      input: [
        { role: 'user', content: 'Hi' },
        {
          type: 'web_search_call',
          id: 'ws_1',
          status: 'completed',
          action: { type: 'open_page', url: 'https://a.b', query: 'q' },
        },
        begun,
        { role: 'user', content: 'Again.' },
      ],
    },
    says: "Unknown parameter: 'input[1].action.query'.",
    refuses: ({ input }) => 'query' in input[1].action,
    sends: { input: [{}, { action: { url: 'https://a.b' } }, {}, {}] },
  },
  {
    source: 'ServiceStack/llms#17',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, { ...said, refusal: 'No.' }, asked] },
    says: "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'refusal' is unsupported)]",
    refuses: ({ messages }) => messages[1].refusal !== undefined,
  },
  {
    source: 'router-for-me/CLIProxyAPI#97',
    wire: 'gemini',
    path: 'gemini',
    body: { contents: [{ role: 'user', parts: [{ text: 'Find it.', partMetadata: {} }] }] },
    says: 'Invalid JSON payload received. Unknown name "partMetadata" at \'contents[0].parts[0]\': Cannot find field.',
    refuses: ({ contents }) => 'partMetadata' in contents[0].parts[0],
  },
  {
    source: 'google-gemini/gemini-cli#14025',
    wire: 'gemini',
    path: 'gemini',
    body: {
      contents: [{ role: 'user', parts: [{ text: 'Find it.' }] }],
      generationConfig: { temperature: 1, thinkingConfig: { thinkingLevel: 'LOW' } },
    },
    says: 'Unable to submit request because thinking_level is not supported by this model.',
    refuses: ({ generationConfig: { thinkingConfig } }) => 'thinkingLevel' in thinkingConfig,
  },
  {
    source: 'RooCodeInc/Roo-Code#4399',
    wire: 'gemini',
    path: 'gemini',
    body: {
      contents: [{ role: 'user', parts: [{ text: 'Find it.' }] }],
      generationConfig: { thinkingConfig: { thinkingBudget: 52428 } },
    },
    says: '{"error":{"code":400,"message":"The thinking budget (52428) is invalid.","status":"INVALID_ARGUMENT"}}',
    refuses: ({ generationConfig: { thinkingConfig } }) => thinkingConfig.thinkingBudget > 32_768,
    once: true,
  },
  {
    source: 'EvoTestOps/AISysRev#104',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: {
      messages: [asked],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: parameters } },
    },
    says: 'Response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later',
    refuses: ({ response_format: format }) => format?.type === 'json_schema',
  },
  {
    source: 'AstrBotDevs/AstrBot#6852',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, call(), found], tools },
    says: 'The request failed because it is missing `messages.content` parameter. Request id: 0217',
    refuses: ({ messages }) => messages.some(({ content }: Sent) => content === null),
  },
  {
    source: 'agno-agi/agno#3004',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: {
      messages: [asked],
      tools: [
        {
          type: 'function',
          function: { name: 'find', parameters: { type: 'object', properties: { a: { type: ['string', 'null'] } } } },
        },
      ],
    },
    says: "Invalid function format: unhashable type: 'list'",
    refuses: ({ tools: [tool] }) => Array.isArray(tool.function.parameters.properties.a.type),
    sends: { tools: [{ function: { parameters: { properties: { a: { type: 'string', nullable: true } } } } }] },
  },
  {
    source: 'bytedance/UI-TARS-desktop#1533',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: {
      messages: [asked],
      tools: [
        { type: 'function', function: { name: 'find', parameters: { anyOf: [parameters, { type: 'object' }] } } },
      ],
    },
    says: 'Invalid decoding guidance syntax: Root objects must not be anyOf Request id: 0217',
    refuses: ({ tools: [tool] }) => tool.function.parameters.anyOf !== undefined,
  },
  {
    source: 'kd-research/Techies#42',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked], stop: ['END'] },
    says: "Unsupported parameter: 'stop' is not supported with this model.",
    refuses: ({ stop }) => stop !== undefined,
  },
  {
    source: 'BerriAI/litellm#18921',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked], stop: ['1', '2', '3', '4', '5', '6'] },
    says: "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 6 instead.",
    refuses: ({ stop }) => stop.length > 4,
    sends: { stop: ['1', '2', '3', '4'] },
  },
  {
    source: 'farion1231/cc-switch#464',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, { role: 'assistant', content: '' }, asked] },
    says: {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: '{"error":{"message":"Param Incorrect","param":"messages[1] assistant content must contain at least one part"}}',
        },
      },
    },
    refuses: ({ messages }) => messages.some(({ content }: Sent) => !content),
  },
  {
    source: 'BigPizzaV3/CodexPlusPlus#267',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, { role: 'system', content: 'Be brief.' }, asked] },
    says: 'invalid params, chat content has invalid message role: system (2013)',
    refuses: ({ messages }) => messages.some(({ role }: Sent, index: number) => role === 'system' && index > 0),
  },
  {
    source: 'ggml-org/llama.cpp#19851',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, asked] },
    status: 500,
    says: `\n------------\nWhile executing CallExpression at line 189 in source:\n${'.'.repeat(300)}\nError: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles.`,
    refuses: ({ messages }) => messages.length > 1,
  },
  {
    source: 'diegosouzapw/OmniRoute#4982',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [{ role: 'system', content: 'Be brief.' }, said] },
    says: 'Unable to generate parser for this template. Error: Jinja Exception: No user query found in messages.',
    refuses: ({ messages }) => messages.every(({ role }: Sent) => role !== 'user'),
  },
  {
    source: 'borawong/AiMaMi#10',
    wire: 'anthropic-messages',
    path: '/messages',
    body: {
      max_tokens: 4000,
      messages: [...used(), asked],
      tools: offered,
      thinking: { type: 'enabled', budget_tokens: 2000 },
    },
    says: 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
    refuses: ({ thinking }) => thinking?.type === 'enabled',
  },
  {
    source: 'QwenLM/Qwen-Agent#941',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked], reasoning_effort: 'high' },
    says: '<400> InternalError.Algo.InvalidParameter: The thinking_budget parameter must be a positive integer and not greater than 0',
    refuses: (sent) => sent.thinking_budget === undefined,
    sends: { enable_thinking: true },
  },
  {
    source: 'lemonade-sdk/lemonade#2674',
    wire: 'openai-responses',
    path: '/responses',
    status: 500,
    body: {
      instructions: 'Be brief.',
      input: [
        { type: 'message', role: 'developer', content: 'Be kind.' },
        asked,
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Now search.' }] },
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Look.' }, image] },
      ],
    },
    says: 'Jinja Exception: System message must be at the beginning.',
    refuses: ({ input }) => input.some(({ role }: Sent) => role === 'developer' || role === 'system'),
    sends: {
      instructions: 'Be brief.\n\nBe kind.',
      input: [
        { content: 'Find it.' },
        { role: 'user', content: 'System: Now search.' },
        { role: 'user', content: [{ text: 'System: ' }, { text: 'Look.' }, image] },
      ],
    },
  },
  {
    source: 'browser-use/browser-use#2990',
    wire: 'openai-responses',
    path: '/responses',
    body: { input: 'Find it.', text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' } } } },
    says: "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.",
    refuses: ({ text: { format } }) => format.type === 'json_schema',
    sends: { text: { format: { type: 'json_object' } } },
  },
  {
    source: 'pybae/browser-use#56',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, call(), found, asked], tools },
    says: 'messages.2.content: Conversation blocks and tool result blocks cannot be provided in the same turn.',
    refuses: ({ messages }) => messages.at(-2).role === 'tool',
  },
  {
    source: 'anomalyco/opencode#2038',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [{ ...asked, name: 'ada' }] },
    says: 'messages.0.name: Extra inputs are not permitted',
    refuses: ({ messages }) => messages[0].name !== undefined,
    sends: { messages: [{ content: 'ada: Find it.' }] },
  },
  {
    source: 'janhq/jan#8136',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, call({ reasoning_content: 'Hm.' }), found], tools },
    says: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    refuses: ({ messages }) => messages[1].reasoning_content !== 'Hm.',
    sends: { messages: [{}, { reasoning_content: 'Hm.' }, {}] },
  },
  {
    source: 'continuedev/continue#11600',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, call(), found, asked], tools },
    says: 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
    refuses: ({ messages }) => messages[1].reasoning_content === undefined,
  },
  {
    source: 'simstudioai/sim#5716',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked], tools, tool_choice: 'required' },
    says: "tool_choice 'required' is incompatible with thinking enabled",
    refuses: ({ tool_choice: choice }) => choice !== undefined,
  },
  {
    source: 'charmbracelet/crush#964',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked, { role: 'assistant', content: '' }, asked] },
    says: { error: 'Invalid request content: Each message must have at least one content element.' },
    refuses: ({ messages }) => messages.some(({ content }: Sent) => !content),
  },
  {
    source: 'musistudio/claude-code-router#708',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: {
      messages: [asked],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: parameters } },
    },
    says: "Unsupported JSON schema fields: {'minLength', 'pattern'}",
    refuses: ({ response_format: format }) => 'pattern' in format.json_schema.schema.properties.a,
    sends: {
      response_format: {
        json_schema: { schema: { properties: { a: { description: '(minLength: 1, pattern: "^a")' } } } },
      },
    },
  },
  {
    source: 'web-infra-dev/midscene#1322',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked], seed: 1 },
    says: "Extra inputs are not permitted, field: 'seed', value: 1",
    refuses: ({ seed }) => seed !== undefined,
  },
  {
    source: 'elie222/rakazo#114',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked], reasoning_effort: 'none' },
    says: 'Reasoning is mandatory for this endpoint and cannot be disabled.',
    refuses: ({ reasoning_effort: effort }) => effort === 'none',
    sends: { reasoning_effort: 'minimal' },
  },
  {
    source: 'editor-code-assistant/eca#609',
    wire: 'openai-responses',
    path: '/chat/completions',
    body: { messages: [asked], reasoning_effort: 'none' },
    says: {
      error: {
        message: "Unsupported value: 'none' is not supported with this model. Supported values are: 'low' and 'high'.",
        param: 'reasoning.effort',
      },
    },
    refuses: ({ reasoning }) => reasoning?.effort === 'none',
    sends: { reasoning: { effort: 'low' } },
  },
  {
    source: 'charmbracelet/crush#386',
    wire: 'openai-responses',
    path: '/chat/completions',
    body: { messages: [asked], reasoning_effort: 'low' },
    says: { error: 'Argument not supported on this model: reasoningEffort' },
    refuses: ({ reasoning }) => reasoning?.effort !== undefined,
  },
  {
    source: 'tickernelz/opencode-mem#253',
    wire: 'openai-responses',
    path: '/chat/completions',
    body: { messages: [asked], tools, tool_choice: { type: 'function', function: { name: 'find' } } },
    says: 'Thinking mode does not support this tool_choice',
    refuses: (sent) => sent.tool_choice !== undefined,
    sends: { tools: [{ name: 'find' }], input: [{}, { role: 'user', content: 'Call the tool find.' }] },
  },
  {
    source: 'pydantic/pydantic-ai#2915',
    wire: 'openai-responses',
    path: '/responses',
    body: { input: 'Hi', include: ['reasoning.encrypted_content'] },
    says: { error: { message: 'Encrypted content is not supported with this model.', param: 'include' } },
    refuses: ({ include }) => include?.includes('reasoning.encrypted_content') === true,
  },
  {
    source: 'Wei-Shaw/sub2api#3138',
    wire: 'openai-responses',
    path: '/responses',
    body: {
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] },
        { role: 'user', content: 'Again.' },
      ],
    },
    says: 'The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted.',
    refuses: ({ input }) => input.some(({ type }: Sent) => type === 'reasoning'),
    once: true,
  },
  {
    source: 'vybestack/llxprt-code#2335',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 4000, messages: used(thought), tools: offered },
    says: 'messages.1.content.0: Invalid `signature` in `thinking` block',
    refuses: hasThinking,
    once: true,
  },
  {
    source: 'agentscope-ai/agentscope-java#2400',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 4000, messages: used(), tools: offered, thinking: { type: 'enabled', budget_tokens: 2000 } },
    says: 'The `content[].thinking` in the thinking mode must be passed back to the API.',
    refuses: ({ thinking }) => thinking?.type !== 'disabled',
  },
  {
    source: 'CherryHQ/cherry-studio#16431',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 4000, messages: [asked], thinking: { type: 'enabled', budget_tokens: 2000 } },
    says: 'invalid params, invalid thinking.type: "enabled" (allowed: adaptive, disabled) (2013)',
    refuses: ({ thinking }) => thinking?.type === 'enabled',
    sends: { thinking: { type: 'adaptive' } },
  },
  {
    source: 'platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 4000, messages: [asked], tools: [{ type: 'web_search_20260209', name: 'web_search' }] },
    says: "'one' does not support tool types: web_search_20260209. Did you mean one of web_search_20250305?",
    refuses: ({ tools: sent }) => sent[0].type === 'web_search_20260209',
    sends: { tools: [{ type: 'web_search_20250305' }] },
  },
  {
    source: 'openai/codex#4881',
    wire: 'openai-responses',
    path: '/responses',
    body: { input: 'Hi.', tools: [{ type: 'web_search' }] },
    says: "Hosted tool 'web_search' is not supported with gpt-5-2025-08-07.",
    refuses: ({ tools: sent }) => sent !== undefined,
  },
  {
    source: 'google-gemini/cookbook#1290',
    wire: 'gemini',
    path: '/chat/completions',
    body: { messages: [asked], frequency_penalty: 1 },
    says: 'Penalty is not enabled for this model.',
    refuses: ({ generationConfig: config }) => config?.frequencyPenalty !== undefined,
  },
  {
    source: 'goruck/home-generative-agent#993',
    wire: 'openai-chat',
    path: '/chat/completions',
    body: { messages: [asked], tools },
    says: "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    refuses: ({ reasoning_effort: effort }) => effort !== 'none',
    sends: { reasoning_effort: 'none' },
  },
  {
    source: 'platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 4000, messages: [asked], thinking: { type: 'disabled' } },
    says: '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    refuses: ({ thinking }) => thinking?.type === 'disabled',
  },
  {
    source: 'platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 4000, messages: [asked], tools: offered, tool_choice: { type: 'any' } },
    says: 'tool_choice: type "tool" and "any" are not supported for this model.',
    refuses: ({ tool_choice: choice }) => choice.type === 'any',
    sends: { messages: [{ content: [{}, { text: 'Call one of the tools.' }] }], tool_choice: { type: 'auto' } },
  },
  {
    source: 'simstudioai/sim#5716', // a server whose models reason without being asked
    wire: 'anthropic-messages',
    path: '/chat/completions',
    body: { max_tokens: 4000, messages: [asked], tools, tool_choice: 'required' },
    says: 'Thinking may not be enabled when tool_choice forces tool use.',
    refuses: ({ tool_choice: choice }) => choice.type === 'any',
    sends: { messages: [{ content: [{}, { text: 'Call one of the tools.' }] }], tool_choice: { type: 'auto' } },
  },
  {
    source: 'Alishahryar1/free-claude-code#1041',
    wire: 'anthropic-messages',
    path: '/messages',
    body: { max_tokens: 4000, messages: [asked, { role: 'system', content: 'Be brief.' }, asked] },
    status: 422,
    says: { detail: [{ loc: ['body', 'messages', 1, 'role'], msg: "Input should be 'user' or 'assistant'" }] },
    refuses: ({ messages }) => messages.some(({ role }: Sent) => role === 'system'),
    sends: { messages: [{ content: [{}, { text: 'System:' }, { text: 'Be brief.' }, {}] }] },
  },
  {
    source: 'heyhuynhgiabuu/proxypal#119',
    wire: 'gemini',
    path: 'gemini',
    body: {
      contents: [
        { role: 'user', parts: [{ text: 'Find it.' }] },
        { role: 'model', parts: [{ functionCall: { name: 'find', args: {} }, thoughtSignature: 'QUJD' }] },
        { role: 'user', parts: [{ functionResponse: { name: 'find', response: {} } }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'find' }] }],
    },
    says: 'Corrupted thought signature.',
    refuses: ({ contents }) => contents[1].parts[0].thoughtSignature === 'QUJD',
    once: true,
  },
  {
    source: 'lbjlaq/Antigravity-Manager#1513',
    wire: 'gemini',
    path: '/chat/completions',
    body: { messages: [asked, call(), found], tools },
    says: 'Function call is missing a thought_signature in functionCall parts. This is required for tools to work.',
    refuses: ({ contents }) => contents[1].parts[0].thoughtSignature === undefined,
  },
];

describe.each([false, true])('a server is asked for what it demands, streamed: %s', (stream) => {
  it.each(
    demands.map((demand) => [demand.source, demand.wire, demand] as const),
  )('%s, %s', async (source, wire, demand) => {
    const { path, body, says, status = 400, refuses, sends, once } = demand;
    const message = typeof says === 'string' ? { error: { message: says } } : says;
    upstream.always(({ body: sent }: ScriptedRequest) =>
      refuses(sent) ? json(message, { status }) : answer(wire, stream),
    );
    const model = `${wire}/${source.replace(/\W/g, '-')}-${stream}`;
    const place =
      path === 'gemini' ? `/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}` : path;
    for (const tries of [2, once ? 2 : 1]) {
      const before = upstream.requests.length;
      const response = await gateway.post(place, path === 'gemini' ? body : { model, stream, ...body });
      expect(await response.text()).toContain('Hello.');
      expect([response.status, upstream.requests.length - before]).toEqual([200, tries]);
      if (sends) expect(upstream.requests.at(-1)!.body).toMatchObject(sends);
    }
  });
});
