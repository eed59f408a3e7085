import { expect, it } from 'vitest';
import { healJson } from './heal-json.ts';

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

it.each(['I cannot do that.', '', '42 is the answer'])('leaves %j, which holds no JSON, as it is', (text) => {
  expect(healJson(text)).toBe(text);
});
