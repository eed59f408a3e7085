import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createFolder } from './create-folder.ts';

/** SQLite's code for a lock that another process has. @see https://sqlite.org/rescode.html */
const SQLITE_BUSY = 5;

/**
 * Creates the data folder (0700) and locks it for this process, so that two gateways never share a journal.
 *
 * @returns a function that releases it
 * @throws if another gateway has it, with its process id, or if it is not writable; the message says what to do
 */
export function lockDataFolder(folder: string): () => void {
  const unlock = lockFolder(folder);
  if (unlock) return unlock;
  throw new Error(
    `The data folder ${folder} is in use by ${readOwner(folder).name}. Stop that gateway, or give this one a folder of its own with --data.`,
  );
}

const pidFileName = 'gateway.pid';
const urlFileName = 'gateway.url';
const lockFileName = 'gateway.lock';

/**
 * Creates a folder (0700) and locks it for this process.
 *
 * The lock is one of the operating system, which releases it when the process ends for any reason. Node has no call for
 * it, but SQLite does. The process id in `gateway.pid` is for people. It cannot replace the lock, because another
 * process may soon have the same id in a container or after a reboot.
 *
 * @returns a function that releases it; undefined if another process has it
 * @throws if the folder is not writable, with the remedy
 */
export function lockFolder(folder: string): (() => void) | undefined {
  const pidFile = join(folder, pidFileName);
  let lock: DatabaseSync | undefined;
  try {
    createFolder(folder);
    const file = join(folder, lockFileName);
    writeFileSync(file, '', { flag: 'a', mode: 0o600 });
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec('pragma journal_mode = memory');
    lock.exec('begin immediate'); // never committed: the file stays empty
    removeNotes(folder);
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  } catch (error) {
    lock?.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw explain(folder, error);
  }
  const held = lock;
  return () => {
    removeNotes(folder);
    held.close();
  };
}

function removeNotes(folder: string): void {
  for (const name of [pidFileName, urlFileName]) rmSync(join(folder, name), { force: true });
}

/** Writes the URL of the gateway that has locked the folder, for commands that look for this gateway. */
export function recordAddress(folder: string, url: string): void {
  try {
    writeFileSync(join(folder, urlFileName), `${url}\n`, { mode: 0o600 });
  } catch {
    // The disk is full. No request needs the file.
  }
}

/** The owner of a locked data folder. */
export interface LockOwner {
  /** `the process 4711`. */
  name: string;
  /** Absent: the gateway does not listen yet. */
  url?: string;
}

/** Finds the owner of a data folder. Undefined: it is free. Changes nothing in it. */
export function findLockOwner(folder: string): LockOwner | undefined {
  const file = join(folder, lockFileName);
  if (!existsSync(file)) return undefined;
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec('begin immediate; rollback');
    return undefined;
  } catch (error) {
    const isHeld = (error as { errcode?: number }).errcode === SQLITE_BUSY;
    return isHeld ? readOwner(folder) : undefined;
  } finally {
    lock?.close();
  }
}

function readOwner(folder: string): LockOwner {
  const read = (name: string): string | undefined => {
    try {
      return readFileSync(join(folder, name), 'utf8').trim() || undefined;
    } catch {
      return undefined; // the gateway starts, or another user runs it
    }
  };
  const [pid, url] = [read(pidFileName), read(urlFileName)];
  const name = pid === undefined ? 'another process' : `the process ${Number.parseInt(pid, 10)}`;
  return { name, ...(url !== undefined && { url }) };
}

function explain(folder: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    const message = `The data folder ${folder} cannot be created: it, or one of its parents, is a file. Choose another one with --data.`;
    return new Error(message, { cause: error });
  }
  const isFull = code === 'ENOSPC';
  const advice = isFull
    ? 'Free space on its disk'
    : 'Give the user who runs Headgate read and write access to it, or choose another one with --data';
  return new Error(`The data folder ${folder} is not writable (${reason}). ${advice}.`, { cause: error });
}

/**
 * Reads the key that encrypts secrets and hashes identities: the configured one, or one that was created at the first
 * start and is in the data folder (0600).
 *
 * @throws with the remedy if the stored key is empty or unreadable, because another key would change every hash
 */
export function readMasterKey(folder: string, configured: string | undefined): Buffer {
  if (configured !== undefined) return Buffer.from(configured, 'utf8');
  const path = join(folder, 'master.key');
  const text = readIfThere(path) ?? makeKeyFile(folder, path);
  if (text === '') {
    throw new Error(`The master key ${path} is empty. Restore it from a backup. Remove it only if there is no backup.`);
  }
  return Buffer.from(text, 'utf8');
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The master key ${path} cannot be read (${reason}). Give the user who runs Headgate access to it.`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Creates the key file. The file gets its name only when it is complete, so that a full disk or a kill never leaves a
 * partial key.
 */
function makeKeyFile(folder: string, path: string): string {
  const text = randomBytes(32).toString('hex');
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, `${text}\n`, { mode: 0o600, flush: true });
    renameSync(draft, path);
    return text;
  } catch (error) {
    throw explain(folder, error);
  } finally {
    rmSync(draft, { force: true });
  }
}
