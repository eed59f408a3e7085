import { describe, expect, it } from 'vitest';
import type { CustomFilter, FilterSource } from '../domain/content-filter.ts';
import type { TextKind } from './combine-filters.ts';
import { FilterSets } from './filter-sets.ts';

const custom = (pattern: string): CustomFilter => ({ pattern, label: null, action: 'flag' });
/** The guardrails of a caller: one with these patterns. */
const caller = (...patterns: string[]): FilterSource[] => [
  { id: patterns.join(), scope: 'api-key', builtinFilters: [], customFilters: patterns.map(custom) },
];
const injection: FilterSource[] = [
  {
    id: 'i',
    scope: 'api-key',
    customFilters: [],
    builtinFilters: [{ slug: 'regex-prompt-injection', action: 'flag', scanScope: 'user_only' }],
  },
];
/** What `find` returns at once; undefined if it compiles first. */
const findReady = (sets: FilterSets, sources: FilterSource[], kind: TextKind = 'user') => {
  const found = sets.find(sources, kind);
  return found instanceof Promise ? undefined : found;
};

describe('the filters of callers', () => {
  it('are compiled before a request needs them, equal ones once', async () => {
    const sets = new FilterSets([]);
    const [one, same, other] = [caller('a'), caller('a'), caller('b')];
    await sets.prepare([one, same, other]);
    const { compiled } = findReady(sets, one)!;
    expect(findReady(sets, same)!.compiled).toBe(compiled);
    expect(findReady(sets, one, 'context')!.compiled).toBe(compiled);
    expect(findReady(sets, other)!.compiled).not.toBe(compiled);
    expect(sets.find(one, 'output')).toBeUndefined();
  });

  it('differ for users and others if a filter scans only users', async () => {
    const sets = new FilterSets([]);
    await sets.prepare([injection]);
    expect(findReady(sets, injection)!.combined).toHaveLength(1);
    expect(sets.find(injection, 'context')).toBeUndefined();
  });

  it('are compiled once for requests at the same time', async () => {
    const sets = new FilterSets([]);
    const [one, two] = await Promise.all([sets.find(caller('a'), 'user'), sets.find(caller('a'), 'user')]);
    expect(one!.compiled).toBe(two!.compiled);
  });

  it('make room for others, those used last remain, and are compiled again when needed', async () => {
    const sets = new FilterSets([], 2);
    const [a, b, c] = [caller('a'), caller('b'), caller('c')];
    await sets.prepare([a, b, c]);
    expect([findReady(sets, b), findReady(sets, a)]).not.toContain(undefined); // b is the older one now
    expect(findReady(sets, c)).toBeUndefined();
    expect((await sets.find(c, 'user'))!.combined).toHaveLength(1);
    expect(findReady(sets, a)).toBeDefined();
    expect(findReady(sets, b)).toBeUndefined();
  });

  it('that cannot be compiled fail only the requests that need them', async () => {
    const sets = new FilterSets([]);
    const bad = caller('(?=a)');
    await sets.prepare([bad, caller('a')]);
    expect(findReady(sets, caller('a'))).toBeDefined();
    await expect(sets.find(bad, 'user')).rejects.toThrow('Lookahead');
  });

  it('are compiled for other phrases while the old ones are in use', async () => {
    const sets = new FilterSets([]);
    await sets.prepare([injection]);
    const next = await sets.withPhrases(['developer mode']);
    expect(findReady(sets, injection)!.compiled.hasPhrases).toBe(false);
    expect(findReady(next, injection)!.compiled.hasPhrases).toBe(true);
  });
});
