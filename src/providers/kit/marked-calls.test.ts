import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MarkedCalls, type MarkedPart } from './marked-calls.ts';

function read(pieces: readonly string[]): MarkedPart[] {
  const marked = new MarkedCalls(new Set(['get_weather', 'f']));
  const parts = [...pieces.flatMap((piece) => marked.read(piece)), ...marked.end()];
  const joined: MarkedPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (typeof part === 'string' && typeof last === 'string') joined[joined.length - 1] = last + part;
    else joined.push(part);
  }
  return joined;
}

const call = (id: string, text: string) =>
  `<|tool_call_begin|>${id}<|tool_call_argument_begin|>${text}<|tool_call_end|>`;
const section = (...calls: string[]) => `<|tool_calls_section_begin|>${calls.join('')}<|tool_calls_section_end|>`;
const weather = { id: 'functions.get_weather:0', name: 'get_weather', arguments: '{"city": "Bern"}' };

const texts: [string, MarkedPart[]][] = [
  ['Hello.', ['Hello.']],
  [`I look.${section(call(weather.id, weather.arguments))}`, ['I look.', weather]],
  [
    section(call(weather.id, weather.arguments), call('functions.f:1', ' {} ')),
    [weather, { id: 'functions.f:1', name: 'f', arguments: '{}' }],
  ],
  [`${section(call(weather.id, weather.arguments))}\nDone.`, [weather, '\nDone.']],
  [section(call(weather.id, weather.arguments)).replace('<|tool_calls_section_end|>', ''), [weather]],
];
const unchanged = [
  'The mark is <|tool_calls_section_begin|>.',
  section(),
  section('words'),
  section(call('functions.other:0', '{}')),
  section(call('functions.f:0', '{"a":')),
  section(call('functions.f:0', '[]')),
  section(call('functions.f:0', '{}'), 'words'),
  `<|tool_calls_section_begin|>${call('functions.f:0', '{}')}<|tool_call_begin|>functions.f:1`,
  'a <| b <|tool_calls',
];

it.each(texts)('%j has the parts %j', (text, parts) => expect(read([text])).toEqual(parts));

it.each(unchanged)('%j stays text', (text) => expect(read([text])).toEqual([text]));

it('the pieces make no difference', () => {
  const all = [...texts.map(([text]) => text), ...unchanged];
  fc.assert(
    fc.property(fc.constantFrom(...all), fc.array(fc.integer({ min: 1, max: 9 })), (text, lengths) => {
      const pieces: string[] = [];
      let at = 0;
      for (const length of lengths) {
        pieces.push(text.slice(at, at + length));
        at += length;
      }
      pieces.push(text.slice(at));
      expect(read(pieces)).toEqual(read([text]));
    }),
  );
});
