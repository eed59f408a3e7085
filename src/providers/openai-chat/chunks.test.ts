import { describe, expect, it } from 'vitest';
import { readDeltas, stream, whole } from '../../../tests/wires/read-chat.ts';
import type { Chunk } from '../../domain/chunks.ts';
import { usage } from '../../domain/usage.ts';
import { countWhole, createReader, readWhole } from './chunks.ts';

const finish = (chunks: Chunk[]) => chunks.at(-1);

describe('a message that cannot be read', () => {
  const choice = (fields: object) => ({ choices: [{ index: 0, finish_reason: 'stop', ...fields }] });

  it.each([7, true, { type: 'text', text: 'Hi' }])('is a failure if its content is %j', (content) => {
    const failure = expect.objectContaining({ kind: 'upstream_failed', retryable: true });
    expect(() => readWhole(choice({ message: { role: 'assistant', content } }), {})).toThrow(failure);
    expect(() => createReader({}).read({ event: '', data: JSON.stringify(choice({ delta: { content } })) })).toThrow(
      failure,
    );
  });

  it.each([{}, { message: null }])('is a failure if a whole response has none: %j', (fields) => {
    expect(() => readWhole(choice(fields), {})).toThrow('a choice without a message');
  });

  it('is an empty response if its content is null', () => {
    expect(readWhole(choice({ message: { role: 'assistant', content: null } }), {}).map(({ type }) => type)).toEqual([
      'start',
      'finish',
    ]);
  });
});

describe('a whole message', () => {
  it('has reasoning before the call that it names', () => {
    const seal = { type: 'reasoning.encrypted', format: 'google-gemini-v1' };
    const message = {
      reasoning: 'Hm.',
      reasoning_details: [
        { type: 'reasoning.text', text: 'Hm.', id: 'a' },
        { type: 'reasoning.summary', summary: 'More.', id: 'b' },
        { ...seal, data: 'two', id: 'b', tool_call_id: 'c2' },
        { ...seal, data: 'none', id: 'c', tool_call_id: 'c3' },
      ],
      content: 'Look:',
      tool_calls: ['c1', 'c2'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
    };
    const chunks = readWhole({ choices: [{ message, finish_reason: 'tool_calls', native_finish_reason: 'STOP' }] }, {});
    expect(chunks.filter(({ type }) => type !== 'tool_call_arguments')).toMatchObject([
      { type: 'start' },
      { type: 'reasoning', delta: 'Hm.' },
      { type: 'reasoning_seal', encryptedContent: 'none' },
      { type: 'text', delta: 'Look:' },
      { type: 'tool_call', callId: 'c1' },
      { type: 'reasoning_summary', delta: 'More.' },
      { type: 'reasoning_seal', encryptedContent: 'two' },
      { type: 'tool_call', callId: 'c2' },
      { type: 'finish', reason: 'tool_calls', nativeReason: 'STOP' },
    ]);
  });
});

describe('a streamed response', () => {
  it('is text, and a finish with usage and tier', () => {
    expect(stream('text')).toEqual([
      { type: 'start', model: 'gpt-5-mini-2025-08-07' },
      ...['The', ' tide', ' turns', ' at', ' noon', '.'].map((delta) => ({ type: 'text', delta })),
      { type: 'finish', reason: 'stop', serviceTier: 'default', usage: usage({ inputTokens: 14, outputTokens: 9 }) },
    ]);
  });

  it('keeps every character, escaped or not', () => {
    const text = stream('unicode').map((chunk) => (chunk.type === 'text' ? chunk.delta : ''));
    expect(text.join('')).toBe('Grüße 👩‍🚀\r\nZeile "zwei"\t שלום \\ \u2028日本語 🇨🇭 𝄞');
  });

  it.each([
    ['length', 'length'],
    ['content-filter', 'content_filter'],
    ['tool-call', 'tool_calls'],
    ['same-index-calls', 'tool_calls'],
  ])('of the recording %s ends for the reason %s', (name, reason) => {
    expect(finish(stream(name))).toMatchObject({ type: 'finish', reason });
  });

  it.each([
    ['eos', 'stop', undefined],
    ['model_length', 'length', undefined],
    ['model_context_window_exceeded', 'length', undefined],
    ['bored', 'stop', ['finish_reason (bored)']],
  ])('with the finish reason %s ends as %s', (word, reason, dropped) => {
    const chunks = readWhole({ choices: [{ message: { content: 'x' }, finish_reason: word }] }, {});
    expect(finish(chunks)).toEqual({ type: 'finish', reason, nativeReason: word, dropped });
  });

  it('carries log probabilities with the text they belong to', () => {
    const [, first] = stream('logprobs');
    expect(first).toEqual({
      type: 'text',
      delta: 'Yes',
      logprobs: [
        {
          token: 'Yes',
          logprob: -0.0123,
          bytes: [89, 101, 115],
          top_logprobs: [
            { token: 'Yes', logprob: -0.0123, bytes: [89, 101, 115] },
            { token: 'No', logprob: -4.75, bytes: [78, 111] },
          ],
        },
      ],
    });
  });

  it('has no finish when it ends without a finish reason, unless [DONE] follows an answer', () => {
    const data = JSON.stringify({ choices: [{ index: 0, delta: { content: 'cut' } }] });
    const read = (...frames: string[]) => {
      const reader = createReader({});
      for (const each of frames.slice(0, -1)) reader.read({ event: '', data: each });
      return [...reader.read({ event: '', data: frames.at(-1)! }), ...reader.end()].filter(
        ({ type }) => type === 'finish',
      );
    };
    expect(read(data)).toEqual([]);
    expect(read('[DONE]')).toEqual([]);
    expect(read(data, '[DONE]')).toEqual([
      { type: 'finish', reason: 'stop', nativeReason: '', adapted: ['the finish reason of the response'] },
    ]);
  });

  it('ends without usage or [DONE] where a server sends neither', () => {
    expect(stream('bare').slice(1)).toEqual([
      { type: 'text', delta: 'pong' },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it('names what has no place: other choices, audio, unknown fields', () => {
    const reader = createReader({});
    const data = JSON.stringify({
      provider: 'Acme',
      choices: [
        { index: 0, delta: { content: 'a', audio: { data: 'UklG' }, mood: 'calm' }, finish_reason: 'stop', score: 1 },
        { index: 1, delta: { content: 'b' } },
      ],
    });
    expect([...reader.read({ event: '', data }), ...reader.end()]).toEqual([
      { type: 'start' },
      { type: 'text', delta: 'a' },
      {
        type: 'finish',
        reason: 'stop',
        dropped: ['provider', 'message.audio', 'message.mood', 'choices[].score', 'choices[1]'],
      },
    ]);
  });
});

describe('reasoning', () => {
  it('is read from reasoning_content', () => {
    const chunks = stream('reasoning');
    expect(chunks.slice(1, 7).map((chunk) => chunk.type)).toEqual([...Array(4).fill('reasoning'), 'text', 'text']);
    expect(finish(chunks)).toMatchObject({ usage: { reasoningTokens: 16 } });
  });

  it('sent twice is read once', () => {
    expect(readDeltas([{ reasoning: 'hm', reasoning_content: 'hm' }]).slice(0, 1)).toEqual([
      { type: 'reasoning', delta: 'hm' },
    ]);
  });

  it('in blocks keeps its signature', () => {
    expect(stream('reasoning-details').slice(1, 4)).toEqual([
      { type: 'reasoning', delta: 'Primes below ten:' },
      { type: 'reasoning', delta: ' 2, 3, 5, 7.' },
      { type: 'reasoning_seal', format: 'anthropic-claude-v1', signature: expect.stringMatching(/^EqoBCkgI/) },
    ]);
  });

  it('in summaries keeps what is encrypted', () => {
    expect(stream('reasoning-encrypted').slice(1, 4)).toEqual([
      { type: 'reasoning_summary', delta: '**Counting**', part: 0 },
      { type: 'reasoning_summary', delta: '\n\nI count the days.', part: 0 },
      {
        type: 'reasoning_seal',
        format: 'openai-responses-v1',
        encryptedContent: expect.stringMatching(/^gAAAAAB/),
        id: expect.stringMatching(/^rs_/),
      },
    ]);
  });

  it('comes before the seal that follows it in the same message', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'x', format: 'acme-v9' }];
    expect(readDeltas([{ reasoning: 'hm', reasoning_details: details }])).toEqual([
      { type: 'reasoning', delta: 'hm' },
      { type: 'reasoning_seal', format: 'unknown', encryptedContent: 'x' },
      { type: 'finish', reason: 'stop', dropped: ['message.reasoning_details[].format (acme-v9)'] },
    ]);
  });

  it('is read from the thinking parts of Mistral', () => {
    expect(stream('content-parts').slice(1, -1)).toEqual([
      { type: 'reasoning', delta: 'Seven eights' },
      { type: 'reasoning', delta: ' are 56.' },
      { type: 'text', delta: 'It is' },
      { type: 'text', delta: ' 56.' },
    ]);
  });
});

describe('what comes with the text', () => {
  it('a refusal', () => {
    expect(stream('refusal').filter((chunk) => chunk.type === 'refusal')).toHaveLength(4);
  });

  it('citations, flat', () => {
    expect(stream('annotations').filter((chunk) => chunk.type === 'annotation')).toMatchObject([
      { annotation: { type: 'url_citation', url: 'https://tides.example/noon', start_index: 0, end_index: 14 } },
      { annotation: { type: 'url_citation', url: 'https://sea.example/', title: 'The sea' } },
    ]);
  });

  it('sources of the whole response, as citations without a place', () => {
    expect(stream('citations').filter((chunk) => chunk.type === 'annotation')).toEqual([
      {
        type: 'annotation',
        annotation: {
          type: 'url_citation',
          url: 'https://tides.example/noon',
          title: 'Tides at noon',
          start_index: 0,
          end_index: 0,
        },
      },
      {
        type: 'annotation',
        annotation: {
          type: 'url_citation',
          url: 'https://sea.example/',
          title: 'The sea',
          start_index: 0,
          end_index: 0,
        },
      },
    ]);
  });

  it('images, as base64', () => {
    expect(stream('image')[3]).toEqual({
      type: 'item_done',
      key: 'image-0',
      item: { type: 'image_generation_call', status: 'completed', result: expect.stringMatching(/^iVBORw0KGgo/) },
    });
  });
});

// https://github.com/caozhiyuan/copilot-api/pull/88
it.each([
  { event: 'ping', data: '""' },
  { event: '', data: 'null' },
  { event: 'ping', data: '' },
])('an event without a body says nothing: %j', (frame) => {
  expect(createReader({}).read(frame)).toEqual([]);
});

it.each([
  ['max_output_tokens', 'length'],
  ['content-filter', 'content_filter'],
  ['RECITATION', 'content_filter'],
  ['TOOL_CALL', 'tool_calls'],
  ['completed', 'stop'],
])('the finish reason %s is %s', (word, reason) => {
  const choice = { index: 0, finish_reason: word, message: { content: 'a' } };
  expect(finish(readWhole({ choices: [choice] }, {}))).toMatchObject({ reason });
  expect(finish(readWhole({ choices: [choice] }, {}))).not.toHaveProperty('dropped');
});

describe('calls that are written in a text', () => {
  const section =
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a":1}<|tool_call_end|><|tool_calls_section_end|>';
  const context = { markedCalls: new Set(['f']) };

  it.each(['content', 'reasoning_content'])('are calls, streamed and whole, in %s', (field) => {
    const text = `Look.${section}`;
    const type = field === 'content' ? 'text' : 'reasoning';
    const [message] = [{ role: 'assistant', [field]: text }];
    const reader = createReader(context);
    const deltas = [...text].map((character) => ({ choices: [{ index: 0, delta: { [field]: character } }] }));
    const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    const streamed = [...deltas, last].flatMap((data) => reader.read({ event: '', data: JSON.stringify(data) }));
    streamed.push(...reader.read({ event: '', data: '[DONE]' }));
    for (const chunks of [readWhole({ choices: [{ message, finish_reason: 'stop' }] }, context), streamed]) {
      expect(chunks.map((chunk) => (chunk.type === type ? chunk.delta : '')).join('')).toBe('Look.');
      expect(chunks.filter((chunk) => chunk.type.startsWith('tool_call') || chunk.type === 'finish')).toMatchObject([
        { type: 'tool_call', callId: 'functions.f:0', name: 'f' },
        { type: 'tool_call_arguments', delta: '{"a":1}' },
        { type: 'finish', reason: 'tool_calls', nativeReason: 'stop' },
      ]);
    }
  });

  it('stay text if the response was cut within them', () => {
    const cut = section.slice(0, 60);
    const chunks = readWhole({ choices: [{ message: { content: cut }, finish_reason: 'length' }] }, context);
    expect(chunks.filter(({ type }) => type !== 'start')).toMatchObject([
      { type: 'text', delta: cut },
      { type: 'finish', reason: 'length' },
    ]);
  });
});

it('a text that begins within the reasoning is text where the reasoning has its own field', () => {
  const read = (message: object) =>
    readWhole({ choices: [{ message, finish_reason: 'stop' }] }, { thinkOpened: true }).filter(
      ({ type }) => type === 'text' || type === 'reasoning',
    );
  const expected = [
    { type: 'reasoning', delta: 'Hm.' },
    { type: 'text', delta: 'Hello.' },
  ];
  expect(read({ content: 'Hm.\n</think>\n\nHello.' })).toEqual(expected);
  expect(read({ content: 'Hello.', reasoning_content: 'Hm.' })).toEqual(expected);
});

describe('usage', () => {
  it('counts the cached tokens that llama.cpp has beside the usage', () => {
    const counts = { prompt_tokens: 237, completion_tokens: 35, total_tokens: 272 };
    const timings = { cache_n: 236, prompt_n: 1, predicted_n: 35 };
    const expected = { usage: { inputTokens: 237, outputTokens: 35, cachedTokens: 236 } };
    expect(finish(readDeltas([{ content: 'a' }], { usage: counts, timings }))).toMatchObject(expected);
    expect(countWhole({ choices: [], usage: counts, timings })).toMatchObject(expected.usage);
    expect(countWhole({ choices: [], timings })).toBeUndefined();
  });

  // https://github.com/BerriAI/litellm/pull/33054, https://github.com/co-l/openfox/pull/236
  it('keeps the details of an earlier chunk', () => {
    const reader = createReader({});
    const read = (fields: object) => reader.read({ event: '', data: JSON.stringify(fields) });
    const details = { cached_tokens: 80 };
    const delta = { content: 'a' };
    read({ choices: [{ delta }], usage: { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: details } });
    read({ choices: [{ delta: {}, finish_reason: 'stop' }] });
    const counts = { prompt_tokens: null, completion_tokens: 10, prompt_tokens_details: null };
    expect(finish(read({ choices: [], usage: counts }))).toMatchObject({
      usage: { inputTokens: 100, outputTokens: 10, cachedTokens: 80 },
    });
  });

  it('is in the last choice at Moonshot', () => {
    const counts = { prompt_tokens: 3, completion_tokens: 2 };
    const choice = { index: 0, finish_reason: 'stop', usage: counts };
    const expected = { type: 'finish', reason: 'stop', usage: usage({ inputTokens: 3, outputTokens: 2 }) };
    const reader = createReader({});
    reader.read({ event: '', data: JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' } }] }) });
    const last = reader.read({ event: '', data: JSON.stringify({ choices: [{ ...choice, delta: {} }] }) });
    expect(finish([...last, ...reader.end()])).toEqual(expected);
    const message = { role: 'assistant', content: 'Hi' };
    expect(finish(readWhole({ choices: [{ ...choice, message }] }, {}))).toEqual(expected);
  });

  it('names counts that are called like something every object has', () => {
    const counts = { prompt_tokens: 3, completion_tokens: 2, toString: 7 };
    expect(finish(readDeltas([{ content: 'a' }], { usage: counts }))).toEqual({
      type: 'finish',
      reason: 'stop',
      usage: usage({ inputTokens: 3, outputTokens: 2 }),
      dropped: ['usage.toString'],
    });
  });

  it.each([
    ['text', { inputTokens: 14, outputTokens: 9, totalTokens: 23 }],
    ['usage-cache-hit', { inputTokens: 2112, cachedTokens: 2048, outputTokens: 3 }],
    ['usage-x-groq', { inputTokens: 72, outputTokens: 21, reasoningTokens: 7 }],
    ['reasoning-details', { inputTokens: 44, cacheWriteTokens: 32, reasoningTokens: 12 }],
    ['citations', { inputTokens: 6, outputTokens: 12 }],
  ])('of the recording %s is the same streamed or not', (name, counts) => {
    expect(finish(stream(name))).toMatchObject({ usage: counts });
    expect(finish(whole(name))).toMatchObject({ usage: counts });
  });

  it('counts reasoning as output if a server counts it separately', () => {
    const counts = {
      prompt_tokens: 32,
      completion_tokens: 9,
      total_tokens: 151,
      completion_tokens_details: { reasoning_tokens: 110 },
    };
    expect(finish(readDeltas([{ content: 'a' }], { usage: counts }))).toMatchObject({
      usage: { inputTokens: 32, outputTokens: 119, totalTokens: 151, reasoningTokens: 110 },
    });
  });

  it('that is not reported is not invented', () => {
    expect(finish(stream('bare'))).not.toHaveProperty('usage');
  });

  it('reports the base tier in the words of the interface', () => {
    expect(finish(stream('usage-x-groq'))).toMatchObject({ serviceTier: 'default' });
    expect(finish(readDeltas([], { service_tier: 'standard' }))).toMatchObject({ serviceTier: 'default' });
  });
});

describe('an invalid response', () => {
  const failed = expect.objectContaining({ kind: 'upstream_failed', retryable: true });

  it.each([null, 'hello', {}, { choices: [] }, { choices: 'none' }])('%j is a failure of the provider', (body) => {
    expect(() => readWhole(body, {})).toThrow(failed);
  });

  it('a frame that is not JSON is a failure of the provider', () => {
    expect(() => createReader({}).read({ event: '', data: '{"choices":[' })).toThrow(failed);
    expect(() => createReader({}).read({ event: '', data: '7' })).toThrow(failed);
  });

  it('the finish reason error is a failure of the provider', () => {
    const body = { choices: [{ message: { content: '' }, finish_reason: 'error' }] };
    expect(() => readWhole(body, {})).toThrow(failed);
  });

  it('an error next to the finish reason wins', () => {
    const body = { choices: [{ message: {}, finish_reason: 'error' }], error: { code: 429, message: 'slow down' } };
    expect(() => readWhole(body, {})).toThrow(expect.objectContaining({ kind: 'rate_limited' }));
    expect(() => readWhole({ error: 'model runner crashed' }, {})).toThrow(/model runner crashed/);
  });
});

// https://github.com/langchain4j/langchain4j/issues/4931
describe('calls in a second choice', () => {
  const calls = [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }];
  const kinds = ['start', 'text', 'tool_call', 'tool_call_arguments', 'finish'];

  it('are those of the response', () => {
    const chunks = readWhole(
      {
        choices: [
          { index: 0, message: { role: 'assistant', content: 'Look.' }, finish_reason: 'stop' },
          { index: 1, message: { role: 'assistant', tool_calls: calls }, finish_reason: 'tool_calls' },
        ],
        usage: { prompt_tokens: 2, completion_tokens: 1 },
      },
      {},
    );
    expect(chunks.map(({ type }) => type).filter((type) => kinds.includes(type))).toEqual(kinds);
    expect(chunks.at(-1)).toMatchObject({ reason: 'tool_calls', usage: { inputTokens: 2 } });
    expect(chunks.at(-1)).not.toHaveProperty('dropped');
  });

  it('are those of a stream', () => {
    const reader = createReader({});
    const read = (choices: object[], usage?: object) =>
      reader.read({ event: '', data: JSON.stringify({ choices, ...(usage && { usage }) }) });
    const chunks = [
      ...read([{ index: 0, delta: { role: 'assistant', content: 'Look.' }, finish_reason: 'stop' }]),
      ...read([{ index: 1, delta: { tool_calls: calls }, finish_reason: null }]),
      ...read([{ index: 1, delta: {}, finish_reason: 'tool_calls' }], { prompt_tokens: 2, completion_tokens: 1 }),
    ];
    expect(chunks.map(({ type }) => type).filter((type) => kinds.includes(type))).toEqual(kinds);
    expect(chunks.at(-1)).toMatchObject({ reason: 'tool_calls' });
  });
});
