import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../domain/chunks.ts';
import { replay } from '../../testing/replay.ts';
import { createReader, readWhole } from './chunks.ts';
import { readTier } from './usage.ts';
import type { ReaderContext } from './wire.ts';

const read = (name: string, readerContext: ReaderContext = {}): Chunk[] =>
  replay(new URL(`recordings/${name}.stream.http`, import.meta.url), createReader(readerContext));
/** A response of these parts, in one event. */
function readParts(parts: object[], candidate: object = {}, readerContext: ReaderContext = {}): Chunk[] {
  const reader = createReader(readerContext);
  const answer = { candidates: [{ content: { parts }, finishReason: 'STOP', ...candidate }] };
  return [...reader.read({ event: '', data: JSON.stringify(answer) }), ...reader.end()];
}
const join = (chunks: Chunk[], type: 'text' | 'reasoning_summary' | 'tool_call_arguments'): string =>
  chunks.flatMap((chunk) => (chunk.type === type ? [chunk.delta] : [])).join('');
const finishOf = (chunks: Chunk[]) => chunks.at(-1);

it.each([
  [{ serviceTier: 'flex' }, 'flex'],
  [{ trafficType: 'ON_DEMAND' }, 'default'],
  [{ trafficType: 'ON_DEMAND_PRIORITY' }, 'priority'],
  [{ trafficType: 'PROVISIONED_THROUGHPUT' }, undefined],
])('reads the tier of %j', (counts, tier) => expect(readTier(counts)).toBe(tier));

describe('a streamed response', () => {
  it('begins with the model and ends with what was used', () => {
    const chunks = read('thoughts');
    expect(chunks[0]).toEqual({ type: 'start', model: 'gemini-2.5-flash' });
    expect(join(chunks, 'reasoning_summary')).toContain('Twenty times 17');
    expect(join(chunks, 'text')).toBe('17 × 23 = 391.');
    expect(finishOf(chunks)).toEqual({
      type: 'finish',
      nativeReason: 'STOP',
      reason: 'stop',
      usage: { inputTokens: 14, outputTokens: 129, totalTokens: 143, cachedTokens: 0, reasoningTokens: 120 },
    });
  });

  it('counts what tools brought as input, and what the cache had', () => {
    expect(finishOf(read('grounding'))).toMatchObject({ usage: { inputTokens: 109 } });
    expect(finishOf(read('cache-usage'))).toMatchObject({ usage: { inputTokens: 12_300, cachedTokens: 10_240 } });
  });

  it('makes ids for calls that have none, the same each time', () => {
    const calls = read('parallel-tool-calls').filter(({ type }) => type === 'tool_call');
    expect(calls).toEqual([
      { type: 'tool_call', callId: 'call_xK4eaZ3vO5mAkdUPz8eT2Ac_0', name: 'get_weather' },
      { type: 'tool_call', callId: 'call_xK4eaZ3vO5mAkdUPz8eT2Ac_1', name: 'get_time' },
    ]);
    expect(join(read('parallel-tool-calls'), 'tool_call_arguments')).toBe('{"city":"Bern","days":1}{}');
    expect(read('tool-call-signed')).toContainEqual({ type: 'tool_call', callId: 'fc_8123', name: 'get_weather' });
  });

  it('gives signatures before the call they seal, and behind the text, to the letter', () => {
    const signed = read('tool-call-signed').map(({ type }) => type);
    expect(signed.indexOf('reasoning_seal')).toBe(signed.indexOf('tool_call') - 1);
    const text = read('signed-text');
    expect(text.at(-2)).toEqual({
      type: 'reasoning_seal',
      format: 'google-gemini-v1',
      encryptedContent: 'CiQB0e2Kb1Xo9m3sYJ7tVQ+hPz/8LrWqkD5fGcNvTb2xUyEiMZ0KbgHR7tp9Zq4w==',
    });
  });

  it('keeps the signature of a text from the call behind it, which has none', () => {
    const seals = read('signed-text-then-call').flatMap((chunk) =>
      chunk.type === 'reasoning_seal' ? [chunk.encryptedContent] : [],
    );
    expect(seals).toEqual(['CiQB0e2Kb1Xo9m3sYJ7tVQ+hPz/8LrWqkD5fGcNvTb2xUyEiMZ0KbgHR7tp9Zq4w==', '']);
    const parallel = [{ functionCall: { name: 'a' }, thoughtSignature: 'S' }, { functionCall: { name: 'b' } }];
    expect(readParts(parallel).filter(({ type }) => type === 'reasoning_seal')).toHaveLength(1);
  });

  it('gives custom tools and groups back as they were offered', () => {
    const custom = read('custom-tool', { tools: new Map([['run_python', { name: 'run_python', kind: 'custom' }]]) });
    expect(join(custom, 'tool_call_arguments')).toBe('print("ü")\n');
    const offered = new Map([
      ['crm__find_customer', { name: 'find_customer', kind: 'function' as const, namespace: 'crm' }],
    ]);
    expect(read('namespace-tool', { tools: offered })).toContainEqual(
      expect.objectContaining({ type: 'tool_call', name: 'find_customer', namespace: 'crm' }),
    );
  });

  it('cites by characters, though the provider counts bytes', () => {
    const chunks = read('grounding', { searches: true });
    const text = join(chunks, 'text');
    const found = chunks.flatMap((chunk) => (chunk.type === 'annotation' ? [chunk.annotation] : []));
    expect(
      found.map(({ url, start_index: start, end_index: end }) => [url, text.slice(Number(start), Number(end))]),
    ).toEqual([
      ['https://peaks.example/eiger', 'Der Eiger ist 3967 m hoch – größer als gedacht.'],
      ['https://peaks.example/eiger', 'Er steht im Berner Oberland.'],
      ['https://bern.example/oberland', 'Er steht im Berner Oberland.'],
    ]);
    expect(chunks).toContainEqual(
      expect.objectContaining({
        type: 'item_done',
        item: expect.objectContaining({
          type: 'web_search_call',
          action: expect.objectContaining({ queries: ['Eiger Höhe', 'Eiger Lage'] }),
        }),
      }),
    );
  });

  it('cites behind a signature, and by the words where the offsets are of another part', () => {
    const chunks = read('grounding-signed', { searches: true });
    const text = join(chunks, 'text');
    const found = chunks.flatMap((chunk) => (chunk.type === 'annotation' ? [chunk.annotation] : []));
    expect(found.map(({ start_index: start, end_index: end }) => text.slice(Number(start), Number(end)))).toEqual([
      'Der Säntis ist 2502 m hoch.',
      'Er steht im Alpstein.',
    ]);
    expect(finishOf(chunks)).toMatchObject({ serviceTier: 'default' });
    expect(finishOf(chunks)).not.toHaveProperty('dropped');
  });

  it('cites in the last message alone', () => {
    const grounding = {
      groundingMetadata: {
        groundingChunks: [{ web: { uri: 'https://a.example' } }],
        groundingSupports: [{ segment: { endIndex: 2, text: 'AB' }, groundingChunkIndices: [0] }],
      },
    };
    const call = { functionCall: { name: 'f' } };
    const place = (parts: object[]) =>
      readParts(parts, grounding, { searches: true }).find(({ type }) => type === 'annotation');
    expect(place([{ text: 'XYZ' }, call, { text: 'AB' }])).toMatchObject({
      annotation: { start_index: 0, end_index: 2 },
    });
    expect(place([{ text: 'AB' }, call])).toBeUndefined();
    const named = (readerContext: ReaderContext) =>
      finishOf(readParts([{ text: 'AB' }, call], grounding, readerContext));
    expect(named({ searches: true })).toMatchObject({ dropped: ['groundingMetadata.groundingSupports'] });
    expect(named({})).toMatchObject({ dropped: ['groundingMetadata'] });
  });

  // agno-agi/agno#8607
  it('cites a document of a data store as it cites a page', () => {
    const document = { uri: 'https://store.example/a.pdf', title: 'A' };
    const grounding = {
      groundingMetadata: {
        groundingChunks: [{ retrievedContext: { ...document, text: 'AB' } }],
        groundingSupports: [{ segment: { endIndex: 2, text: 'AB' }, groundingChunkIndices: [0] }],
      },
    };
    expect(readParts([{ text: 'AB' }], grounding, { searches: true })).toContainEqual({
      type: 'annotation',
      annotation: { type: 'url_citation', url: document.uri, title: 'A', start_index: 0, end_index: 2 },
    });
  });

  const kindsOf = (chunks: Chunk[]) =>
    chunks.map((chunk) => {
      if (chunk.type === 'relay') return chunk.event.type.replace('response.image_generation_call.', '');
      return chunk.type === 'item_done' ? chunk.item.type : chunk.type;
    });

  it('keeps images in their place, and reports those of a thought with the final one', () => {
    const chunks = read('images-signed');
    expect(kindsOf(chunks)).toEqual([
      'start',
      'text',
      'item',
      'in_progress',
      'generating',
      'partial_image',
      'completed',
      'image_generation_call',
      'reasoning_seal',
      'text',
      'item',
      'image_generation_call',
      'reasoning_seal',
      'finish',
    ]);
    expect(finishOf(chunks)).not.toHaveProperty('dropped');
  });

  it('reports images of a thought at once if no text can precede the final one', () => {
    expect(kindsOf(read('image-tries')).slice(0, 4)).toEqual(['start', 'reasoning_summary', 'text', 'item']);
    const chunks = read('image-tries', { showsOnly: true });
    expect(kindsOf(chunks).slice(0, 8)).toEqual([
      'start',
      'reasoning_summary',
      'item',
      'in_progress',
      'generating',
      'partial_image',
      'partial_image',
      'text',
    ]);
    const indexes = chunks.flatMap((chunk) =>
      chunk.type === 'relay' ? (chunk.event['partial_image_index'] ?? []) : [],
    );
    expect(indexes).toEqual([0, 1]);
  });

  it('has a failed image if one was tried and none came', () => {
    const image = { thought: true, inlineData: { mimeType: 'image/png', data: 'AA==' } };
    const chunks = readParts([image], { finishReason: 'IMAGE_SAFETY' });
    expect(chunks).toContainEqual({
      type: 'item_done',
      key: 'image-0',
      item: { type: 'image_generation_call', status: 'failed', result: null },
    });
    expect(finishOf(chunks)).toMatchObject({ reason: 'content_filter' });
  });

  it('gives log probabilities once, and names those without a text', () => {
    const logprobsResult = { chosenCandidates: [{ token: 'AB', logProbability: -1 }] };
    const texts = readParts([{ text: 'A' }, { text: 'B' }], { logprobsResult }).filter(({ type }) => type === 'text');
    expect(texts.map((chunk) => 'logprobs' in chunk)).toEqual([true, false]);
    expect(finishOf(readParts([], { logprobsResult }))).toMatchObject({ dropped: ['logprobsResult'] });
  });

  it('passes over fields that are null', () => {
    expect(readParts([{ text: 'A', functionCall: null, inlineData: null }])).toHaveLength(3);
  });

  it('returns images and log probabilities', () => {
    expect(read('image')).toContainEqual(
      expect.objectContaining({
        item: expect.objectContaining({ type: 'image_generation_call', status: 'completed' }),
      }),
    );
    expect(read('logprobs').find(({ type }) => type === 'text')).toMatchObject({
      delta: 'Yes',
      logprobs: [
        { token: 'Yes', logprob: -0.1, bytes: [89, 101, 115], top_logprobs: [{ token: 'Yes' }, { token: 'No' }] },
      ],
    });
  });

  it.each([
    ['tool-call', { reason: 'tool_calls' }],
    ['length', { reason: 'length' }],
    ['length-in-thoughts', { reason: 'length', usage: expect.objectContaining({ reasoningTokens: 50 }) }],
    ['safety', { reason: 'content_filter' }],
    ['recitation', { reason: 'content_filter' }],
    ['other-reason', { reason: 'stop', dropped: ['finishReason (OTHER)'] }],
    ['unknown-parts', { dropped: ['parts[].executableCode', 'parts[].codeExecutionResult', 'weather'] }],
  ])('ends as it ended: %s', (name, expected) => {
    expect(finishOf(read(name))).toMatchObject(expected);
  });

  it('is truncated if it stops without a finish reason', () => {
    const reader = createReader({});
    reader.read({ event: '', data: '{"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}' });
    expect(reader.end()).toEqual([]);
  });

  it.each([
    'not JSON',
    '7',
    '{"candidates":[null]}',
    '{"candidates":[{"content":{"parts":[null]}}]}',
    '{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}',
    '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":"x"}}]}}]}',
  ])('is invalid: %s', (data) => {
    expect(() => createReader({}).read({ event: '', data })).toThrow(
      expect.objectContaining({ kind: 'upstream_failed', retryable: true }),
    );
  });
});

it('reads a stream that came as a list', () => {
  const events = [
    { candidates: [{ content: { parts: [{ text: 'a' }] } }] },
    { candidates: [{ content: { parts: [{ text: 'b' }] }, finishReason: 'STOP' }] },
  ];
  expect(join(readWhole(events, {}), 'text')).toBe('ab');
});
