import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { NICENESS } from './session-priority.ts';

/** Creates named pipes. @returns whether all exist now */
export async function createPipes(folder: string, mode: string, names: readonly string[]): Promise<boolean> {
  return await run('mkfifo', ['-m', mode, ...names], folder);
}

/** Removes a folder that no process of a sandbox can change. */
export async function removeFolder(folder: string): Promise<void> {
  if (await run('rm', ['-rf', '--', folder])) return;
  await run('chmod', ['-R', 'u+rwx', '--', folder]); // folders that commands made unreadable
  await run('rm', ['-rf', '--', folder]);
}

async function run(program: string, options: string[], folder = '/'): Promise<boolean> {
  const child = spawn(program, options, { env: { PATH: '/usr/bin:/bin' }, cwd: folder, stdio: 'ignore' });
  if (folder === '/' && child.pid !== undefined) lowerPriority(child.pid);
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

/** Removing many files must not slow down the gateway. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS);
  } catch {
    // it has ended
  }
}
