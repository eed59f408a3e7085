import { describe, expect, it } from 'vitest';
import { PatternError, parsePattern } from './parse-pattern.ts';

const reject = (source: string): string => {
  try {
    parsePattern(source);
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
  return 'accepted';
};

describe('a custom pattern', () => {
  it.each([
    ['(?=a)b', 'Lookahead, at 0, is not supported.'],
    ['a(?!b)', 'Lookahead, at 1, is not supported.'],
    ['(?<=a)b', 'Lookbehind, at 0, is not supported.'],
    ['(?<!a)b', 'Lookbehind, at 0, is not supported.'],
    [String.raw`(a)\1`, 'The backreference at 3 is not supported.'],
    [String.raw`(?<x>a)\k<x>`, 'The backreference at 7 is not supported.'],
    ['(a+)+', 'The quantifier + at 4 is a nested quantifier: it repeats a repetition. Remove one of them.'],
    ['(?:a{2,})+', 'is a nested quantifier'],
    ['(b?a+c*){3,}', 'is a nested quantifier'],
    ['(?:x|(a+))*', 'is a nested quantifier'],
    ['(a|a)*', 'The quantifier * at 5 repeats alternatives that can match the same text. Remove one of them.'],
    [String.raw`(\w|\d)+`, 'repeats alternatives that can match the same text'],
    ['(?:ab|ab)+', 'repeats alternatives that can match the same text'],
    ['(a?){2}', 'The quantifier {2} at 4 repeats a part that can match the empty text: (a?).'],
    ['(?:)*b', 'repeats a part that can match the empty text'],
    ['a*', 'The pattern can match the empty text. Require at least one character.'],
    ['', 'can match the empty text'],
    [String.raw`^\b$`, 'can match the empty text'],
    ['a|b?', 'can match the empty text'],
    ['(?i:a)', 'Modifiers such as (?i:…), at 0, are not supported. Write classes such as [Aa].'],
    ['(((((a{99}){99}){99}){99}){99})', 'The pattern is too large'],
    [`${'('.repeat(300)}a${')'.repeat(300)}`, 'The pattern has more than 200 nested groups.'],
    ['a{4097}', 'The pattern matches only texts of at least 4097 characters, more than 4096.'],
    ['(a', 'The pattern is not a valid JavaScript regular expression: Unterminated group.'],
    ['[b-a]', 'Range out of order in character class.'],
    [String.raw`\q`, 'Invalid escape.'],
    ['a{2,1}', 'numbers out of order in {} quantifier.'],
    [String.raw`\p{Nothing}`, 'Invalid property name.'],
  ])('%s is rejected with the reason', (source, reason) => {
    expect(reject(source)).toContain(reason);
  });

  it.each([
    String.raw`(?<year>\d{4})-(\d\d)`,
    String.raw`(?:\d+,)+\d`,
    '(?:foo|far)+',
    '(?:ab|a)c{2,3}?',
    String.raw`[^\]\\-]\u{1f600}\cA\x41\u0041\0`,
    'a{4096}',
    'a{1,90000}',
    'x|a{5000}',
  ])('%s is accepted', (source) => {
    expect(reject(source)).toBe('accepted');
  });

  it('looks around one character if it is built in', () => {
    expect(parsePattern('(?<![a-z])x(?=y)', { allowLooks: true })).toMatchObject({ type: 'sequence' });
    expect(() => parsePattern('x(?=yy)', { allowLooks: true })).toThrow('can contain only one character or class');
  });
});
