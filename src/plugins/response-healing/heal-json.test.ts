import { expect, it } from 'vitest';
import { healJson, type JsonRoot } from './heal-json.ts';

it.each([
  ['{"a":1}', '{"a":1}'],
  ['```json\n{"a":1}\n```', '{"a":1}'],
  ['Here you are: {"a":1} Enjoy!', '{"a":1}'],
  ["{'a': 'b', c: True,}", '{"a": "b", "c": true}'],
  ['{"a": [1, 2', '{"a": [1, 2]}'],
  ['Sure!\n[{"a":1},]', '[{"a":1}]'],
  // text around a value, which does not become a part of it
  ['{"ok":true}\nThat is all.', '{"ok":true}'],
  ['{"ok":true}\n\nThat is "all".', '{"ok":true}'],
  ['{"ok":true,}\nThat is all.', '{"ok":true}'],
  ['{"ok":true} // done', '{"ok":true}'],
  ['{"a":1, "b":2\nHope this helps!', '{"a":1,"b":2}'],
  ['{"a": [1, 2\n```\nHope this helps!', '{"a":[1,2]}'],
  ['I use {x} and [see above]: {"a":1} (see {y}) [1', '{"a":1}'],
  ['It is {"a":{"b":[1,2]}}, and then {c}.', '{"a":{"b":[1,2]}}'],
  ['[1, 2]\nThat is all.', '[1,2]'],
  ['["a", "b",] is the list', '["a","b"]'],
  ['As [1] to [9] say, [10]: {"a":1}', '{"a":1}', 'object'],
  ['Yes, [{"a":1}] it is', '[{"a":1}]'],
  // brackets and quotes in strings and comments
  ['Look: {"a":"}{ and ] \\" }", "b":[1,],} there', '{"a":"}{ and ] \\" }","b":[1]}'],
  ["Look: {a: 'it}s', /* } */ b: 2, // c }\n} there", '{"a":"it}s","b":2}'],
  ["{'a': 'it's }', 'b': 1} ok", '{"a":"it\\"s }","b":1}'], // the parser takes the apostrophe for a quote
  ['{"code":"```js\\nx()\\n```",}', '{"code":"```js\\nx()\\n```"}'],
  ['{"a": "He said "hi" there"}', '{"a":"He said \\"hi\\" there"}'],
  ['{"a":"b}\nThat is all.', '{"a":"b"}'],
  // missing and additional brackets
  ['{"a":[{"b":1},{"c":2}\nThat is all.', '{"a":[{"b":1},{"c":2}]}'],
  ['{"a":[{"b":1},{"c":2}}', '{"a":[{"b":1},{"c":2}]}'],
  ['{"a":1}}', '{"a":1}'],
  ['{"a":1}]}', '{"a":1}'],
  // code blocks before examples
  ['An example is {"a":0}.\n```json\n{"a":1,}\n```\nNot {"a":2}.', '{"a":1}'],
  ['```\n{"a":1}\n```\n\n```json\n{"a": 1}\n```', '{"a":1}'],
] as [string, string, JsonRoot?][])('repairs %j', (broken, whole, root?) => {
  const healed = healJson(broken, root);
  expect(healed && JSON.parse(healed)).toEqual(JSON.parse(whole));
});

it.each([
  ['object', '["x"]\n{"a":1}', '{"a":1}'],
  ['array', '{"a":1}\n["x"]', '["x"]'],
  ['object', 'Sure!\n[{"a":1},]', '[{"a":1}]'], // there is no other value
] as const)('prefers an %s in %j', (root, broken, whole) => {
  expect(JSON.parse(healJson(broken, root)!)).toEqual(JSON.parse(whole));
});

it.each([
  'I cannot do that.',
  '',
  'Use {x} or [y].',
  // different values: none of them is the response
  '{"a":1}\n{"b":2}',
  '{"a":1,}\n\n{"b":2,}',
  '{"a":1} {"a":2} {"a":3}',
  '["x"]\n{"a":1}',
  '[1] and [2]',
  '```json\n{"a":1}\n```\n```json\n{"a":2}\n```',
  Array.from({ length: 20_000 }, (_, at) => `{"line":${at}}`).join('\n'),
])('leaves %j unchanged', (text) => {
  expect(healJson(text, undefined)).toBeUndefined();
});

it('leaves a value that is no list and no object', () => {
  for (const text of ['"a"', '42', 'null']) expect(healJson(text, 'object')).toBe(text);
  expect(healJson('42 is the response', undefined)).toBeUndefined();
});

it('takes time by the length of a text without JSON', () => {
  for (const text of [
    `\`\`\`json${' '.repeat(3_000_000)}`,
    '{ x '.repeat(500_000),
    `{${'a'.repeat(3_000_000)}`,
    '{"a" b c} '.repeat(100_000),
    '{"a" '.repeat(300_000),
  ]) {
    expect(healJson(text, undefined)).toBeUndefined();
  }
});

it('repairs a long text with a missing bracket, and one with a sentence', () => {
  const broken = `[${'{"a":"b"},'.repeat(2000)}{"a":"b"}`;
  expect(JSON.parse(healJson(broken, undefined)!)).toHaveLength(2001);
  expect(JSON.parse(healJson(`${broken}]\nThat is all.`, undefined)!)).toHaveLength(2001);
});
