import { describe, expect, it } from 'vitest';
import { isJson } from './is-json.ts';
import { JsonExcessError, parseJson } from './parse-json.ts';
import { parseObject } from './parse-object.ts';

const nest = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const list = (entry: string, count: number): string => `[${`${entry},`.repeat(count - 1)}${entry}]`;
const fields = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`field ${at}`, 0])));

describe('JSON from outside', () => {
  it.each([
    ['the deepest value', nest(100)],
    ['log probabilities of many tokens', list('{"token":" the","logprob":-1.5,"bytes":[32,116,104,101]}', 120_000)],
    ['vectors', list(list('0.123456', 1536), 600)],
    ['long texts', list(`"${'x'.repeat(60)}"`, 400_000)],
    ['models with equal fields', list('{"id":"a model","created":1,"object":"model","owned_by":"a provider"}', 20_000)],
    ['many fields', fields(20_000)],
  ])('is parsed: %s', (_, text) => {
    expect(JSON.stringify(parseJson(text)) === text).toBe(true);
  });

  it.each([
    ['a small text that is deep', nest(101), 'is nested deeper than 100 levels'],
    ['a deep text', nest(100_000), 'is nested deeper than 100 levels'],
    ['a deep text that is not JSON', '['.repeat(100_000), 'is nested deeper than 100 levels'],
    ['objects', list('{}', 500_001), 'has more than 1000000 list entries and object fields'],
    ['numbers', list('1', 1_000_001), 'has more than 1000000 list entries and object fields'],
    ['different fields', fields(20_200), 'has more than 20000 different object fields'],
    ['short texts', list('"a"', 300_001), 'has more than 300000 short texts'],
    ['short texts with escapes', list(`"${'\\u0061'.repeat(9)}"`, 300_001), 'has more than 300000 short texts'],
  ])('is rejected before it is parsed: %s', (_, text, says) => {
    expect(() => parseJson(text)).toThrow(new JsonExcessError(says));
    expect(() => parseJson(text, Buffer.from(text))).toThrow(new JsonExcessError(says));
    expect(parseObject(text)).toBeUndefined();
    expect(isJson(text)).toBe(false);
  });

  it('counts the names of fields as fields, and not as short texts', () => {
    expect(parseJson(list('{"a":"b"}', 300_000))).toHaveLength(300_000);
    expect(() => parseJson(list('{"a":"b"}', 300_001))).toThrow('short texts');
  });

  it('is a syntax error if it is not JSON', () => {
    expect(() => parseJson(`{"a":"${'x'.repeat(100_000)}`)).toThrow(SyntaxError);
  });
});
