import { expect, it } from 'vitest';
import { joinWords, shellReplay } from './replay-shell.ts';

it.each([
  [['bash', '-lc', 'ls -a | wc'], 'ls -a | wc'],
  [['/bin/sh', '-c', 'ls'], 'ls'],
  [['ls', '-a', 'my file'], "ls -a 'my file'"],
  [['echo', "it's", ''], "echo 'it'\\''s' ''"],
  [['python3', '-c', 'print(1)'], "python3 -c 'print(1)'"],
])('joins %j as %s', (words, line) => {
  expect(joinWords(words)).toBe(line);
});

it('reads calls without a result, and not without commands', () => {
  const call = { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } };
  expect(shellReplay.read(call, undefined)).toEqual({
    arguments: { commands: ['ls'] },
    result: { error: 'The call has no result.' },
  });
  expect(shellReplay.read({ type: 'shell_call', id: 's', status: 'completed' }, undefined)).toBeUndefined();
});
