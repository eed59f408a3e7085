import type { Settings } from './rule-sets.ts';

/** Something that a server demands of each request. */
export interface ServerDemand {
  name: string;
  words: RegExp;
  /** The wires whose rules have these settings. Absent: all. */
  wire?: string | readonly string[];
  settings: Settings;
  /** Whether it is about one conversation, not about the endpoint. */
  isOnce?: true;
}

/**
 * Sentences about the order of messages, formats and streams, each with the settings that meet them. What the messages say
 * stays the same. The first match applies.
 *
 * Sources: ggml-org/llama.cpp#27367, suitenumerique/conversations#197 (templates), infiniflow/ragflow#5912 (streams),
 * OpenHands/software-agent-sdk#987 (summary), browserbase/stagehand#1204, BigDawnGhost/wenyi#66 (word),
 * truefoundry/models#913, egoist/chatwise-releases#141 (JSON mode), llm-exe/llm-exe#662, openai/openai-dotnet#276 (schemas),
 * vllm-project/vllm#9019 (ids), onyx-dot-app/onyx#7842, langgenius/dify#16421 (tools), BerriAI/litellm#3736 (blank texts),
 * scaleapi/vero#66 (choice), openai/codex#12669 (messages),
 * ggml-org/llama.cpp#20156, duolahypercho/codex-router#78, CommandCodeAI/command-code#885 (functions)
 */
export const demands: readonly ServerDemand[] = [
  {
    name: 'system messages after the first',
    words:
      /system messages? (?:must|should|can only|may only|are only allowed|is only allowed)[^.]{0,40}(?:beginning|first|start)|invalid message role: system|only the first message can be (?:a |the )?system/i,
    wire: ['openai-chat', 'openai-responses'], // lemonade-sdk/lemonade#2674
    settings: { turns: { system: 'first' } },
  },
  {
    // Alishahryar1/free-claude-code#1041, ollama/ollama#16372, anthropics/claude-code#63454, lmstudio-ai/lmstudio-bug-tracker#1399
    name: 'system messages within the conversation',
    words:
      /messages\W{1,2}\d{1,4}\W{1,2}role: (?:input should be 'user' or 'assistant'|invalid discriminator value)|unexpected role "system"|role ['"`]?system['"`]? is not supported|unknown variant ['"`]?system['"`]?,? expected ['"`]?user/i,
    wire: 'anthropic-messages',
    settings: { turns: { system: 'first' } },
  },
  {
    name: 'a user message after a result', // pybae/browser-use#56
    words:
      /unexpected role ['"`]?user['"`]? after role ['"`]?tool|tool result blocks cannot be provided in the same turn/i,
    wire: 'openai-chat',
    settings: { turns: { user_after_tool: false } },
  },
  {
    name: 'names of messages', // anomalyco/opencode#2038
    words:
      /messages\W{1,2}\d{1,4}\W{1,2}(?:\w{1,20}\W)?name['"`]?:? [^.]{0,40}(?:not permitted|unsupported|not supported|not allowed)/i,
    wire: 'openai-chat',
    settings: { turns: { names: 'none' } },
  },
  {
    name: 'earlier reasoning', // egoist/chatwise-releases#1442, Alishahryar1/free-claude-code#1136
    words:
      /(?:reasoning_content|reasoning_details|reasoning)['"`]?:? (?:property [^ ]{1,80} is unsupported|extra inputs are not permitted|is (?:unsupported|not (?:supported|allowed|permitted)))|cannot pass both content and thinking/i,
    wire: 'openai-chat',
    settings: { replay_reasoning: false, reasoning_details: false, reasoning_rules: { back: 'never' } },
  },
  {
    // continuedev/continue#11600, danny-avila/LibreChat#11563, borawong/AiMaMi#10, agentscope-ai/agentscope-java#2400,
    // leookun/cursor-byok#276
    name: 'calls without reasoning',
    words:
      /reasoning_content[`'"]? (?:is missing in|in the thinking mode must be passed back)|content\[\]\.thinking[`'"]? in the thinking mode must be passed back/i,
    wire: ['openai-chat', 'anthropic-messages'],
    settings: { reasoning_rules: { by_default: true, off: { thinking: { type: 'disabled' } }, back: 'always' } },
  },
  {
    name: 'thinking without a budget', // QwenLM/Qwen-Agent#941
    words: /thinking_budget parameter must be a positive integer/i,
    wire: 'openai-chat',
    settings: {
      reasoning_rules: {
        on: { enable_thinking: true, thinking_budget: 16_384 },
        budget: { field: 'thinking_budget', max: 16_384 },
      },
    },
  },
  {
    // musistudio/claude-code-router#1238, elie222/rakazo#114, earendil-works/pi#8454
    name: 'reasoning that cannot be turned off',
    words: /reasoning is mandatory\b|enable_thinking parameter is restricted to true/i,
    wire: ['openai-chat', 'openai-responses'],
    settings: {
      efforts: ['minimal', 'low', 'medium', 'high', 'xhigh'],
      reasoning_rules: { off: {}, by_default: true },
    },
  },
  {
    name: 'this level of thinking', // heyhuynhgiabuu/proxypal#170
    words: /[Tt]hinking level [A-Z]{1,20} is not supported/,
    wire: 'gemini',
    settings: { omit_paths: ['generationConfig.thinkingConfig.thinkingLevel'] },
    isOnce: true,
  },
  {
    name: 'levels of thinking', // google-gemini/gemini-cli#14025, dhyansraj/mcp-mesh#1346
    words: /thinking[ _]level is not supported/i,
    wire: 'gemini',
    settings: { omit_paths: ['generationConfig.thinkingConfig.thinkingLevel'] },
  },
  {
    name: 'this budget of thinking', // RooCodeInc/Roo-Code#4399, pydantic/pydantic-ai#1967, sterlp/eclipse-peon-ai#115
    words:
      /thinking budget \(?\d{1,9}\)? is invalid|budget \d{1,9} is invalid|thinking can't be disabled|only works in thinking mode|only one of thinking budget|thinking_budget and thinking_level are not supported together/i,
    wire: 'gemini',
    settings: { omit_paths: ['generationConfig.thinkingConfig.thinkingBudget'] },
    isOnce: true,
  },
  {
    name: 'calls without a signature', // lbjlaq/Antigravity-Manager#1513, 0xsline/OpenChatCut#6
    words: /function call is missing a thought_signature/i,
    settings: { reasoning_rules: { signatures: true } },
  },
  {
    // simstudioai/sim#5716, tickernelz/opencode-mem#253, platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5
    name: 'forced calls while thinking',
    words:
      /tool_choice: type "tool" and "any" are not supported|tool_choice\b[^.]{0,80}\b(?:thinking|reasoning)\b|\bthinking\b[^.]{0,60}(?:tool_choice|forces? tool)|does not support this tool_choice/i,
    wire: ['openai-chat', 'openai-responses', 'anthropic-messages'],
    settings: { tool_choice: { values: ['auto', 'none'] } },
  },
  {
    name: 'streams without a verified organization', // charmbracelet/crush#1216
    words: /must be verified to stream this model/i,
    wire: ['openai-chat', 'openai-responses'],
    settings: { answers: { streams: false } },
  },
  {
    name: 'no search of the provider', // openai/codex#4881
    words: /hosted tool ['"`]?web_search(?:_preview)?['"`]? is not supported with/i,
    wire: 'openai-responses',
    settings: { native_search: false },
  },
  {
    name: 'no dynamic filtering', // platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5
    words: /does not support tool types: web_(?:search|fetch)_\d{8}/i,
    wire: 'anthropic-messages',
    settings: { tools: { filtered_search: false } },
  },
  {
    name: 'penalties', // google-gemini/cookbook#1290
    words: /penalty is not enabled/i,
    wire: 'gemini',
    settings: { fields: { frequencyPenalty: { send: false }, presencePenalty: { send: false } } },
  },
  {
    // goruck/home-generative-agent#993, developers.openai.com/api/docs/guides/deployment-checklist
    name: 'functions without reasoning',
    words: /function tools with reasoning_effort are not supported/i,
    wire: 'openai-chat',
    settings: { reasoning_rules: { not_with_tools: true, by_default: true } },
  },
  {
    name: 'reasoning turned off', // platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting
    words: /thinking\.type\W{1,3}disabled\W{1,3}is not supported/i,
    wire: 'anthropic-messages',
    settings: { thinking_off: 'never' },
  },
  {
    name: 'budgets of thinking', // CherryHQ/cherry-studio#16431
    words:
      /thinking\.type\W{1,3}enabled\W{1,3}(?:is not supported|\(allowed: adaptive|is deprecated)|thinking\.type: input should be 'adaptive'|invalid thinking\.type: \W?enabled/i,
    wire: 'anthropic-messages',
    settings: { thinking: 'adaptive' },
  },
  {
    name: 'adaptive thinking',
    words:
      /adaptive thinking is not supported|thinking\.type\W{1,3}adaptive\W{1,3}is not supported|thinking\.type: input should be 'enabled'|input tag 'adaptive' found using 'type' does not match/i,
    wire: 'anthropic-messages',
    settings: { thinking: 'budget' },
  },
  {
    name: 'encrypted reasoning', // pydantic/pydantic-ai#2915, earendil-works/pi#6228
    words: /encrypted content is not supported/i,
    wire: 'openai-responses',
    settings: { fields: { include: { without: ['reasoning.encrypted_content'] } } },
  },
  {
    name: 'sealed reasoning of others', // Wei-Shaw/sub2api#3138, openai/openai-agents-python#2063
    words:
      /encrypted content\b[^.]{0,100}could not be (?:verified|decrypted|parsed)|invalid [`'"]?signature[`'"]? in [`'"]?thinking|thought[ _]?signature\b[^.]{0,40}(?:not valid|invalid|corrupted)|(?:corrupted|invalid) thought[ _]?signature|thinking[`'"]? (?:or [`'"]?redacted_thinking[`'"]? )?blocks?\b[^.]{0,80}cannot be modified|contains any thinking blocks, the first block must be/i,
    settings: { reasoning_rules: { sealed: false } },
    isOnce: true,
  },
  {
    name: 'thinking after calls of others',
    words: /expected [`'"]?thinking[`'"]? or [`'"]?redacted_thinking[`'"]?, but found/i,
    wire: 'anthropic-messages',
    settings: { fields: { thinking: { send: false }, 'output_config.effort': { send: false } } },
    isOnce: true,
  },
  {
    name: 'calls without a text', // AstrBotDevs/AstrBot#6852, BerriAI/litellm#5382
    words:
      /missing [`'"]?messages\.content[`'"]? parameter|messages\W{1,2}\d{1,4}\W{1,2}(?:\w{1,40}\W)?content: (?:field required|none is not an allowed value)|invalid type: null, expected a string/i,
    wire: 'openai-chat',
    settings: { turns: { null_content: false } },
  },
  {
    name: 'lists of types in schemas', // agno-agi/agno#3004, IBM/watsonx-ai-samples#87
    words: /unhashable type: 'list'|\/type'?: value must be one of '?array/i,
    settings: { schemas: { nullable: 'flag' } },
  },
  {
    name: 'schemas without the type object', // kirodotdev/Kiro#11026
    words:
      /inputschema\.json\.type must be one of the following: object|root objects must not be anyof|schema must (?:be a json schema of|have(?: a)?) ['"`]?type['"`]?:? ?\W{0,2}object/i,
    settings: { schemas: { root: 'plain_object' } },
  },
  {
    name: 'turns that do not alternate',
    words: /roles must alternate|(?:must|should) alternate (?:between|with) (?:user|assistant)/i,
    wire: 'openai-chat',
    settings: { turns: { system: 'first', alternate: true, user_first: true } },
  },
  {
    name: 'conversations without the user', // diegosouzapw/OmniRoute#4982, anomalyco/opencode#2557
    words: /no user query found in messages|do not contain elements with the role of user/i,
    wire: 'openai-chat',
    settings: { turns: { user_first: true, user_needed: true } },
  },
  {
    name: 'marks of the cache',
    words:
      /cache_control['"`]?:? (?:extra inputs are not permitted|property [^ ]{1,200} is unsupported|is not supported)/i,
    wire: 'openai-chat',
    settings: { cache_control: false },
  },
  {
    name: 'system messages',
    words: /system role (?:is )?not supported/i,
    wire: 'openai-chat',
    settings: { turns: { system: 'user' } },
  },
  {
    name: 'unstreamed responses',
    words:
      /only supports? stream(?:ing)? mode|must be set to false for non-streaming|thinking can ?not be support(?:ed)? when .?stream=false|must have stream=true/i, // musistudio/claude-code-router#948
    settings: { answers: { must_stream: true } },
  },
  {
    name: 'temperature of zero', // huggingface/text-generation-inference#1236
    words: /temperature[`'"]? must be (?:strictly positive|(?:strictly )?greater than (?:0|zero))/i,
    settings: { fields: { temperature: { min: 0.01 } } },
  },
  {
    name: 'streamed responses',
    words: /['"`]?stream['"`]? does not support (?:true|['"`]true)/i, // cline/cline#550
    settings: { answers: { streams: false } },
  },
  {
    name: 'reasoning.summary',
    words: /must be verified to generate reasoning summaries/i,
    wire: 'openai-responses',
    settings: { fields: { 'reasoning.summary': { send: false } } },
  },
  {
    name: 'JSON mode without its word',
    words: /must contain the word ['"`]?json/i,
    settings: { format: { json_word: true } },
  },
  {
    name: 'JSON mode',
    words: /\bjson(?:_object response format| mode) is not supported/i,
    settings: { format: { json_object: 'describe', json_schema: 'describe' } },
  },
  {
    name: 'JSON schemas',
    words:
      /this response_format type is unavailable|(?:does not support response format|(?:response_format|text\.format)['"`]? of type) ['"`]json_schema|\bjson_schema response format is not supported|json_schema is enabled only for/i,
    settings: { format: { json_schema: 'object' } },
  },
  {
    name: 'call ids of nine letters and digits',
    words: /must be a-z, a-z, 0-9, with a length of 9/i,
    settings: { ids: { characters: 'alphanumeric', length: 9 } },
  },
  {
    name: 'calls without tools',
    words:
      /tool calling without [`'"]?tools=[`'"]? param|toolconfig field must be defined when using tooluse|include [`'"]?tool_use[`'"]? or [`'"]?tool_result[`'"]? blocks must define tools/i,
    settings: { tools: { keep_for_calls: true } },
  },
  {
    name: 'messages without an id',
    words: /'loc': \('body', 'input', 'str'\), 'msg': 'input should be a valid string'/i, // vLLM
    wire: 'openai-responses',
    settings: { turns: { whole_messages: true } },
  },
  {
    name: 'tools other than functions',
    words:
      /unsupported (?:responses )?tool type|[`'"]?custom[`'"]? tools are not supported|[`'"]type[`'"] of tool must be [`'"]function|only [`'"]?type:\s?\\?"function|must be a function tool|tools\W\d{1,3}\W{1,2}type: input should be 'function/i,
    wire: 'openai-responses',
    settings: { tools: { only_functions: true } },
  },
  {
    name: 'a last message of the assistant', // abdulmominsakib/localmind#11
    words: /prefill is incompatible with enable_thinking/i,
    wire: 'openai-chat',
    settings: { turns: { assistant: 'some', user_last: true } },
  },
  {
    name: 'empty messages of the assistant', // vllm-project/vllm#38738
    words: /invalid assistant message: role='assistant'/i,
    wire: 'openai-chat',
    settings: { turns: { assistant: 'some' } },
  },
  {
    // MoonshotAI/kimi-cli#1903, lidge-jun/opencodex#2673, earendil-works/pi#5822, vercel/ai#18921
    name: 'schemas of Moonshot',
    words: /moonshot flavored json schema|conflicting keywords found after \$ref expansion/i,
    settings: {
      schemas: {
        root: 'plain_object',
        references: 'alone',
        enum_types: true,
        booleans: false,
        type_beside_union: false,
        modern: true,
      },
    },
  },
  {
    name: 'tools.external_web_access', // NOirBRight/CodexHub#518
    words:
      /(?:not supported|unsupported|unknown|unrecognized|unexpected|extra)[^.]{0,60}\bexternal_web_access|\bexternal_web_access['"`]?:? [^.]{0,30}(?:not supported|not permitted|not allowed|unsupported|unknown)/i,
    wire: 'openai-responses',
    settings: { tools: { web_access: false } },
  },
  {
    name: 'messages with several calls', // vllm-project/vllm#25108, natefleming/dao-ai#94
    words: /only supports single tool-calls at once|multiple tool calls are not supported/i,
    settings: { turns: { single_calls: true } },
  },
  {
    name: 'the text for billing', // farion1231/cc-switch#761
    words: /x-anthropic-billing-header is a reserved/i,
    wire: 'anthropic-messages',
    settings: { turns: { billing: false } },
  },
  {
    name: 'blank texts',
    words:
      /content and tool_calls fields can't both be empty|must have at least one content element|must contain at least one part|content length must be greater than 0|empty content is not allowed|text content blocks must be non-empty|text field in the contentblock object at \S{1,100} is blank/i,
    settings: { turns: { blank: false } },
  },
  {
    name: 'tool_choice',
    words:
      /(?:unsupported|unknown|unrecognized|unexpected) (?:parameter|argument|field)s?:? ['"`]?tool_choice|does not support parameters?:? \[?['"`]?tool_choice|tool_choice['"`]?:? extra inputs are not permitted/i,
    settings: { tool_choice: { values: [] }, fields: { tool_choice: { send: false, when: { forced: false } } } },
  },
];
