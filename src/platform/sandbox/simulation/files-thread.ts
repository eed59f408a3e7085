import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { EntryToWrite, SandboxLimits } from '../sandbox.ts';
import { HomeAccess } from './home-access.ts';
import { SimulatedFiles } from './simulated-files.ts';
import { serveCalls } from '../../threads/thread-calls.ts';

/*
 * The thread that has the files of a simulated sandbox. The shells are in threads of their own, because the only way to
 * stop a simulated command is to end its thread. The files outlive it.
 */

const files = new SimulatedFiles(workerData as SandboxLimits); // from simulated-sandbox.ts
const home = new HomeAccess(files);

const forShells = {
  readFile: (path: string) => files.readFile(path),
  writeFile: (path: string, content: Uint8Array) => files.writeFile(path, content),
  appendFile: (path: string, content: Uint8Array) => files.appendFile(path, content),
  exists: (path: string) => files.exists(path),
  stat: (path: string) => files.stat(path),
  lstat: (path: string) => files.lstat(path),
  mkdir: (path: string, options?: { recursive?: boolean }) => files.mkdir(path, options),
  createExclusive: (path: string, options: { mode: number; directory?: boolean }) =>
    files.createExclusive(path, options),
  readdir: (path: string) => files.readdir(path),
  rm: (path: string, options?: { recursive?: boolean; force?: boolean }) => files.rm(path, options),
  cp: (from: string, to: string, options?: { recursive?: boolean }) => files.cp(from, to, options),
  mv: (from: string, to: string) => files.mv(from, to),
  chmod: (path: string, mode: number) => files.chmod(path, mode),
  symlink: (target: string, path: string) => files.symlink(target, path),
  link: (from: string, to: string) => files.link(from, to),
  readlink: (path: string) => files.readlink(path),
  realpath: (path: string) => files.realpath(path),
  utimes: (path: string, modifiedAtMs: number) => files.utimes(path, modifiedAtMs),
};

const forDriver = {
  connect: (port: MessagePort) => serveCalls(port, forShells),
  startList: () => home.startList(),
  continueList: (handle: number) => home.continueList(handle),
  openRead: (path: Uint8Array) => home.openRead(path),
  read: (handle: number, maxBytes: number) => home.read(handle, maxBytes),
  openWrite: (entry: Omit<EntryToWrite, 'content'>) => home.openWrite(entry),
  write: (handle: number, content: Uint8Array) => home.write(handle, content),
  closeWrite: (handle: number) => home.closeWrite(handle),
  remove: (path: Uint8Array) => home.remove(path),
};

export type ShellFiles = typeof forShells;
export type DriverFiles = typeof forDriver;

serveCalls(parentPort!, forDriver); // this module is the entry of a worker
