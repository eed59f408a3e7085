import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compileCache } from '../../tests/lifecycle/gateway-process.ts';

const entry = fileURLToPath(new URL('../cli.ts', import.meta.url));
/** Lets the time that the process waits for open connections end at once. */
const hurry = 'const { setTimeout } = globalThis; globalThis.setTimeout = (run) => setTimeout(run, 0);';
let cwd: string;
let children: ChildProcess[] = [];
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-output-'));
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children = [];
  rmSync(cwd, { recursive: true });
});

/** @param outputs the two outputs: pipes, or files */
function start(args: string[], ...outputs: ('pipe' | number)[]) {
  const child = spawn(process.execPath, ['--import', `data:text/javascript,${hurry}`, entry, ...args], {
    cwd,
    env: compileCache,
    stdio: ['ignore', ...outputs],
  });
  children.push(child);
  return { child, exit: once(child, 'exit').then(([code]) => code as number | null) };
}

/** Writes a configuration with more problems than a pipe has room for. */
function writeProblems(count: number): void {
  const unknown = Array.from({ length: count }, (_, at) => `${'unknown'.repeat(10)}${at}: 1\n`);
  writeFileSync(join(cwd, 'headgate.yaml'), unknown.join(''));
}

describe('the outputs of the process', () => {
  it('reach a reader that is slower than the command completely', async () => {
    const { child, exit } = start(['openapi'], 'pipe', 'pipe');
    const document = JSON.parse(await text(child.stdout!));
    expect(document.openapi).toMatch(/^3\.1/);
    expect(await exit).toBe(0);
  });

  it('reach a slow reader of stderr completely', async () => {
    writeProblems(5000);
    const { child, exit } = start(['models', 'list'], 'pipe', 'pipe');
    const problems = (await text(child.stderr!)).trimEnd().split('\n');
    expect(problems).toHaveLength(5001);
    expect(await exit).toBe(1);
  });

  it('may be closed by their reader: the command completes without a word', async () => {
    const { child, exit } = start(['openapi'], 'pipe', 'pipe');
    child.stdout!.destroy();
    expect(await text(child.stderr!)).toBe('');
    expect(await exit).toBe(0);
  });

  it('may be closed both, and the exit code is still that of the command', async () => {
    writeProblems(5000);
    const { child, exit } = start(['models', 'list'], 'pipe', 'pipe');
    child.stdout!.destroy();
    child.stderr!.destroy();
    expect(await exit).toBe(1);
  });

  it.runIf(existsSync('/dev/full'))('that cannot be written are reported in one line', async () => {
    const full = openSync('/dev/full', 'w');
    const { child, exit } = start(['openapi'], full, 'pipe');
    closeSync(full);
    expect(await text(child.stderr!)).toBe(
      'headgate: stdout cannot be written: ENOSPC: no space left on device, write\n',
    );
    expect(await exit).toBe(1);
  });
});
