import { describe, expect, it } from 'vitest';
import type { InputItem } from '../../src/domain/items.ts';
import type { NativeRequest } from '../../src/domain/native.ts';
import type { ResponseRequest } from '../../src/domain/request.ts';
import { leaveOutNative } from '../../src/pipeline/attempts/leave-out-native.ts';
import { replayItems } from '../../src/pipeline/tools/replay-items.ts';
import { writeRequest as writeMessages } from '../../src/providers/anthropic-messages/request.ts';
import { writeRequest as writeGemini } from '../../src/providers/gemini/request.ts';
import { writeRequest as writeChat } from '../../src/providers/openai-chat/request.ts';
import { writeRequest as writeResponses } from '../../src/providers/openai-responses/request.ts';
import { datetime } from '../../src/tools/datetime/index.ts';
import { refused, writeTo } from './write-to.ts';

/* Paths name the items that the client has sent, also where the gateway adds or moves some for the provider. */

const target = { upstreamModel: 'one' };
const user = (content: unknown): InputItem => ({ type: 'message', role: 'user', content }) as InputItem;
const assistant: InputItem = { type: 'message', role: 'assistant', content: 'b' };
const call = (id: string): InputItem => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
const output = (id: string): InputItem => ({ type: 'function_call_output', call_id: id, output: 'o' });
const time: InputItem = {
  type: 'router:datetime',
  id: 'st_1',
  status: 'completed',
  datetime: '2026-11-20T10:00:00.000+00:00',
  timezone: 'UTC',
};
const replay = (input: InputItem[]): InputItem[] =>
  replayItems(input, new Map([[datetime.type, datetime]]), {
    isOurs: () => false,
    isOffered: () => false,
    isCarried: () => false,
    isNative: () => false,
  }).input;

describe.each([
  ['openai-chat', writeTo(writeChat, target)],
  ['anthropic-messages', writeTo(writeMessages, target)],
  ['gemini', writeTo(writeGemini, target)],
])('%s names a dropped field', (_, write) => {
  const odd = user([{ type: 'input_text', text: 'c', odd: 1 }]);
  it.each<[string, InputItem[]]>([
    ['after a late output', [call('x'), user('a'), assistant, output('x'), odd]],
    ['after an output that comes before its call', [output('x'), call('x'), assistant, user('a'), odd]],
    ['after items of server tools', replay([user('a'), time, time, assistant, odd])],
    ['after both', replay([call('x'), time, assistant, output('x'), odd])],
  ])('%s', (_case, input) => {
    expect(write({ input }).dropped).toContain('input[4].content[0].odd');
  });
});

it('an error names the item', () => {
  const image = user([{ type: 'input_image', file_id: 'file-1' }]);
  const input = replay([time, call('x'), user('a'), assistant, output('x'), image]);
  expect(() => writeTo(writeChat, target)({ input })).toThrow(refused('input[5].content[0].file_id'));
});

it('a field of an item after one without content for another wire', () => {
  const header = { type: 'input_text', text: 'x-anthropic-billing-header: cc_version=1' };
  const system = { type: 'message', role: 'system', content: [header] } as InputItem;
  const odd = user([{ type: 'input_text', text: 'c', odd: 1 }]);
  const native: NativeRequest = {
    format: 'anthropic-messages',
    fields: {},
    tools: {},
    version: undefined,
    betas: [],
    replaces: {},
  };
  const given: ResponseRequest = { input: replay([system, time, odd]), native };
  const { request, dropped } = leaveOutNative(given, 'openai-chat', {
    model: 'acme/one',
    provider: { id: 'acme', name: 'Acme' },
  });
  expect(dropped).toEqual(['input[0].content[0] (x-anthropic-billing-header)']);
  expect(writeTo(writeChat, target)(request).dropped).toEqual(['input[2].content[0].odd']);
});

it('openai-responses names a dropped item after items of server tools', () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], format: 'anthropic-claude-v1' } as InputItem;
  const { dropped } = writeTo(writeResponses, target)({ input: replay([time, reasoning, user('a')]) });
  expect(dropped).toEqual(['input[1]']);
});
