import { beforeEach, describe, expect, it } from 'vitest';
import type { InputItem } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { Conversation, takeInput } from './conversation.ts';

const say = (content: string): InputItem => ({ type: 'message', role: 'user', content });

let parsed: number;
const source = {
  bytes: 42,
  read() {
    parsed++;
    return [say('hello')];
  },
};
beforeEach(() => {
  parsed = 0;
});

describe('a conversation', () => {
  it('is parsed again after it was parked, and only then', () => {
    const input = new Conversation([say('hello')], source);
    expect(input.read()).toEqual([say('hello')]);
    expect(parsed).toBe(0);
    input.park();
    expect(parsed).toBe(0);
    expect(input.read()).toEqual([say('hello')]);
    expect(input.read()).toEqual([say('hello')]);
    expect(parsed).toBe(1);
  });

  it('stays when there is nothing to parse it from', () => {
    const items = [say('inner')];
    const input = new Conversation(items);
    input.park();
    expect(input.read()).toBe(items);
    expect(input.bytes).toBeUndefined();
  });

  it('keeps what was appended, parked or not', () => {
    const input = new Conversation([say('hello')], source);
    input.append([say('one')]);
    input.park();
    input.append([say('two')]);
    expect(input.read()).toEqual([say('hello'), say('one'), say('two')]);
    expect(input.readGiven()).toEqual([say('hello')]);
    expect(parsed).toBe(1);
  });

  it('lists call ids without keeping parked items, and parses them once for that', () => {
    const call = (id: string): InputItem => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
    const calling = { ...source, read: () => [...source.read(), call('a')] };
    const input = new Conversation([say('hello'), call('a')], calling);
    input.park();
    expect(input.listCallIds()).toEqual(new Set(['a']));
    input.append([call('b')]);
    expect(input.listCallIds()).toEqual(new Set(['a', 'b']));
    expect(parsed).toBe(1);
    input.read();
    expect(parsed).toBe(2); // they were parked
    input.listCallIds();
    input.read();
    expect(parsed).toBe(2);
    input.replace([call('c')]);
    expect(input.listCallIds()).toEqual(new Set(['c', 'b']));
  });

  it('that was replaced does not come back', () => {
    const input = new Conversation([say('secret')], source);
    input.append([say('one')]);
    input.replace([say('redacted')]);
    input.park();
    expect(input.read()).toEqual([say('redacted'), say('one')]);
    expect(parsed).toBe(0);
  });

  it('takes the input out of its request', () => {
    const request: ResponseRequest = { input: [say('hello')], model: 'acme/one' };
    const input = takeInput(request, undefined);
    expect(request.input).toBeUndefined();
    expect(input.read()).toEqual([say('hello')]);
  });
});

it('moves the bytes out of shared memory once a step has appended items', () => {
  let separated = 0;
  const source = { read: () => [], bytes: 2, separate: () => void separated++ };
  const conversation = new Conversation([], source);
  expect(separated).toBe(0);
  conversation.append([{ type: 'message', role: 'user', content: 'a' }]);
  conversation.append([{ type: 'message', role: 'user', content: 'b' }]);
  expect(separated).toBe(1);
});
