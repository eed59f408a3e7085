import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCommand, runShell, testLimits } from '../contract.ts';
import { BubblewrapDriver } from './bubblewrap-driver.ts';
import { BubblewrapProcess } from './bubblewrap-process.ts';
import { chooseSandboxFolder } from './choose-folder.ts';
import { listSandboxCpus, readCpus } from './sandbox-cpus.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-sandboxes-'));
  chmodSync(folder, 0o711);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (): BubblewrapDriver => new BubblewrapDriver({ folder: join(folder, 'sandboxes'), hidden: [] });
const problem = await (async () => {
  const place = mkdtempSync(join(tmpdir(), 'headgate-probe-'));
  chmodSync(place, 0o711);
  const driver = new BubblewrapDriver({ folder: place, hidden: [] });
  const found = await driver.probe();
  await driver.close();
  rmSync(place, { recursive: true, force: true });
  return found;
})();

/** Command lines below `/proc` that contain a text. */
const findProcesses = (text: string): string[] =>
  globSync('/proc/[0-9]*/cmdline').filter((path) => {
    try {
      return readFileSync(path, 'latin1').includes(text);
    } catch {
      return false; // it has ended
    }
  });

const countProcesses = (text: string): number => findProcesses(text).length;

/** The fifth field of `stat`; the second one is a name in parentheses. */
const readProcessGroup = (pid: string): number =>
  Number(
    readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')[2],
  );

/** A process with a sandbox in which two processes sleep, one of them in the background. */
async function startGateway(marker: string): Promise<ChildProcess> {
  const program = `
    import { BubblewrapDriver } from ${JSON.stringify(new URL('bubblewrap-driver.ts', import.meta.url).href)};
    const driver = new BubblewrapDriver({ folder: ${JSON.stringify(join(folder, 'sandboxes'))}, hidden: [] });
    const sandbox = await driver.start({ name: 'one', limits: ${JSON.stringify(testLimits)} });
    const command = '(exec -a ${marker} setsid -f sleep 1000); echo begun; exec -a ${marker} sleep 1000';
    const { signal } = new AbortController();
    await sandbox.exec({ command, timeoutMs: 100000, maxOutputBytes: 100, signal, onOutput: (_, bytes) => process.stdout.write(bytes) });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout!, 'data');
  return child;
}

describe.skipIf(problem !== undefined)(`bubblewrap${problem === undefined ? '' : `, skipped: ${problem}`}`, () => {
  it('ends with the gateway, also if that is killed, and the next start removes the folders', async () => {
    const marker = `killed-${process.pid}`;
    const gateway = await startGateway(marker);
    try {
      await vi.waitUntil(() => countProcesses(marker) >= 2);
      const other = open();
      const sandbox = await other.start({ name: 'one', limits: testLimits });
      await other.removeLeftovers();
      expect(readdirSync(join(folder, 'sandboxes'))).toHaveLength(2); // both are running

      gateway.kill('SIGKILL');
      await vi.waitUntil(() => countProcesses(marker) === 0);
      await vi.waitFor(async () => {
        await other.removeLeftovers(); // leaves a folder whose last process has not ended yet
        expect(readdirSync(join(folder, 'sandboxes'))).toHaveLength(1);
      });
      expect(await runShell(sandbox, 'echo here')).toBe('here\n');
      await other.close();
      expect(readdirSync(join(folder, 'sandboxes'))).toEqual([]);
    } finally {
      gateway.kill('SIGKILL');
    }
  });

  it('says that the disk may be full if a command cannot be written to it', async () => {
    const driver = open();
    const sandbox = await driver.start({ name: 'one', limits: testLimits });
    const [control] = globSync(join(folder, 'sandboxes/**/control'));
    symlinkSync('/dev/full', join(control!, '0.sh'));
    await expect(runCommand(sandbox, 'echo here')).rejects.toMatchObject({ problem: 'disk' });
    expect(await runShell(sandbox, 'echo here')).toBe('here\n');
    await driver.close();
  });

  it('reports a sandbox that is killed from outside as crashed, and its commands fail', async () => {
    const driver = open();
    const sandbox = await driver.start({ name: 'one', limits: testLimits });
    const marker = `outside-${process.pid}`;
    const running = runCommand(sandbox, `exec -a ${marker} sleep 1000`);
    await vi.waitUntil(() => countProcesses(marker) > 0);
    const [monitor] = findProcesses(`${folder}/sandboxes`);
    process.kill(Number(monitor!.split('/')[2]), 'SIGKILL');
    await expect(running).rejects.toMatchObject({ problem: 'crashed' });
    expect(sandbox.ended.reason).toMatchObject({ problem: 'crashed' });
    await vi.waitUntil(() => countProcesses(marker) === 0);
    const again = await driver.start({ name: 'one', limits: testLimits });
    expect(await runShell(again, 'ls -A')).toBe('');
    await driver.close();
  });

  it('is limited by its cgroup, and reports that the kernel ended it because of its memory', async () => {
    const root = join(folder, 'cgroups'); // the host of this test need not have the controllers
    mkdirSync(root);
    writeFileSync(join(root, 'cgroup.controllers'), 'memory\n');
    const driver = new BubblewrapDriver({
      folder: join(folder, 'sandboxes'),
      hidden: [],
      cgroups: { root, membership: '0::/\n' },
    });
    expect(driver.describeLimits()).toBe('the kernel limits memory of sandboxes (cgroup v2)');
    const sandbox = await driver.start({ name: 'grouped', limits: testLimits });
    const [group] = globSync(join(root, 'headgate-sandboxes/*.grouped'));
    const first = Number(readFileSync(join(group!, 'cgroup.procs'), 'latin1'));
    const running = runCommand(sandbox, 'sleep 1000');
    running.catch(() => {}); // awaited below
    writeFileSync(join(group!, 'memory.events'), 'oom_kill 1\n');
    process.kill(first, 'SIGKILL');
    await expect(running).rejects.toMatchObject({ problem: 'memory' });
    await driver.close();
  });

  it.each([
    ['all processes', 'kill -9 -1'],
    [
      'the processes that wait for commands',
      'for f in /proc/[0-9]*/stat; do read -r p _ _ of _ <$f; ((of == 1 && p != $$)) && kill -9 $p; done',
    ],
    [
      'the processes of commands',
      'for p in $(ls /proc | grep ^[0-9]); do ((p != $$)) && grep -q 1000 /proc/$p/cmdline && kill -9 $p; done',
    ],
  ])('ends commands with a note while a process of an earlier one kills %s', async (_, kill) => {
    const driver = open();
    const sandbox = await driver.start({ name: 'one', limits: testLimits });
    await runShell(sandbox, 'touch on');
    await runCommand(sandbox, `setsid -f bash -c 'while [ -e on ]; do ${kill}; done' >/dev/null 2>&1`);
    for (let times = 0; times < 20; times++) {
      const { outcome, notes } = await runCommand(sandbox, 'sleep 1000');
      expect({ outcome, notes }).toEqual({
        outcome: { type: 'exit', exitCode: 137 },
        notes: [expect.stringContaining('was killed by a process of the container')],
      });
    }
    await sandbox.remove([Buffer.from('on')]);
    await expect.poll(async () => (await runCommand(sandbox, 'echo works')).stdout.toString()).toBe('works\n');
    await driver.close();
  });

  it('ends a command whose waiting process is killed', async () => {
    const driver = open();
    const sandbox = await driver.start({ name: 'one', limits: testLimits });
    const marker = `orphan-${process.pid}`;
    const waiting = Promise.withResolvers<string>();
    const command = `echo $PPID; exec -a ${marker} sleep 1000`;
    const running = runCommand(sandbox, command, { onOutput: (_, bytes) => waiting.resolve(String(bytes)) });
    await runShell(sandbox, `kill -9 ${await waiting.promise}`);
    expect((await running).outcome).toEqual({ type: 'exit', exitCode: 137 });
    await vi.waitUntil(() => countProcesses(marker) === 0);
    expect(await runShell(sandbox, 'echo works')).toBe('works\n');
    await driver.close();
  });

  it('runs outside of the process group of the gateway, so that Ctrl+C reaches only the gateway', async () => {
    const driver = open();
    await driver.start({ name: 'one', limits: testLimits });
    const groups = findProcesses(`${folder}/sandboxes`).map((path) => readProcessGroup(path.split('/')[2]!));
    expect(groups.length).toBeGreaterThan(0);
    expect(groups).not.toContain(readProcessGroup('self'));
    await driver.close();
  });

  it.skipIf(!existsSync('/proc/self/autogroup'))(
    'gives each session a low priority, also if it raises it',
    async () => {
      const driver = open();
      const sandbox = await driver.start({ name: 'one', limits: testLimits });
      const read = 'cat /proc/self/autogroup';
      await vi.waitUntil(async () => /nice 10\n$/.test(await runShell(sandbox, read)));
      expect(await runShell(sandbox, 'echo "[$BASH_ENV]"')).toBe('[]\n');
      const raise =
        'until echo 0 >/proc/self/autogroup; do :; done; until grep -q "nice 10" /proc/self/autogroup; do sleep 0.1; done';
      const other = `setsid bash -c '${raise.replace('; until', '; echo raised; until')}' 2>/dev/null`;
      expect(await runShell(sandbox, other)).toBe('raised\n');
      await driver.close();
    },
  );

  it.skipIf(!existsSync('/usr/bin/taskset'))('leaves a CPU to the gateway, unless it is the only one', async () => {
    const driver = open();
    const sandbox = await driver.start({ name: 'one', limits: testLimits });
    const own = readCpus(readFileSync('/proc/self/status', 'latin1'));
    const inside = readCpus(await runShell(sandbox, 'cat /proc/self/status'));
    expect(inside.join(',')).toBe(listSandboxCpus(own) ?? own.join(','));
    await driver.close();
  });

  it('has ended if its thread does not know it', async () => {
    const ended = new BubblewrapProcess('unknown');
    ended.runScript(1);
    ended.kill();
    await ended.exited;
    expect(ended.hasExited).toBe(true);
  });

  it('rejects a folder that another user can change, and a link', async () => {
    mkdirSync(join(folder, 'sandboxes'));
    chmodSync(join(folder, 'sandboxes'), 0o777);
    await expect(open().start({ name: 'one', limits: testLimits })).rejects.toMatchObject({ problem: 'unavailable' });
    rmSync(join(folder, 'sandboxes'), { recursive: true });
    symlinkSync(folder, join(folder, 'sandboxes'));
    expect(await open().probe()).toMatch(/must belong to the user of the gateway/);
  });

  it('removes folders that commands made unreadable', async () => {
    const driver = open();
    const sandbox = await driver.start({ name: 'one', limits: testLimits });
    await runShell(sandbox, 'mkdir -p a/b/c; touch a/b/c/f; chmod 0 a/b/c a/b a .');
    await sandbox.stop();
    expect(globSync(`${folder}/sandboxes/*/one`)).toEqual([]);
    await driver.close();
  });

  it('shows nothing of hidden folders', async () => {
    const driver = new BubblewrapDriver({
      folder: join(folder, 'sandboxes'),
      hidden: ['/usr/share/doc', '/usr/bin/env'],
    });
    const sandbox = await driver.start({ name: 'one', limits: testLimits });
    expect(await runShell(sandbox, 'ls -A /usr/share/doc /usr/local/etc; ls /usr/share | grep -c .')).toMatch(
      /^[^\n]*\n(\/|\n)*.*[1-9]\d*\n$/s,
    );
    expect((await runCommand(sandbox, 'cat /usr/bin/env')).outcome).toMatchObject({ exitCode: 1 });
    await driver.close();
  });

  it('says what to install if it is missing, and why it cannot start', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    const probe = async (searchPath: string) => {
      const driver = new BubblewrapDriver({ folder: join(folder, 'sandboxes'), hidden: [], searchPath });
      const says = await driver.probe();
      await driver.close();
      return says;
    };
    const fake = (says: string) =>
      writeFileSync(join(bin, 'bwrap'), `#!/bin/sh\ncat >&2 <<'END'\n${says}\nEND\nexit 1\n`, { mode: 0o755 });
    expect(await probe(bin)).toMatch(/not installed.*apt-get install bubblewrap/);
    fake('bwrap: No permissions to create new namespace, likely because the kernel does not allow it.');
    expect(await probe(`${bin}:/usr/bin:/bin`)).toMatch(/user namespaces.*sysctl/);
    fake('bwrap: Unknown option --disable-userns');
    expect(await probe(`${bin}:/usr/bin:/bin`)).toMatch(/0\.8/);
    fake("bwrap: Can't mount proc on /newroot/proc: Operation not permitted");
    expect(await probe(`${bin}:/usr/bin:/bin`)).toMatch(/systempaths/);
    fake('');
    expect(await probe(`${bin}:/usr/bin:/bin`)).toMatch(/ended at once/);
    expect(existsSync(join(folder, 'sandboxes'))).toBe(true);
  });
});

it('chooses a folder that sandboxes can reach', () => {
  const isRoot = process.getuid?.() === 0;
  expect(chooseSandboxFolder(join(folder, 'data'))).toBe(
    isRoot ? '/var/tmp/headgate-sandboxes' : join(folder, 'data/sandboxes'),
  );
  mkdirSync(join(folder, 'data'), { mode: 0o755 });
  chmodSync(join(folder, 'data'), 0o755);
  expect(chooseSandboxFolder(join(folder, 'data'))).toBe(join(folder, 'data/sandboxes'));
});
