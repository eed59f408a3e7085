import { describe, expect, it } from 'vitest';
import { LineSearch } from './line-search.ts';

const search = (body: string, size: number): boolean => {
  const bytes = Buffer.from(body);
  const lines = new LineSearch();
  let found = false;
  for (let at = 0; at < bytes.length; at += size) found = lines.isFoundIn([bytes.subarray(at, at + size)]) || found;
  return found;
};

describe('the search for lines in a JSON body', () => {
  it.each([
    ['{"a":1}\n{"b":2}\n', true],
    ['{"a":1} \r\n\r\n {"b":2}', true],
    ['\n{"a":1}\n\ndata: [DONE]\n\n', true],
    ['{"a":1}\n[DONE]', true],
    ['{"a":1}', false],
    ['{"a":1}\n', false],
    ['{"a":1}{"b":2}', false],
    ['{\n  "a": {}\n}\n', false],
    ['{"a":{}\n,"b":{}\n}', false],
    ['[{"a":1}\n,{"b":2}]', false],
    ['[{"a":1}\n]', false],
    ['', false],
  ])('of %j finds %s, wherever it is cut', (body, found) => {
    for (const size of [1, 2, 3, 5, 100]) expect(search(body, size)).toBe(found);
  });
});
