import { closeSync, fdatasync, ftruncateSync, writeSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { inTurns } from '../domain/in-turns.ts';

/** Minimum growth of a file when space is reserved. */
const RESERVE_STEP = 8 * 1024;

/** The file system calls that can fail. */
export interface JournalDisk {
  write: (fd: number, bytes: Buffer, offset: number, length: number, position: number) => number;
  truncate: (fd: number, bytes: number) => void;
  sync: (fd: number) => Promise<void>;
}
export const nodeDisk: JournalDisk = {
  write: writeSync,
  truncate: ftruncateSync,
  sync: (fd) => promisify(fdatasync)(fd),
};

/** The file descriptor after closing, because the system may reuse the number. */
const CLOSED = -1;

/** Shared, because lines are short and written one at a time. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
const zeros = Buffer.alloc(64 * 1024);

/**
 * A file of lines, followed by reserved space. A partial line has no line end, so readers skip it, and the next line
 * overwrites it.
 */
export class JournalFile {
  /** Bytes of the lines. */
  bytes = 0;
  private fd: number;
  private readonly disk: JournalDisk;
  private readonly folder: string;
  /** Bytes of the file, at least `bytes`. */
  private size = 0;
  private isClosed = false;
  private waiting = 0;
  /** Whether its directory entry is synced. */
  private isInFolder = false;
  /** Callers during a sync share the next one. */
  private readonly syncInTurns = inTurns(() => this.syncNow());

  constructor(fd: number, disk: JournalDisk, folder: string) {
    this.fd = fd;
    this.disk = disk;
    this.folder = folder;
  }

  /**
   * @param reserved bytes that stay reserved after the line
   * @throws the file system's error; the content of the file is then unchanged
   */
  write(line: string, reserved: number): void {
    if (this.isClosed) throw new Error('The journal is closed.');
    const fits = line.length * 3 <= scratch.length;
    const source = fits ? scratch : Buffer.from(line);
    const length = fits ? scratch.write(line) : source.length;
    if (reserved > 0) this.grow(this.bytes + length + reserved);
    for (let written = 0; written < length; ) {
      written += this.disk.write(this.fd, source, written, length - written, this.bytes + written);
    }
    this.bytes += length;
    this.size = Math.max(this.size, this.bytes);
  }

  /** @throws the file system's error if the bytes do not fit after the lines */
  reserve(bytes: number): void {
    if (this.isClosed) throw new Error('The journal is closed.');
    this.grow(this.bytes + bytes);
  }

  private grow(wanted: number): void {
    if (wanted <= this.size) return;
    for (const end = wanted + RESERVE_STEP; this.size < end; ) {
      this.size += this.disk.write(this.fd, zeros, 0, Math.min(zeros.length, end - this.size), this.size);
    }
  }

  async sync(): Promise<void> {
    this.waiting++;
    try {
      await this.syncInTurns();
    } finally {
      this.waiting--;
      this.closeIfDone();
    }
  }

  private async syncNow(): Promise<void> {
    await this.disk.sync(this.fd);
    if (!this.isInFolder) await syncFolder(this.folder);
    this.isInFolder = true;
  }

  empty(): void {
    if (this.size > 0) this.disk.truncate(this.fd, 0);
    this.size = 0;
    this.bytes = 0;
  }

  /** Writes fail afterwards. Pending syncs still run. */
  close(): void {
    this.isClosed = true;
    this.closeIfDone();
  }

  private closeIfDone(): void {
    if (!this.isClosed || this.waiting > 0 || this.fd === CLOSED) return;
    closeSync(this.fd);
    this.fd = CLOSED;
  }
}

/** Syncs the directory entry of a new file. */
async function syncFolder(path: string): Promise<void> {
  const folder = await openFile(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** A placeholder before a file is open, and after it was closed. Writes fail. */
export const closedFile = new JournalFile(CLOSED, nodeDisk, '');
closedFile.close();
