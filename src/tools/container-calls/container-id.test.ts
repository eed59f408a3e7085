import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InputItem } from '../../domain/items.ts';
import { chooseContainerId, containerIdShape, nameRestarted } from './container-id.ts';

const nothing = { environment: undefined, keys: [], input: [], requestId: 'gen-1' };
const item = (container_id: unknown, type = 'router:shell') => ({ type, container_id }) as InputItem;

describe('the id of a container', () => {
  it('is the given one', () => {
    const environment = { type: 'container_reference', container_id: 'mine' } as const;
    expect(chooseContainerId({ ...nothing, environment, keys: ['k'], input: [item('old')] })).toBe('mine');
  });

  it.each([
    [['abc', 'p'], 'sess_abc'],
    [[undefined, null, 'p'], 'sess_p'],
    [['a-b_C9'], 'sess_a-b_C9'],
    [['1'.repeat(5) + 'x'.repeat(20)], `sess_${'x'.repeat(20)}`],
    [['a.b', 'p'], 'sess_p'],
    [['', 'p'], 'sess_p'],
  ])('of the keys %j is %s', (keys, id) => {
    expect(chooseContainerId({ ...nothing, keys, input: [item('old')] })).toBe(id);
  });

  it('is the latest of the conversation', () => {
    const input = [item('old'), item('new', 'shell_call_output'), item('x'.repeat(41)), item('a b'), item(5)];
    expect(chooseContainerId({ ...nothing, input })).toBe('new');
  });

  it('is a hash of the request id otherwise', () => {
    expect(chooseContainerId(nothing)).toBe('gen_5ee4e1f377a36f14');
    expect(chooseContainerId({ ...nothing, keys: ['a b'] })).toBe('gen_5ee4e1f377a36f14');
  });

  it('has a new suffix after each restart, and 40 characters at most', () => {
    expect(nameRestarted('mine', 'abcdefghijkl')).toBe('mine-rabcdefghijkl');
    expect(nameRestarted('mine-rabcdefghijkl', 'mnopqrstuvwx')).toBe('mine-rmnopqrstuvwx');
    expect(nameRestarted('x'.repeat(40), 'abcdefghijkl')).toBe(`${'x'.repeat(26)}-rabcdefghijkl`);
  });

  it('always has the shape of an id', () => {
    const keys = fc.array(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant(null)));
    fc.assert(
      fc.property(keys, fc.string(), fc.array(fc.string().map((id) => item(id))), (given, requestId, input) => {
        const id = chooseContainerId({ ...nothing, keys: given, requestId, input });
        expect(id).toMatch(containerIdShape);
        expect(nameRestarted(id, 'abcdefghijkl')).toMatch(containerIdShape);
      }),
    );
  });
});
