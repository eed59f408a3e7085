import { posix } from 'node:path';
import type { BufferEncoding, FileContent, FsStat, IFileSystem } from 'just-bash';
import type { ShellFiles } from './files-thread.ts';
import type { FileState } from './simulated-files.ts';
import type { CallThread } from '../../threads/thread-calls.ts';

type Encoding = BufferEncoding | { encoding?: BufferEncoding | null } | undefined;

/** The file system of just-bash. Its files are in another thread. */
export class ShellFileSystem implements IFileSystem {
  private readonly call: CallThread<ShellFiles>;

  constructor(call: CallThread<ShellFiles>) {
    this.call = call;
  }

  async readFile(path: string, encoding?: Encoding): Promise<string> {
    const content = await this.readFileBuffer(path);
    return Buffer.from(content.buffer).toString(readEncoding(encoding));
  }

  readFileBuffer(path: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.call('readFile', path) as Promise<Uint8Array<ArrayBuffer>>; // a clone is never shared
  }

  async writeFile(path: string, content: FileContent, encoding?: Encoding): Promise<void> {
    await this.call('writeFile', path, readBytes(content, encoding));
  }

  async appendFile(path: string, content: FileContent, encoding?: Encoding): Promise<void> {
    await this.call('appendFile', path, readBytes(content, encoding));
  }

  /** Called by just-bash when it starts. The calls of a thread keep their order, so later ones find the file. */
  writeFileSync(path: string, content: FileContent): void {
    this.writeFile(path, content).catch(() => {}); // a part of the simulated system is missing then
  }

  mkdirSync(path: string, options?: { recursive?: boolean }): void {
    this.mkdir(path, options).catch(() => {}); // as above
  }

  exists(path: string): Promise<boolean> {
    return this.call('exists', path);
  }

  async stat(path: string): Promise<FsStat> {
    return describe(await this.call('stat', path));
  }

  async lstat(path: string): Promise<FsStat> {
    return describe(await this.call('lstat', path));
  }

  async mkdir(path: string, options?: { recursive?: boolean }): Promise<void> {
    await this.call('mkdir', path, options);
  }

  async createExclusive(path: string, options: { mode: number; directory?: boolean }): Promise<void> {
    await this.call('createExclusive', path, options);
  }

  async readdir(path: string): Promise<string[]> {
    return (await this.call('readdir', path)).map(({ name }) => name);
  }

  async readdirWithFileTypes(path: string) {
    return (await this.call('readdir', path)).map(({ name, kind }) => ({ name, ...describeKind(kind) }));
  }

  async rm(path: string, options?: { recursive?: boolean; force?: boolean }): Promise<void> {
    await this.call('rm', path, options);
  }

  async cp(from: string, to: string, options?: { recursive?: boolean }): Promise<void> {
    await this.call('cp', from, to, options);
  }

  async mv(from: string, to: string): Promise<void> {
    await this.call('mv', from, to);
  }

  resolvePath(base: string, path: string): string {
    return posix.resolve(base, path);
  }

  /** Optional for a file system: globs read folders instead. */
  getAllPaths(): string[] {
    return [];
  }

  async chmod(path: string, mode: number): Promise<void> {
    await this.call('chmod', path, mode);
  }

  async symlink(target: string, path: string): Promise<void> {
    await this.call('symlink', target, path);
  }

  async link(from: string, to: string): Promise<void> {
    await this.call('link', from, to);
  }

  readlink(path: string): Promise<string> {
    return this.call('readlink', path);
  }

  realpath(path: string): Promise<string> {
    return this.call('realpath', path);
  }

  async utimes(path: string, _accessed: Date, modified: Date): Promise<void> {
    await this.call('utimes', path, modified.getTime());
  }
}

const readEncoding = (encoding: Encoding): BufferEncoding =>
  (typeof encoding === 'string' ? encoding : encoding?.encoding) ?? 'utf8';

/** @returns bytes with their own buffer, because a clone copies the whole buffer */
function readBytes(content: FileContent, encoding: Encoding): Uint8Array {
  return Uint8Array.from(typeof content === 'string' ? Buffer.from(content, readEncoding(encoding)) : content);
}

const describeKind = (kind: FileState['kind']) => ({
  isFile: kind === 'file',
  isDirectory: kind === 'folder',
  isSymbolicLink: kind === 'link',
});

const describe = ({ kind, mode, bytes, modifiedAtMs, serial }: FileState): FsStat => ({
  ...describeKind(kind),
  mode,
  size: bytes,
  mtime: new Date(modifiedAtMs),
  dev: 1,
  ino: serial,
});
