import { describe, expect, it } from 'vitest';
import { cleanResults } from './clean-results.ts';

const limits = { count: 2, maxCharacters: 60, mode: undefined, include: [], exclude: [] };
const url = 'https://example.com/a';

describe('search results for one page', () => {
  it('become one result with all excerpts, in order', () => {
    const raw = [
      { url, title: '', texts: ['First.'] },
      { url: 'https://example.org/', title: 'Other', texts: ['Else.'] },
      { url: `${url}/`, title: 'Page', texts: ['Second.', 'First.'] },
      { url: 'https://example.net/', title: 'One too many', texts: ['Never.'] },
      { url, title: 'Later', texts: ['Third.'] },
    ];
    expect(cleanResults(raw, limits)).toEqual([
      { url, title: 'Page', content: 'First.\n[...]\nSecond.\n[...]\nThird.' },
      { url: 'https://example.org/', title: 'Other', content: 'Else.' },
    ]);
  });

  it('are cut together', () => {
    const raw = ['a', 'b', 'c'].map((letter) => ({ url, title: 'Page', texts: [letter.repeat(40)] }));
    const [result, ...others] = cleanResults(raw, limits);
    expect(others).toEqual([]);
    expect(result!.content).toBe(`${'a'.repeat(40)}\n[...]\n${'b'.repeat(13)}`);
  });
});
