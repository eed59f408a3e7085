import { describe, expect, it } from 'vitest';
import { splitWords } from './split-words.ts';

describe('splitWords', () => {
  it.each([
    ['The refund-policy: 30 days!', ['the', 'refund', 'policy', '30', 'days']],
    ['Größe, Café, ÅNGSTRÖM', ['große', 'cafe', 'angstrom']],
    ['ﬁle №5 ①', ['file', 'no5', '1']],
    ['東京都 は', ['東京', '京都', 'は']],
    ['GPT4東京x', ['gpt4', '東京', 'x']],
    ['привет, МИР', ['привет', 'мир']],
    ['"a" OR b* NEAR(c) \u0000 😀', ['a', 'or', 'b', 'near', 'c']],
    ['한국어 문서', ['한국어', '문서']],
    ['', []],
  ])('splits %j', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it('is the same for composed and decomposed text', () => {
    expect(splitWords('Zu\u0308rich')).toEqual(splitWords('Z\u00fcrich'));
    expect(splitWords('\u1112\u1161\u11ab')).toEqual(splitWords('\ud55c'));
    expect(splitWords('が')).toEqual(splitWords('か\u3099'));
  });

  it('bounds words and their length', () => {
    expect(splitWords('a b c', 2)).toEqual(['a', 'b']);
    expect(splitWords('𝔸'.repeat(100))).toEqual(['a'.repeat(64)]);
    expect(splitWords(`${'x'.repeat(100)} y`)).toEqual(['x'.repeat(64), 'y']);
  });
});
