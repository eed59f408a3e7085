import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { drawTable } from './table.ts';

const columns = [{ title: 'NAME' }, { title: 'USD', isNumber: true }, { title: 'RULES', canWrap: true }];
const rows = [
  ['first', '$1.00', 'one two three four five six'],
  ['second one', '$1,234.50', 'a'],
];
const draw = (stdout: { isTTY?: boolean; columns?: number }) =>
  stripVTControlCharacters(drawTable({ env: {}, stdout: { ...stdout, write: () => true } }, columns, rows));

it('aligns numbers at the right and everything else at the left', () => {
  expect(draw({})).toBe(
    [
      'NAME              USD  RULES',
      'first           $1.00  one two three four five six',
      'second one  $1,234.50  a',
      '',
    ].join('\n'),
  );
});

it('wraps cells at words if the terminal is too narrow', () => {
  expect(draw({ isTTY: true, columns: 36 })).toBe(
    [
      'NAME              USD  RULES',
      'first           $1.00  one two three',
      '                       four five six',
      'second one  $1,234.50  a',
      '',
    ].join('\n'),
  );
});

it('keeps words whole in a terminal that is too narrow for them', () => {
  const lines = draw({ isTTY: true, columns: 5 }).split('\n');
  expect(lines[1]).toBe('first           $1.00  one');
  expect(lines).toContain('                       three');
});

it('shortens long words of columns that can wrap, so that the table fits', () => {
  const long = 'a-long-name-of-one-word-that-no-terminal-has-room-for';
  const text = drawTable(
    { env: {}, stdout: { write: () => true, isTTY: true, columns: 40 } },
    [{ title: 'NAME', canWrap: true }, { title: 'ID' }],
    [[long, '1234567890']],
  );
  const [, row = ''] = stripVTControlCharacters(text).split('\n');
  expect(row).toMatch(/^a-long-name-of-one-\S*… {2}1234567890$/);
  expect(row.length).toBeLessThanOrEqual(40);
});

it('counts the columns of wide characters', () => {
  const text = drawTable(
    { env: {}, stdout: { write: () => true } },
    [{ title: 'A' }, { title: 'B' }],
    [
      ['漢字', 'x'],
      ['abcd', 'y'],
    ],
  );
  expect(text).toBe('A     B\n漢字  x\nabcd  y\n');
});
