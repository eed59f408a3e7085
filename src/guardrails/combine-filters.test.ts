import { describe, expect, it } from 'vitest';
import { combineFilters, type FilterSource, findStrictest } from './combine-filters.ts';
import type { FilterAction } from './content-filter.ts';

const guardrail = (id: string, ...filters: FilterSource['filters']): FilterSource => ({
  id,
  scope: 'api-key',
  filters,
});
const email = (action: FilterAction) => ({ type: 'builtin', slug: 'email', action }) as const;
const custom = (pattern: string, action: FilterAction, label: string | null = null) =>
  ({ type: 'custom', pattern, label, action }) as const;
const injection = (action: FilterAction, scanScope?: 'all_messages' | 'user_only') =>
  ({ type: 'builtin', slug: 'regex-prompt-injection', action, scanScope }) as const;

const combine = (guardrails: FilterSource[], isUserText = true) =>
  combineFilters(guardrails, isUserText).map(({ filter, source }) => [source.id, filter.action]);

describe('the filters of several guardrails', () => {
  it('are the union of them', () => {
    expect(combineFilters([guardrail('a', email('flag')), guardrail('b', custom('x', 'redact', 'X'))], true)).toEqual([
      { filter: email('flag'), source: { id: 'a', scope: 'api-key' } },
      { filter: custom('x', 'redact', 'X'), source: { id: 'b', scope: 'api-key' } },
    ]);
    expect(combineFilters([], true)).toEqual([]);
  });

  it.each([
    [['flag', 'redact', 'block'], 'c', 'block'],
    [['block', 'redact', 'flag'], 'a', 'block'],
    [['flag', 'redact', 'redact'], 'b', 'redact'],
    [['flag', 'flag', 'flag'], 'a', 'flag'],
  ] as [
    FilterAction[],
    string,
    FilterAction,
  ][])('of the actions %j use the strictest, of the first one', (actions, id, action) => {
    const ids = ['a', 'b', 'c'];
    for (const make of [email, injection, (each: FilterAction) => custom('x', each)]) {
      const guardrails = actions.map((each, index) => guardrail(ids[index]!, make(each)));
      expect(combine(guardrails)).toEqual([[id, action]]);
    }
  });

  it('keep the label of a pattern that has none in the strictest one', () => {
    const [combined] = combineFilters(
      [guardrail('a', custom('x', 'flag', 'X')), guardrail('b', custom('x', 'block'))],
      true,
    );
    expect(combined!.filter).toEqual(custom('x', 'block', 'X'));
  });

  it('apply to text of others as far as their prompt-injection filters scan all messages', () => {
    const guardrails = [
      guardrail('a', injection('block', 'user_only')),
      guardrail('b', injection('flag', 'all_messages')),
    ];
    expect(combine(guardrails, true)).toEqual([['a', 'block']]);
    expect(combine(guardrails, false)).toEqual([['b', 'flag']]);
    expect(combine([guardrail('a', injection('flag'))], false)).toEqual([['a', 'flag']]);
  });
});

it('the strictest action is block, then redact, then flag', () => {
  expect(findStrictest(['flag', 'block', 'redact'])).toBe('block');
  expect(findStrictest(['redact', 'flag'])).toBe('redact');
  expect(findStrictest([])).toBeUndefined();
});
