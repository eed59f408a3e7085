import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxLimits } from '../sandbox.ts';
import { type ControlGroupPlace, ControlGroups, openControlGroups } from './control-groups.ts';

const limits: SandboxLimits = {
  memoryBytes: 1000,
  temporaryBytes: 10,
  cpus: 0.5,
  processes: 20,
  diskBytes: 1,
  diskEntries: 1,
};
const folders: string[] = [];
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Writes files that look like cgroups. @param groups by path, with the controllers and the process ids of each */
function createTree(groups: Record<string, { controllers: string; processes?: string; isRoot?: boolean }>): string {
  const root = mkdtempSync(join(tmpdir(), 'headgate-cgroups-'));
  folders.push(root);
  for (const [path, { controllers, processes = '', isRoot = false }] of Object.entries(groups)) {
    const folder = join(root, path);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'cgroup.controllers'), `${controllers}\n`);
    writeFileSync(join(folder, 'cgroup.procs'), processes);
    writeFileSync(join(folder, 'cgroup.subtree_control'), '');
    if (!isRoot) writeFileSync(join(folder, 'cgroup.type'), 'domain\n');
  }
  return root;
}

const open = (place: ControlGroupPlace): ControlGroups | string => {
  const opened = openControlGroups({ processIds: [7], serviceProcessId: undefined, ...place });
  return 'groups' in opened ? opened.groups : opened.problem;
};
const SERVICE = '/system.slice/headgate.service';

describe('cgroups', () => {
  it('limit a sandbox of a service, whose processes move out of the way', async () => {
    const root = createTree({
      '/': { controllers: 'cpu io memory pids', isRoot: true },
      [SERVICE]: { controllers: 'cpu io memory pids', processes: '7\n8\n' },
    });
    const groups = open({ root, membership: `0::${SERVICE}\n`, serviceProcessId: 7 }) as ControlGroups;
    expect(groups.controllers).toEqual(['memory', 'pids', 'cpu']);
    const read = (path: string) => readFileSync(join(root, SERVICE, path), 'latin1');
    expect(read('cgroup.subtree_control')).toBe('+memory\n+pids\n+cpu\n');
    expect(read('headgate-sandboxes/cgroup.subtree_control')).toBe('+memory\n+pids\n+cpu\n');
    expect(read('headgate-gateway/cgroup.procs')).toMatch(/^7\n8\n/);

    const group = await groups.create('12-34-ab', 'sess_a', limits);
    await group.add(99);
    const own = 'headgate-sandboxes/12-34-ab.sess_a';
    expect(
      ['memory.max', 'memory.oom.group', 'pids.max', 'cpu.max', 'cpu.weight', 'cgroup.procs'].map((name) =>
        read(`${own}/${name}`),
      ),
    ).toEqual(['1020\n', '1\n', '60\n', '50000 100000\n', '10\n', '99\n']);
    expect(group.wasOutOfMemory()).toBe(false);
    writeFileSync(join(group.folder, 'memory.events'), 'low 0\noom 1\noom_kill 3\n');
    expect(group.wasOutOfMemory()).toBe(true);
  });

  it.each([
    ['a service with a cgroup for its processes', `${SERVICE}/main`, SERVICE],
    ['a process that another one has moved', `${SERVICE}/headgate-gateway`, SERVICE],
    ['the first process of a container', '/', ''],
    ['a process of a container that another one has moved', '/headgate-gateway', ''],
  ])('are used by %s', (_, own, base) => {
    const root = createTree({ '/': { controllers: 'memory' }, [base]: { controllers: 'memory' } });
    expect(open({ root, membership: `0::${own}\n` })).toMatchObject({ controllers: ['memory'] });
    expect(existsSync(join(root, base, 'headgate-sandboxes'))).toBe(true);
    expect(existsSync(join(root, base, 'headgate-gateway'))).toBe(false);
  });

  it('leave the processes of a host without groups where they are', () => {
    const root = createTree({ unified: { controllers: 'memory', processes: '1\n7\n', isRoot: true } });
    expect(open({ root, membership: '4:memory:/x\n0::/\n' })).toMatchObject({ controllers: ['memory'] });
    expect(existsSync(join(root, 'unified/headgate-gateway'))).toBe(false);
  });

  it('say why they are not used', () => {
    const root = createTree({
      '/': { controllers: 'memory', isRoot: true },
      [SERVICE]: { controllers: 'cpuset hugetlb' },
      '/user.slice/session-3.scope': { controllers: 'memory', processes: '7\n' },
    });
    const membership = `0::${SERVICE}\n`;
    expect(open({ root: join(root, 'none'), membership })).toBe('the host has none');
    expect(open({ root, membership: '4:memory:/x\n' })).toBe('the host has none');
    const foreign = 'the gateway has none of its own';
    expect(open({ root, membership: '0::/user.slice/session-3.scope\n' })).toBe(foreign);
    expect(open({ root, membership, serviceProcessId: 6 })).toBe(foreign);
    expect(open({ root, membership, serviceProcessId: 7 })).toBe('it has no controller of memory, pids or cpu');
    writeFileSync(join(root, 'headgate-sandboxes'), ''); // a folder cannot be created
    expect(open({ root, membership: '0::/\n' })).toBe('it cannot be changed: EEXIST');
  });

  const real = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find(canChange);
  it.skipIf(real === undefined)(
    'of this host end all processes of a sandbox, and are removed as leftovers',
    async () => {
      const folder = join(real!, `headgate-test-${randomUUID()}`);
      mkdirSync(folder);
      const groups = new ControlGroups(folder, []); // the host can have its controllers elsewhere
      const group = await groups.create('1-1-dead', 'left', limits);
      const child = spawn('bash', ['-c', 'read -r; sleep 1000 & echo begun; wait'], {
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      children.push(child);
      const closed = once(child, 'close'); // both processes have the output open
      await group.add(child.pid!);
      child.stdin!.write('\n');
      await once(child.stdout!, 'data');
      expect(readFileSync(join(group.folder, 'cgroup.procs'), 'latin1').trim().split('\n').length).toBe(2);
      const kept = await groups.create('2-2-alive', 'kept', limits);
      await groups.removeLeftovers((instance) => instance === '1-1-dead');
      await closed;
      expect([existsSync(group.folder), existsSync(kept.folder)]).toEqual([false, true]);
      await kept.remove();
      rmdirSync(folder);
    },
  );
});

function canChange(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return process.getuid?.() === 0 && existsSync(join(folder, 'cgroup.controllers'));
  } catch {
    return false;
  }
}
