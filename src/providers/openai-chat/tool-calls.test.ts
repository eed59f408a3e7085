import { describe, expect, it } from 'vitest';
import { readDeltas, stream, whole } from '../../../tests/wires/read-chat.ts';

const call = (index: number | undefined, id?: string, name?: string, text?: unknown) => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: text } }],
});

describe('tool calls', () => {
  it('arrive in pieces', () => {
    const [, first, ...rest] = stream('tool-call');
    expect(first).toEqual({ type: 'tool_call', callId: expect.stringMatching(/^call_/), name: 'get_weather' });
    const text = rest.map((chunk) => (chunk.type === 'tool_call_arguments' ? chunk.delta : ''));
    expect(text.join('')).toBe('{"city":"Zürich","days":3}');
  });

  it.each(['google', 'vertex'])('of Gemini have their signature before them: %s', (name) => {
    const { tool_calls: calls } = call(0, 'c1', 'f', '{}');
    const signed = { ...calls[0], extra_content: { [name]: { thought_signature: 'c2lnbg==' } } };
    expect(readDeltas([{ tool_calls: [signed] }]).slice(0, 2)).toEqual([
      { type: 'reasoning_seal', format: 'google-gemini-v1', encryptedContent: 'c2lnbg==' },
      { type: 'tool_call', callId: 'c1', name: 'f' },
    ]);
  });

  it('may be an object instead of a list', () => {
    const [piece] = call(0, 'c1', 'f', '{}').tool_calls;
    expect(readDeltas([{ tool_calls: piece }])).toEqual(readDeltas([{ tool_calls: [piece] }]));
  });

  it('arrive interleaved', () => {
    const texts: Record<string, string> = {};
    for (const chunk of stream('parallel-tool-calls')) {
      if (chunk.type === 'tool_call_arguments') texts[chunk.callId] = (texts[chunk.callId] ?? '') + chunk.delta;
    }
    expect(Object.values(texts)).toEqual(['{"city":"Bern"}', '{"city":"Olten"}', '{}']);
  });

  it.each([
    ['whole, all in one frame', 'whole-calls', 2],
    ['whole, all with index 0', 'same-index-calls', 2],
  ])('arrive %s', (_, name, count) => {
    expect(stream(name).filter((chunk) => chunk.type === 'tool_call')).toHaveLength(count);
    expect(whole(name).filter((chunk) => chunk.type === 'tool_call')).toHaveLength(count);
  });

  // https://github.com/agno-agi/agno/pull/8880
  it('arrive at another index than their beginning', () => {
    const deltas = [
      call(0, 'c1', 'f', '{"a":'),
      call(0, undefined, undefined, '1}'),
      call(0, 'c2', 'f', ''),
      call(1, undefined, undefined, '{"a":2}'),
    ];
    const texts = readDeltas(deltas).flatMap((chunk) =>
      chunk.type === 'tool_call_arguments' ? [[chunk.callId, chunk.delta]] : [],
    );
    expect(texts).toEqual([
      ['c1', '{"a":'],
      ['c1', '1}'],
      ['c2', '{"a":2}'],
    ]);
  });

  // https://github.com/dyedd/lens/issues/49
  it('arrive whole after one another, at one index', () => {
    const deltas = [
      call(0, 'c1', 'glob', ''),
      call(0, undefined, '', '{"path":"","pattern":"**/*"}'),
      call(0, undefined, '', '{"path":"wiki"}'),
      call(0, undefined, undefined, '{"path":"docs"}'),
    ];
    const chunks = readDeltas(deltas);
    const calls = chunks.filter(({ type }) => type === 'tool_call');
    expect(calls).toMatchObject([{ callId: 'c1', name: 'glob' }, { name: 'glob' }, { name: 'glob' }]);
    const texts = new Map<string, string>();
    for (const chunk of chunks) {
      if (chunk.type === 'tool_call_arguments') texts.set(chunk.callId, (texts.get(chunk.callId) ?? '') + chunk.delta);
    }
    expect([...texts.values()]).toEqual(['{"path":"","pattern":"**/*"}', '{"path":"wiki"}', '{"path":"docs"}']);
    const pieces = readDeltas([call(0, 'c1', 'f', '{"a":{}'), call(0, undefined, undefined, '}')]);
    expect(pieces.filter(({ type }) => type === 'tool_call')).toHaveLength(1);
  });

  // https://github.com/danny-avila/LibreChat/issues/13987
  it('get arguments that arrive at an index of their own', () => {
    const deltas = [
      call(1, 'c1', 'get_time', ''),
      call(0, undefined, undefined, '{"zone":'),
      call(0, undefined, undefined, '"Madrid"}'),
    ];
    expect(readDeltas(deltas).slice(0, 3)).toEqual([
      { type: 'tool_call', callId: 'c1', name: 'get_time' },
      { type: 'tool_call_arguments', callId: 'c1', delta: '{"zone":' },
      { type: 'tool_call_arguments', callId: 'c1', delta: '"Madrid"}' },
    ]);
  });

  it('may be given their id and name late, and again', () => {
    const deltas = [
      call(0, undefined, undefined, '{"a"'),
      call(0, 'c1', ''),
      call(0, 'c1', 'f', ':1'),
      call(0, 'c1', 'f', '}'),
    ];
    expect(readDeltas(deltas).slice(0, -1)).toEqual([
      { type: 'tool_call', callId: 'c1', name: 'f' },
      { type: 'tool_call_arguments', callId: 'c1', delta: '{"a"' },
      { type: 'tool_call_arguments', callId: 'c1', delta: ':1' },
      { type: 'tool_call_arguments', callId: 'c1', delta: '}' },
    ]);
  });

  it('without index and id are distinguished by their names, and get ids', () => {
    const chunks = readDeltas([call(undefined, undefined, 'f', '{}'), call(undefined, undefined, 'g', { x: 1 })]);
    expect(chunks).toEqual([
      { type: 'tool_call', callId: expect.stringMatching(/^call_\w{24}$/), name: 'f' },
      { type: 'tool_call_arguments', callId: expect.any(String), delta: '{}' },
      { type: 'tool_call', callId: expect.stringMatching(/^call_\w{24}$/), name: 'g' },
      { type: 'tool_call_arguments', callId: expect.any(String), delta: '{"x":1}' },
      { type: 'finish', reason: 'tool_calls', nativeReason: 'stop' },
    ]);
  });

  it('without arguments have an empty object', () => {
    expect(readDeltas([call(0, 'c1', 'now', '')])).toEqual([
      { type: 'tool_call', callId: 'c1', name: 'now' },
      { type: 'tool_call_arguments', callId: 'c1', delta: '{}' },
      { type: 'finish', reason: 'tool_calls', nativeReason: 'stop' },
    ]);
  });

  it('are read in their first form, function_call', () => {
    const pieces = [{ function_call: { name: 'f', arguments: '{"a":' } }, { function_call: { arguments: '1}' } }];
    expect(readDeltas(pieces).slice(0, 2)).toEqual([
      { type: 'tool_call', callId: expect.stringMatching(/^call_/), name: 'f' },
      { type: 'tool_call_arguments', callId: expect.any(String), delta: '{"a":1}' },
    ]);
  });

  it('of custom tools are free text, of grouped ones carry their namespace', () => {
    const tools = new Map([
      ['run_python', { name: 'run_python', kind: 'custom' as const }],
      ['crm__find_customer', { name: 'find_customer', kind: 'function' as const, namespace: 'crm' }],
      ['crm__run_query', { name: 'run_query', kind: 'custom' as const, namespace: 'crm' }],
    ]);
    const custom = stream('custom-tool', { tools });
    expect(custom[1]).toMatchObject({ type: 'tool_call', name: 'run_python', kind: 'custom' });
    const input = custom.map((chunk) => (chunk.type === 'tool_call_arguments' ? chunk.delta : ''));
    expect(input.join('')).toBe('print("Grüezi 🏔")\n# \\d+ rows\tdone');
    expect(stream('namespace-tool', { tools }).filter((chunk) => chunk.type === 'tool_call')).toMatchObject([
      { name: 'find_customer', namespace: 'crm' },
      { name: 'run_query', namespace: 'crm', kind: 'custom' },
    ]);
  });
});
