import { describe, expect, it } from 'vitest';
import type {
  BuiltinFilter,
  CustomFilter,
  FilterAction,
  FilterSide,
  FilterSource,
  ScanScope,
} from '../domain/content-filter.ts';
import { combineFilters, findStrictest, type TextKind } from './combine-filters.ts';

const guardrail = (id: string, ...filters: (BuiltinFilter | CustomFilter)[]): FilterSource => ({
  id,
  scope: 'api-key',
  builtinFilters: filters.filter((filter) => 'slug' in filter),
  customFilters: filters.filter((filter) => 'pattern' in filter),
});
const email = (action: FilterAction): BuiltinFilter => ({ slug: 'email', action });
const custom = (pattern: string, action: FilterAction, label: string | null = null): CustomFilter => ({
  pattern,
  label,
  action,
});
const injection = (action: FilterAction, scanScope: ScanScope = 'all_messages'): BuiltinFilter => ({
  slug: 'regex-prompt-injection',
  action,
  scanScope,
});

const combine = (guardrails: FilterSource[], kind: TextKind = 'user') =>
  combineFilters(guardrails, kind).map(({ filter, source }) => [source.id, filter.action]);

describe('the filters of several guardrails', () => {
  it('are the union of them', () => {
    expect(combineFilters([guardrail('a', email('flag')), guardrail('b', custom('x', 'redact', 'X'))], 'user')).toEqual(
      [
        { filter: { type: 'builtin', ...email('flag') }, source: { id: 'a', scope: 'api-key' } },
        { filter: { type: 'custom', ...custom('x', 'redact', 'X') }, source: { id: 'b', scope: 'api-key' } },
      ],
    );
    expect(combineFilters([], 'user')).toEqual([]);
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
      'user',
    );
    expect(combined!.filter).toEqual({ type: 'custom', ...custom('x', 'block', 'X') });
  });

  it('apply to text of others as far as their prompt-injection filters scan all messages', () => {
    const guardrails = [
      guardrail('a', injection('block', 'user_only')),
      guardrail('b', injection('flag', 'all_messages')),
    ];
    expect(combine(guardrails)).toEqual([['a', 'block']]);
    expect(combine(guardrails, 'context')).toEqual([['b', 'flag']]);
    expect(combine([guardrail('a', injection('flag'))], 'context')).toEqual([['a', 'flag']]);
  });

  it('apply to the side that each one names, by default to input', () => {
    const on = (applyTo: FilterSide[], filter: BuiltinFilter | CustomFilter) => ({ ...filter, applyTo });
    const guardrails = [
      guardrail('a', on(['output'], email('redact')), on(['input', 'output'], custom('x', 'flag'))),
      guardrail('b', email('block'), on(['output'], injection('flag', 'user_only'))),
    ];
    expect(combine(guardrails)).toEqual([
      ['a', 'flag'],
      ['b', 'block'],
    ]);
    expect(combine(guardrails, 'output')).toEqual([
      ['a', 'redact'],
      ['a', 'flag'],
    ]);
  });
});

it('the strictest action is block, then redact, then flag', () => {
  expect(findStrictest(['flag', 'block', 'redact'])).toBe('block');
  expect(findStrictest(['redact', 'flag'])).toBe('redact');
  expect(findStrictest([])).toBeUndefined();
});
