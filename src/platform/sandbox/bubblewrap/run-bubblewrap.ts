import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { SandboxError, type SandboxProblem } from '../sandbox.ts';
import { awaitReady } from './await-ready.ts';
import { listHiddenPaths } from './list-hidden-paths.ts';
import { type ArgumentParts, writeArguments } from './write-arguments.ts';

/** A sandbox to start. It is sent to another process. */
export interface BubblewrapStart {
  parts: Omit<ArgumentParts, 'descriptors' | 'hidden'>;
  /** Files and folders that sandboxes must not see. */
  hidden: readonly string[];
  /** File with the filter of system calls. */
  filter: string;
  searchPath: string;
  /** User and group on the host, if they are not those of the gateway. */
  owner: number | undefined;
  /** Folder of its cgroup. */
  group: string | undefined;
}

/** `root`: process 1 of the sandbox, by its id on the host. */
export type BubblewrapOutcome = { root: number } | { problem: SandboxProblem; message: string };

/** Processes of bubblewrap that run, by the ids that their callers chose. */
const running = new Map<string, ChildProcess>();

/**
 * Starts bubblewrap, and waits until the sandbox can run commands.
 *
 * @param id unique in this process
 */
export async function startBubblewrap(id: string, start: BubblewrapStart): Promise<BubblewrapOutcome> {
  let child: ChildProcess | undefined;
  try {
    child = spawnBubblewrap(start);
    const root = await awaitReady(child, start.group);
    running.set(id, child);
    child.once('exit', () => running.delete(id));
    if (hasExited(child)) running.delete(id);
    return { root };
  } catch (error) {
    if (child?.pid !== undefined && !hasExited(child)) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    if (!(error instanceof SandboxError)) throw error;
    return { problem: error.problem, message: error.message };
  }
}

/** Runs the script of a command. Without the sandbox, it does nothing. */
export function runScript(id: string, number: number): void {
  running.get(id)?.stdin?.write(`${number}\n`);
}

/** Kills bubblewrap, and with it the sandbox. */
export function killBubblewrap(id: string): void {
  running.get(id)?.kill('SIGKILL');
}

export async function awaitBubblewrapExit(id: string): Promise<void> {
  const child = running.get(id);
  if (child) await once(child, 'exit');
}

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

function spawnBubblewrap({ parts, hidden, filter, searchPath, owner }: BubblewrapStart): ChildProcess {
  const descriptor = openSync(filter, 'r');
  try {
    const descriptors = { filter: 3, info: 4, block: 5 };
    return spawn('bwrap', writeArguments({ ...parts, descriptors, hidden: listHiddenPaths(hidden) }), {
      cwd: '/',
      detached: true, // SIGINT of the terminal would end it before the last save
      env: { PATH: searchPath },
      stdio: ['pipe', 'pipe', 'pipe', descriptor, 'pipe', 'pipe'],
      ...(owner === undefined ? undefined : { uid: owner, gid: owner }),
    });
  } finally {
    closeSync(descriptor);
  }
}
