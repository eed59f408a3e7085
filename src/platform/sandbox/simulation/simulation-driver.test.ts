import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import type { CommandResult, EntryToWrite, Sandbox, SandboxCommand, SandboxEntry, SandboxLimits } from '../sandbox.ts';
import { createSimulationDriver } from './simulation-driver.ts';
import { patient } from '../../../testing/patience.ts';

const MIB = 1024 * 1024;
let driver = createSimulationDriver();
const limits: SandboxLimits = {
  memoryBytes: 256 * MIB,
  cpus: 1,
  processes: 16,
  diskBytes: 4 * MIB,
  diskEntries: 100,
  temporaryBytes: MIB,
};
let count = 0;
const start = (changed: Partial<SandboxLimits> = {}): Promise<Sandbox> =>
  driver.start({ name: `simulated-${++count}`, limits: { ...limits, ...changed } });
const run = (sandbox: Sandbox, command: string, options: Partial<SandboxCommand> = {}): Promise<CommandResult> =>
  sandbox.exec({
    command,
    timeoutMs: patient(60_000),
    maxOutputBytes: 10_000,
    signal: new AbortController().signal,
    ...options,
  });
const text = async (sandbox: Sandbox, command: string): Promise<string> => {
  const { stdout, stderr, outcome } = await run(sandbox, command);
  return `${stdout}${stderr}${outcome.type === 'exit' && outcome.exitCode !== 0 ? `exit ${outcome.exitCode}` : ''}`;
};
const list = async (sandbox: Sandbox): Promise<SandboxEntry[]> => {
  const entries: SandboxEntry[] = [];
  for await (const batch of sandbox.listFiles()) entries.push(...batch);
  return entries;
};
const file = (path: string | Buffer, content: string): EntryToWrite => ({
  path: Buffer.from(path),
  kind: 'file',
  mode: 0o640,
  modifiedAtMs: 1_700_000_000_123,
  content: pieces(Buffer.from(content)),
});
async function* pieces(...all: Buffer[]): AsyncGenerator<Buffer> {
  yield* all;
}
async function* each(...entries: EntryToWrite[]): AsyncGenerator<EntryToWrite> {
  yield* entries;
}

afterEach(async () => {
  await driver.close();
  driver = createSimulationDriver();
});

describe('a simulated sandbox', () => {
  it('has a probe that finds the package', async () => {
    expect(await driver.probe()).toBeUndefined();
  });

  it('runs commands in the home folder, with its own variables only', async () => {
    const sandbox = await start();
    expect(await text(sandbox, 'pwd; echo $HOME')).toBe('/workspace/home\n/workspace/home\n');
    const { stdout } = await run(sandbox, 'env', { environment: { COLOR: 'red' } });
    expect(String(stdout)).toContain('COLOR=red');
    expect(String(stdout)).not.toContain(process.env.PATH);
    expect(await text(sandbox, 'exit 3')).toBe('exit 3');
    expect(await text(sandbox, 'nothing-like-it')).toContain('exit 127');
    expect(await text(sandbox, 'sqlite3 :memory: "select 1"')).toContain('exit 127');
  });

  it('keeps files between commands, and after a command that had to be killed', async () => {
    const sandbox = await start();
    await run(sandbox, 'echo one > a; mkdir -p b/c; ln -s ../a b/link; echo é > /tmp/t');
    const started = await run(sandbox, 'echo two >> a; while :; do :; done', { timeoutMs: patient(3000) });
    expect(started.outcome).toEqual({ type: 'timeout' });
    expect(await text(sandbox, 'cat b/link /tmp/t')).toBe('one\ntwo\né\n');
  });

  it('cuts output', async () => {
    const sandbox = await start();
    const result = await run(sandbox, 'seq 1 5000; echo problem >&2', { maxOutputBytes: 100 });
    expect(result.stdout).toHaveLength(100);
    expect(result.droppedBytes).toEqual({ stdout: 23_893 - 100, stderr: 0 });
    expect(String(result.stderr)).toBe('problem\n');
  });

  it('rejects with the reason of the signal', async () => {
    const sandbox = await start();
    const controller = new AbortController();
    const running = run(sandbox, 'while :; do :; done', { signal: controller.signal });
    controller.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
    expect(await text(sandbox, 'echo on')).toBe('on\n');
  });

  it('runs commands at the same time, and the others after them', async () => {
    const sandbox = await start();
    const waiting = run(sandbox, 'until [ -e go ]; do sleep 0.05; done; echo gone');
    await run(sandbox, 'touch go');
    expect(String((await waiting).stdout)).toBe('gone\n');
    const many = await Promise.all(Array.from({ length: 8 }, (_, at) => text(sandbox, `echo ${at}`)));
    expect(many).toEqual(Array.from({ length: 8 }, (_, at) => `${at}\n`));
  });

  it('stops a memory bomb, and goes on', async () => {
    const sandbox = await start({ memoryBytes: 96 * MIB });
    const { outcome } = await run(sandbox, 'x=aaaaaaaa; while :; do x="$x$x"; y+=("$x"); done');
    expect(outcome).toMatchObject({ type: 'exit' });
    expect(outcome).not.toMatchObject({ exitCode: 0 });
    expect(await text(sandbox, 'echo on')).toBe('on\n');
  });

  it('limits the bytes and the entries of the home folder', async () => {
    const sandbox = await start();
    expect(await text(sandbox, 'for i in $(seq 1 200); do touch f$i || exit 7; done')).toContain('no space left');
    expect(await list(sandbox)).toHaveLength(100);
    await run(sandbox, 'rm f*');
    expect(await text(sandbox, 'seq 1 100000 > a; for i in $(seq 1 20); do cat a >> b || exit 7; done')).toContain(
      'no space left',
    );
    await expect(sandbox.write(each(file('c', 'x'.repeat(5 * MIB))))).rejects.toMatchObject({ problem: 'disk' });
  });

  it('lists, reads, writes and removes, without following links', async () => {
    const sandbox = await start();
    const odd = Buffer.from([0x61, 0xff, 0x0a, 0xed, 0xa0, 0x80]);
    await sandbox.write(
      each(file('deep/er/a.txt', 'text'), file(odd, 'odd'), {
        path: Buffer.from('out'),
        kind: 'link',
        mode: 0o777,
        modifiedAtMs: 0,
        target: Buffer.from('/tmp'),
      }),
    );
    const entries = await list(sandbox);
    expect(entries.map(({ path, kind }) => `${path.toString('latin1')} ${kind}`).sort()).toEqual([
      `${odd.toString('latin1')} file`,
      'deep folder',
      'deep/er folder',
      'deep/er/a.txt file',
      'out link',
    ]);
    const found = entries.find(({ path }) => path.equals(Buffer.from('deep/er/a.txt')));
    expect(found).toMatchObject({ bytes: 4, mode: 0o640, modifiedAtMs: 1_700_000_000_123 });
    expect(entries.find(({ kind }) => kind === 'link')?.target).toEqual(Buffer.from('/tmp'));
    expect(String(await buffer((await sandbox.read(odd))!))).toBe('odd');

    await run(sandbox, 'echo secret > /tmp/secret');
    expect(await sandbox.read(Buffer.from('out/secret'))).toBeUndefined();
    expect(await sandbox.read(Buffer.from('out'))).toBeUndefined();
    await sandbox.remove([Buffer.from('out/secret'), Buffer.from('deep'), Buffer.from('missing/file')]);
    expect(await text(sandbox, 'cat /tmp/secret')).toBe('secret\n');
    await sandbox.write(each(file('out/secret', 'inside')));
    expect(await text(sandbox, 'cat /tmp/secret out/secret')).toBe('secret\ninside');
  });

  it('has stamps that show changes', async () => {
    const sandbox = await start();
    const stamps = async () => new Map((await list(sandbox)).map(({ path, stamp }) => [String(path), stamp]));
    await run(sandbox, 'echo a > a; echo b > b; echo c > c; echo d > d');
    const before = await stamps();
    await run(sandbox, 'echo a > a; echo more >> b; chmod 700 c; cat d');
    const after = await stamps();
    expect([...after].filter(([path, stamp]) => before.get(path) !== stamp).map(([path]) => path)).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('ends', async () => {
    const sandbox = await start();
    const running = expect(run(sandbox, 'sleep 100')).rejects.toMatchObject({ problem: 'stopped' });
    await sandbox.stop();
    await sandbox.stop();
    await running;
    expect(sandbox.ended.reason).toMatchObject({ problem: 'stopped' });
    await expect(run(sandbox, 'true')).rejects.toMatchObject({ problem: 'stopped' });
    await expect(list(sandbox)).rejects.toMatchObject({ problem: 'stopped' });
  });

  it('rejects a network', async () => {
    await expect(driver.start({ name: 'a', limits, network: { proxySocket: '/tmp/x' } })).rejects.toThrow(
      'The simulated sandbox has no network.',
    );
  });
});
