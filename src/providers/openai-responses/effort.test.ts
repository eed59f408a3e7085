import { describe, expect, it } from 'vitest';
import type { ReasoningEffort } from '../../domain/items.ts';
import type { ReasoningSetting } from '../../domain/request.ts';
import { writeReasoning } from './effort.ts';

const all: ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const effortOf = (setting: ReasoningSetting, known = all, maxOutputTokens: number | null = 10_000) =>
  writeReasoning(setting, undefined, maxOutputTokens, known, [])?.effort;

describe('reasoning', () => {
  it.each([
    ['none', 0],
    ['minimal', 1000],
    ['low', 3000],
    ['medium', 5000],
    ['high', 8000],
    ['xhigh', 9500],
    ['xhigh', 20_000],
  ])('gets effort %s for a budget of %i tokens in 10,000 of output', (effort, max_tokens) => {
    expect(effortOf({ max_tokens })).toBe(effort);
  });

  it('measures a budget against 32,000 tokens when no limit is set', () => {
    expect(effortOf({ max_tokens: 16_000 }, all, null)).toBe('medium');
  });

  it('is medium when only enabled, none when disabled, and the level before the budget', () => {
    expect(effortOf({ enabled: true })).toBe('medium');
    expect(effortOf({ enabled: false, effort: 'high' })).toBe('none');
    expect(effortOf({ enabled: true, effort: 'low', max_tokens: 9000 })).toBe('low');
  });

  it('goes to the nearest level that the provider knows, of two to the lower', () => {
    const known: ReasoningEffort[] = ['low', 'medium', 'high'];
    expect(effortOf({ effort: 'max' }, known)).toBe('high');
    expect(effortOf({ effort: 'none' }, known)).toBe('low');
    expect(effortOf({ effort: 'medium' }, known)).toBe('medium');
    expect(effortOf({ effort: 'medium' }, ['low', 'high'])).toBe('low');
    expect(effortOf({ max_tokens: 1 }, ['none', 'high'])).toBe('high');
  });

  it('is that of the last configuration_update', () => {
    expect(writeReasoning({ effort: 'low' }, 'high', null, all, [])).toEqual({ effort: 'high' });
  });

  it('keeps summary, context and mode, and is left out when nothing is left', () => {
    expect(writeReasoning({ summary: 'auto', context: 'all_turns', mode: 'pro' }, undefined, null, all, [])).toEqual({
      summary: 'auto',
      context: 'all_turns',
      mode: 'pro',
    });
    expect(writeReasoning({ effort: null, context: 'auto', summary: null }, undefined, null, all, [])).toBeUndefined();
  });
});
