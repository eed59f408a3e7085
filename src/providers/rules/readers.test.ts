import { expect, it } from 'vitest';
import type { ResponseRequest } from '../../domain/request.ts';
import { wires } from '../index.ts';
import { getTextWire } from '../text-wire.ts';
import { facets } from './facets.ts';
import { asksForStream } from './asks-for-stream.ts';
import { findUnread, listReaders, ruledWires } from './unread.ts';

const tool = (name: string) => ({
  type: 'function' as const,
  name,
  description: 'D',
  strict: true,
  parameters: {
    type: 'object',
    properties: { a: { type: 'string', pattern: 'x' }, b: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
  },
});
const bare = { type: 'function' as const, name: 'g' };
const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const result = { type: 'function_call_output', call_id: 'c', output: 'ok' };
const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
const file = { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,SGk=' };
const mark = { type: 'input_text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } };
const asked = { type: 'message', role: 'user', content: [mark, image, file] };
const begun = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So ' }] };
const turns = [
  { type: 'message', role: 'system', content: 'Be brief.' },
  asked,
  { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] },
  call,
  result,
  { type: 'message', role: 'user', content: 'Again.' },
  call,
  result,
];
const format = (type: string) => ({
  format: type === 'json_schema' ? { type, name: 'n', schema: tool('f').parameters, strict: true } : { type },
});
/** Requests that together have everything that a rule can be about. */
const requests = [
  {
    input: turns,
    tools: [tool('f'), bare, { type: 'web_search' }],
    tool_choice: 'required',
    reasoning: { effort: 'high' },
  },
  { input: [...turns, begun], text: format('json_schema'), stop: ['END'], max_output_tokens: 9, temperature: 1 },
  { input: [asked], text: format('json_object'), tools: [tool('f')], tool_choice: 'none' },
  { input: turns, reasoning: { effort: 'none' } },
  { input: [asked], reasoning: { effort: 'low' } },
  {
    input: [asked],
    native: { format: 'anthropic-messages', fields: {}, replaces: {}, betas: ['x-2026-01-01'] },
  },
] as unknown as ResponseRequest[];

/** Values without which a wire does not come to another setting. */
const given: Readonly<Record<string, unknown>> = { while_thinking: ['auto'], off: { thinking: false } };

const facetsWithSettings = Object.entries(facets).flatMap(([name, facet]) =>
  'properties' in facet ? [[name, facet] as const] : [],
);

/** Lists the settings of facets that a wire looks at, for any request. */
function listRead(wireId: string): string[] {
  const read = new Set<string>();
  const dialect = Object.fromEntries(
    facetsWithSettings.map(([facet]) => [
      facet,
      new Proxy<Record<string, unknown>>(
        {},
        {
          get(_, setting) {
            read.add(`${facet}.${String(setting)}`);
            return given[setting as string];
          },
        },
      ),
    ]),
  );
  wires.get(wireId)!.checkDialect!(dialect);
  read.clear(); // the check looks at all of them, once
  for (const request of requests) {
    for (const stream of [true, false]) {
      asksForStream(dialect, request, false);
      getTextWire(wires.get(wireId)!).writeRequest(request, {
        endpoint: 'one at Acme',
        upstreamModel: 'one',
        stream,
        account: 'hg',
        dialect,
      });
    }
  }
  return facetsWithSettings.flatMap(([facet, { properties }]) =>
    Object.keys(properties)
      .filter((setting) => read.has(`${facet}.${setting}`))
      .map((setting) => `${facet}.${setting}`),
  );
}

it.each(ruledWires)('%s reads each setting of the rules, or its `dialect` rejects it', (wire) => {
  const declared = facetsWithSettings.flatMap(([facet, { properties }]) =>
    Object.keys(properties)
      .filter((setting) => listReaders(facet as keyof typeof facets, setting).includes(wire))
      .map((setting) => `${facet}.${setting}`),
  );
  expect(listRead(wire)).toEqual(declared);
});

it('a provider with two wires has the settings of both', () => {
  const dialect = { turns: { blank: false, whole_messages: true } };
  expect(findUnread(['openai-responses', 'openai-chat'], dialect)).toEqual([]);
  expect(findUnread(['openai-responses'], dialect)).toEqual([
    {
      path: 'turns.blank',
      message: 'has no effect on the wire openai-responses. These wires read it: openai-chat, anthropic-messages.',
    },
  ]);
});
