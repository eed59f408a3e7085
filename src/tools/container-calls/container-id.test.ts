import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { containerIdShape, nameRestarted } from '../../domain/container-id.ts';
import type { InputItem } from '../../domain/items.ts';
import { chooseContainerId, type ContainerSession } from './container-id.ts';

interface Given extends Partial<ContainerSession['request']> {
  items?: InputItem[];
  requestId?: string;
}

const item = (container_id: unknown, type = 'router:shell') => ({ type, container_id }) as InputItem;
const choose = (
  { items = [], requestId = 'gen-1', ...request }: Given,
  environment?: Parameters<typeof chooseContainerId>[0],
) => chooseContainerId(environment, { request, requestId, conversation: () => items });

describe('the id of a container', () => {
  it('is the given one', () => {
    const environment = { type: 'container_reference', container_id: 'mine' } as const;
    expect(choose({ session_id: 'k', items: [item('old')] }, environment)).toBe('mine');
  });

  it('is that of the session', () => {
    expect(choose({ session_id: 'abc', prompt_cache_key: 'p', items: [item('old')] })).toBe('sess_abc');
    expect(choose({ session_id: 'user:42', items: [item('old')] })).toMatch(/^sess_user-42-[0-9a-f]{40}$/);
  });

  it('is the latest of the conversation', () => {
    const items = [item('old'), item('new', 'shell_call_output'), item('x'.repeat(41)), item('a b'), item(5)];
    expect(choose({ items })).toBe('new');
    const long = choose({ session_id: '1'.repeat(256) });
    expect(choose({ items: [item(long)] })).toBe(long);
  });

  it('is a hash of the request id otherwise, also with a `prompt_cache_key`, which many people share', () => {
    expect(choose({})).toBe('gen_5ee4e1f377a36f14');
    expect(choose({ session_id: '', prompt_cache_key: 'support-bot' })).toBe('gen_5ee4e1f377a36f14');
    expect(choose({ prompt_cache_key: 'support-bot', items: [item('old')] })).toBe('old');
  });

  it('always has the shape of an id', () => {
    const key = fc.oneof(fc.string(), fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(key, fc.string(), fc.array(fc.string().map((id) => item(id))), (session_id, requestId, items) => {
        const id = choose({ session_id, requestId, items });
        expect(id).toMatch(containerIdShape);
        expect(nameRestarted(id, 'abcdefghijkl')).toMatch(containerIdShape);
      }),
    );
  });
});
