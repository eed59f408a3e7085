import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../domain/chunks.ts';
import { usage } from '../../domain/usage.ts';
import { readRecording, replay } from '../../testing/replay.ts';
import { createReader, readWhole } from './chunks.ts';

const recording = (name: string) => new URL(`recordings/${name}.http`, import.meta.url);
const readerContext = { reasoningFormat: 'openai-responses-v1' };

const read = (name: string) => replay(recording(`${name}.stream`), createReader(readerContext));
const whole = (name: string) =>
  readWhole(JSON.parse(readRecording(recording(`${name}.whole`)).body.toString()), readerContext);

/** The chunks of events written as objects; `event:` lines are left out. */
function readEvents(...events: (object | string)[]): Chunk[] {
  const reader = createReader(readerContext);
  return events.flatMap((event) =>
    reader.read({ event: '', data: typeof event === 'string' ? event : JSON.stringify(event) }),
  );
}

const kinds = (chunks: Chunk[]) => chunks.map((chunk) => chunk.type);
const joined = (chunks: Chunk[]) => chunks.map((chunk) => ('delta' in chunk ? chunk.delta : '')).join('');
const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
const completed = { type: 'response.completed', response: { status: 'completed' } };

const settings = { temperature: 1, top_p: 1, top_logprobs: 0, truncation: 'disabled' };

describe('a recorded stream', () => {
  it('begins with the model that the provider reports, and keeps the id of the item', () => {
    const [start, item, part, text] = read('text');
    expect(start).toEqual({ type: 'start', model: 'gpt-5-mini-2025-08-07', settings });
    expect(item).toMatchObject({ type: 'item', key: 0, item: { id: expect.stringMatching(/^msg_/), content: [] } });
    expect(part).toEqual({
      type: 'part',
      key: 0,
      part: { type: 'output_text', annotations: [], logprobs: [], text: '' },
    });
    expect(text).toEqual({ type: 'text', key: 0, delta: 'A' }); // without the padding that the frame has
  });

  it('ends with usage, tier and the fields that the interface does not know', () => {
    expect(read('unknown-kinds').at(-1)).toEqual({
      type: 'finish',
      reason: 'stop',
      usage: usage({ inputTokens: 10, outputTokens: 9 }),
      serviceTier: 'priority',
      settings,
      fields: { prompt_cache_retention: null, dream_budget: { left: 2 } },
    });
    expect(read('parallel-calls').at(-1)).toMatchObject({
      reason: 'tool_calls',
      usage: usage({ inputTokens: 96, outputTokens: 48, cachedTokens: 64, cacheWriteTokens: 32 }),
      serviceTier: 'default',
    });
    expect(read('reasoning-text').at(-1)).toMatchObject({ usage: { reasoningTokens: 12 }, serviceTier: null });
  });

  it('marks encrypted reasoning with the dialect that can read it, though it closes after the message', () => {
    const chunks = read('reasoning-summary');
    expect(kinds(chunks.slice(-3))).toEqual(['item_done', 'item_done', 'finish']);
    expect(chunks.at(-2)).toMatchObject({
      key: 0,
      item: { type: 'reasoning', encrypted_content: expect.any(String), format: 'openai-responses-v1' },
    });
    expect(chunks.filter((chunk) => chunk.type === 'reasoning_summary').map((chunk) => chunk.part)).toEqual([
      0, 0, 0, 0, 0, 1, 1, 1,
    ]);
    expect(read('reasoning-text').find((chunk) => chunk.type === 'item_done')?.item).not.toHaveProperty('format');
  });

  it('distinguishes parallel calls by their keys', () => {
    const calls = read('parallel-calls').filter((chunk) => chunk.type === 'tool_call_arguments');
    expect(calls.map((chunk) => chunk.key)).toEqual([1, 2, 1, 2, 2]);
    expect(joined(calls.filter((chunk) => chunk.key === 2))).toBe('{"city":"Lima","seconds":false}');
    expect(calls[0]?.callId).toMatch(/^call_/);
    expect(joined(read('custom-tool'))).toBe("SELECT count(*) FROM orders\nWHERE state = 'open';");
  });

  it.each([
    ['length', 'length'],
    ['content-filter', 'content_filter'],
    ['refusal', 'stop'],
    ['function-call', 'tool_calls'],
    ['mcp', 'stop'],
    ['context-full', 'length'],
  ])('%s ends for the reason %s', (name, reason) => {
    expect(read(name).at(-1)).toMatchObject({ type: 'finish', reason });
  });

  it('relays the progress of hosted tools and whatever it does not know, and no keep-alive', () => {
    const relayed = (name: string) => read(name).flatMap((chunk) => (chunk.type === 'relay' ? [chunk] : []));
    expect(relayed('image-generation').map((chunk) => [chunk.key, chunk.event.type])).toEqual([
      [0, 'response.image_generation_call.in_progress'],
      [0, 'response.image_generation_call.generating'],
      [0, 'response.image_generation_call.partial_image'],
      [0, 'response.image_generation_call.completed'],
    ]);
    expect(relayed('unknown-kinds')).toEqual([
      { type: 'relay', event: expect.objectContaining({ type: 'response.weather_report', mood: 'fair' }) },
      { type: 'relay', key: 0, event: expect.objectContaining({ type: 'response.dream_call.deepening', depth: 4 }) },
    ]);
  });

  it('carries logprobs, and citations in their place', () => {
    expect(read('text-logprobs').find((chunk) => chunk.type === 'text')?.logprobs).toHaveLength(1);
    expect(read('web-search').find((chunk) => chunk.type === 'annotation')).toMatchObject({
      key: 1,
      annotation: { type: 'url_citation', start_index: 31, end_index: 46 },
    });
  });
});

describe('a stream that differs', () => {
  it('opens an item that was never announced, under the id that the delta names', () => {
    expect(
      readEvents(
        { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'Hi' },
        { type: 'response.output_text.delta', item_id: 'msg_1', delta: '!' },
        { type: 'response.output_item.done', item: { ...message, status: 'completed' } },
      ),
    ).toEqual([
      { type: 'item', key: 'msg_1', item: message },
      { type: 'text', key: 'msg_1', delta: 'Hi' },
      { type: 'text', key: 'msg_1', delta: '!' },
      { type: 'item_done', key: 'msg_1', item: { ...message, status: 'completed' } },
    ]);
  });

  it('goes by item ids where all indexes are the same or missing', () => {
    const chunks = readEvents(
      { type: 'response.output_item.added', output_index: 0, item: { ...message, id: 'a' } },
      { type: 'response.output_item.added', output_index: 0, item: { ...message, id: 'b' } },
      { type: 'response.output_text.delta', output_index: 0, item_id: 'b', delta: 'B' },
      { type: 'response.output_text.delta', output_index: 0, item_id: 'a', delta: 'A' },
      { type: 'response.output_item.done', output_index: 0, item: { ...message, id: 'a' } },
      { type: 'response.output_item.done', item: { ...message, id: 'b' } },
    );
    expect(chunks.map((chunk) => 'key' in chunk && chunk.key)).toEqual([0, 'b', 'b', 0, 0, 'b']);
  });

  it('goes by indexes where ids change midway', () => {
    const chunks = readEvents(
      { type: 'response.output_item.added', output_index: 0, item: { ...message, id: 'x1' } },
      { type: 'response.output_text.delta', output_index: 0, item_id: 'x2', delta: 'A' },
      { type: 'response.output_item.done', output_index: 0, item: { ...message, id: 'x3' } },
      { type: 'response.completed', response: { output: [{ ...message, id: 'x4' }] } },
    );
    expect(kinds(chunks)).toEqual(['item', 'text', 'item_done', 'finish']);
  });

  it('distinguishes items with equal or missing ids', () => {
    const chunks = (id: string | null) =>
      readEvents(
        { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id, summary: [] } },
        { type: 'response.output_item.done', output_index: 0, item: { type: 'reasoning', id, summary: [] } },
        { type: 'response.output_item.added', output_index: 1, item: { ...message, id } },
        { type: 'response.output_text.delta', output_index: 1, item_id: id, delta: 'A' },
        { type: 'response.output_item.done', output_index: 1, item: { ...message, id } },
        completed,
      );
    for (const id of ['same', '', null]) {
      expect(kinds(chunks(id))).toEqual(['item', 'item_done', 'item', 'text', 'item_done', 'finish']);
    }
  });

  it('goes by order where there are neither', () => {
    const bare = { type: 'message', role: 'assistant', content: [] };
    const chunks = readEvents(
      { type: 'response.output_item.added', item: bare },
      { type: 'response.output_text.delta', delta: 'A' },
      { type: 'response.output_item.done', item: bare },
      { type: 'response.completed', response: { output: [bare] } },
    );
    expect(kinds(chunks)).toEqual(['item', 'text', 'item_done', 'finish']);
  });

  it('waits with the arguments of a call whose name is not known yet', () => {
    const call = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' };
    const chunks = readEvents(
      { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{' },
      { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '}' },
      { type: 'response.output_item.done', output_index: 0, item: call },
      completed,
    );
    expect(chunks).toMatchObject([
      { type: 'item_done', key: 0, item: call },
      { type: 'finish', reason: 'tool_calls' },
    ]);
  });

  // https://github.com/BerriAI/litellm/issues/25321
  it.each([
    ['function_call', 'arguments', 'response.function_call_arguments'],
    ['custom_tool_call', 'input', 'response.custom_tool_call_input'],
  ])('takes the text of a %s that only its end has, once', (type, field, name) => {
    const item = { id: 'fc_1', type, call_id: 'call_1', name: 'f', [field]: '' };
    const place = { item_id: 'fc_1', output_index: 0 };
    const added = { type: 'response.output_item.added', output_index: 0, item };
    const delta = { type: `${name}.delta`, ...place, delta: '{"a":1}' };
    const done = { type: `${name}.done`, ...place, [field]: '{"a":1}' };
    const ended = { type: 'response.output_item.done', output_index: 0, item };
    for (const events of [[done], [delta, done]])
      expect(joined(readEvents(added, ...events, ended, completed))).toBe('{"a":1}');
  });

  it('takes items that no event has finished from its last event', () => {
    const done = { ...message, content: [{ type: 'output_text', text: 'Hi', annotations: [] }] };
    const chunks = readEvents(
      { type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', delta: 'Hi' },
      { type: 'response.completed', response: { output: [done, { type: 'dream_call', id: 'd' }] } },
    );
    expect(chunks.slice(2)).toMatchObject([
      { type: 'item_done', key: 0, item: done },
      { type: 'item_done', key: 1, item: { type: 'dream_call' } },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it('may name its types in event lines alone', () => {
    const reader = createReader(readerContext);
    expect(reader.read({ event: 'response.in_progress', data: '{"response":{"model":"m"}}' })).toEqual([
      { type: 'start', model: 'm' },
    ]);
    expect(reader.read({ event: 'keepalive', data: '{}' })).toEqual([]);
    expect(reader.read({ event: '', data: '[DONE]' })).toEqual([]);
  });

  it('emits nothing after its end', () => {
    expect(
      kinds(readEvents(completed, completed, { type: 'response.output_text.delta', delta: 'x' }, '[DONE]')),
    ).toEqual(['finish']);
  });

  it('gives no finish chunk when its end never came', () => {
    const reader = createReader(readerContext);
    reader.read({
      event: '',
      data: JSON.stringify({ type: 'response.output_item.added', output_index: 0, item: message }),
    });
    expect(reader.end()).toEqual([]);
  });
});

describe('a failure', () => {
  const added = { type: 'response.output_item.added', output_index: 0, item: message };
  const failed = (code: string) => ({
    type: 'response.failed',
    response: { status: 'failed', error: { code, message: 'No.' }, usage: { input_tokens: 8, output_tokens: 2 } },
  });

  it.each([
    'context_length_exceeded',
    'max_tokens_exceeded',
    'token_limit_exceeded',
    'string_too_long',
  ])('is a normal end by length when %s comes after output', (code) => {
    expect(readEvents(added, failed(code)).at(-1)).toMatchObject({
      type: 'finish',
      reason: 'length',
      usage: usage({ inputTokens: 8, outputTokens: 2 }),
    });
    expect(readEvents(added, { type: 'error', code, message: 'No.' }).at(-1)).toMatchObject({ reason: 'length' });
    expect(() => readEvents(failed(code))).toThrow('No.');
  });

  it('may have its error beside the response', () => {
    const response = { status: 'failed', error: null, output: [] };
    const error = { message: 'Upstream provider error', type: 'server_error', code: 'upstream_error' };
    expect(() => readEvents({ type: 'response.failed', response, error })).toThrow(
      expect.objectContaining({ message: 'The provider failed: Upstream provider error', isTransient: true }),
    );
  });

  it('has the kind of its code, before and after output', () => {
    expect(() => readEvents(failed('rate_limit_exceeded'))).toThrow(expect.objectContaining({ kind: 'rate_limited' }));
    expect(() => readEvents(added, failed('server_error'))).toThrow(
      expect.objectContaining({ kind: 'upstream_failed' }),
    );
    expect(() => readEvents({ error: { code: 429, message: 'Slow down.' } })).toThrow(
      expect.objectContaining({ kind: 'rate_limited' }),
    );
  });

  it.each([
    ['data that is not JSON', '{"type":'],
    ['data that is no object', '7'],
    ['a delta without text', { type: 'response.output_text.delta', output_index: 0 }],
    ['an item that is no item', { type: 'response.output_item.added', output_index: 0, item: 'x' }],
    ['a cancelled response', { type: 'response.cancelled' }],
  ])('%s is the upstream’s and may go better elsewhere', (_, event) => {
    expect(() => readEvents(event)).toThrow(expect.objectContaining({ kind: 'upstream_failed', retryable: true }));
  });
});

describe('a whole response', () => {
  it('is a start, its items as they are, and a finish', () => {
    expect(whole('web-search')).toMatchObject([
      { type: 'start', model: 'gpt-5-mini-2025-08-07' },
      { type: 'item_done', key: 0, item: { type: 'web_search_call', id: expect.stringMatching(/^ws_/) } },
      { type: 'item_done', key: 1, item: { type: 'message', status: 'completed' } },
      { type: 'finish', reason: 'stop', fields: { tool_usage: { web_search: { num_requests: 1 } } } },
    ]);
  });

  it('names the dialect of its encrypted reasoning', () => {
    const format = 'xai-responses-v1';
    const item = { type: 'reasoning', summary: [], encrypted_content: 'x' };
    expect(readWhole({ output: [item] }, { reasoningFormat: format })[1]).toMatchObject({ item: { ...item, format } });
  });

  it.each([
    ['no object', 'oops'],
    ['no output', { id: 'resp_1' }],
    ['not finished', { output: [], status: 'in_progress' }],
    ['still waiting', { output: [], status: 'queued' }],
    ['cancelled', { output: [], status: 'cancelled' }],
    ['failed', { output: [], status: 'failed', error: { code: 'server_error', message: 'No.' } }],
    ['an error of its own', { error: { code: 'server_error', message: 'No.' } }],
  ])('that is %s is the upstream’s failure', (_, body) => {
    expect(() => readWhole(body, readerContext)).toThrow(expect.objectContaining({ kind: 'upstream_failed' }));
  });
});
