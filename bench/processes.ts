import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Every process this program started and has not yet seen end. Nothing else is ever signalled. */
const running = new Set<ChildProcess>();

/** How to start a process. */
export interface StartOptions {
  /** CPU number to pin it to; absent: wherever the driver runs. */
  cpu?: number;
  env?: Record<string, string>;
  cwd?: string;
  /** File that takes what it prints on stderr. Absent: dropped. */
  log?: string;
  /** `pipe` to read its stdout; absent: dropped, as a gateway's access log would be. */
  stdout?: 'pipe';
}

/** Starts a command, the first word being the program. Its `pid` is the program's own, pinned or not. */
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

/** Whether the process is still there. */
export function isRunning(child: ChildProcess): boolean {
  return running.has(child);
}

/** Ends a process and what it started: SIGTERM, and SIGKILL for what is left after `graceMs`. */
export async function stopProcess(child: ChildProcess, graceMs = 3_000): Promise<void> {
  if (!isRunning(child) || child.pid === undefined) return;
  const pids = listTree(child.pid);
  signal([child.pid], 'SIGTERM');
  for (const end = Date.now() + graceMs; isRunning(child) && Date.now() < end; ) await sleep(20);
  if (isRunning(child)) signal(pids, 'SIGKILL');
  for (const end = Date.now() + 2_000; isRunning(child) && Date.now() < end; ) await sleep(20);
}

/** Ends everything still running, politely first. For the end of the program and for Ctrl-C. */
export async function stopEverything(): Promise<void> {
  await Promise.all([...running].map((child) => stopProcess(child, 1_500)));
}

/** The last resort, for an `exit` handler, where nothing can be awaited. */
export function killEverything(): void {
  for (const child of running) if (child.pid !== undefined) signal(listTree(child.pid), 'SIGKILL');
}

/** The process and all that it started, itself first. */
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

/** Resident memory of the processes together, in KB (1,024 bytes). */
export function readMemoryKb(pids: readonly number[]): number {
  let total = 0;
  for (const pid of pids) {
    try {
      total += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    } catch {
      // It has ended: it uses nothing.
    }
  }
  return total;
}

function findParent(pid: number): number | undefined {
  try {
    // "pid (name) state ppid …"; a name may hold spaces and parentheses.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined; // ended while we looked
  }
}

function signal(pids: readonly number[], name: 'SIGTERM' | 'SIGKILL'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // Already gone.
    }
  }
}
