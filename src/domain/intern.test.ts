import { describe, expect, it } from 'vitest';
import { internStatuses, internTransitions, type InternTrigger, listStatusesBefore } from './intern.ts';

describe('the states of an intern', () => {
  it('are all reached from the two that create begins with, and all can be deleted', () => {
    const reached = new Set<string>(['awaiting_chat_install', 'queued']);
    for (const status of reached) {
      if (status === 'gone') continue;
      for (const next of Object.values(internTransitions[status as (typeof internStatuses)[number]])) reached.add(next);
    }
    expect([...reached].sort()).toEqual([...internStatuses, 'gone'].sort());
    expect(listStatusesBefore('delete')).toEqual(internStatuses);
  });

  it.each<[InternTrigger, string[]]>([
    ['provision', ['awaiting_chat_install', 'failed', 'stopped']],
    ['suspend', ['running', 'stopped']],
    ['update', ['awaiting_chat_install', 'queued', 'provisioning', 'running', 'failed', 'stopped']],
  ])('accept %s only in %j', (trigger, statuses) => {
    expect(listStatusesBefore(trigger)).toEqual(statuses);
  });
});
