import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseNetworkRelay, type NetworkRelay } from '../network-relay.ts';
import { readProxySocket } from '../read-proxy-socket.ts';
import { type Sandbox, type SandboxDriver, SandboxError, type SandboxSpec } from '../sandbox.ts';
import { writeAgent } from './agent.ts';
import { BubblewrapProcess } from './bubblewrap-process.ts';
import { BubblewrapSandbox } from './bubblewrap-sandbox.ts';
import { buildSeccompFilter } from './build-seccomp-filter.ts';
import { callHost } from './call-host.ts';
import { type ControlGroup, type ControlGroupPlace, type ControlGroups, openControlGroups } from './control-groups.ts';
import { HomeFolder } from './home-folder.ts';
import { NamedPipes } from './named-pipes.ts';
import { PipeStock } from './pipe-stock.ts';
import { readStartTime } from './process-tree.ts';
import { SESSION_SCRIPT, sessionScript } from './session-priority.ts';
import { writeEtc } from './write-arguments.ts';

/**
 * Processes of sandboxes have this user and group on the host if the gateway runs as root, which most limits of the kernel
 * do not bind. No distribution assigns it.
 */
const UNPRIVILEGED_ID = 65_529;
/** Time for the command of `probe`. */
const PROBE_MS = 30_000;

export interface BubblewrapOptions {
  /**
   * Folder for the home folders of running sandboxes. If the gateway runs as root, every user must be able to enter it
   * (mode 711), because sandboxes have their own user.
   */
  folder: string;
  /** Files and folders of the gateway and its data below `/usr`, which sandboxes must not see. All others are hidden. */
  hidden: readonly string[];
  /** Default: the best one that the host has. */
  relay?: NetworkRelay;
  /** Where cgroups are. Default: those of the host. */
  cgroups?: ControlGroupPlace;
  /** Where `bwrap` is searched. Default: the folders of the system. */
  searchPath?: string;
}

/** Runs sandboxes with bubblewrap, which needs no rights and no service. */
export class BubblewrapDriver implements SandboxDriver {
  readonly kind = 'bubblewrap';
  readonly #options: BubblewrapOptions;
  readonly #running = new Map<string, Promise<Sandbox>>();
  readonly #owner = process.getuid?.() === 0 ? UNPRIVILEGED_ID : undefined;
  /** Home folders that are being removed. */
  readonly #removals = new Set<Promise<void>>();
  #instance: string | undefined;
  #pipes: PipeStock | undefined;
  #groups: ControlGroups | undefined;
  /** Why there are no groups. */
  #groupsProblem: string | undefined;
  #isClosed = false;

  constructor(options: BubblewrapOptions) {
    this.#options = options;
  }

  async probe(): Promise<string | undefined> {
    if (process.platform !== 'linux') return `Bubblewrap needs Linux. This host has ${process.platform}.`;
    const limits = { memoryBytes: 2 ** 26, cpus: 1, processes: 32, diskBytes: 2 ** 20, diskEntries: 100 };
    let sandbox: Sandbox | undefined;
    try {
      sandbox = await this.start({
        name: `probe-${process.pid}-${Date.now()}`,
        limits: { ...limits, temporaryBytes: 2 ** 20 },
      });
      const { signal } = new AbortController();
      const command = { command: 'exit 7', timeoutMs: PROBE_MS, maxOutputBytes: 1024, signal };
      const { outcome } = await sandbox.exec(command);
      return outcome.type === 'exit' && outcome.exitCode === 7 ? undefined : 'A command in a sandbox failed.';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      await sandbox?.stop();
    }
  }

  /** Returns what limits sandboxes, for the operator. */
  describeLimits(): string {
    const groups = this.#openGroups();
    return groups
      ? `the kernel limits ${groups.controllers.join(', ')} of sandboxes (cgroup v2)`
      : `the gateway limits the memory of sandboxes, without cgroup v2 (${this.#groupsProblem})`;
  }

  async start(spec: SandboxSpec): Promise<Sandbox> {
    if (this.#isClosed) throw new SandboxError('stopped', 'The gateway is shutting down.');
    if (this.#running.has(spec.name)) throw new Error(`the sandbox ${spec.name} is running`);
    const started = this.#start(spec);
    this.#running.set(spec.name, started);
    try {
      const sandbox = await started;
      sandbox.ended.addEventListener('abort', () => this.#running.delete(spec.name));
      return sandbox;
    } catch (error) {
      this.#running.delete(spec.name);
      throw error;
    }
  }

  async #start(spec: SandboxSpec): Promise<Sandbox> {
    const instance = this.#openInstance();
    const folder = join(instance, spec.name);
    const folders = { home: join(folder, 'home'), control: join(folder, 'control') };
    const remove = () => this.#discard(folder);
    let home: HomeFolder | undefined;
    let group: ControlGroup | undefined;
    try {
      group = await this.#createGroup(spec);
      for (const path of [folder, folders.home, folders.control]) {
        mkdirSync(path, { mode: 0o700 });
        if (this.#owner !== undefined) chmodSync(path, 0o711);
      }
      if (this.#owner !== undefined) {
        chmodSync(folders.home, 0o700);
        chmodSync(folders.control, 0o755);
        chownSync(folders.home, this.#owner, this.#owner);
      }
      home = new HomeFolder(folders.home, this.#owner);
      writeFileSync(join(folders.control, SESSION_SCRIPT), sessionScript, { mode: 0o644 });
      const pipes = new NamedPipes(folders.control, this.#pipes!);
      const places = { ...folders, etc: join(instance, 'etc'), empty: join(instance, 'empty') };
      const { id, root } = await this.#startProcess(spec, places, group?.folder);
      const monitor = new BubblewrapProcess(id);
      return new BubblewrapSandbox({
        name: spec.name,
        limits: spec.limits,
        monitor,
        root,
        folders,
        home,
        pipes,
        remove: () => Promise.all([group?.remove(), remove()]).then(() => {}),
        hasMemoryLimit: group !== undefined && this.#groups!.controllers.includes('memory'),
        readProblem: () => (group?.wasOutOfMemory() ? 'memory' : undefined),
      });
    } catch (error) {
      home?.close();
      await Promise.all([group?.remove(), remove()]);
      throw error;
    }
  }

  /** @returns undefined if the kernel or the operator does not allow it: the gateway enforces the limits then */
  async #createGroup({ name, limits }: SandboxSpec): Promise<ControlGroup | undefined> {
    return await this.#openGroups()
      ?.create(nameInstance(process.pid), name, limits)
      .catch(() => undefined);
  }

  #openGroups(): ControlGroups | undefined {
    if (this.#groups || this.#groupsProblem !== undefined) return this.#groups;
    const opened = openControlGroups(this.#options.cgroups);
    if ('groups' in opened) this.#groups = opened.groups;
    else this.#groupsProblem = opened.problem;
    return this.#groups;
  }

  /** @throws {SandboxError} if it does not start */
  async #startProcess(
    spec: SandboxSpec,
    folders: { home: string; control: string; etc: string; empty: string },
    group: string | undefined,
  ): Promise<{ id: string; root: number }> {
    const proxySocket = readProxySocket(spec);
    const relay = proxySocket === undefined ? undefined : (this.#options.relay ?? chooseNetworkRelay());
    if (proxySocket !== undefined && this.#owner !== undefined) chownSync(proxySocket, this.#owner, this.#owner);
    const id = randomUUID();
    const outcome = await callHost('startBubblewrap', id, {
      parts: {
        folders,
        temporaryBytes: spec.limits.temporaryBytes,
        program: ['bash', '--norc', '--noprofile', '-c', writeAgent(spec.limits, relay)],
        ...(proxySocket !== undefined && relay && { network: { proxySocket, relay } }),
        ...(spec.hasNode && { hasNode: true }),
      },
      hidden: ['/usr/local/etc', ...this.#options.hidden],
      filter: join(this.#openInstance(), 'filter'),
      searchPath: this.#options.searchPath ?? '/usr/local/bin:/usr/bin:/bin',
      owner: this.#owner,
      group,
    });
    if ('root' in outcome) return { id, root: outcome.root };
    throw new SandboxError(outcome.problem, outcome.message);
  }

  /** Creates the folder of this driver, which other processes remove when this process has ended. */
  #openInstance(): string {
    if (this.#instance !== undefined) return this.#instance;
    const { arch } = process;
    if (arch !== 'x64' && arch !== 'arm64') {
      throw new SandboxError('unavailable', `Bubblewrap needs a system call filter, which is missing for ${arch}.`);
    }
    const mode = this.#owner === undefined ? 0o700 : 0o711;
    const { folder } = this.#options;
    if (mkdirSync(folder, { recursive: true, mode }) !== undefined) chmodSync(folder, mode); // whatever the umask is
    checkFolder(folder);
    const instance = mkdtempSync(join(folder, `${nameInstance(process.pid)}-`));
    chmodSync(instance, mode);
    for (const name of ['etc', 'empty']) {
      mkdirSync(join(instance, name), { recursive: true });
      chmodSync(join(instance, name), 0o755);
    }
    mkdirSync(join(instance, 'pipes'), { recursive: true, mode: 0o700 });
    writeEtc(join(instance, 'etc'));
    writeFileSync(join(instance, 'filter'), buildSeccompFilter(arch), { mode: 0o600 });
    this.#pipes = new PipeStock(join(instance, 'pipes'), this.#owner !== undefined);
    this.#pipes.prepare().catch(() => {}); // the first command tries again, and reports it
    this.#instance = instance;
    return instance;
  }

  /** Renames a folder immediately, and removes it in the background, because many files take many seconds. */
  async #discard(folder: string): Promise<void> {
    const discarded = `${folder}.removed-${randomUUID()}`; // the same name can be discarded again before that
    try {
      await rename(folder, discarded);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    const removal = callHost('removeFolder', discarded).finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  async removeLeftovers(): Promise<void> {
    const isLeftover = (instance: string): boolean => {
      const pid = Number(/^(\d+)-/.exec(instance)?.[1]);
      return pid > 0 && !instance.startsWith(nameInstance(pid));
    };
    await this.#openGroups()?.removeLeftovers(isLeftover);
    const { folder } = this.#options;
    let names: string[];
    try {
      names = readdirSync(folder);
    } catch {
      return;
    }
    for (const name of names) if (isLeftover(name)) await callHost('removeFolder', join(folder, name));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const sandboxes = await Promise.allSettled(this.#running.values());
    await Promise.all(sandboxes.map((one) => (one.status === 'fulfilled' ? one.value.stop() : undefined)));
    await Promise.all(this.#removals);
    await this.#pipes?.close();
    if (this.#instance !== undefined) await callHost('removeFolder', this.#instance);
    this.#instance = undefined;
  }
}

/** A folder that another user made, for example in `/var/tmp`, is not safe. */
function checkFolder(path: string): void {
  const status = lstatSync(path);
  if (status.isDirectory() && status.uid === process.getuid!() && (status.mode & 0o022) === 0) return;
  const says = `The folder ${path} must belong to the user of the gateway, and no other user may write to it.`;
  throw new SandboxError('unavailable', says);
}

/** Differs between processes, also after a restart of the host. */
function nameInstance(pid: number): string {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
  return `${pid}-${readStartTime(pid) ?? 'ended'}-${boot}`;
}
