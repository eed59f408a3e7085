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
