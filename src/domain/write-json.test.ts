import { expect, it } from 'vitest';
import { replaceHalves, writeJson } from './write-json.ts';

it.each([
  ['the first half of a pair', 'cut \ud83d here', 'cut \ufffd here'],
  ['the second half', '\ude00', '\ufffd'],
  ['both in the wrong order', '\ude00\ud83d', '\ufffd\ufffd'],
  ['a whole pair', '😀', '😀'],
  ['a text about an escape', 'the text \\ud83d', 'the text \\ud83d'],
  ['a backslash before a half', '\\\ud83d', '\\\ufffd'],
  ['another escape', '\u0001 \\', '\u0001 \\'],
])('%s', (_name, text, expected) => {
  expect(JSON.parse(writeJson({ [text]: [text] }))).toEqual({ [expected]: [expected] });
});

it.each([
  ['the first half of a pair', String.raw`{"a":"cut \uD83d here"}`, '{"a":"cut \ufffd here"}'],
  ['the second half', String.raw`["\ude00"]`, '["\ufffd"]'],
  ['a pair', String.raw`["\ud83d\ude00"]`, String.raw`["\ud83d\ude00"]`],
  ['a half before a pair', String.raw`["\ud83d\ud83d\ude00"]`, String.raw`["${'\ufffd'}\ud83d\ude00"]`],
  ['a text about an escape', String.raw`["\\ud83d"]`, String.raw`["\\ud83d"]`],
])('in JSON text of a caller: %s', (_name, json, expected) => {
  expect(replaceHalves(json)).toBe(expected);
});
