import { expect, it } from 'vitest';
import { JsonHealer } from './heal-json.ts';

const healJson = (text: string): string => new JsonHealer(30_000).heal(text);

it.each([
  ['{"a":1}', '{"a":1}'],
  ['```json\n{"a":1}\n```', '{"a":1}'],
  ['Here you are: {"a":1} Enjoy!', '{"a":1}'],
  ["{'a': 'b', c: True,}", '{"a": "b", "c": true}'],
  ['{"a": [1, 2', '{"a": [1, 2]}'],
  ['Sure!\n[{"a":1},]', '[{"a":1}]'],
])('repairs %j', (broken, whole) => {
  expect(JSON.parse(healJson(broken))).toEqual(JSON.parse(whole));
});

it.each(['I cannot do that.', '', '42 is the answer'])('leaves %j unchanged, which has no JSON', (text) => {
  expect(healJson(text)).toBe(text);
});

it('finds no JSON in an unclosed fence, however much space follows', () => {
  const text = `\`\`\`json${' '.repeat(3_000_000)}`;
  expect(healJson(text)).toBe(text);
});

it('repairs a long text with a missing bracket', () => {
  const broken = `[${'{"a":"b"},'.repeat(2000)}{"a":"b"}`;
  expect(JSON.parse(healJson(broken))).toHaveLength(2001);
});

it.each(['1 ', 'a"b', "'a: "])('gives up if it would take minutes: %j repeated, and all that follows', (mistake) => {
  const healer = new JsonHealer();
  const text = `[${mistake.repeat(1_000_000)}`;
  expect(healer.heal(text)).toBe(text);
  expect(healer.heal('[1, 2')).toBe('[1, 2');
});
