import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes the data folder (0700) and takes it for this process, so that two gateways never share a journal.
 *
 * @returns a function that gives the folder back
 * @throws when another living process has it, with that process's id
 */
export function takeDataFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'gateway.pid');
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx', mode: 0o600 });
      return () => unlinkSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const pid = Number(readFileSync(path, 'utf8'));
    if (pid !== process.pid && isAlive(pid)) {
      throw new Error(
        `The data folder ${folder} is in use by the process ${pid}. Stop that gateway, or give this one a folder of its own with --data.`,
      );
    }
    unlinkSync(path); // left behind by a process that was killed
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * The key under which secrets are kept and identities are hashed: the configured one, or one made at the first start
 * and kept in the data folder (0600).
 */
export function readMasterKey(folder: string, configured: string | undefined): Buffer {
  if (configured !== undefined) return Buffer.from(configured, 'utf8');
  const path = join(folder, 'master.key');
  try {
    writeFileSync(path, `${randomBytes(32).toString('hex')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return Buffer.from(readFileSync(path, 'utf8').trim(), 'utf8');
}
