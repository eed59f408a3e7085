import { expect, it } from 'vitest';
import type { InputItem } from '../domain/items.ts';
import { mapItemTexts } from './map-texts.ts';

it('replaces the addresses of a search', () => {
  const search = (text: string) =>
    ({
      type: 'web_search_call',
      id: 'secret',
      status: 'completed',
      action: {
        type: 'search',
        query: text,
        url: text,
        sources: [
          { type: 'url', url: text },
          { type: 'url', url: 'b' },
        ],
      },
    }) as unknown as InputItem;
  const replace = (text: string) => text.replace('secret', '[X]');
  expect(mapItemTexts(search('secret'), replace)).toEqual(search('[X]'));
  const same = search('a');
  expect(mapItemTexts(same, replace)).toBe(same);
});
