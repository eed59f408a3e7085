import { array, assert, constantFrom, property, string, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeModel } from '../catalog/describe-model.ts';
import { matchModels, Patterns } from './patterns.ts';

const model = (id: string, canonicalSlug = '~') => ({ id, canonicalSlug });
const matches = (pattern: string, id: string, canonicalSlug?: string) =>
  new Patterns([pattern]).matches(model(id, canonicalSlug));

describe('a pattern', () => {
  it.each([
    ['anthropic/*', 'anthropic/claude-opus-5', true],
    ['anthropic/*', 'anthropic/', true],
    ['anthropic/*', 'anthropics/claude', false],
    ['anthropic/*', 'my/anthropic/claude', false],
    ['openai/gpt-5*', 'openai/gpt-5', true],
    ['openai/gpt-5*', 'openai/gpt-5.1-codex', true],
    ['openai/gpt-5*', 'openai/gpt-4', false],
    ['*/claude-*', 'anthropic/claude-opus-5', true],
    ['*/claude-*', 'aws/eu/claude-opus-5', true],
    ['*/claude-*', 'anthropic/my-claude-5', false],
    ['openai/gpt-5.1', 'openai/gpt-5.1', true],
    ['openai/gpt-5.1', 'openai/gpt-5x1', false],
    ['openai/gpt-5.1', 'openai/gpt-5.1-mini', false],
    ['openai/gpt-5.1', 'x/openai/gpt-5.1', false],
    ['*', 'any/thing', true],
    ['**', 'any/thing', true],
    ['*-mini', 'openai/gpt-5-mini', true],
    ['*-mini', 'openai/gpt-5-mini-2', false],
    ['*mini*', 'openai/gpt-5-mini-2', true],
    ['*mini*', 'mini', true],
    ['*mini*', 'openai/gpt-5', false],
    ['a*b*c', 'a/b/c', true],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'acb', false],
    ['a*b*c', 'ab', false],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['ab*ba', 'aba', false],
    ['a*b*b', 'ab', false],
    ['*ab*ab*', 'xabx', false],
    ['*ab*ab*', 'abab', true],
    ['acme/gpt?', 'acme/gpt5', false],
    ['acme/gpt[5]', 'acme/gpt5', false],
    ['acme/(a|b)', 'acme/a', false],
    ['OpenAI/GPT-5*', 'openai/gpt-5.1', true],
    ['qwen/qwen3', 'Qwen/Qwen3', true],
  ])('%s and %s: %s', (pattern, id, expected) => expect(matches(pattern, id)).toBe(expected));

  it.each([
    ['acme/one', 'acme/one:free', true],
    ['acme/*', 'acme/one:free', true],
    ['acme/one:free', 'acme/one:free', true],
    ['acme/one:free', 'acme/one', false],
    ['acme/one:free', 'acme/one:batch', false],
    ['acme/one:FREE', 'acme/one:free', true],
    ['*:free', 'acme/one:free', true],
    ['*:free', 'acme/one', false],
    ['acme/*:free', 'acme/one:free', true],
    ['acme/*:free', 'acme/one:batch', false],
  ])('with a suffix matches that variant, without one all of them: %s and %s: %s', (pattern, id, expected) => {
    expect(matches(pattern, id)).toBe(expected);
  });

  it.each([
    ['acme/one-20260101', true],
    ['ACME/One-2026*', true],
    ['acme/one-*', true],
    ['acme/two', true],
    ['acme/one', false],
  ])('%s is compared with the canonical slug as well: %s', (pattern, expected) => {
    expect(matches(pattern, 'acme/two', 'acme/one-20260101')).toBe(expected);
  });
});

/** A plain implementation of the documented rule. */
function refers(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern[0] !== '*') return text[0] === pattern[0] && refers(pattern.slice(1), text.slice(1));
  return refers(pattern.slice(1), text) || (text !== '' && refers(pattern, text.slice(1)));
}

describe('patterns', () => {
  const letters = (...units: string[]) => string({ unit: constantFrom(...units), maxLength: 9 });
  const pattern = letters('a', 'b', '/', '*', '*', 'A').filter((text) => text !== '');
  const slug = letters('a', 'b', '/', 'B').filter((text) => text !== '');

  it('match like the plain implementation, for any pattern', () => {
    assert(
      property(pattern, slug, (each, text) => {
        expect(matches(each, text)).toBe(refers(each.toLowerCase(), text.toLowerCase()));
      }),
      { numRuns: 3000 },
    );
  });

  it('of a list match what any of them matches, by id or by canonical slug', () => {
    assert(
      property(array(pattern, { maxLength: 8 }), tuple(slug, slug), (list, [id, canonical]) => {
        const either = (each: string) => [id, canonical].some((text) => refers(each.toLowerCase(), text.toLowerCase()));
        expect(new Patterns(list).matches(model(id, canonical))).toBe(list.some(either));
      }),
      { numRuns: 3000 },
    );
  });

  it('that are prefixes of each other all match', () => {
    const list = new Patterns(['acme/a*', 'acme/aa*', 'acme/ab*', 'b*', 'acme/a-*']);
    const found = ['acme/a', 'acme/aaa', 'acme/az', 'acme/ab', 'bb', 'acme/b', 'acme', 'a'].map((id) =>
      list.matches(model(id)),
    );
    expect(found).toEqual([true, true, true, true, true, false, false, false]);
  });

  it('match nothing if there are none', () => {
    expect(new Patterns([]).matches(model('acme/one'))).toBe(false);
  });

  it('match fast, even a thousand with many stars', () => {
    const list = Array.from({ length: 1024 }, (_, index) => `${'*a'.repeat(500)}${index}`);
    const compiled = new Patterns(list);
    const before = performance.now();
    compiled.matches(model('a'.repeat(200)));
    expect(performance.now() - before).toBeLessThan(10_000);
  });
});

describe('the models that patterns match', () => {
  const models = ['acme/one', 'acme/two', 'other/one'].map((id) => describeModel({ id }));

  it('are returned by id', () => {
    expect([...matchModels(['acme/*', '*/ONE'], models)]).toEqual(['acme/one', 'acme/two', 'other/one']);
    expect([...matchModels(['nobody/*'], models)]).toEqual([]);
    expect([...matchModels([], models)]).toEqual([]);
  });

  it('are cached for each list and catalog', () => {
    const before = matchModels(['acme/*'], models);
    expect(matchModels(['acme/*'], models)).toBe(before);
    expect([...matchModels(['acme/*'], models.slice(0, 1))]).toEqual(['acme/one']);
  });

  it('are not confused with those of a similar list', () => {
    expect([...matchModels(['other/*\nacme/t*'], models)]).toEqual([]);
    expect([...matchModels(['other/*', 'acme/t*'], models)]).toEqual(['acme/two', 'other/one']);
  });

  it('stay correct if there are more lists than the cache holds', () => {
    for (let count = 0; count < 200; count++) matchModels([`acme/${count}*`], models);
    expect([...matchModels(['acme/t*'], models)]).toEqual(['acme/two']);
  });
});
