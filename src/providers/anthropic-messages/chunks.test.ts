import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../domain/chunks.ts';
import { replay } from '../../testing/replay.ts';
import { createReader } from './chunks.ts';
import type { ReaderContext } from './wire.ts';
import { readServiceTier, readUsage } from './usage.ts';

const read = (name: string, readerContext: ReaderContext = {}): Chunk[] =>
  replay(new URL(`recordings/${name}.stream.http`, import.meta.url), createReader(readerContext));
const join = (
  chunks: Chunk[],
  type: 'text' | 'reasoning' | 'reasoning_summary' | 'refusal' | 'tool_call_arguments',
): string => chunks.flatMap((chunk) => (chunk.type === type ? [chunk.delta] : [])).join('');
const finishOf = (chunks: Chunk[]) => chunks.at(-1);

it('ends without message_stop only if the rules of the server permit it', () => {
  const events = [
    { type: 'message_start', message: { content: [], usage: { input_tokens: 1 } } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  ];
  const endOf = (readerContext: ReaderContext): Chunk[] => {
    const reader = createReader(readerContext);
    for (const event of events) reader.read({ event: event.type, data: JSON.stringify(event) });
    return reader.end();
  };
  expect(endOf({})).toEqual([]);
  expect(endOf({ openEnd: true })).toMatchObject([{ type: 'finish', reason: 'stop', usage: { outputTokens: 2 } }]);
});

describe('a streamed message', () => {
  it('begins with the model and ends with what was used', () => {
    const chunks = read('text');
    expect(chunks[0]).toEqual({ type: 'start', model: 'claude-sonnet-4-5-20250929' });
    expect(join(chunks, 'text')).toContain('The Rhine rises');
    expect(finishOf(chunks)).toEqual({
      type: 'finish',
      nativeReason: 'end_turn',
      reason: 'stop',
      serviceTier: 'default',
      usage: {
        inputTokens: 21,
        outputTokens: 24,
        totalTokens: 45,
        cachedTokens: 0,
        cacheWriteTokens: 0,
        reasoningTokens: 0,
      },
    });
  });

  it('counts what the cache had and took as input', () => {
    expect(finishOf(read('cache-usage'))).toMatchObject({
      usage: { inputTokens: 12_300, cachedTokens: 10_240, cacheWriteTokens: 2048 },
    });
  });

  it('reads the cost that a gateway reports', () => {
    const dropped = new Set<string>();
    const counts = { input_tokens: 3, output_tokens: 1, cost: 0.000012, cost_details: {}, is_byok: true };
    expect(readUsage(counts, dropped)).toMatchObject({ inputTokens: 3, upstreamCostNanoUsd: 12_000 });
    expect([...dropped]).toEqual([]);
  });

  it.each([
    [{ speed: 'fast', service_tier: 'standard' }, 'priority'],
    [{ speed: 'standard' }, 'default'],
    [{ service_tier: 'standard' }, 'default'],
    [{ service_tier: 'batch' }, 'batch'],
    [{}, undefined],
  ])('reads the tier of %j', (counts, tier) => {
    expect(readServiceTier(counts)).toBe(tier);
  });

  it('reads calls in pieces, also one without arguments', () => {
    const chunks = read('parallel-tool-calls');
    expect(chunks.filter(({ type }) => type === 'tool_call')).toEqual([
      { type: 'tool_call', callId: 'toolu_01Fh2mVx8sQpLr4tYw6BzKcN', name: 'get_weather' },
      { type: 'tool_call', callId: 'toolu_01Jk7nWd3gTqMs9vZx5CyLbP', name: 'get_time' },
    ]);
    expect(join(chunks, 'tool_call_arguments')).toBe('{"city":"Bern","days":1}{}');
    expect(finishOf(chunks)).toMatchObject({ reason: 'tool_calls' });
  });

  it('gives custom tools and groups back as they were offered', () => {
    const custom = read('custom-tool', { tools: new Map([['run_python', { name: 'run_python', kind: 'custom' }]]) });
    expect(custom).toContainEqual(expect.objectContaining({ type: 'tool_call', kind: 'custom', name: 'run_python' }));
    expect(join(custom, 'tool_call_arguments')).toBe('select "name", \'ü\'\nfrom cities;');
    const offered = new Map([
      ['crm__find_customer', { name: 'find_customer', kind: 'function' as const, namespace: 'crm' }],
    ]);
    expect(read('namespace-tool', { tools: offered })).toContainEqual(
      expect.objectContaining({ type: 'tool_call', name: 'find_customer', namespace: 'crm' }),
    );
  });

  it('seals thoughts with what came, to the letter', () => {
    const chunks = read('thinking');
    expect(join(chunks, 'reasoning')).toContain('17 × 23');
    expect(chunks.find(({ type }) => type === 'reasoning_seal')).toEqual({
      type: 'reasoning_seal',
      format: 'anthropic-claude-v1',
      signature: expect.stringMatching(/^EqQBCgIYAhIM.*zD0nQ$/),
    });
  });

  it('reads thoughts of a model that summarizes them as a summary', () => {
    const chunks = read('thinking', { summarizes: true });
    expect(join(chunks, 'reasoning')).toBe('');
    expect(join(chunks, 'reasoning_summary')).toBe(join(read('thinking'), 'reasoning'));
  });

  it('reads the explanation of a refusal, and names what has no place', () => {
    const chunks = read('refusal-explained');
    expect(join(chunks, 'refusal')).toBe('Declined: the request could help an attack on a network.');
    expect(finishOf(chunks)).toMatchObject({ reason: 'content_filter', dropped: ['stop_details.category'] });
  });

  it('keeps thoughts without words as items of their own, in their place', () => {
    const items = (name: string) => read(name).flatMap((chunk) => (chunk.type === 'item_done' ? [chunk.item] : []));
    expect(items('redacted-thinking')).toMatchObject([
      { type: 'reasoning', encrypted_content: expect.stringMatching(/^EmwKAhgB/), format: 'anthropic-claude-v1' },
    ]);
    expect(items('omitted-thinking')).toMatchObject([{ type: 'reasoning', signature: expect.stringMatching(/^EqQB/) }]);
    const order = read('interleaved-thinking').map(({ type }) => type);
    expect(order.indexOf('item')).toBeGreaterThan(order.indexOf('text'));
    expect(order.lastIndexOf('text')).toBeGreaterThan(order.indexOf('item_done'));
  });

  it('cites by the place in the whole text', () => {
    const chunks = read('citations');
    const text = join(chunks, 'text');
    const [page, place] = chunks.flatMap((chunk) => (chunk.type === 'annotation' ? [chunk.annotation] : []));
    expect(page).toMatchObject({ type: 'file_citation', filename: 'Report 2026', file_id: 'document-0' });
    expect(text.slice(0, Number(page!.index)).endsWith('Sales rose by 4%')).toBe(true);
    expect(place).toMatchObject({
      type: 'file_citation',
      file_id: 'file_011CNha8iCJcU1wXNR6q4V8w',
      content: 'costs fell',
    });
  });

  it('reads a search and the citations of its results', () => {
    const chunks = read('web-search');
    expect(chunks).toContainEqual(
      expect.objectContaining({
        type: 'item_done',
        item: {
          type: 'web_search_call',
          id: 'ws_srvtoolu_01WYG3ziw53XMcoyKL4XcZmE',
          status: 'completed',
          action: {
            type: 'search',
            query: 'height of the Eiger',
            sources: [{ type: 'url', url: 'https://peaks.example/eiger' }],
          },
        },
      }),
    );
    const behind = chunks.slice(chunks.findIndex(({ type }) => type === 'item_done'));
    const annotation = behind.find((chunk) => chunk.type === 'annotation');
    expect(annotation).toMatchObject({ annotation: { type: 'url_citation', url: 'https://peaks.example/eiger' } });
    const { start_index: start, end_index: end } = (annotation as { annotation: Record<string, number> }).annotation;
    expect(join(behind, 'text').slice(start, end)).toBe('3,967 m high');
    expect(finishOf(chunks)).toMatchObject({
      dropped: ['web_search_tool_result.content[].encrypted_content'],
      usage: { special: { webSearches: 1 } },
    });
  });

  it.each([
    ['length', { reason: 'length' }],
    ['context-window', { reason: 'length' }],
    ['refusal', { reason: 'content_filter' }],
    ['stop-sequence', { reason: 'stop' }],
    ['pause-turn', { reason: 'length', dropped: ['stop_reason (pause_turn)'] }],
    ['web-search-failed', { dropped: ['web_search_tool_result.error_code (max_uses_exceeded)'] }],
    [
      'unknown-blocks',
      {
        dropped: [
          'content[] (container_upload)',
          'content[] (server_tool_use code_execution)',
          'content[] (code_execution_tool_result)',
          'event weather_report',
        ],
      },
    ],
  ])('ends as it ended: %s', (name, expected) => {
    expect(finishOf(read(name))).toMatchObject(expected);
  });

  it('is cut when it stops before its last event', () => {
    const reader = createReader({});
    reader.read({ event: '', data: '{"type":"message_start","message":{"usage":{"input_tokens":1}}}' });
    reader.read({ event: '', data: '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}' });
    expect(reader.end()).toEqual([]);
  });

  it.each([
    'not JSON',
    '7',
    '{"type":"content_block_start"}',
    '{"type":"content_block_delta","delta":null}',
  ])('is invalid: %s', (data) => {
    expect(() => createReader({}).read({ event: '', data })).toThrow(
      expect.objectContaining({ kind: 'upstream_failed', retryable: true }),
    );
  });
});
