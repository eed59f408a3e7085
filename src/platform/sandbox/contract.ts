import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectToPort } from './connect-port.ts';
import {
  type CommandResult,
  type EntryToWrite,
  type Sandbox,
  type SandboxCommand,
  type SandboxDriver,
  type SandboxEntry,
  SandboxError,
  type SandboxSpec,
} from './sandbox.ts';
import { patient } from '../../testing/patience.ts';

const MIB = 2 ** 20;

export const testLimits: SandboxSpec['limits'] = {
  memoryBytes: 256 * MIB,
  cpus: 1,
  processes: 64,
  diskBytes: 64 * MIB,
  diskEntries: 20_000,
  temporaryBytes: 8 * MIB,
};

export interface SandboxContract {
  open: () => SandboxDriver | Promise<SandboxDriver>;
  /** False: a simulation, without processes in the background, limits of a system, and names that are not UTF-8. */
  isReal?: boolean;
  /** False: the sandboxes have no Perl, with which the tests serve a port. */
  hasPerl?: boolean;
  /** False: a test system of a driver, which does not enforce limits of memory and processes. */
  hasKernelLimits?: boolean;
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Runs a command with the defaults of the tests. */
export const runCommand = (
  sandbox: Sandbox,
  command: string,
  options: Partial<SandboxCommand> = {},
): Promise<CommandResult> =>
  sandbox.exec({
    command,
    timeoutMs: patient(60_000),
    maxOutputBytes: 65_536,
    signal: new AbortController().signal,
    ...options,
  });

/** Runs a command that must succeed. @returns its output */
export async function runShell(sandbox: Sandbox, command: string, options?: Partial<SandboxCommand>): Promise<string> {
  const { stdout, stderr, outcome } = await runCommand(sandbox, command, options);
  expect({ stderr: stderr.toString(), outcome }).toEqual({ stderr: '', outcome: { type: 'exit', exitCode: 0 } });
  return stdout.toString();
}

/** Lists the home folder, sorted, by paths in Latin-1. */
export async function listHome(sandbox: Sandbox): Promise<Map<string, SandboxEntry>> {
  const entries: SandboxEntry[] = [];
  for await (const batch of sandbox.listFiles()) entries.push(...batch);
  return new Map(entries.map((entry): [string, SandboxEntry] => [entry.path.toString('latin1'), entry]).sort());
}

const file = (path: string, text: string, mode = 0o644): EntryToWrite => ({
  path: bytes(path),
  kind: 'file',
  mode,
  modifiedAtMs: 1_500_000_000_000,
  content: inPieces(text),
});
const folder = (path: string, mode = 0o755): EntryToWrite => ({
  path: bytes(path),
  kind: 'folder',
  mode,
  modifiedAtMs: 1_500_000_000_000,
});
const link = (path: string, target: string): EntryToWrite => ({
  path: bytes(path),
  kind: 'link',
  mode: 0o777,
  modifiedAtMs: 1_500_000_000_000,
  target: bytes(target),
});

async function* inPieces(text: string): AsyncGenerator<Uint8Array> {
  const content = bytes(text);
  const middle = Math.floor(content.length / 2);
  yield content.subarray(0, middle);
  yield content.subarray(middle);
}

async function* list<T>(...entries: T[]): AsyncGenerator<T> {
  yield* entries;
}

const isDiskFull = (stderr: Buffer): boolean => stderr.includes('No space left on device');

const readText = async (sandbox: Sandbox, path: string): Promise<string | undefined> => {
  const found = await sandbox.read(bytes(path));
  return found && (await buffer(found)).toString('latin1');
};

/** Tests the contract of all drivers. */
export function testSandboxes(
  name: string,
  { open, isReal = true, hasPerl = isReal, hasKernelLimits = true }: SandboxContract,
): void {
  describe(`sandboxes: ${name}`, () => {
    let driver: SandboxDriver;
    let shared: Sandbox;
    const start = (limits: Partial<SandboxSpec['limits']> = {}): Promise<Sandbox> =>
      driver.start({ name: `test-${randomUUID()}`, limits: { ...testLimits, ...limits } });
    beforeAll(async () => {
      driver = await open();
      shared = await start();
    });
    afterAll(async () => {
      await driver?.close();
    });

    if (hasPerl) testPort(() => shared);
    if (isReal) testProcesses(() => shared);
    else {
      it('has no processes that run by themselves', async () => {
        await expect(shared.start({ command: 'cat' })).rejects.toMatchObject({ problem: 'unavailable' });
      });
    }

    it('can run here', async () => {
      expect(await driver.probe()).toBeUndefined();
    });

    describe('a command', () => {
      it('returns both outputs and the exit code', async () => {
        const { stdout, stderr, outcome, droppedBytes } = await runCommand(shared, 'echo out; echo err >&2; exit 7');
        expect([stdout.toString(), stderr.toString()]).toEqual(['out\n', 'err\n']);
        expect({ outcome, droppedBytes }).toEqual({
          outcome: { type: 'exit', exitCode: 7 },
          droppedBytes: { stdout: 0, stderr: 0 },
        });
      });

      it('starts in the home folder, with an empty input and few variables', async () => {
        expect(await runShell(shared, 'pwd; echo "$HOME"; cat; echo "$PATH" | grep -c /usr/bin')).toBe(
          '/workspace/home\n/workspace/home\n1\n',
        );
        expect(await runShell(shared, 'env')).not.toMatch(/HEADGATE|NODE_|VITEST|npm_/);
      });

      it('gets its variables, of any characters', async () => {
        const environment = { FIRST: `it's "$HOME" \`x\` \\`, SECOND: 'two\nlines', THIRD: 'ü' };
        expect(await runShell(shared, 'printf "%s|%s|%s" "$FIRST" "$SECOND" "$THIRD"', { environment })).toBe(
          `it's "$HOME" \`x\` \\|two\nlines|ü`,
        );
        expect(await runShell(shared, 'echo "$FIRST"')).toBe('\n');
      });

      it.each([
        ['quotes', `echo 'a"b' "c'd"`, `a"b c'd\n`],
        ['several lines', 'for i in 1 2\ndo echo $i\ndone', '1\n2\n'],
        ['a here-document', "cat <<'END'\n$HOME\nEND", '$HOME\n'],
        ['characters beyond ASCII', 'echo ü€😀', 'ü€😀\n'],
        ['functions and pipes', 'f() { echo "$1"; }; f x | tr x y', 'y\n'],
      ])('can have %s', async (_, command, output) => {
        expect(await runShell(shared, command)).toBe(output);
      });

      it('reports a syntax error as bash does', async () => {
        const { stderr, outcome } = await runCommand(shared, 'echo "unfinished');
        expect(stderr.toString()).toMatch(/unexpected EOF/);
        expect(outcome).toMatchObject({ type: 'exit', exitCode: expect.toSatisfy((code: number) => code > 0) });
      });

      it('reports 127 for an unknown program', async () => {
        expect((await runCommand(shared, 'no-such-program')).outcome).toEqual({ type: 'exit', exitCode: 127 });
      });

      it('rejects a NUL character instead of dropping the rest', async () => {
        const { stdout, outcome } = await runCommand(shared, 'echo a\0; echo b');
        expect(stdout.toString()).toBe('');
        expect(outcome).toEqual({ type: 'exit', exitCode: 126 });
      });

      it('can be as long as Linux permits, and is rejected beyond that', async () => {
        const fill = (bytes: number): string => `echo \${#1}; exit 5 #${'x'.repeat(bytes - 20)}`.padEnd(bytes, 'x');
        const longest = await runCommand(shared, fill(131_071));
        expect(longest).toMatchObject({ stdout: Buffer.from('0\n'), outcome: { type: 'exit', exitCode: 5 } });
        const longer = await runCommand(shared, fill(131_072));
        expect(longer.outcome).toEqual({ type: 'exit', exitCode: 126 });
        expect([longer.stdout.toString(), longer.stderr.toString()]).toEqual(['', 'bash: Argument list too long\n']);
      });

      it('keeps nothing of the shell but files', async () => {
        await runShell(shared, 'X=1; export Y=2; cd /tmp; echo kept >~/kept');
        expect(await runShell(shared, 'pwd; echo "$X$Y"; cat kept; rm kept')).toBe('/workspace/home\n\nkept\n');
      });

      it('reads outputs beyond the maximum and drops them', async () => {
        const command = 'printf %0300000d 0 | tr 0 x; printf %0200000d 0 | tr 0 y >&2; exit 3';
        const result = await runCommand(shared, command, { maxOutputBytes: 1000 });
        expect(result.stdout.toString()).toBe('x'.repeat(1000));
        expect(result.stderr.toString()).toBe('y'.repeat(1000));
        expect(result.droppedBytes).toEqual({ stdout: 299_000, stderr: 199_000 });
        expect(result.outcome).toEqual({ type: 'exit', exitCode: 3 });
      });

      it('reports output while it runs, at most the maximum', async () => {
        const pieces: string[] = [];
        let seen: () => void;
        const first = new Promise<void>((resolve) => {
          seen = resolve;
        });
        const end = runCommand(
          shared,
          'echo one; until [ -e go ]; do sleep 0.01; done; echo two; echo three >&2; rm go',
          {
            maxOutputBytes: 6,
            onOutput: (stream, piece) => {
              pieces.push(`${stream} ${piece}`);
              seen();
            },
          },
        );
        if (isReal) await first;
        await shared.write(list(file('go', '')));
        const result = await end;
        expect(pieces.filter((one) => one.startsWith('stdout')).join('')).toMatch(/^stdout one\n(stdout )?tw$/);
        expect(result.stdout.toString()).toBe('one\ntw');
        expect(result.stderr.toString()).toBe('three\n');
      });

      it('can run beside others', async () => {
        const both = [
          runShell(shared, 'touch a; until [ -e b ]; do sleep 0.01; done; echo first'),
          runShell(shared, 'touch b; until [ -e a ]; do sleep 0.01; done; echo second'),
        ];
        expect(await Promise.all(both)).toEqual(['first\n', 'second\n']);
        await runShell(shared, 'rm a b');
      });

      it('is killed at its timeout, with its session, and its output so far is returned', async () => {
        const result = await runCommand(shared, 'echo before; sleep 1000 & sleep 1000; echo after', {
          timeoutMs: patient(4000), // it has begun by then
        });
        expect(result.outcome).toEqual({ type: 'timeout' });
        if (isReal) expect(result.stdout.toString()).toBe('before\n');
        if (isReal) expect(await countRunning(shared, 'sleep 1000')).toBe(0);
        expect(await runShell(shared, 'echo works')).toBe('works\n');
      });

      it('is killed at a timeout that comes before it starts, and the sandbox works on', async () => {
        for (const timeoutMs of [1, 2, 5, 10]) {
          const result = await runCommand(shared, 'sleep 3000', { timeoutMs });
          expect(result.outcome).toEqual({ type: 'timeout' });
        }
        if (isReal) expect(await countRunning(shared, 'sleep 3000')).toBe(0);
        expect(await runShell(shared, 'echo works')).toBe('works\n');
      });

      it('is killed when its caller cancels', async () => {
        const cancel = new AbortController();
        const end = runCommand(shared, 'echo begun; sleep 2000', {
          signal: cancel.signal,
          onOutput: () => cancel.abort(new Error('no longer needed')),
        });
        if (!isReal) setImmediate(() => cancel.abort(new Error('no longer needed')));
        await expect(end).rejects.toThrow('no longer needed');
        if (isReal) expect(await countRunning(shared, 'sleep 2000')).toBe(0);
      });

      it('does not start if it is cancelled before', async () => {
        await expect(
          runCommand(shared, 'touch begun', { signal: AbortSignal.abort(new Error('too late')) }),
        ).rejects.toThrow('too late');
        expect((await listHome(shared)).has('begun')).toBe(false);
      });

      it.runIf(isReal)('reports 128 and the signal that ended it', async () => {
        expect(await runCommand(shared, 'kill -9 $$')).toMatchObject({
          outcome: { type: 'exit', exitCode: 137 },
          notes: [expect.stringContaining('was killed by a process of the container')],
        });
        const ended = await runCommand(shared, 'kill -TERM $$');
        expect(ended).toMatchObject({ outcome: { type: 'exit', exitCode: 143 } });
        expect(ended).not.toHaveProperty('notes');
      });

      it.runIf(isReal)('leaves processes in the background, which can still write', async () => {
        const command =
          '(n=0; until [ -e stop ]; do echo "line $((n++))"; echo $n >count; sleep 0.01; done; touch ended) & echo $!';
        expect(await runShell(shared, command)).toMatch(/\d\n/);
        const after =
          'until [ -s count ]; do sleep 0.01; done; from=$(cat count); until [ "$(cat count)" -gt "$((from + 5))" ]; do sleep 0.01; done 2>/dev/null';
        await runShell(shared, after);
        await runShell(shared, 'touch stop; until [ -e ended ]; do sleep 0.01; done; rm stop ended count');
      });

      it.runIf(isReal)('finds what earlier commands put into /tmp', async () => {
        await runShell(shared, 'echo here >/tmp/note');
        expect(await runShell(shared, 'cat /tmp/note')).toBe('here\n');
      });
    });

    describe('the home folder', () => {
      it('is listed with kinds, sizes, modes, times and targets', async () => {
        const sandbox = await start();
        expect((await listHome(sandbox)).size).toBe(0);
        await runShell(
          sandbox,
          'mkdir -p a/b; printf hello >a/b/c; chmod 750 a/b/c; touch -d 2014-05-13T16:53:20Z a/b/c; ln -s ../../etc/passwd a/l; ln -s . self',
        );
        const entries = await listHome(sandbox);
        expect([...entries].map(([path, { kind }]) => `${kind} ${path}`)).toEqual([
          'folder a',
          'folder a/b',
          'file a/b/c',
          'link a/l',
          'link self',
        ]);
        expect(entries.get('a/b/c')).toMatchObject({ bytes: 5, mode: 0o750, stamp: expect.any(String) });
        expect(Math.floor(entries.get('a/b/c')!.modifiedAtMs / 1000)).toBe(1_400_000_000);
        expect(entries.get('a/l')!.target?.toString()).toBe('../../etc/passwd');
        expect(entries.get('a')!.bytes).toBe(0);
        await sandbox.stop();
      });

      it('lists folders before their content', async () => {
        const sandbox = await start();
        await runShell(sandbox, 'mkdir -p z/y/x/w a/b/c; touch z/y/x/w/f a/b/c/f');
        const seen = new Set<string>();
        for await (const batch of sandbox.listFiles()) {
          for (const { path } of batch) {
            const parent = path.toString().split('/').slice(0, -1).join('/');
            expect(parent === '' || seen.has(parent)).toBe(true);
            seen.add(path.toString());
          }
        }
        expect(seen.size).toBe(9);
        await sandbox.stop();
      });

      it('changes the stamp of what changes, and of nothing else', async () => {
        await runShell(shared, 'echo 1 >one; echo 1 >two');
        const before = await listHome(shared);
        await runShell(shared, 'sleep 0.05; echo 2 >two');
        const after = await listHome(shared);
        expect(after.get('one')!.stamp).toBe(before.get('one')!.stamp);
        expect(after.get('two')!.stamp).not.toBe(before.get('two')!.stamp);
        await runShell(shared, 'rm one two');
      });

      it('returns the content of files', async () => {
        await runShell(shared, 'mkdir -p d; printf content >d/f; : >d/empty; printf %03000000d 0 >d/large');
        expect(await readText(shared, 'd/f')).toBe('content');
        expect(await readText(shared, 'd/empty')).toBe('');
        expect((await readText(shared, 'd/large'))?.length).toBe(3_000_000);
        await runShell(shared, 'rm -r d');
      });

      it('returns no content of what is no file, and follows no link', async () => {
        const sandbox = await start();
        await runShell(
          sandbox,
          'mkdir -p d; touch d/f; ln -s /etc/passwd outside; ln -s d up; ln -s loop loop; ln -s no dangling; mkfifo pipe 2>/dev/null || true',
        );
        const paths = ['nothing', 'd', 'd/nothing', 'd/f/x', 'outside', 'up/f', 'loop', 'dangling', 'pipe'];
        for (const path of paths) expect(await sandbox.read(bytes(path)), path).toBeUndefined();
        await sandbox.stop();
      });

      it('gets entries: folders, files with modes and times, links', async () => {
        const sandbox = await start();
        await sandbox.write(
          list(folder('a', 0o750), file('a/f', 'text', 0o755), link('a/l', '/etc/passwd'), file('deep/er/f', 'x')),
        );
        const entries = await listHome(sandbox);
        expect([...entries.keys()]).toEqual(['a', 'a/f', 'a/l', 'deep', 'deep/er', 'deep/er/f']);
        expect(entries.get('a')).toMatchObject({ kind: 'folder', mode: 0o750 });
        expect(entries.get('a/f')).toMatchObject({ bytes: 4, mode: 0o755, modifiedAtMs: 1_500_000_000_000 });
        expect(entries.get('a/l')!.target!.toString()).toBe('/etc/passwd');
        expect(await runShell(sandbox, 'cat a/f; echo more >>a/f; echo new >deep/er/g; rm -r deep; cat a/f')).toBe(
          'texttextmore\n',
        );
        await sandbox.stop();
      });

      it('replaces what is in the way, and never follows a link', async () => {
        const sandbox = await start();
        await runShell(
          sandbox,
          'mkdir -p outside folder/full target; echo keep >target/f; ln -s target linked; ln -s target/f link; echo x >plain; touch folder/full/f',
        );
        await sandbox.write(
          list(
            file('linked/f', 'new'),
            file('link', 'own'),
            file('plain/f', 'below'),
            file('folder', 'file'),
            folder('outside'),
          ),
        );
        expect(await runShell(sandbox, 'cat target/f linked/f link plain/f folder; test ! -L linked; ls target')).toBe(
          'keep\nnewownbelowfilef\n',
        );
        await sandbox.stop();
      });

      it('loses removed entries with everything below, and links but not their targets', async () => {
        const sandbox = await start();
        await runShell(sandbox, 'mkdir -p a/b/c keep; touch a/f a/b/g a/b/c/h keep/f; ln -s keep l; ln -s ../keep a/k');
        await sandbox.remove([bytes('a'), bytes('l'), bytes('nothing'), bytes('keep/nothing/x')]);
        expect([...(await listHome(sandbox)).keys()]).toEqual(['keep', 'keep/f']);
        await runShell(sandbox, 'ln -s keep l');
        await sandbox.remove([bytes('l/f')]);
        expect([...(await listHome(sandbox)).keys()]).toEqual(['keep', 'keep/f', 'l']);
        await sandbox.stop();
      });

      it.each([
        '',
        '..',
        '../x',
        'a/../../x',
        '/etc/passwd',
        'a//b',
        './a',
        'a/',
        'a\0b',
      ])('rejects the path %j', async (path) => {
        const outcomes = await Promise.allSettled([
          shared.write(list(file(path, 'x'))),
          shared.remove([bytes(path)]),
          shared.read(bytes(path)).then((found) => {
            if (found === undefined) throw new Error('none');
          }),
        ]);
        expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
      });

      it.runIf(isReal)('can have names of any bytes', async () => {
        const sandbox = await start();
        const names = [
          'a\nb',
          'tab\t',
          '\xff\xfe',
          '-rf',
          ' ',
          '*',
          "it's",
          '"',
          'x'.repeat(255),
          '.hidden',
          'e\x1b[2J',
        ];
        await sandbox.write(list(...names.map((name) => file(name, name))));
        expect([...(await listHome(sandbox)).keys()]).toEqual(names.toSorted());
        for (const name of names) expect(await readText(sandbox, name)).toBe(name);
        expect(await runShell(sandbox, 'ls -A | wc -c')).not.toBe('0\n');
        await sandbox.remove(names.map(bytes));
        expect((await listHome(sandbox)).size).toBe(0);
        await sandbox.stop();
      });

      it.runIf(isReal)('is listed however long and deep its paths are, with the beginnings of long ones', async () => {
        const sandbox = await start();
        const long = 'x'.repeat(250);
        const longest = `${long}/`.repeat(14);
        await runShell(sandbox, `mkdir -p ${longest} ${'d/'.repeat(300)}; touch ${longest}{1..20}; echo 1 >kept`);
        const paths = [...(await listHome(sandbox)).keys()];
        expect(paths).toContain('kept');
        expect(Math.max(...paths.map((path) => path.length))).toBe(2048);
        expect(paths.filter((path) => path.length === 2048)[0]).toBe(longest.slice(0, 2048));
        expect(Math.max(...paths.map((path) => path.split('/').length))).toBe(201);
        await sandbox.stop();
      });

      it.runIf(isReal)('is readable whatever modes commands set', async () => {
        const sandbox = await start();
        await runShell(sandbox, 'mkdir -p a/b; echo deep >a/b/f; echo top >t; chmod 0 a/b/f a/b a t');
        const entries = await listHome(sandbox);
        expect([...entries.keys()]).toEqual(['a', 'a/b', 'a/b/f', 't']);
        expect(await readText(sandbox, 't')).toBe('top\n');
        expect(await readText(sandbox, 'a/b/f')).toBe('deep\n');
        await sandbox.remove([bytes('a')]);
        await sandbox.stop();
      });

      it('can be written and read while commands change it', async () => {
        const sandbox = await start();
        const churn =
          'n=0; until [ -e stop ]; do mkdir -p d/e; echo $n >d/e/f; mv d x; ln -s /etc d; rm d; rm -r x; n=$((n+1)); done; echo done';
        const ran = Promise.allSettled([runCommand(sandbox, churn)]);
        for (let round = 0; round < 30; round++) {
          await listHome(sandbox);
          await readText(sandbox, 'd/e/f');
          const [written] = await Promise.allSettled([sandbox.write(list(file('own/f', 'x'), file('d/e/own', 'x')))]);
          if (written.status === 'rejected') expect(written.reason).toMatchObject({ code: expect.any(String) });
        }
        await sandbox.write(list(file('stop', '')));
        const [end] = await ran;
        // Its errors name what a write has replaced between two of its steps.
        expect(end).toMatchObject({ value: { outcome: { type: 'exit', exitCode: 0 } } });
        expect(end.status === 'fulfilled' && end.value.stdout.toString()).toBe('done\n');
        await sandbox.stop();
      });
    });

    describe.runIf(isReal)('limits', () => {
      it.runIf(hasKernelLimits)('bound the memory of all processes together', async () => {
        const sandbox = await start({ memoryBytes: 96 * MIB });
        // Each shell has as much memory until all do, or for 5 s.
        const eat = `for i in 1 2 3 4; do (x=$(head -c ${96 * MIB} /dev/zero | tr '\\0' x); sleep 5; echo \${#x}) & done; wait`;
        const end = await runCommand(sandbox, eat).then(
          ({ stdout }) => stdout.toString(),
          (error: unknown) => error,
        );
        expect(end).not.toBe(`${96 * MIB}\n`.repeat(4));
        if (end instanceof Error) expect(end).toMatchObject({ problem: 'memory' });
        await sandbox.stop();
      });

      it.runIf(hasKernelLimits)('bound the number of processes', async () => {
        const sandbox = await start({ processes: 24 });
        const many = 'for i in $(seq 60); do sleep 100 & done; echo all';
        const { stdout } = await runCommand(sandbox, many, { timeoutMs: patient(5000) }); // bash waits for a free process
        expect(stdout.toString()).toBe('');
        expect(await runShell(sandbox, 'echo on')).toBe('on\n');
        await sandbox.stop();
      });

      it.runIf(hasKernelLimits).each([
        ['a fork bomb', 'bomb() { bomb | bomb & }; bomb; exit 0'],
        [
          'one in sessions of its own',
          'bomb() { setsid bash -c "$(declare -f bomb); bomb; bomb; sleep 1000" & }; bomb; exit 0',
        ],
      ])('let commands run after %s, and kill what it has left', async (_, bomb) => {
        const sandbox = await start({ processes: 48 });
        await runShell(sandbox, 'echo kept >kept');
        await runCommand(sandbox, bomb);
        // While processes are left, a call may fail, but it ends. A bomb can also end by itself.
        const read = async () => (await runCommand(sandbox, 'cat kept | cat')).stdout.toString();
        await expect.poll(read, { timeout: patient(10_000) }).toBe('kept\n');
        expect(await runShell(sandbox, 'cat kept')).toBe('kept\n');
        expect((await listHome(sandbox)).size).toBe(1);
        await sandbox.stop();
      });

      it('bound the size of the home folder', async () => {
        const sandbox = await start({ diskBytes: 4 * MIB });
        const fill = 'for i in $(seq 1000); do head -c 1000000 /dev/urandom >f$i || exit 9; sleep 0.05; done';
        // A driver ends the sandbox, or the system rejects more.
        const end = await runCommand(sandbox, fill).catch((error: unknown) => error);
        if (end instanceof Error) expect(end).toMatchObject({ problem: 'disk' });
        else expect(end).toMatchObject({ outcome: { exitCode: 9 }, stderr: expect.toSatisfy(isDiskFull) });
        await sandbox.stop();
      });

      it('bound the size of one file', async () => {
        const sandbox = await start({ diskBytes: 2 * MIB });
        const { outcome } = await runCommand(sandbox, 'head -c 50000000 /dev/zero >f').catch(() => ({
          outcome: 'ended',
        }));
        expect(outcome).not.toEqual({ type: 'exit', exitCode: 0 });
        await sandbox.stop();
      });

      it('bound the number of files', async () => {
        const sandbox = await start({ diskEntries: 200 });
        const fill = 'n=0; while :; do : >f$((n++)); [ $((n % 500)) = 0 ] && sleep 0.05; done';
        await expect(runCommand(sandbox, fill)).rejects.toMatchObject({ problem: 'disk' });
        await sandbox.stop();
      });

      it('bound /tmp', async () => {
        const sandbox = await start({ temporaryBytes: 2 * MIB });
        const { outcome, stderr } = await runCommand(sandbox, 'head -c 10000000 /dev/zero >/tmp/f');
        expect(outcome).not.toEqual({ type: 'exit', exitCode: 0 });
        expect(stderr.toString()).toMatch(/No space left/);
        expect(await runShell(sandbox, 'echo still')).toBe('still\n');
        await sandbox.stop();
      });
    });

    describe('a sandbox', () => {
      it('is separate from others', async () => {
        const [one, two] = await Promise.all([start(), start()]);
        await runShell(one, 'echo secret >f; echo secret >/tmp/f');
        expect((await listHome(two)).size).toBe(0);
        expect(await runShell(two, 'ls -A /tmp')).toBe('');
        await Promise.all([one.stop(), two.stop()]);
      });

      it('stops, says so, and can start again, empty', async () => {
        const name = `test-${randomUUID()}`;
        const sandbox = await driver.start({ name, limits: testLimits });
        expect([sandbox.name, sandbox.ended.aborted]).toEqual([name, false]);
        await runShell(sandbox, 'echo x >f');
        const running = runCommand(sandbox, 'echo begun; sleep 1000', { onOutput: () => void sandbox.stop() });
        if (!isReal) setImmediate(() => void sandbox.stop());
        await expect(running).rejects.toMatchObject({ name: 'SandboxError', problem: 'stopped' });
        await sandbox.stop();
        await sandbox.stop();
        expect(sandbox.ended.aborted).toBe(true);
        expect(sandbox.ended.reason).toBeInstanceOf(SandboxError);
        await expect(runCommand(sandbox, 'true')).rejects.toMatchObject({ problem: 'stopped' });
        await expect(listHome(sandbox)).rejects.toMatchObject({ problem: 'stopped' });
        await expect(sandbox.read(bytes('f'))).rejects.toMatchObject({ problem: 'stopped' });
        await expect(sandbox.write(list(file('f', '')))).rejects.toMatchObject({ problem: 'stopped' });
        await expect(sandbox.remove([bytes('f')])).rejects.toMatchObject({ problem: 'stopped' });
        const again = await driver.start({ name, limits: testLimits });
        expect((await listHome(again)).size).toBe(0);
        await again.stop();
      });

      it('keeps running while leftovers are removed', async () => {
        await driver.removeLeftovers();
        expect(await runShell(shared, 'echo here')).toBe('here\n');
      });
    });

    it('stops all its sandboxes when it closes, and starts no more', async () => {
      const own = await open();
      const one = await own.start({ name: `test-${randomUUID()}`, limits: testLimits });
      await own.close();
      expect(one.ended.aborted).toBe(true);
      await expect(own.start({ name: `test-${randomUUID()}`, limits: testLimits })).rejects.toThrow();
      const ofOtherDriver = await driver.start({ name: `test-${randomUUID()}`, limits: testLimits });
      expect(await runShell(ofOtherDriver, 'echo here')).toBe('here\n');
      await ofOtherDriver.stop();
    });
  });
}

/** Processes whose command line contains a text. */
async function countRunning(sandbox: Sandbox, text: string): Promise<number> {
  const command =
    'n=0; for f in /proc/[0-9]*/cmdline; do [ "$(tr "\\0" " " 2>/dev/null <$f)" = "$TEXT " ] && n=$((n+1)); done; echo $n';
  return Number(await runShell(sandbox, command, { environment: { TEXT: text } }));
}

/** A server that answers each line with the same line in upper case. */
const SERVER = `use Socket; $SIG{CHLD} = "IGNORE"; socket(my $l, PF_INET, SOCK_STREAM, 0) or die; setsockopt($l, SOL_SOCKET, SO_REUSEADDR, 1);
bind($l, sockaddr_in(8080, INADDR_LOOPBACK)) && listen($l, 5) or die; $| = 1; print "ready\n";
while (accept(my $c, $l)) { if (!fork) { while (<$c>) { syswrite($c, uc) } exit } close $c }`;

function testProcesses(open: () => Sandbox): void {
  it('starts a process with a standard input', async () => {
    const process = await open().start({ command: 'pwd; head -c 5; cat; exit 3', environment: { A: '1' } });
    let output = '';
    const arrived = Promise.withResolvers<void>();
    process.stream.on('data', (piece) => {
      output += piece;
      if (output.endsWith('12345')) arrived.resolve();
    });
    process.stream.write('12345');
    await arrived.promise;
    await process.kill();
    expect(await process.exited).toBe(137);
    expect(output).toBe('/workspace/home\n12345');
  });

  it('reports the exit code of a process, and drops its errors', async () => {
    const process = await open().start({ command: 'echo $A; echo no >&2; exit 3', environment: { A: "it's" } });
    expect((await buffer(process.stream)).toString()).toBe("it's\n");
    expect(await process.exited).toBe(3);
  });

  it('passes megabytes through a process, whatever they contain', async () => {
    const sent = randomBytes(3_000_000);
    const process = await open().start({ command: `head -c ${sent.length}` });
    const output = buffer(process.stream);
    process.stream.write(sent);
    expect((await output).equals(sent)).toBe(true);
    expect(await process.exited).toBe(0);
  });
}

/** Tests connections to a server in a sandbox that has Perl. */
export function testPort(open: () => Sandbox): void {
  it('connects to a port of a process', async () => {
    const server = await open().start({ command: `perl -e '${SERVER}'` });
    await once(server.stream, 'data'); // ready
    const connections = await Promise.all([connectToPort(open(), 8080), connectToPort(open(), 8080)]);
    for (const connection of connections) {
      connection.write('hello\n');
      expect(String(await once(connection, 'data'))).toBe('HELLO\n');
    }
    for (const connection of connections) connection.destroy();
    await server.kill();
    const refused = await connectToPort(open(), 8080);
    expect((await buffer(refused)).length).toBe(0);
  });

  it('leaves nothing of connections that end at once', async () => {
    const server = await open().start({ command: `perl -e '${SERVER}'` });
    await once(server.stream, 'data'); // ready
    const countAll = () => runShell(open(), 'set -- /proc/[0-9]*; echo $#');
    const before = await countAll();
    const connections = await Promise.all(Array.from({ length: 6 }, () => connectToPort(open(), 8080)));
    for (const connection of connections) connection.destroy();
    await expect.poll(countAll, { interval: 50 }).toBe(before);
    await server.kill();
  });
}
