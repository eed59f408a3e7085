import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type CodeLanguage, writeProgramCommand } from './write-command.ts';

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;

/** Runs the command as a container does. The programs of this file do nothing else than print. */
function run(
  code: string,
  language: CodeLanguage,
  path = process.env['PATH']!,
): { stdout: string; stderr: string; status: number } {
  const { command, environment } = writeProgramCommand(code, language);
  const { stdout, stderr, status } = spawnSync('/bin/bash', ['--norc', '-c', command], {
    env: { PATH: path, ...environment },
    encoding: 'utf8',
  });
  return { stdout, stderr, status: status! };
}

describe.skipIf(!has('python3'))('a Python program', () => {
  it.each([
    ['x = 6\nx * 7', '42\n'],
    ['print("a\'b", "$HOME", `1`)'.replace('`1`', '"`"'), "a'b $HOME `\n"],
    ['import os\n"PROGRAM" in os.environ', 'False\n'],
    ['None', ''],
    ['', ''],
    ['print("Grüße")', 'Grüße\n'],
  ])('%j prints %j', (code, stdout) => {
    expect(run(code, 'python')).toMatchObject({ stdout, status: 0 });
  });

  it('shows its own lines in errors', () => {
    const { stderr, status } = run('x = 1\nx / 0', 'python');
    expect(status).toBe(1);
    expect(stderr).toContain('x / 0');
    expect(stderr).toContain('ZeroDivisionError');
  });
});

describe('a JavaScript program', () => {
  it('prints', () => {
    const node = execFileSync('dirname', [process.execPath], { encoding: 'utf8' }).trim();
    const code = 'const fs = require("node:fs"); console.log(typeof fs, `\'$HOME\'`)';
    expect(run(code, 'javascript', `${node}:${process.env['PATH']}`)).toMatchObject({
      stdout: "object '$HOME'\n",
      status: 0,
    });
  });
});

it('says which program is missing', () => {
  expect(run('1', 'python', '/nowhere')).toMatchObject({ status: 127, stderr: 'The container has no python3.\n' });
});
