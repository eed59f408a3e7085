import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The running processes that this program started. Only these are signaled. */
const running = new Set<ChildProcess>();

/** The options of a process. */
export interface StartOptions {
  /** The CPU to pin it to. Absent: that of the driver. */
  cpu?: number;
  env?: Record<string, string>;
  cwd?: string;
  /** File for its stderr. Absent: discarded. */
  log?: string;
  /** `pipe` to read its stdout. Absent: discarded. */
  stdout?: 'pipe';
}

/** Starts a command. Its `pid` is that of the program, pinned or not. */
export function startProcess(command: readonly string[], options: StartOptions = {}): ChildProcess {
  const pinned = options.cpu === undefined ? [...command] : ['taskset', '-c', String(options.cpu), ...command];
  const log = options.log === undefined ? undefined : openSync(options.log, 'w');
  const child = spawn(pinned[0]!, pinned.slice(1), {
    cwd: options.cwd,
    env: { ...process.env, NODE_ENV: 'production', ...options.env },
    stdio: ['ignore', options.stdout ?? 'ignore', log ?? 'ignore'],
  });
  if (log !== undefined) closeSync(log);
  running.add(child);
  child.on('error', () => running.delete(child));
  child.on('exit', () => running.delete(child));
  return child;
}

/** Whether the process is running. */
export function isRunning(child: ChildProcess): boolean {
  return running.has(child);
}

/** Ends a process and its children with SIGTERM, and with SIGKILL after `graceMs`. */
export async function stopProcess(child: ChildProcess, graceMs = 3_000): Promise<void> {
  if (!isRunning(child) || child.pid === undefined) return;
  const pids = listTree(child.pid);
  signal([child.pid], 'SIGTERM');
  for (const end = Date.now() + graceMs; isRunning(child) && Date.now() < end; ) await sleep(20);
  if (isRunning(child)) signal(pids, 'SIGKILL');
  for (const end = Date.now() + 2_000; isRunning(child) && Date.now() < end; ) await sleep(20);
}

/** Ends all running processes, with SIGTERM first. For the end of the program and for Ctrl-C. */
export async function stopEverything(): Promise<void> {
  await Promise.all([...running].map((child) => stopProcess(child, 1_500)));
}

/** Kills all running processes. For an `exit` handler, which cannot wait. */
export function killEverything(): void {
  for (const child of running) if (child.pid !== undefined) signal(listTree(child.pid), 'SIGKILL');
}

/** Returns the process and its descendants. */
export function listTree(pid: number): number[] {
  const childrenOf = new Map<number, number[]>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const parent = findParent(Number(entry));
    if (parent === undefined) continue;
    const siblings = childrenOf.get(parent) ?? [];
    siblings.push(Number(entry));
    childrenOf.set(parent, siblings);
  }
  const tree = [pid];
  for (const member of tree) tree.push(...(childrenOf.get(member) ?? []));
  return tree;
}

/** Returns the total resident memory of the processes in KB (1,024 bytes). */
export function readMemoryKb(pids: readonly number[]): number {
  let total = 0;
  for (const pid of pids) {
    try {
      total += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    } catch {
      // it has ended
    }
  }
  return total;
}

function findParent(pid: number): number | undefined {
  try {
    // "pid (name) state ppid …"; the name may contain spaces and parentheses
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined; // ended in the meantime
  }
}

function signal(pids: readonly number[], name: 'SIGTERM' | 'SIGKILL'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // already ended
    }
  }
}
