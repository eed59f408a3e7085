import { readFile, writeFile } from 'node:fs/promises';
import { CONTROL_FOLDER } from './write-arguments.ts';

/** Sandboxes have a lower priority than the gateway. */
export const NICENESS = 19;

/**
 * Where the kernel shares the CPU between sessions (`kernel.sched_autogroup_enabled`), the priority of a process counts
 * only within its session. Each session has its own priority. 10 is one ninth of the usual share of the CPU: with 19
 * instead, the gateway was no faster, and commands on a busy host took ten times as long.
 *
 * @see https://man7.org/linux/man-pages/man7/sched.7.html
 */
const SESSION_NICENESS = 10;

/** Lowers the session of the shell that runs it. The kernel accepts ten such writes per second from all users. */
export const lowerOwnSession = `{ echo ${SESSION_NICENESS} >/proc/self/autogroup; } 2>/dev/null`;

/** The shell of a command reads this file first, so that its session has a low priority at once. */
export const SESSION_SCRIPT = 'session.sh';
export const SESSION_SCRIPT_PATH = `${CONTROL_FOLDER}/${SESSION_SCRIPT}`;
export const sessionScript = `${lowerOwnSession}\nunset BASH_ENV\n`;

/**
 * Lowers the session of a process. Commands can raise theirs, and create others, so this is repeated. // choice 595
 *
 * @param folder of the process below `/proc`
 */
export async function lowerSession(folder: string): Promise<void> {
  const path = `${folder}/autogroup`;
  try {
    const text = await readFile(path, 'latin1');
    if (!text.endsWith(` nice ${SESSION_NICENESS}\n`)) await writeFile(path, String(SESSION_NICENESS));
  } catch {
    // the kernel has no such priority, the process has ended, or the next check tries again
  }
}
