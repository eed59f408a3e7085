import {
  chmodSync,
  closeSync,
  constants,
  createReadStream,
  fchmodSync,
  fchownSync,
  fstatSync,
  futimesSync,
  lchownSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntryToWrite, SandboxEntry } from '../sandbox.ts';
import { MAX_LISTED_PATH_BYTES, MAX_PATH_LEVELS, splitEntryPath } from '../split-entry-path.ts';
import { callHost } from './call-host.ts';
import { findEntries, type TreeSize } from './find-entries.ts';

/** Opens an entry without access to its content. Node has no name for it. */
const O_PATH = 0o10_000_000;
/** Time after which work on many entries lets the process do other things. */
const MAX_TURN_MS = 5;
/** Walks of one measurement. Each one makes a further level of unreadable folders readable. */
const MAX_WALKS = 10;

/**
 * The home folder of a running sandbox, from outside. Processes of the sandbox change it meanwhile, so each step opens
 * one segment of a path below an open folder and follows no link.
 *
 * Node has no call that opens a path relative to an open folder. `/proc/self/fd/<n>/<name>` is the same.
 */
export class HomeFolder {
  readonly #fd: number;
  /** The user of the sandbox, if it is not that of the gateway. */
  readonly #owner: number | undefined;
  #isOpen = true;

  constructor(path: string, owner: number | undefined) {
    this.#fd = openSync(path, constants.O_DIRECTORY | constants.O_NOFOLLOW);
    this.#owner = owner;
  }

  /** The folder for a child process, whatever happens to its path. */
  get path(): string {
    return `/proc/${process.pid}/fd/${this.#fd}`;
  }

  close(): void {
    if (this.#isOpen) closeSync(this.#fd);
    this.#isOpen = false;
  }

  /** Lists everything. Folders that only the sandbox's owner may change the mode of are made readable first. */
  async *list(): AsyncGenerator<SandboxEntry[]> {
    const closed: Buffer[] = [Buffer.alloc(0)];
    for (let prefix = closed.pop(); prefix !== undefined; prefix = closed.pop()) {
      const folder = this.#openFolder(prefix.length === 0 ? [] : splitPath(prefix), false);
      if (folder === undefined) continue;
      try {
        for await (const batch of findEntries(`/proc/${process.pid}/fd/${folder}`)) {
          const whole =
            prefix.length === 0 ? batch : batch.map((entry) => ({ ...entry, path: joinPath(prefix!, entry.path) }));
          if (this.#owner === undefined) {
            for (const { kind, mode, path } of whole)
              if (kind === 'folder' && (mode & 0o500) !== 0o500 && canOpen(path)) closed.push(path);
          }
          yield whole;
        }
      } finally {
        closeSync(folder);
      }
    }
  }

  /**
   * Measures everything, choice 575.
   *
   * @param stopAt ends the measurement early if one of its values is exceeded
   * @throws {RangeError} if commands keep folders unreadable
   */
  async measure(stopAt: TreeSize): Promise<TreeSize> {
    const turn = new Turn();
    for (let walks = 0; walks < MAX_WALKS; walks++) {
      if (!this.#isOpen) throw new Error('the home folder is closed');
      this.#allow(this.#fd, 0o700);
      const { unreadable, ...size } = await callHost('measureTree', this.path, stopAt);
      const isExceeded = size.bytes > stopAt.bytes || size.entries > stopAt.entries;
      if (isExceeded || unreadable.length === 0 || this.#owner !== undefined) return size;
      for (const path of unreadable) {
        if (turn.isOver) await turn.next();
        const folder = this.#openFolder(splitPath(Buffer.from(path)), false); // a copy from another process is no buffer
        if (folder !== undefined) closeSync(folder);
      }
    }
    throw new RangeError('too many of its folders cannot be read');
  }

  async read(path: Buffer): Promise<Readable | undefined> {
    const segments = splitPath(path);
    const name = segments.pop()!; // there is at least one
    const folder = this.#openFolder(segments, false);
    if (folder === undefined) return undefined;
    try {
      return this.#readEntry(folder, name);
    } finally {
      closeSync(folder);
    }
  }

  #readEntry(folder: number, name: Buffer): Readable | undefined {
    const entry = openIfThere(at(folder, name), constants.O_NOFOLLOW | O_PATH);
    if (entry === undefined) return undefined;
    try {
      const status = fstatSync(entry);
      if (!status.isFile()) return undefined;
      this.#allow(entry, 0o400);
      const fd = openSync(`/proc/self/fd/${entry}`, constants.O_RDONLY | constants.O_NONBLOCK);
      if (status.size > 0) return createReadStream('', { fd, start: 0, end: status.size - 1 }); // no more, if it grows
      closeSync(fd);
      return Readable.from([]);
    } finally {
      closeSync(entry);
    }
  }

  async write(entries: AsyncIterable<EntryToWrite>): Promise<void> {
    const turn = new Turn();
    for await (const entry of entries) {
      const segments = splitPath(entry.path);
      const name = segments.pop()!; // there is at least one
      const folder = this.#openFolder(segments, true)!;
      try {
        await this.#writeEntry(folder, name, entry, turn);
      } finally {
        closeSync(folder);
      }
      if (turn.isOver) await turn.next();
    }
  }

  async remove(paths: readonly Buffer[]): Promise<void> {
    const turn = new Turn();
    for (const path of paths) {
      const segments = splitPath(path);
      const name = segments.pop()!; // there is at least one
      const folder = this.#openFolder(segments, false);
      if (folder === undefined) continue;
      try {
        this.#allow(folder, 0o700);
        await removeTree(folder, name, turn);
      } finally {
        closeSync(folder);
      }
    }
  }

  async #writeEntry(folder: number, name: Buffer, entry: EntryToWrite, turn: Turn): Promise<void> {
    const seconds = entry.modifiedAtMs / 1000;
    if (entry.kind === 'folder') {
      const made = this.#makeFolder(folder, name);
      try {
        fchmodPath(made, entry.mode & 0o777);
        utimesSync(`/proc/self/fd/${made}`, seconds, seconds);
      } finally {
        closeSync(made);
      }
      return;
    }
    const temporary = at(folder, Buffer.from(`.headgate-${randomBytes(8).toString('hex')}`));
    try {
      if (entry.kind === 'link') {
        symlinkSync(entry.target ?? Buffer.from('.'), temporary);
        if (this.#owner !== undefined) lchownSync(temporary, this.#owner, this.#owner);
        lutimesSync(temporary, seconds, seconds);
      } else {
        await this.#writeFile(temporary, entry, seconds);
      }
      await replace(folder, temporary, name, turn);
    } catch (error) {
      unlinkIfThere(temporary);
      throw error;
    }
  }

  async #writeFile(path: Buffer, { content, mode }: EntryToWrite, seconds: number): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(path, flags, 0o600);
    try {
      for await (const piece of content ?? []) {
        for (let rest = piece; rest.length > 0; ) rest = rest.subarray((await file.write(rest)).bytesWritten);
      }
      if (this.#owner !== undefined) fchownSync(file.fd, this.#owner, this.#owner);
      fchmodSync(file.fd, mode & 0o777);
      futimesSync(file.fd, seconds, seconds);
    } finally {
      await file.close();
    }
  }

  /** @returns undefined if it does not exist, or is no folder; close it */
  #openFolder(segments: readonly Buffer[], creates: boolean): number | undefined {
    if (!this.#isOpen) throw new Error('the home folder is closed');
    let folder = openSync(`/proc/self/fd/${this.#fd}`, constants.O_DIRECTORY | O_PATH);
    try {
      this.#allow(folder, 0o700);
      for (const segment of segments) {
        const next = creates
          ? this.#makeFolder(folder, segment)
          : openIfThere(at(folder, segment), constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH);
        closeSync(folder);
        if (next === undefined) return undefined;
        folder = next;
        this.#allow(folder, creates ? 0o700 : 0o500);
      }
      return folder;
    } catch (error) {
      closeSync(folder);
      throw error;
    }
  }

  /** Gives the owner permissions to an entry that commands took away. The administrator of a host needs none. */
  #allow(entry: number, needed: number): void {
    if (this.#owner !== undefined) return;
    const { mode } = fstatSync(entry);
    if ((mode & needed) !== needed) fchmodPath(entry, (mode & 0o777) | needed);
  }

  /** Opens a folder. Replaces any other entry with a new folder. */
  #makeFolder(parent: number, name: Buffer): number {
    const path = at(parent, name);
    const found = openIfThere(path, constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH);
    if (found !== undefined) return found;
    unlinkIfThere(path);
    mkdirSync(path, 0o755);
    const made = openSync(path, constants.O_DIRECTORY | constants.O_NOFOLLOW);
    if (this.#owner !== undefined) fchownSync(made, this.#owner, this.#owner);
    return made;
  }
}

const at = (folder: number, name: Buffer): Buffer => Buffer.concat([Buffer.from(`/proc/self/fd/${folder}/`), name]);

const joinPath = (prefix: Buffer, path: Buffer): Buffer => Buffer.concat([prefix, Buffer.from('/'), path]);

/** @throws {RangeError} if it is not a path below a folder, or too deep */
function splitPath(path: Buffer): Buffer[] {
  const segments = splitEntryPath(path);
  if (segments.length > MAX_PATH_LEVELS) throw new RangeError('a path is too long');
  return segments;
}

/** Whether a path is whole, and short enough for `splitPath`. Longer ones are reported, but not their content. */
const canOpen = (path: Buffer): boolean =>
  path.length < MAX_LISTED_PATH_BYTES && path.toString('latin1').split('/').length <= MAX_PATH_LEVELS;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** @returns undefined if it is not there, or of another kind, or not readable */
function openIfThere(path: Buffer, flags: number): number | undefined {
  try {
    return openSync(path, flags);
  } catch (error) {
    const expected = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EACCES', 'ENAMETOOLONG', 'ENODEV'];
    if (expected.includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

function unlinkIfThere(path: Buffer): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** Changes the mode of an open folder, also of one that was opened with O_PATH. */
const fchmodPath = (fd: number, mode: number): void => chmodSync(`/proc/self/fd/${fd}`, mode);

async function replace(folder: number, temporary: Buffer, name: Buffer, turn: Turn): Promise<void> {
  try {
    renameSync(temporary, at(folder, name));
  } catch (error) {
    if (codeOf(error) !== 'EISDIR') throw error;
    await removeTree(folder, name, turn);
    renameSync(temporary, at(folder, name));
  }
}

/** Removes an entry and everything below it. @throws {RangeError} if it is too deep: each level takes an open folder */
async function removeTree(parent: number, name: Buffer, turn: Turn, depth = 0): Promise<void> {
  if (depth > MAX_PATH_LEVELS) throw new RangeError('a folder has too many levels');
  if (turn.isOver) await turn.next();
  const path = at(parent, name);
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (!status) return;
  const folder = status.isDirectory()
    ? openIfThere(path, constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH)
    : undefined;
  if (folder === undefined) {
    unlinkIfThere(path);
    return;
  }
  try {
    fchmodPath(folder, 0o700);
    const children = await readdir(`/proc/self/fd/${folder}/.`, { encoding: 'buffer' });
    for (const child of children) await removeTree(folder, child, turn, depth + 1);
  } finally {
    closeSync(folder);
  }
  rmdirSync(path);
}

/** The time in which steps on many entries run without a pause. */
class Turn {
  #startedAt = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#startedAt > MAX_TURN_MS;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#startedAt = performance.now();
  }
}
