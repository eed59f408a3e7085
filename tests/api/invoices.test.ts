import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtinFiles } from '../../src/catalog/load-catalog.ts';
import { usdOf } from '../../src/metering/cost.ts';
import { type ScriptedResponse, json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

/*
 * What providers report, as their interfaces return it, and what their price lists make of it. Each row goes through the
 * whole gateway: the reader of the wire, the prices of the endpoint, the ledger. The sums are calculated by hand in the row's comment, with
 * the prices that held when the row was written: `$2` is two dollars per million tokens, 2,000 nano-dollars a token.
 *
 * Where the prices are from stands in the records of the built-in catalog (`source`, `as_of`), and for models that it
 * does not have in `ownPrices` below.
 */

interface Row {
  name: string;
  model: string;
  answer: ScriptedResponse;
  /** Fields of the request, in addition to model and input. */
  ask?: Record<string, unknown>;
  /** Nano-dollars: of input, of output, and of the provider's own tools. `null`: no price is known. */
  expected: readonly [input: number, output: number, tools?: number] | null;
  /** The cost that the provider itself reported, in dollars. */
  noted?: number;
  /** Further fields of `GET /generation`. */
  recorded?: Record<string, unknown>;
}

const chat = (usage: object | null, more: object = {}): ScriptedResponse =>
  json({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    usage,
    ...more,
  });

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
};
const partlyCached = {
  input_tokens: 1000,
  input_tokens_details: { cached_tokens: 400 },
  output_tokens: 100,
  total_tokens: 1100,
};
const responses = (usage: object, more: object = {}): ScriptedResponse =>
  json({
    id: 'resp_1',
    object: 'response',
    created_at: 1_790_000_000,
    status: 'completed',
    model: 'm',
    output: [message],
    error: null,
    incomplete_details: null,
    usage,
    ...more,
  });

const claude = (usage: object): ScriptedResponse =>
  json({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Hello.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage,
  });

const gemini = (usageMetadata: object, candidate: object = {}): ScriptedResponse =>
  json({
    candidates: [
      { content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP', index: 0, ...candidate },
    ],
    usageMetadata,
    modelVersion: 'm',
    responseId: 'r1',
  });

const openai: Row[] = [
  {
    name: 'cached input and reasoning',
    model: 'openai/gpt-5-mini',
    answer: responses({
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 600 },
      output_tokens: 300,
      output_tokens_details: { reasoning_tokens: 200 },
      total_tokens: 1300,
    }),
    // 400 × $0.25 + 600 × $0.025 = 100,000 + 15,000; reasoning is output: 300 × $2
    expected: [115_000, 600_000],
  },
  {
    name: 'what was written to the cache',
    model: 'openai/gpt-6.1-sol',
    answer: responses({
      input_tokens: 5000,
      input_tokens_details: { cached_tokens: 2000, cache_write_tokens: 1000 },
      output_tokens: 100,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 5100,
    }),
    // 2000 × $2 + 2000 × $0.10 + 1000 × $2.50 = 4,000,000 + 200,000 + 2,500,000; 100 × $10
    expected: [6_700_000, 1_000_000],
  },
  ...(
    [
      // Up to 272,000 tokens of input $2.50 and $15, beyond $5 and $22.50.
      ['one token below the length at which prices rise', 271_999, [679_997_500, 150_000]], // 271,999 × $2.50; 10 × $15
      ['exactly that length', 272_000, [680_000_000, 150_000]], // 272,000 × $2.50; 10 × $15
      ['one token more', 272_001, [1_360_005_000, 225_000]], // 272,001 × $5; 10 × $22.50
    ] as const
  ).map(
    ([name, input, expected]): Row => ({
      name,
      model: 'openai/gpt-5.4',
      answer: responses({ input_tokens: input, output_tokens: 10, total_tokens: input + 10 }),
      expected,
    }),
  ),
  {
    name: 'the priority tier',
    model: 'openai/gpt-5.4',
    ask: { service_tier: 'priority' },
    answer: responses({ input_tokens: 100, output_tokens: 10, total_tokens: 110 }, { service_tier: 'priority' }),
    expected: [500_000, 300_000], // 100 × $5; 10 × $30
    recorded: { service_tier: 'priority' },
  },
  {
    name: 'the priority tier, served in the default one because traffic rose too fast',
    model: 'openai/gpt-5.4',
    ask: { service_tier: 'priority' },
    answer: responses({ input_tokens: 100, output_tokens: 10, total_tokens: 110 }, { service_tier: 'default' }),
    expected: [250_000, 150_000], // 100 × $2.50; 10 × $15
    recorded: { service_tier: 'default' },
  },
  {
    name: 'nothing asked, and served in the priority tier by a setting of the project',
    model: 'openai/gpt-5.4',
    answer: responses({ input_tokens: 100, output_tokens: 10, total_tokens: 110 }, { service_tier: 'priority' }),
    expected: [500_000, 300_000], // 100 × $5; 10 × $30
  },
  {
    name: 'the flex tier, with cached input',
    model: 'openai/gpt-6.1-terra',
    ask: { service_tier: 'flex' },
    answer: responses(partlyCached, { service_tier: 'flex' }),
    expected: [310_000, 250_000], // 600 × $0.50 + 400 × $0.025 = 300,000 + 10,000; 100 × $2.50
  },
  {
    name: 'the flex tier of a model that costs half there',
    model: 'openai/gpt-5-mini',
    ask: { service_tier: 'flex' },
    answer: responses(partlyCached, { service_tier: 'flex' }),
    expected: [80_000, 100_000], // 600 × $0.125 + 400 × $0.0125 = 75,000 + 5,000; 100 × $1
    recorded: { service_tier: 'flex' },
  },
  {
    name: 'nothing asked, and served in the flex tier by a setting of the project',
    model: 'openai/gpt-5-nano',
    answer: responses({ input_tokens: 1000, output_tokens: 100, total_tokens: 1100 }, { service_tier: 'flex' }),
    expected: [25_000, 20_000], // 1000 × $0.025; 100 × $0.20
    recorded: { service_tier: 'flex' },
  },
  {
    name: 'the flex tier beyond the length at which prices rise',
    model: 'openai/gpt-5.4',
    ask: { service_tier: 'flex' },
    answer: responses({ input_tokens: 272_001, output_tokens: 10, total_tokens: 272_011 }, { service_tier: 'flex' }),
    expected: [680_002_500, 112_500], // 272,001 × $2.50; 10 × $11.25
  },
  {
    name: 'a tier whose price nobody knows: that of the endpoint',
    model: 'openai/gpt-5-nano',
    answer: responses({ input_tokens: 1000, output_tokens: 100, total_tokens: 1100 }, { service_tier: 'scale' }),
    expected: [50_000, 40_000], // 1000 × $0.05; 100 × $0.40
    recorded: { service_tier: 'scale' },
  },
  {
    name: 'searches that the provider counts',
    model: 'openai/gpt-5-mini',
    answer: responses(
      { input_tokens: 8000, output_tokens: 400, total_tokens: 8400 },
      {
        output: [{ type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } }, message],
        tool_usage: { web_search: { num_requests: 2 } },
      },
    ),
    // 8000 × $0.25; 400 × $2; two searches at a cent
    expected: [2_000_000, 800_000, 20_000_000],
  },
  {
    name: 'searches that are told as items; to open a page costs nothing',
    model: 'openai/gpt-5-mini',
    answer: responses(
      { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
      {
        output: [
          { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'a' } },
          { type: 'web_search_call', id: 'ws_2', status: 'completed', action: { type: 'open_page' } },
          { type: 'web_search_call', id: 'ws_3', status: 'completed', action: { type: 'search', query: 'b' } },
          message,
        ],
      },
    ),
    expected: [25_000, 20_000, 20_000_000], // 100 × $0.25; 10 × $2; two searches at a cent
  },
  {
    name: 'no tokens at all beside a text: an estimate',
    model: 'openai/gpt-5-mini',
    answer: responses({ input_tokens: 0, output_tokens: 0, total_tokens: 0 }),
    expected: [500, 4000], // 2 × $0.25; 2 × $2
    recorded: { usage_estimated: true },
  },
  {
    name: 'more cached beside the input than in it, and more reasoning than output',
    model: 'openai/gpt-5-mini',
    answer: responses({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 999, cache_write_tokens: 999 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 50 },
      total_tokens: 20,
    }),
    expected: [277_225, 20_000], // 999 × $0.025 + 1009 × $0.25; 10 × $2
    recorded: { usage_estimated: true },
  },
];

const anthropic: Row[] = [
  {
    name: 'cache writes of five minutes and of an hour in one answer, and a read',
    model: 'anthropic/claude-sonnet-5.5',
    ask: { provider: { only: ['anthropic'] } }, // another provider has the model, too
    answer: claude({
      input_tokens: 100,
      cache_creation_input_tokens: 3000,
      cache_read_input_tokens: 5000,
      cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
      output_tokens: 200,
      service_tier: 'standard',
      inference_geo: 'global',
    }),
    // 100 × $2 + 1000 × $2.50 + 2000 × $4 + 5000 × $0.10 = 200,000 + 2,500,000 + 8,000,000 + 500,000; 200 × $10
    expected: [11_200_000, 2_000_000],
    recorded: { tokens_prompt: 8100, native_tokens_cached: 5000, service_tier: 'default' },
  },
  {
    name: 'the same in the two parts of a stream',
    model: 'anthropic/claude-opus-5.5',
    ask: { stream: true },
    answer: sse(
      [
        {
          type: 'message_start',
          message: {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            model: 'm',
            content: [],
            stop_reason: null,
            usage: {
              input_tokens: 10,
              cache_creation_input_tokens: 500,
              cache_read_input_tokens: 0,
              output_tokens: 1,
              cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 500 },
            },
          },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 50 } },
        { type: 'message_stop' },
      ],
      { named: true },
    ),
    expected: [4_040_000, 1_000_000], // 10 × $4 + 500 × $8 = 40,000 + 4,000,000; 50 × $20
  },
  {
    name: 'searches',
    model: 'anthropic/claude-haiku-4.5',
    answer: claude({ input_tokens: 10_000, output_tokens: 300, server_tool_use: { web_search_requests: 3 } }),
    expected: [10_000_000, 1_500_000, 30_000_000], // 10,000 × $1; 300 × $5; three at a cent
  },
  {
    name: 'exactly the length at which prices rise, most of it read from the cache',
    model: 'anthropic/claude-haiku-5.5',
    answer: claude({ input_tokens: 1000, cache_read_input_tokens: 99_000, output_tokens: 100 }),
    expected: [1_090_000, 50_000], // 1000 × $0.10 + 99,000 × $0.01 = 100,000 + 990,000; 100 × $0.50
  },
  {
    name: 'one cached token more: all of it at the higher prices',
    model: 'anthropic/claude-haiku-5.5',
    answer: claude({ input_tokens: 1000, cache_read_input_tokens: 99_001, output_tokens: 100 }),
    expected: [5_450_050, 250_000], // 1000 × $0.50 + 99,001 × $0.05 = 500,000 + 4,950,050; 100 × $2.50
  },
  {
    name: 'thinking, which is output',
    model: 'anthropic/claude-sonnet-5',
    answer: claude({ input_tokens: 50, output_tokens: 100, output_tokens_details: { thinking_tokens: 80 } }),
    expected: [100_000, 1_000_000], // 50 × $2; 100 × $10
    recorded: { native_tokens_reasoning: 80 },
  },
  {
    name: 'capacity that was bought in advance: the list has no other price',
    model: 'anthropic/claude-sonnet-4.6',
    answer: claude({ input_tokens: 100, output_tokens: 10, service_tier: 'priority' }),
    expected: [300_000, 150_000], // 100 × $3; 10 × $15
    recorded: { service_tier: 'priority' },
  },
];

const google: Row[] = [
  {
    name: 'thoughts and cached content',
    model: 'google/gemini-3.1-pro-preview',
    answer: gemini({
      promptTokenCount: 1000,
      cachedContentTokenCount: 400,
      candidatesTokenCount: 50,
      thoughtsTokenCount: 150,
      totalTokenCount: 1200,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 1000 }],
    }),
    expected: [1_280_000, 2_400_000], // 600 × $2 + 400 × $0.20 = 1,200,000 + 80,000; 200 × $12
  },
  {
    name: 'a prompt beyond 200,000 tokens',
    model: 'google/gemini-3.1-pro-preview',
    answer: gemini({ promptTokenCount: 200_001, candidatesTokenCount: 10, totalTokenCount: 200_011 }),
    expected: [800_004_000, 180_000], // 200,001 × $4; 10 × $18
  },
  {
    name: 'sound that was read',
    model: 'google/gemini-2.5-flash',
    answer: gemini({
      promptTokenCount: 1500,
      candidatesTokenCount: 20,
      totalTokenCount: 1520,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 300 },
        { modality: 'AUDIO', tokenCount: 1200 },
      ],
    }),
    expected: [1_290_000, 50_000], // 300 × $0.30 + 1200 × $1 = 90,000 + 1,200,000; 20 × $2.50
  },
  {
    name: 'sound of which a part was in the cache',
    model: 'google/gemini-2.5-flash',
    answer: gemini({
      promptTokenCount: 2000,
      cachedContentTokenCount: 1000,
      candidatesTokenCount: 10,
      totalTokenCount: 2010,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 500 },
        { modality: 'AUDIO', tokenCount: 1500 },
      ],
      cacheTokensDetails: [
        { modality: 'TEXT', tokenCount: 200 },
        { modality: 'AUDIO', tokenCount: 800 },
      ],
    }),
    // Sound from the cache costs what other cached input does: 1000 × $0.03 + 700 × $1 + 300 × $0.30; 10 × $2.50
    expected: [820_000, 25_000],
  },
  {
    name: 'pictures that were read, at the price of text',
    model: 'google/gemini-2.5-flash-lite',
    answer: gemini({
      promptTokenCount: 600,
      candidatesTokenCount: 10,
      totalTokenCount: 610,
      promptTokensDetails: [
        { modality: 'IMAGE', tokenCount: 516 },
        { modality: 'TEXT', tokenCount: 84 },
      ],
    }),
    expected: [60_000, 4_000], // 600 × $0.10; 10 × $0.40
  },
  {
    name: 'grounding, by the query',
    model: 'google/gemini-3-flash-preview',
    answer: gemini(
      {
        promptTokenCount: 100,
        toolUsePromptTokenCount: 900,
        candidatesTokenCount: 100,
        totalTokenCount: 1100,
      },
      { groundingMetadata: { webSearchQueries: ['height of the Eiger', 'Eiger north face'] } },
    ),
    expected: [500_000, 300_000, 28_000_000], // 1000 × $0.50; 100 × $3; two at 1.4 cents
  },
  {
    name: 'grounding of an older family, by the answer',
    model: 'google/gemini-2.5-pro',
    answer: gemini(
      { promptTokenCount: 100, candidatesTokenCount: 50, totalTokenCount: 150 },
      { groundingMetadata: { webSearchQueries: ['a', 'b', 'c'] } },
    ),
    expected: [125_000, 500_000, 35_000_000], // 100 × $1.25; 50 × $10; once 3.5 cents
  },
];

const others: Row[] = [
  {
    name: 'Groq: cached input, reasoning, its own name of the base tier',
    model: 'openai/gpt-oss-120b',
    ask: { provider: { only: ['groq'] } },
    answer: chat(
      {
        queue_time: 0.04,
        prompt_tokens: 1000,
        prompt_time: 0.01,
        completion_tokens: 100,
        completion_time: 0.2,
        total_tokens: 1100,
        total_time: 0.21,
        prompt_tokens_details: { cached_tokens: 200 },
        completion_tokens_details: { reasoning_tokens: 60 },
      },
      { service_tier: 'on_demand', x_groq: { id: 'req_1' } },
    ),
    expected: [135_000, 60_000], // 800 × $0.15 + 200 × $0.075 = 120,000 + 15,000; 100 × $0.60
    recorded: { service_tier: 'default' },
  },
  {
    name: 'DeepSeek: hits and misses',
    model: 'deepseek/deepseek-v4.1-flash',
    ask: { provider: { only: ['deepseek'] } },
    answer: chat({
      prompt_tokens: 2112,
      completion_tokens: 3,
      total_tokens: 2115,
      prompt_cache_hit_tokens: 2048,
      prompt_cache_miss_tokens: 64,
    }),
    expected: [31_488, 3_600], // 64 × $0.30 + 2048 × $0.006 = 19,200 + 12,288; 3 × $1.20
  },
  {
    name: 'Mistral: the cached part beside the sum',
    model: 'mistralai/mistral-small-2603',
    answer: chat({ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, num_cached_tokens: 64 }),
    expected: [6_360, 12_000], // 36 × $0.15 + 64 × $0.015 = 5,400 + 960; 20 × $0.60
  },
  {
    name: 'Cohere: half a nano-dollar is rounded up',
    model: 'cohere/command-r7b-12-2024',
    answer: chat({ prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }),
    expected: [113, 150], // 3 × $0.0375 = 112.5; 1 × $0.15
  },
  {
    name: 'xAI: searches of two kinds, and what it says itself',
    model: 'x-ai/grok-4.5',
    ask: { provider: { only: ['xai'] } },
    answer: responses({
      input_tokens: 1200,
      input_tokens_details: { cached_tokens: 200 },
      output_tokens: 500,
      output_tokens_details: { reasoning_tokens: 400 },
      total_tokens: 1700,
      num_sources_used: 0,
      num_server_side_tools_used: 3,
      cost_in_usd_ticks: 201_000_000,
      server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 1, code_interpreter_calls: 0 },
    }),
    // 1000 × $2 + 200 × $0.50; 500 × $6; three at half a cent: 20,100,000 in all, and so it says
    expected: [2_100_000, 3_000_000, 15_000_000],
    noted: 0.0201,
  },
  {
    name: 'xAI in the older manner: reasoning beside the output',
    model: 'x-ai/grok-4.3',
    answer: chat({
      prompt_tokens: 32,
      completion_tokens: 9,
      total_tokens: 151,
      prompt_tokens_details: { text_tokens: 32, audio_tokens: 0, image_tokens: 0, cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 110, audio_tokens: 0, accepted_prediction_tokens: 0 },
    }),
    expected: [40_000, 297_500], // 32 × $1.25; (9 + 110) × $2.50
  },
  {
    name: 'a gateway in front: priced by our list, its own word noted',
    model: 'anthropic/claude-sonnet-5.5',
    ask: { provider: { only: ['openrouter'] } },
    answer: chat({
      prompt_tokens: 1000,
      completion_tokens: 100,
      total_tokens: 1100,
      cost: 0.0035,
      is_byok: false,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 200, audio_tokens: 0, video_tokens: 0 },
      cost_details: { upstream_inference_cost: null, upstream_inference_prompt_cost: 0.0021 },
      completion_tokens_details: { reasoning_tokens: 0, image_tokens: 0 },
    }),
    // 800 × $2 + 200 × $2.50 = 1,600,000 + 500,000; 100 × $10
    expected: [2_100_000, 1_000_000],
    noted: 0.0035,
  },
  {
    name: 'a gateway in front, of a model without a price: its own word',
    model: 'openrouter/unknown',
    answer: chat({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.000345 }),
    expected: [0, 345_000],
    noted: 0.000345,
  },
  {
    name: 'Moonshot: the cached part at the top',
    model: 'moonshotai/kimi-k2.5',
    ask: { provider: { only: ['moonshot'] } },
    answer: chat({ prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010, cached_tokens: 500 }),
    expected: [350_000, 30_000], // 500 × $0.60 + 500 × $0.10; 10 × $3
  },
  {
    name: 'Alibaba: an explicit cache, of a model whose list has no price for it',
    model: 'qwen/qwen3-32b',
    ask: { provider: { only: ['alibaba'] } },
    answer: chat({
      prompt_tokens: 2000,
      completion_tokens: 10,
      total_tokens: 2010,
      prompt_tokens_details: {
        cached_tokens: 1000,
        cache_creation_input_tokens: 500,
        cache_type: 'ephemeral',
        cache_creation: { ephemeral_5m_input_tokens: 500 },
      },
    }),
    expected: [320_000, 6_400], // 2000 × $0.16; 10 × $0.64
  },
  {
    name: 'Perplexity: a fee for the request',
    model: 'perplexity/sonar',
    answer: chat({
      prompt_tokens: 14,
      completion_tokens: 86,
      total_tokens: 100,
      search_context_size: 'low',
      cost: { input_tokens_cost: 0.000014, output_tokens_cost: 0.000086, request_cost: 0.005, total_cost: 0.0051 },
    }),
    expected: [5_014_000, 86_000], // 14 × $1 + half a cent; 86 × $1: 0.0051 in all, and so it says
    noted: 0.0051,
  },
  {
    name: 'Perplexity: what it read and thought for an answer, and its searches',
    model: 'perplexity/sonar-deep-research',
    answer: chat({
      prompt_tokens: 33,
      completion_tokens: 7163,
      total_tokens: 7196,
      citation_tokens: 20_016,
      num_search_queries: 18,
      reasoning_tokens: 73_997,
      cost: {
        input_tokens_cost: 0.000066,
        output_tokens_cost: 0.057,
        citation_tokens_cost: 0.04,
        reasoning_tokens_cost: 0.222,
        search_queries_cost: 0.09,
        total_cost: 0.409,
      },
    }),
    // (33 + 20,016) × $2; 7163 × $8 + 73,997 × $3 = 57,304,000 + 221,991,000; 18 at half a cent: 0.409 in all
    expected: [40_098_000, 279_295_000, 90_000_000],
    noted: 0.409,
  },
];

/** Models that the built-in catalog does not have, by wire and slug. */
const ownPrices = {
  // https://developers.openai.com/api/docs/models/gpt-audio.md, 2026-11
  'openai-chat:own/gpt-audio': {
    prompt: '0.0000025',
    completion: '0.00001',
    audio: '0.000032',
    audio_output: '0.000064',
  },
  // https://github.com/BerriAI/litellm/discussions/44983, 2026-10
  'gemini:own/nano-banana-2.1': { prompt: '0.0000015', completion: '0.0000075', image_output: '0.00003' },
  // https://platform.openai.com/docs/models/gpt-image-1, 2026-06
  'openai-responses:own/gpt-image-1': {
    prompt: '0.000005',
    completion: '0.00004',
    image_token: '0.00001',
    image_output: '0.00004',
  },
  'anthropic-messages:own/short': { prompt: '0.000001', completion: '0.000005', cache_write: '0.00000125' },
  'openai-chat:own/vllm': { prompt: '0.0000001', completion: '0.0000004', request: '0.0001' },
  'openai-chat:own/by-picture': { prompt: '0.000001', completion: '0.000002', image: '0.001' },
};

const own: Row[] = [
  {
    name: 'sound, read and made',
    model: 'own/gpt-audio',
    answer: chat({
      prompt_tokens: 150,
      completion_tokens: 80,
      total_tokens: 230,
      prompt_tokens_details: { audio_tokens: 100, text_tokens: 50, cached_tokens: 0 },
      completion_tokens_details: { audio_tokens: 60, text_tokens: 20, reasoning_tokens: 0 },
    }),
    // 50 × $2.50 + 100 × $32 = 125,000 + 3,200,000; 20 × $10 + 60 × $64 = 200,000 + 3,840,000
    expected: [3_325_000, 4_040_000],
  },
  {
    name: 'a picture that was made, words and thoughts beside it',
    model: 'own/nano-banana-2.1',
    answer: gemini({
      promptTokenCount: 10,
      candidatesTokenCount: 1130,
      thoughtsTokenCount: 100,
      totalTokenCount: 1240,
      candidatesTokensDetails: [
        { modality: 'IMAGE', tokenCount: 1120 },
        { modality: 'TEXT', tokenCount: 10 },
      ],
    }),
    // 10 × $1.50; (10 + 100) × $7.50 + 1120 × $30 = 825,000 + 33,600,000
    expected: [15_000, 34_425_000],
    recorded: { native_tokens_completion_images: 1120 },
  },
  {
    name: 'pictures that were read at a price of their own, and one that was made',
    model: 'own/gpt-image-1',
    answer: responses({
      input_tokens: 350,
      input_tokens_details: { text_tokens: 50, image_tokens: 300 },
      output_tokens: 272,
      output_tokens_details: { image_tokens: 272 },
      total_tokens: 622,
    }),
    expected: [3_250_000, 10_880_000], // 50 × $5 + 300 × $10 = 250,000 + 3,000,000; 272 × $40
  },
  {
    name: 'an hour in the cache without a price of its own: that of five minutes',
    model: 'own/short',
    answer: claude({
      input_tokens: 10,
      cache_creation_input_tokens: 400,
      output_tokens: 10,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 300 },
    }),
    expected: [510_000, 50_000], // 10 × $1 + 400 × $1.25; 10 × $5
  },
  {
    name: 'vLLM: details that are null, and a price for the request',
    model: 'own/vllm',
    answer: chat({ prompt_tokens: 1000, total_tokens: 1010, completion_tokens: 10, prompt_tokens_details: null }),
    expected: [200_000, 4_000], // 1000 × $0.10 + 100,000; 10 × $0.40
  },
  {
    name: 'pictures that are read at a price for each',
    model: 'own/by-picture',
    ask: {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Which is larger?' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
          ],
        },
      ],
    },
    answer: chat({ prompt_tokens: 500, completion_tokens: 10, total_tokens: 510 }),
    expected: [2_500_000, 20_000], // 500 × $1 + 2 × 1,000,000; 10 × $2
    recorded: { num_media_prompt: 2 },
  },
  {
    name: 'an own key: recorded at the price of the list, which is what its owner pays',
    model: 'mistralai/ministral-8b-2512',
    answer: chat({ prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }),
    expected: [150_000, 15_000], // 1000 × $0.15; 100 × $0.15
    recorded: { is_byok: true, upstream_inference_cost: 0.000165 },
  },
  {
    name: 'an own key whose provider says what it asks',
    model: 'mistralai/ministral-8b-2512',
    answer: chat({ prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100, cost: 0.0002 }),
    expected: [150_000, 15_000],
    noted: 0.0002,
    recorded: { is_byok: true },
  },
];

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const at = { base_url: upstream.url, api_key: 'upstream-key' };
  const builtin = ['openai', 'anthropic', 'google', 'groq', 'deepseek', 'mistral', 'xai', 'moonshot', 'alibaba'];
  const priced = Map.groupBy(Object.entries(ownPrices), ([name]) => name.split(':')[0]!);
  gateway = await testGateway({
    providers: [
      ...[...builtin, 'perplexity', 'cohere'].map((id) => ({ id, ...at })),
      ...[...priced].map(([wire, models]) => ({
        id: `own-${wire}`,
        wire,
        ...at,
        models: models.map(([name, pricing]) => ({ model: name.split(':')[1], upstream_model: 'm', pricing })),
      })),
      { id: 'xai-chat', same_as: 'xai', wire: 'openai-chat', ...at, models: [{ model: 'x-ai/grok-4.3' }] },
      {
        id: 'openrouter',
        wire: 'openai-chat',
        ...at,
        models: [
          {
            model: 'anthropic/claude-sonnet-5.5',
            pricing: { prompt: '0.000002', completion: '0.00001', cache_write: '0.0000025' },
          },
          { model: 'openrouter/unknown' },
        ],
      },
      {
        id: 'mistral-own',
        same_as: 'mistral',
        wire: 'openai-chat',
        workspace: 'main',
        ...at,
        models: [{ model: 'mistralai/ministral-8b-2512' }],
      },
    ],
  });
});
afterAll(() => Promise.all([gateway.close(), upstream.close()]));

/** The response object, streamed or not. */
async function ask({ model, ask: more, answer }: Row) {
  upstream.always(answer);
  const body = { model, input: 'Hello', ...more };
  const response = await gateway.post('/responses', body);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const last = text.split('\n\n').findLast((frame) => frame.startsWith('data: {'));
  const result = JSON.parse(last === undefined ? text : last.slice('data: '.length));
  return { id: response.headers.get('x-generation-id'), usage: (result.response ?? result).usage };
}

const rows = Object.entries({ openai, anthropic, google, others, own }).flatMap(([group, list]) =>
  list.map((row) => ({ ...row, title: `${group}: ${row.name}` })),
);

describe('an answer costs what the price list says', () => {
  it.each(rows)('$title', async (row) => {
    const { id, usage } = await ask(row);
    const [input, output, tools = 0] = row.expected ?? [0, 0];
    const total = row.expected === null ? null : usdOf(BigInt(input + output + tools));
    if (usage !== null) {
      expect(usage.cost).toBe(total);
      if (row.expected) {
        expect(usage.cost_details).toMatchObject({
          upstream_inference_input_cost: usdOf(BigInt(input)),
          upstream_inference_output_cost: usdOf(BigInt(output)),
          ...(tools === 0 ? undefined : { server_tool_cost: usdOf(BigInt(tools)) }),
        });
      }
    }
    const { data } = (await (await gateway.get(`/generation?id=${id}`)).json()) as { data: Record<string, unknown> };
    expect(data).toMatchObject({
      total_cost: total,
      usage_estimated: false,
      ...(row.noted === undefined ? undefined : { upstream_inference_cost: row.noted }),
      ...row.recorded,
    });
  });

  it('covers thirty and more, and every price of the built-in catalog says where it is from', () => {
    expect(rows.length).toBeGreaterThanOrEqual(30);
    const records = builtinFiles.flatMap(({ endpoints = [], fees = [] }) => [...endpoints, ...fees]);
    const priced = records.filter(({ provider }) => provider !== 'simulator');
    expect(priced.filter(({ source, as_of }) => !/^https:/.test(source ?? '') || !as_of)).toEqual([]);
  });
});
