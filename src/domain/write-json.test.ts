import { expect, it } from 'vitest';
import { writeJson } from './write-json.ts';

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
