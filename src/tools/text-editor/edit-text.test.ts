import { expect, it } from 'vitest';
import { insertAfterLine, numberLines, replaceOnce } from './edit-text.ts';
import { readHomePath } from './read-path.ts';

it.each([
  ['a\nb\n', 0, 'x', 'x\na\nb\n'],
  ['a\nb\n', 1, 'x\ny\n', 'a\nx\ny\nb\n'],
  ['a\nb', 2, 'x', 'a\nb\nx\n'],
  ['', 0, 'x', 'x\n'],
])('inserts into %j after line %i', (text, line, inserted, after) => {
  expect(insertAfterLine(text, line, inserted)).toBe(after);
});

it('replaces the only place, without patterns', () => {
  expect(replaceOnce('a.b', '.', '$&')).toBe('a$&b');
  expect(() => replaceOnce('aaa', 'aa', 'b')).toThrow('several times'); // they overlap
});

it('numbers lines', () => {
  expect(numberLines('', undefined)).toBe('The file is empty.');
  expect(numberLines('a\n\nb\n', undefined)).toBe('1\ta\n2\t\n3\tb');
  expect(numberLines('a\nb\nc', [2, 9])).toBe('2\tb\n3\tc');
});

it.each([
  ['a/b.txt', 'a/b.txt'],
  ['./a//b/', 'a/b'],
  ['~/a', 'a'],
  ['~', ''],
  ['/workspace/home/a', 'a'],
  ['/workspace/home', ''],
])('reads the path %s', (path, expected) => {
  expect(readHomePath(path)).toBe(expected);
});

it.each([
  '/etc/passwd',
  '/workspace/homes/a',
  '../a',
  'a/../../b',
  '/workspace/home/../x',
  'a\0b',
])('rejects the path %j', (path) => {
  expect(() => readHomePath(path)).toThrow();
});
