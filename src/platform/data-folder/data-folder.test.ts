import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findLockOwner, lockDataFolder, readMasterKey, recordAddress } from './data-folder.ts';

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'headgate-folder-')), 'data');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe('the data folder', () => {
  it('is created for its user alone, names its owner, and is released', () => {
    const unlock = lockDataFolder(folder);
    expect(mode(folder)).toBe('700');
    expect(mode(join(folder, 'gateway.lock'))).toBe('600');
    expect(readFileSync(join(folder, 'gateway.pid'), 'utf8')).toBe(`${process.pid}\n`);
    unlock();
    expect(readdirSync(folder)).toEqual(['gateway.lock']);
    lockDataFolder(folder)();
  });

  it('has one owner at a time, even in one process', () => {
    const unlock = lockDataFolder(folder);
    expect(() => lockDataFolder(folder)).toThrow(
      `The data folder ${folder} is in use by the process ${process.pid}. Stop that gateway, or give this one a folder of its own with --data.`,
    );
    rmSync(join(folder, 'gateway.pid'));
    expect(() => lockDataFolder(folder)).toThrow('is in use by another process');
    unlock();
  });

  it('is free after its owner was killed, even if another process has its id now', async () => {
    const source = new URL('data-folder.ts', import.meta.url);
    const program = `import { lockDataFolder } from '${source}'; globalThis.held = lockDataFolder(process.argv[1]); console.log('taken'); setInterval(() => {}, 1000);`;
    const holder = spawn(process.execPath, ['--input-type=module', '--eval', program, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(holder, 'exit');
    try {
      await once(holder.stdout, 'data');
      expect(() => lockDataFolder(folder)).toThrow(`in use by the process ${holder.pid}.`);
    } finally {
      holder.kill('SIGKILL');
      await exited;
    }
    writeFileSync(join(folder, 'gateway.pid'), String(process.ppid));
    lockDataFolder(folder)();
    expect(existsSync(join(folder, 'gateway.pid'))).toBe(false);
  });

  it('explains what to do if it cannot be created', () => {
    writeFileSync(join(folder, '..', 'a-file'), '');
    expect(() => lockDataFolder(join(folder, '..', 'a-file', 'data'))).toThrow(
      /cannot be created: it, or one of its parents, is a file\. .*--data\.$/,
    );
  });

  it('names its owner while it is in use, and is free afterwards', () => {
    expect(findLockOwner(folder)).toBeUndefined();
    const unlock = lockDataFolder(folder);
    expect(findLockOwner(folder)).toEqual({ name: `the process ${process.pid}` });
    recordAddress(folder, 'http://127.0.0.1:8787');
    expect(findLockOwner(folder)).toEqual({ name: `the process ${process.pid}`, url: 'http://127.0.0.1:8787' });
    unlock();
    expect(findLockOwner(folder)).toBeUndefined();
  });

  // Node's own recursive call would never return.
  it.runIf(existsSync('/proc/self'))('is rejected if the system creates no folders there', () => {
    expect(() => lockDataFolder('/proc/headgate/data')).toThrow('is not writable (ENOENT');
  });
});

describe('the master key', () => {
  it('is created once, with 256 random bits that only its user can read, and read again', () => {
    lockDataFolder(folder)();
    const made = readMasterKey(folder, undefined);
    expect(made.toString()).toMatch(/^[0-9a-f]{64}$/);
    expect(mode(join(folder, 'master.key'))).toBe('600');
    expect(readMasterKey(folder, undefined)).toEqual(made);
    expect(readdirSync(folder)).toEqual(['gateway.lock', 'master.key']);
  });

  it('is the configured one if there is one, and is then not stored', () => {
    lockDataFolder(folder)();
    expect(readMasterKey(folder, 'configured').toString()).toBe('configured');
    expect(existsSync(join(folder, 'master.key'))).toBe(false);
  });

  it.each(['', '\n'])('is rejected if the file is empty: %j', (text) => {
    lockDataFolder(folder)();
    writeFileSync(join(folder, 'master.key'), text);
    chmodSync(join(folder, 'master.key'), 0o600);
    expect(() => readMasterKey(folder, undefined)).toThrow(/master\.key is empty\. Restore it/);
  });
});
