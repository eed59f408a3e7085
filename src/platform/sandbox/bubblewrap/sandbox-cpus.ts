import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';

/** Returns the CPUs of a process, in ascending order. @param status content of `/proc/<pid>/status` */
export function readCpus(status: string): number[] {
  const list = /^Cpus_allowed_list:\t(\S+)$/m.exec(status)?.[1];
  return (list?.split(',') ?? []).flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last! - first! + 1 }, (_, index) => first! + index);
  });
}

/**
 * Returns the CPUs of sandboxes: all but the first one of the gateway. Commands on every CPU would make the gateway wait
 * at each of its turns until the kernel interrupts one of them, which takes some milliseconds. // choice 755
 *
 * @returns a list as `taskset` reads it; undefined with a single CPU, which the gateway shares
 */
export const listSandboxCpus = (own: readonly number[]): string | undefined =>
  own.length > 1 ? own.slice(1).join(',') : undefined;

/**
 * Moves the calling thread to the CPUs of sandboxes. The processes that it starts inherit them. Does nothing on a host
 * without `taskset`, or with a version that knows no lists.
 */
export async function useSandboxCpus(): Promise<void> {
  try {
    const list = listSandboxCpus(readCpus(readFileSync('/proc/self/status', 'latin1')));
    if (list === undefined) return;
    const thread = readlinkSync('/proc/thread-self').split('/').at(-1)!;
    const env = { PATH: '/usr/bin:/bin' };
    await once(spawn('taskset', ['-p', '-c', list, thread], { env, cwd: '/', stdio: 'ignore' }), 'exit');
  } catch {
    // the priority of sandboxes is low, also without that
  }
}
