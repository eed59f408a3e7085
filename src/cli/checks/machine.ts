import { access, constants, stat, statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { readMasterKeys } from '../../compose/read-master-keys.ts';
import type { Config } from '../../config/schema.ts';
import { findLockOwner, type LockOwner } from '../../platform/data-folder/data-folder.ts';
import { readMessage } from '../terminal.ts';
import { minimumNode } from '../version.ts';
import type { Finding } from './finding.ts';

const mebibyte = 1024 ** 2;

/** @param version as in `process.versions.node` */
export function checkNode(version: string): Finding {
  const isOld = Number.parseInt(version, 10) < minimumNode;
  const finding: Finding = { status: isOld ? 'fail' : 'ok', subject: 'node', says: `v${version}` };
  if (isOld) finding.fix = `Install Node ${minimumNode} or newer: https://nodejs.org`;
  return finding;
}

/** @returns an empty list if a single process serves requests */
export function checkWorkers({ server }: Pick<Config, 'server'>, cores = availableParallelism()): Finding[] {
  const workers = server.workers || cores;
  if (workers === 1) return [];
  const subject = 'workers';
  const says = `${workers}, on ${cores === 1 ? '1 core' : `${cores} cores`}`;
  if (workers <= cores) return [{ status: 'ok', subject, says }];
  const fix = 'More workers than cores use memory without serving more. Use --workers auto for one per core.';
  return [{ status: 'warn', subject, says, fix }];
}

/** Checks whether the folder exists or can be created, is writable and has free space. */
export async function checkDataDir(dataDir: string): Promise<Finding> {
  const subject = 'data folder';
  const there = await findThere(dataDir);
  if (!(await stat(there)).isDirectory()) {
    return { status: 'fail', subject, says: `${there} is a file`, fix: 'Choose a folder with --data.' };
  }
  try {
    await access(there, constants.W_OK | constants.X_OK);
  } catch {
    return {
      status: 'fail',
      subject,
      says: `${there} cannot be written`,
      fix: 'Give the user who runs Headgate write access, or choose another folder with --data.',
    };
  }
  const { bavail, bsize } = await statfs(there);
  const free = (bavail * bsize) / mebibyte;
  const room = `${free >= 1024 ? `${(free / 1024).toFixed(1)} GiB` : `${Math.floor(free)} MiB`} free`;
  const holder = findLockOwner(dataDir);
  const state =
    there === dataDir ? (holder ? `, in use by ${writeOwner(holder)}` : '') : ', created at the first start';
  const says = `${dataDir}${state}; ${room}`;
  if (free >= 1024) return { status: 'ok', subject, says };
  return {
    status: free < 64 ? 'fail' : 'warn',
    subject,
    says,
    fix: 'Free space on the disk: the ledger grows with each request.',
  };
}

const writeOwner = ({ name, url }: LockOwner): string => (url === undefined ? name : `${name} at ${url}`);

/** Returns the folder itself, or the nearest parent folder that exists. */
async function findThere(folder: string): Promise<string> {
  for (let here = folder; ; here = dirname(here)) {
    const found = await stat(here).catch(() => undefined);
    if (found || here === dirname(here)) return here;
  }
}

/** The file of a generated master key. */
const masterKeyFile = 'master.key';

/**
 * Checks whether the master key is configured, or in a file that no other user can read. Runs the command that prints it,
 * if there is one.
 */
export async function checkMasterKey({ secrets }: Pick<Config, 'secrets'>, dataDir: string): Promise<Finding> {
  const subject = 'master key';
  const { master_key: text, master_key_file: keyFile, master_key_command: command } = secrets;
  if (text !== undefined || keyFile !== undefined || command !== undefined) {
    const source = text !== undefined ? 'configured' : (keyFile ?? 'printed by a command');
    try {
      const { current } = readMasterKeys({ secrets }, dataDir);
      if (current.length >= 32) return { status: 'ok', subject, says: source };
      const fix = 'Use 32 or more characters: openssl rand -hex 32';
      return { status: 'warn', subject, says: `${source}, but short`, fix };
    } catch (error) {
      const fix = 'Correct `secrets` in the configuration.';
      return { status: 'fail', subject, says: readMessage(error), fix };
    }
  }
  const file = join(dataDir, masterKeyFile);
  let mode: number;
  let isEmpty: boolean;
  try {
    const found = await stat(file);
    mode = found.mode & 0o777;
    isEmpty = found.size === 0;
  } catch (error) {
    // Node's file system errors have a code.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { status: 'ok', subject, says: 'created at the first start' };
    return {
      status: 'fail',
      subject,
      says: `${file}: ${readMessage(error)}`,
      fix: 'Give the user who runs Headgate access.',
    };
  }
  if (isEmpty) {
    const fix = 'Restore it from a backup. Remove it only if there is no backup.';
    return { status: 'fail', subject, says: `${file} is empty`, fix };
  }
  const says = `${file}, mode ${mode.toString(8).padStart(4, '0')}`;
  if (process.platform === 'win32' || (mode & 0o077) === 0) return { status: 'ok', subject, says };
  return { status: 'fail', subject, says: `${says}: others can read it`, fix: `chmod 600 ${file}` };
}
