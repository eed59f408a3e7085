import { expect, it } from 'vitest';
import { runCli } from './program.ts';
import { sanitizeOutput } from './terminal.ts';

const written = (text: string): string => {
  let printed = '';
  sanitizeOutput({ write: (piece) => (printed += piece) }).write(text);
  return printed;
};

it.each([
  ['acme/m\u001b[2J', 'acme/m\\u001b[2J'],
  ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
  ['\u009b31m one\rtwo\b', '\\u009b31m one\\u000dtwo\\u0008'],
  ['acme/\u202eterces', 'acme/\\u202eterces'],
  ['\u0007[31m', '\\u0007[31m'],
])('control characters are escaped: %j', (text, shown) => {
  expect(written(text)).toBe(shown);
});

it.each([
  'a table\n  of two lines\twith Zürich, 東京 and 👩‍👩‍👧',
  '\u001b[1;32mok\u001b[0m',
  '\n[1m]',
])('words, lines and colors pass: %j', (text) => {
  expect(written(text)).toBe(text);
});

it('every command escapes its output and its errors', async () => {
  let printed = '';
  const output = { write: (text: string) => (printed += text) };
  const code = await runCli(['start', 'acme/\u001b[2J'], { stdout: output, stderr: output, env: {}, cwd: '/' });
  expect(code).toBe(1);
  expect(printed).toContain('acme/\\u001b[2J');
  expect(printed).not.toContain('\u001b');
});
