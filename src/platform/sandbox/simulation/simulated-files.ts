import { SANDBOX_HOME, type SandboxLimits } from '../sandbox.ts';

/** A failure of a file operation, with the code of the system call that it stands for. */
export class FileError extends Error {
  override readonly name = 'FileError';
  readonly code: string;

  constructor(code: keyof typeof meanings, operation: string, path: string) {
    super(`${code}: ${meanings[code]}, ${operation} '${path}'`);
    this.code = code;
  }
}

const meanings = {
  EBUSY: 'resource busy or locked',
  EEXIST: 'file already exists',
  EINVAL: 'invalid argument',
  EISDIR: 'illegal operation on a directory',
  ELOOP: 'too many symbolic links encountered',
  ENAMETOOLONG: 'name too long',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  EPERM: 'operation not permitted',
  EXDEV: 'cross-device link not permitted',
};

/** A file as the shell sees it. Structured clones of it cross threads. */
export interface FileState {
  kind: SimulatedNode['kind'];
  mode: number;
  bytes: number;
  modifiedAtMs: number;
  /** Identifies the file while it exists. */
  serial: number;
}

export interface FileNode {
  kind: 'file';
  mode: number;
  modifiedAtMs: number;
  readonly serial: number;
  /** Grows with every change of the node. */
  version: number;
  /** Has room for appended bytes beyond `bytes`. */
  content: Buffer;
  bytes: number;
  /** Names of the node. */
  names: number;
}

export interface FolderNode {
  kind: 'folder';
  mode: number;
  modifiedAtMs: number;
  readonly serial: number;
  version: number;
  readonly children: Map<string, SimulatedNode>;
}

export interface LinkNode {
  kind: 'link';
  mode: number;
  modifiedAtMs: number;
  readonly serial: number;
  version: number;
  readonly target: string;
}

export type SimulatedNode = FileNode | FolderNode | LinkNode;

/** Bytes and entries of one part of the tree. */
interface Quota {
  readonly maxBytes: number;
  readonly maxEntries: number;
  bytes: number;
  entries: number;
}

/** A name in a folder. The node is absent if nothing has the name. */
export interface Place {
  readonly folder: FolderNode;
  readonly name: string;
  readonly node: SimulatedNode | undefined;
  readonly isHome: boolean;
}

const MAX_LINKS = 40;
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 4096;
/** Entries outside of the home folder: `/tmp`, and the system that the shell writes at its start. */
const SYSTEM_ENTRIES = 10_000;
const SYSTEM_BYTES = 1024 * 1024;

/**
 * The files of a simulated sandbox, in memory. Paths are absolute. Modes are stored and not enforced, because the shell
 * has one user.
 */
export class SimulatedFiles {
  readonly home: FolderNode;
  private readonly root: FolderNode;
  private readonly homeQuota: Quota;
  private readonly systemQuota: Quota;
  private serials = 0;

  constructor(limits: Pick<SandboxLimits, 'diskBytes' | 'diskEntries' | 'temporaryBytes'>) {
    this.homeQuota = { maxBytes: limits.diskBytes, maxEntries: limits.diskEntries, bytes: 0, entries: 0 };
    const maxBytes = limits.temporaryBytes + SYSTEM_BYTES;
    this.systemQuota = { maxBytes, maxEntries: SYSTEM_ENTRIES, bytes: 0, entries: 0 };
    this.root = this.createFolder(0o755);
    this.mkdir(SANDBOX_HOME, { recursive: true });
    this.mkdir('/tmp', { recursive: true });
    this.home = this.find(SANDBOX_HOME, 'open') as FolderNode; // just created
  }

  readFile(path: string): Uint8Array {
    const node = this.getFile(path, 'open');
    return Uint8Array.from(node.content.subarray(0, node.bytes));
  }

  writeFile(path: string, content: Uint8Array): void {
    const place = this.place(path, 'open', true);
    this.setContent(this.openFile(place, path), place.isHome, content);
  }

  appendFile(path: string, content: Uint8Array): void {
    const place = this.place(path, 'open', true);
    this.append(this.openFile(place, path), place.isHome, content);
  }

  exists(path: string): boolean {
    try {
      this.find(path, 'stat');
      return true;
    } catch {
      return false;
    }
  }

  stat(path: string): FileState {
    return readState(this.find(path, 'stat'));
  }

  lstat(path: string): FileState {
    return readState(this.find(path, 'lstat', false));
  }

  mkdir(path: string, { recursive = false }: { recursive?: boolean } = {}): void {
    if (recursive) {
      const parts = splitPath(path);
      for (let depth = 1; depth < parts.length; depth++) this.makeFolder(`/${parts.slice(0, depth).join('/')}`, true);
    }
    this.makeFolder(path, recursive);
  }

  createExclusive(path: string, { mode, directory = false }: { mode: number; directory?: boolean }): void {
    const place = this.place(path, 'open', false);
    if (place.node) throw new FileError('EEXIST', 'open', path);
    this.add(place, path, directory ? this.createFolder(mode) : this.createFile(mode));
  }

  readdir(path: string): { name: string; kind: SimulatedNode['kind'] }[] {
    const folder = this.find(path, 'scandir');
    if (folder.kind !== 'folder') throw new FileError('ENOTDIR', 'scandir', path);
    return Array.from(folder.children, ([name, { kind }]) => ({ name, kind }));
  }

  rm(path: string, { recursive = false, force = false }: { recursive?: boolean; force?: boolean } = {}): void {
    let place: Place;
    try {
      place = this.place(path, 'rm', false);
    } catch (error) {
      if (force && error instanceof FileError && error.code === 'ENOENT') return;
      throw error;
    }
    if (!place.node) {
      if (force) return;
      throw new FileError('ENOENT', 'rm', path);
    }
    if (this.isFixed(place.node)) throw new FileError('EBUSY', 'rm', path);
    if (place.node.kind === 'folder' && place.node.children.size > 0 && !recursive) {
      throw new FileError('ENOTEMPTY', 'rm', path);
    }
    this.removeAt(place);
  }

  cp(from: string, to: string, { recursive = false }: { recursive?: boolean } = {}): void {
    const source = this.find(from, 'cp', !recursive);
    if (source.kind === 'folder' && !recursive) throw new FileError('EISDIR', 'cp', from);
    if (source.kind === 'folder' && isBelow(this.realpath(to, true), this.realpath(from))) {
      throw new FileError('EINVAL', 'cp', to);
    }
    this.copy(source, to);
  }

  mv(from: string, to: string): void {
    const source = this.place(from, 'rename', false);
    if (!source.node) throw new FileError('ENOENT', 'rename', from);
    if (this.isFixed(source.node)) throw new FileError('EBUSY', 'rename', from);
    const target = this.place(to, 'rename', false);
    if (source.node === target.node) return;
    if (source.node.kind === 'folder' && this.contains(source.node, target.folder)) {
      throw new FileError('EINVAL', 'rename', to);
    }
    if (target.node?.kind === 'folder') {
      if (source.node.kind !== 'folder') throw new FileError('EISDIR', 'rename', to);
      if (target.node.children.size > 0) throw new FileError('ENOTEMPTY', 'rename', to);
    } else if (target.node && source.node.kind === 'folder') throw new FileError('ENOTDIR', 'rename', to);
    const { bytes, entries } = measure(source.node);
    if (source.isHome !== target.isHome) {
      this.charge(target.isHome, bytes, entries, to);
      this.charge(source.isHome, -bytes, -entries, from);
    }
    if (target.node) this.removeAt(target);
    source.folder.children.delete(source.name);
    target.folder.children.set(target.name, source.node);
    source.node.version++;
    touch(source.folder);
    touch(target.folder);
  }

  chmod(path: string, mode: number): void {
    const node = this.find(path, 'chmod');
    node.mode = mode & 0o7777;
    node.version++;
  }

  symlink(target: string, path: string): void {
    const place = this.place(path, 'symlink', false);
    if (place.node) throw new FileError('EEXIST', 'symlink', path);
    if (Buffer.byteLength(target) > MAX_PATH_BYTES) throw new FileError('ENAMETOOLONG', 'symlink', path);
    const link = { mode: 0o777, modifiedAtMs: Date.now(), serial: ++this.serials, version: 0 };
    this.add(place, path, { kind: 'link', target, ...link });
  }

  link(from: string, to: string): void {
    const [source, place] = [this.place(from, 'link', false), this.place(to, 'link', false)];
    if (!source.node) throw new FileError('ENOENT', 'link', from);
    if (source.node.kind !== 'file') throw new FileError('EPERM', 'link', from);
    if (place.node) throw new FileError('EEXIST', 'link', to);
    if (source.isHome !== place.isHome) throw new FileError('EXDEV', 'link', to);
    this.charge(place.isHome, source.node.bytes, 1, to); // counted for each name, like what is saved
    source.node.names++;
    place.folder.children.set(place.name, source.node);
    touch(place.folder);
  }

  readlink(path: string): string {
    const node = this.find(path, 'readlink', false);
    if (node.kind !== 'link') throw new FileError('EINVAL', 'readlink', path);
    return node.target;
  }

  /** @param isMissingAllowed whether the last segment can be missing */
  realpath(path: string, isMissingAllowed = false): string {
    const { parts, node } = this.walk(path, 'realpath', true);
    if (!node && !isMissingAllowed) throw new FileError('ENOENT', 'realpath', path);
    return `/${parts.join('/')}`;
  }

  utimes(path: string, modifiedAtMs: number): void {
    const node = this.find(path, 'utime');
    node.modifiedAtMs = modifiedAtMs;
    node.version++;
  }

  /** Puts a node at a place that has none. */
  add(place: Place, path: string, node: SimulatedNode): void {
    this.charge(place.isHome, 0, 1, path);
    place.folder.children.set(place.name, node);
    touch(place.folder);
  }

  removeAt({ folder, name, node, isHome }: Place): void {
    const { bytes, entries } = measure(node!);
    for (const each of listNodes(node!)) if (each.kind === 'file') each.names--;
    this.charge(isHome, -bytes, -entries, name);
    folder.children.delete(name);
    touch(folder);
  }

  createFolder(mode: number): FolderNode {
    const kind = 'folder';
    return { kind, mode, modifiedAtMs: Date.now(), serial: ++this.serials, version: 0, children: new Map() };
  }

  createFile(mode: number): FileNode {
    const file = { mode, modifiedAtMs: Date.now(), serial: ++this.serials, version: 0, names: 1 };
    return { kind: 'file', content: Buffer.alloc(0), bytes: 0, ...file };
  }

  setContent(node: FileNode, isHome: boolean, content: Uint8Array): void {
    this.charge(isHome, (content.length - node.bytes) * node.names, 0, 'file');
    node.content = Buffer.from(content);
    node.bytes = content.length;
    touch(node);
  }

  append(node: FileNode, isHome: boolean, content: Uint8Array): void {
    this.charge(isHome, content.length * node.names, 0, 'file');
    const bytes = node.bytes + content.length;
    if (bytes > node.content.length) {
      const room = Buffer.alloc(Math.max(bytes, Math.ceil(node.content.length * 1.5)));
      node.content.copy(room, 0, 0, node.bytes);
      node.content = room;
    }
    node.content.set(content, node.bytes);
    node.bytes = bytes;
    touch(node);
  }

  /** Finds the folder of a path, and what the path leads to. @throws {FileError} if the folder is missing */
  place(path: string, operation: string, follow: boolean): Place {
    const { folder, parts, node } = this.walk(path, operation, follow);
    const name = parts.at(-1);
    if (name === undefined || !folder) throw new FileError('EBUSY', operation, path); // the root
    const isHome = isBelow(`/${parts.join('/')}`, SANDBOX_HOME);
    return { folder, name, node, isHome };
  }

  private find(path: string, operation: string, follow = true): SimulatedNode {
    const { node } = this.walk(path, operation, follow);
    if (!node) throw new FileError('ENOENT', operation, path);
    return node;
  }

  private getFile(path: string, operation: string): FileNode {
    const node = this.find(path, operation);
    if (node.kind !== 'file') throw new FileError('EISDIR', operation, path);
    return node;
  }

  private openFile(place: Place, path: string): FileNode {
    if (place.node?.kind === 'folder') throw new FileError('EISDIR', 'open', path);
    if (place.node?.kind === 'file') return place.node;
    const node = this.createFile(0o644);
    this.add(place, path, node);
    return node;
  }

  private makeFolder(path: string, isExistingAllowed: boolean): void {
    const { node } = this.walk(path, 'mkdir', true);
    if (node?.kind === 'folder' && isExistingAllowed) return;
    if (node) throw new FileError('EEXIST', 'mkdir', path);
    this.add(this.place(path, 'mkdir', true), path, this.createFolder(0o755));
  }

  private copy(source: SimulatedNode, to: string): void {
    if (source.kind === 'file') {
      this.writeFile(to, source.content.subarray(0, source.bytes));
      this.chmod(to, source.mode);
    } else if (source.kind === 'link') {
      this.symlink(source.target, to);
    } else {
      this.makeFolder(to, true);
      for (const [name, child] of source.children) this.copy(child, `${to}/${name}`);
    }
  }

  /** Follows a path, with its links. Only the last segment can be missing. */
  private walk(path: string, operation: string, follow: boolean) {
    if (path.includes('\0')) throw new FileError('EINVAL', operation, path);
    if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw new FileError('ENAMETOOLONG', operation, path);
    const todo = splitPath(path).reverse();
    const parts: string[] = [];
    const nodes: SimulatedNode[] = [this.root];
    for (let links = 0; todo.length > 0; ) {
      const part = todo.pop()!;
      const folder = nodes.at(-1)!;
      if (folder.kind !== 'folder') throw new FileError('ENOTDIR', operation, path);
      if (part === '.') continue;
      if (part === '..') {
        if (nodes.length > 1) nodes.pop();
        parts.pop();
        continue;
      }
      if (Buffer.byteLength(part) > MAX_NAME_BYTES) throw new FileError('ENAMETOOLONG', operation, path);
      const node = folder.children.get(part);
      if (node?.kind === 'link' && (follow || todo.length > 0)) {
        if (++links > MAX_LINKS) throw new FileError('ELOOP', operation, path);
        if (node.target.startsWith('/')) {
          nodes.length = 1;
          parts.length = 0;
        }
        todo.push(...splitPath(node.target).reverse());
        continue;
      }
      parts.push(part);
      if (node) nodes.push(node);
      else if (todo.length > 0) throw new FileError('ENOENT', operation, path);
      else return { folder, parts, node: undefined };
    }
    const folder = nodes.at(-2) as FolderNode | undefined; // it had a child
    return { folder, parts, node: nodes.at(-1) };
  }

  private charge(isHome: boolean, bytes: number, entries: number, path: string): void {
    const quota = isHome ? this.homeQuota : this.systemQuota;
    const isOver = quota.bytes + bytes > quota.maxBytes || quota.entries + entries > quota.maxEntries;
    if (isOver && (bytes > 0 || entries > 0)) throw new FileError('ENOSPC', 'write', path);
    quota.bytes += bytes;
    quota.entries += entries;
  }

  private isFixed(node: SimulatedNode): boolean {
    return node === this.root || (node.kind === 'folder' && this.contains(node, this.home));
  }

  private contains(folder: FolderNode, sought: FolderNode): boolean {
    if (folder === sought) return true;
    return Array.from(folder.children.values()).some(
      (child) => child.kind === 'folder' && this.contains(child, sought),
    );
  }
}

const splitPath = (path: string): string[] => path.split('/').filter((part) => part !== '');

const isBelow = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);

function touch(node: SimulatedNode): void {
  node.modifiedAtMs = Date.now();
  node.version++;
}

function* listNodes(node: SimulatedNode): Generator<SimulatedNode> {
  yield node;
  if (node.kind === 'folder') for (const child of node.children.values()) yield* listNodes(child);
}

function measure(node: SimulatedNode): { bytes: number; entries: number } {
  let [bytes, entries] = [0, 0];
  for (const each of listNodes(node)) {
    entries++;
    if (each.kind === 'file') bytes += each.bytes;
  }
  return { bytes, entries };
}

function readState({ kind, mode, modifiedAtMs, serial, ...node }: SimulatedNode): FileState {
  const bytes = 'bytes' in node ? node.bytes : 'target' in node ? Buffer.byteLength(node.target) : 0;
  return { kind, mode, bytes, modifiedAtMs, serial };
}
