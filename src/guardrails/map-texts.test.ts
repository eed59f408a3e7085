import { expect, it } from 'vitest';
import type { InputItem } from '../domain/items.ts';
import { mapItemTexts } from './map-texts.ts';

it('replaces names of fields that are no words, and keeps fields that then have the same name', () => {
  const item = {
    type: 'unknown',
    'a@b.co': 1,
    '[EMAIL]': 2,
    more: { 'c@d.co': 'e@f.co', 'g@h.co': [3], to_address: 4 },
  } as unknown as InputItem;
  const seen: string[] = [];
  const mapped = mapItemTexts(item, (text) => {
    seen.push(text);
    return text.includes('@') ? '[EMAIL]' : text;
  });
  expect(mapped).toEqual({
    type: 'unknown',
    '[EMAIL] 2': 1,
    '[EMAIL]': 2,
    more: { '[EMAIL]': '[EMAIL]', '[EMAIL] 2': [3], to_address: 4 },
  });
  expect(seen).not.toContain('to_address');
});

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
