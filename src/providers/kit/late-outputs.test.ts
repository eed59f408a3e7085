import { describe, expect, it } from 'vitest';
import { placesOf } from '../../domain/input-places.ts';
import type { InputItem } from '../../domain/items.ts';
import { settleLateOutputs } from './late-outputs.ts';

const user = (content: string): InputItem => ({ type: 'message', role: 'user', content });
const assistant = (content: string): InputItem => ({ type: 'message', role: 'assistant', content });
const call = (id: string, more: object = {}): InputItem =>
  ({ type: 'function_call', call_id: id, name: `f_${id}`, arguments: '{}', ...more }) as InputItem;
const output = (id: string): InputItem => ({ type: 'function_call_output', call_id: id, output: `out ${id}` });
const pending = (id: string) =>
  expect.objectContaining({ call_id: id, output: expect.stringContaining('not available') });

describe('outputs in time', () => {
  it.each<[string, InputItem[]]>([
    ['no calls', [user('a'), assistant('b'), user('c')]],
    ['a call and its output', [user('a'), call('x'), output('x'), user('b')]],
    [
      'several calls and their outputs in order, in two turns',
      [call('x'), call('y'), output('x'), output('y'), assistant('b'), call('z'), output('z'), user('c')],
    ],
    [
      'calls with a message between them and their outputs',
      [call('x'), call('y'), assistant('b'), output('y'), output('x')],
    ],
    ['the same id in two turns', [call('x'), output('x'), assistant('a'), call('x'), output('x')]],
    ['a call without an output at the end', [user('a'), call('x')]],
    ['a call that never gets an output', [user('a'), call('x'), user('b')]],
    ['an interrupted call whose id a later call has again', [call('x'), user('a'), call('x'), output('x')]],
    ['an output without a call', [user('a'), output('x')]],
  ])('stay: %s', (_, input) => {
    expect(settleLateOutputs(input)).toBe(input);
  });
});

it('puts an output before what the user has said meanwhile', () => {
  const settled = settleLateOutputs([call('x'), call('y'), user('a'), output('x'), user('b'), output('y'), user('c')]);
  expect(settled).toEqual([call('x'), call('y'), output('x'), output('y'), user('a'), user('b'), user('c')]);
});

it('takes linear time', () => {
  const ids = Array.from({ length: 100_000 }, (_, index) => String(index));
  const input = [...ids.map((id) => call(id)), ...ids.toReversed().map(output)];
  expect(settleLateOutputs(input)).toBe(input);
  expect(settleLateOutputs(input.toReversed())).toHaveLength(input.length);
});

it('puts an output that comes before its call behind the calls of that turn', () => {
  const input = [output('y'), user('a'), output('x'), call('x'), call('y'), assistant('b'), user('c')];
  const settled = settleLateOutputs(input);
  expect(settled).toEqual([user('a'), call('x'), call('y'), output('x'), output('y'), assistant('b'), user('c')]);
  expect(placesOf(settled)).toEqual([1, 3, 4, 2, 0, 5, 6]);
});

describe('late outputs', () => {
  it('become messages where they arrive', () => {
    const settled = settleLateOutputs([call('x'), call('y'), output('y'), assistant('a'), user('b'), output('x')]);
    expect(settled).toEqual([
      call('x'),
      call('y'),
      output('y'),
      pending('x'),
      assistant('a'),
      user('b'),
      user('[Output of the earlier call of f_x]\nout x'),
    ]);
    expect(placesOf(settled)).toEqual([0, 1, 2, 0, 3, 4, 5]);
  });

  it('are provisional for an asynchronous call that has none yet', () => {
    expect(settleLateOutputs([call('x', { async: true }), user('b')])).toEqual([
      call('x', { async: true }),
      pending('x'),
      user('b'),
    ]);
  });

  it('keep their images, and the kind of a custom tool', () => {
    const custom = { type: 'custom_tool_call', call_id: 'c', name: 'draw', input: 'x' } as InputItem;
    const image = { type: 'input_image', image_url: 'https://a.example/b.png' };
    const late = { type: 'custom_tool_call_output', call_id: 'c', output: [image] } as InputItem;
    expect(settleLateOutputs([custom, user('b'), assistant('d'), late])).toEqual([
      custom,
      expect.objectContaining({ type: 'custom_tool_call_output', call_id: 'c' }),
      user('b'),
      assistant('d'),
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: '[Output of the earlier call of draw]' }, image],
      },
    ]);
  });
});
