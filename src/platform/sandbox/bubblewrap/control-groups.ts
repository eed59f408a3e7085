import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { SandboxLimits } from '../sandbox.ts';
import { RESERVED_PROCESSES } from './agent.ts';

/** Limits of all processes of a cgroup together. */
const controllers = ['memory', 'pids', 'cpu'] as const;
export type CgroupController = (typeof controllers)[number];

/** Where the processes of the gateway are, because a cgroup with limited children has no processes of its own. */
const GATEWAY_GROUP = 'headgate-gateway';
const SANDBOXES_GROUP = 'headgate-sandboxes';

const CPU_PERIOD_US = 100_000;
/** Share of the CPU compared with the gateway, which has 100. */
const CPU_WEIGHT = 10;
/** Processes of bubblewrap and of the gateway in a sandbox. */
const OWN_PROCESSES = 8 + RESERVED_PROCESSES;
const MAX_MOVES = 5;
const MAX_REMOVALS = 40;
const REMOVAL_MS = 50;

export interface ControlGroupPlace {
  /** Where cgroups are mounted. */
  root?: string;
  /** Content of `/proc/self/cgroup`. */
  membership?: string;
  /** Process ids of the gateway, one of which is the main process of a service of systemd. */
  processIds?: readonly number[];
  /** Id of the main process of that service. */
  serviceProcessId?: number | undefined;
}

/** Finds the cgroup v2 in which the gateway may create others. @returns why it cannot, otherwise, after `without cgroup v2` */
export function openControlGroups({
  root = '/sys/fs/cgroup',
  membership = readText('/proc/self/cgroup'),
  processIds = [process.pid, process.ppid],
  serviceProcessId = Number(process.env.SYSTEMD_EXEC_PID),
}: ControlGroupPlace = {}): { groups: ControlGroups } | { problem: string } {
  const mount = [root, join(root, 'unified')].find((path) => existsSync(join(path, 'cgroup.controllers')));
  const own = /^0::(\/.*)$/m.exec(membership)?.[1];
  if (mount === undefined || own === undefined) return { problem: 'the host has none' };
  const base = chooseBase(mount, own, processIds.includes(serviceProcessId));
  if (base === undefined) return { problem: 'the gateway has none of its own' };
  const available = readText(join(base, 'cgroup.controllers')).trim().split(' ');
  const usable = controllers.filter((name) => available.includes(name));
  if (usable.length === 0) return { problem: 'it has no controller of memory, pids or cpu' };
  try {
    const enabled = enableControllers(base, usable);
    const folder = join(base, SANDBOXES_GROUP);
    mkdirSync(folder, { recursive: true });
    for (const name of enabled) enableController(folder, name);
    return { groups: new ControlGroups(folder, enabled) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { problem: `it cannot be changed: ${code}` };
  }
}

/** The cgroup of the gateway's service or container. Cgroups of others, such as of a session of a user, stay as they are. // choice 691 */
function chooseBase(mount: string, own: string, isService: boolean): string | undefined {
  const path = own === '/' ? mount : join(mount, own);
  if (own === '/' || (own.endsWith('.service') && isService)) return path;
  const above = dirname(own); // systemd has created a cgroup for the processes (DelegateSubgroup=), or the gateway has
  const isBelow = above.endsWith('.service') || basename(own) === GATEWAY_GROUP;
  return isBelow ? join(mount, above).replace(/\/$/, '') : undefined;
}

/** @throws if none can be enabled */
function enableControllers(base: string, names: readonly CgroupController[]): CgroupController[] {
  // Only the root of all cgroups, which has no type, can have processes beside limited children.
  const hasProcesses = (): boolean =>
    existsSync(join(base, 'cgroup.type')) && readText(join(base, 'cgroup.procs')).trim() !== '';
  for (let moves = 0; moves < MAX_MOVES && hasProcesses(); moves++) moveProcesses(base);
  const enabled: CgroupController[] = [];
  let failure: unknown;
  for (const name of names) {
    try {
      enableController(base, name);
      enabled.push(name);
    } catch (error) {
      failure = error;
    }
  }
  if (enabled.length === 0) throw failure;
  return enabled;
}

function enableController(folder: string, name: CgroupController): void {
  const file = join(folder, 'cgroup.subtree_control');
  if (!readText(file).split(/\s/).includes(name)) appendFileSync(file, `+${name}\n`);
}

/** Moves all processes of a cgroup into one below it. */
function moveProcesses(base: string): void {
  const folder = join(base, GATEWAY_GROUP);
  mkdirSync(folder, { recursive: true });
  for (const id of readText(join(base, 'cgroup.procs')).trim().split('\n')) {
    try {
      appendFileSync(join(folder, 'cgroup.procs'), `${id}\n`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // ESRCH: it has ended
    }
  }
}

/** The cgroups of sandboxes. */
export class ControlGroups {
  readonly #folder: string;
  /** Limits that the kernel enforces. */
  readonly controllers: readonly CgroupController[];

  constructor(folder: string, enabled: readonly CgroupController[]) {
    this.#folder = folder;
    this.controllers = enabled;
  }

  /** @param instance of the gateway process, without a dot */
  async create(instance: string, sandbox: string, limits: SandboxLimits): Promise<ControlGroup> {
    const group = new ControlGroup(join(this.#folder, `${instance}.${sandbox}`));
    await mkdir(group.folder);
    try {
      for (const [file, value] of this.#describe(limits)) await appendFile(join(group.folder, file), value);
      const swap = join(group.folder, 'memory.swap.max');
      if (existsSync(swap)) await appendFile(swap, '0\n'); // a kernel without limits of swap has no such file
      return group;
    } catch (error) {
      await group.remove();
      throw error;
    }
  }

  /** Ends what killed gateway processes have left. */
  async removeLeftovers(isLeftover: (instance: string) => boolean): Promise<void> {
    for (const name of readdirSync(this.#folder, { withFileTypes: true })) {
      if (!name.isDirectory() || !isLeftover(name.name.split('.')[0]!)) continue;
      const group = new ControlGroup(join(this.#folder, name.name));
      await group.kill();
      await group.remove();
    }
  }

  /** Files in memory count as memory: `/tmp` and `/dev/shm` have their own sizes. */
  #describe({ memoryBytes, temporaryBytes, processes, cpus }: SandboxLimits): [file: string, value: string][] {
    const files: Record<CgroupController, [string, string][]> = {
      memory: [
        ['memory.max', `${memoryBytes + 2 * temporaryBytes}\n`],
        ['memory.oom.group', '1\n'],
      ],
      pids: [['pids.max', `${processes + OWN_PROCESSES}\n`]],
      cpu: [
        ['cpu.max', `${Math.round(cpus * CPU_PERIOD_US)} ${CPU_PERIOD_US}\n`],
        ['cpu.weight', `${CPU_WEIGHT}\n`],
      ],
    };
    return this.controllers.flatMap((name) => files[name]);
  }
}

/** The cgroup of a sandbox. */
export class ControlGroup {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Limits a process and its later children. @throws if it has ended */
  async add(pid: number): Promise<void> {
    await appendFile(join(this.folder, 'cgroup.procs'), `${pid}\n`);
  }

  /** Whether the kernel has killed its processes because of their memory. */
  wasOutOfMemory(): boolean {
    return /^oom_kill [1-9]/m.test(readText(join(this.folder, 'memory.events')));
  }

  /** Kills all processes at once, if the kernel can (5.14). */
  async kill(): Promise<void> {
    const file = join(this.folder, 'cgroup.kill');
    if (existsSync(file)) await appendFile(file, '1\n');
  }

  /** Waits until its processes have ended. The next start removes the rest. */
  async remove(): Promise<void> {
    for (let tries = 0; tries < MAX_REMOVALS; tries++) {
      try {
        await rmdir(this.folder);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return;
        await setTimeout(REMOVAL_MS);
      }
    }
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // this kernel does not have it
  }
}
