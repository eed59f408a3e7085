import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fdatasync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DenseSet } from '../domain/dense-set.ts';
import { errorKinds } from '../domain/errors.ts';
import { inTurns } from '../domain/in-turns.ts';
import type { LedgerEntry, LedgerLine, InFlightEntry } from '../domain/ledger-entry.ts';

/** Bytes after which the journal goes on in a new file, so that a busy gateway does not keep one for ever. */
const ROTATE_BYTES = 8 * 1024 * 1024;

/** Bytes by which a file grows at least when space is reserved. */
const RESERVE_STEP = 8 * 1024;
/** Space for the entry of a request, beside twice the line of its beginning. */
const RESERVE_BASE = 1024;

/**
 * Requests that go out to providers, and entries on their way to the store, as lines of a file. A written line has been
 * handed to the kernel, so it survives a `kill -9`; `sync` makes it survive a power cut, and so does the store.
 *
 * With the line of a beginning, space is reserved for the entry of the request: on a full disk, a request that has gone
 * out can still be recorded. The space is zeros at the end of the file, which the next lines replace.
 */
export interface Journal {
  /**
   * Writes that a request goes out, and reserves the space of its entry. It stays open until its entry is appended.
   *
   * @param before the attempt of the same request whose place this one takes
   * @throws the file system's error, for example ENOSPC; nothing is then written
   */
  begin(underway: InFlightEntry, before?: InFlightRequest): InFlightRequest;
  /**
   * @param begun the last attempt of its request; undefined: none went out
   * @throws the file system's error, for example ENOSPC; the entry is then not in the journal, and its request open
   */
  append(entry: LedgerEntry, begun?: InFlightRequest): void;
  /** The entry of this request is in the store without having been appended. */
  settle(begun: InFlightRequest): void;
  /** Resolves when everything written so far is on disk. Many calls share one sync. @throws the file system's error */
  sync(): Promise<void>;
  /** Marks the place up to which everything has been appended so far. */
  mark(): JournalMark;
  /** All entries before the mark are in the store: their lines may go. */
  forget(mark: JournalMark): void;
  /** Nothing can be written afterwards. */
  close(): void;
}
/** A request that is under way. */
export interface InFlightRequest {
  readonly underway: InFlightEntry;
  /** @see DenseSet */
  place: number;
  /** Bytes that are reserved for its entry. */
  reserved: number;
}

export interface JournalMark {
  file: number;
  bytes: number;
}

/** What a process before this one left in the folder. */
export interface OrphanedRecords {
  /** What it booked, and then `interrupted`. */
  entries: LedgerEntry[];
  /** How many of the entries stand for requests that were under way when it ended: the last ones, all estimates. */
  interrupted: number;
  /** Lines that nobody can read: no entries of ours, or damaged. Those that were never acknowledged are none of them. */
  unreadable: string[];
}

/** The calls of the file system that can fail. */
export interface JournalDisk {
  write: (fd: number, bytes: Buffer, offset: number, length: number, position: number) => number;
  truncate: (fd: number, bytes: number) => void;
  sync: (fd: number) => Promise<void>;
}
const nodeDisk: JournalDisk = { write: writeSync, truncate: ftruncateSync, sync: (fd) => promisify(fdatasync)(fd) };

export interface OpenedJournal {
  journal: Journal;
  /** To be stored, and then forgotten. */
  orphaned: OrphanedRecords;
  deleteOrphaned(): void;
}

/** Opens the journal of a folder. */
export function openJournal(folder: string, disk: JournalDisk = nodeDisk): OpenedJournal {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const old = readdirSync(folder)
    .filter((name) => name.startsWith('ledger-') && name.endsWith('.jsonl'))
    .sort() // by the time at which they were begun
    .map((name) => join(folder, name));
  const left = readOrphanedRecords(old);

  const files = new Map<number, string>();
  const open = new DenseSet<InFlightRequest>();
  let number = 0;
  let file = closed;
  let copied = 0; // of its bytes the first so many, from the file before
  let reserved = 0; // for the entries of all open requests

  /** When this fails, the old file goes on. */
  function openNext(): void {
    const path = join(folder, `ledger-${Date.now()}-${randomBytes(4).toString('hex')}.jsonl`);
    const next = new JournalFile(openSync(path, 'wx', 0o600), disk, folder);
    try {
      const lines = open.list().map(({ underway }) => serializeInFlight(underway));
      if (lines.length > 0) next.write(lines.join(''), reserved);
    } catch (error) {
      next.close();
      unlinkSync(path);
      throw error;
    }
    file.close();
    file = next;
    copied = next.bytes;
    files.set(++number, path);
  }
  openNext();

  const journal: Journal = {
    begin(underway, before) {
      const line = serializeInFlight(underway);
      const begun = { underway, place: -1, reserved: RESERVE_BASE + 2 * line.length };
      const after = reserved + begun.reserved - (before?.reserved ?? 0);
      file.write(line, after);
      reserved = after;
      if (before) open.delete(before);
      open.add(begun);
      return begun;
    },
    append(entry, begun) {
      const isWritten = begun !== undefined && continues(begun.underway, entry);
      const after = reserved - (begun?.reserved ?? 0);
      file.write(isWritten ? writeEnd(entry) : `${serializeEntry(entry)}\n`, after);
      if (begun) journal.settle(begun);
    },
    settle(begun) {
      reserved -= begun.reserved;
      open.delete(begun);
    },
    sync: () => file.sync(),
    mark: () => ({ file: number, bytes: file.bytes }),
    forget(mark) {
      if (file === closed) return;
      for (const [old, path] of files) {
        if (old < mark.file) {
          unlinkSync(path);
          files.delete(old);
        }
      }
      if (mark.file !== number) return;
      if (mark.bytes === file.bytes && open.size === 0) {
        file.empty();
        copied = 0;
      } else if (file.bytes - copied > ROTATE_BYTES) openNext();
    },
    close() {
      const { bytes } = file;
      file.close();
      file = closed;
      const path = files.get(number);
      if (bytes === 0 && path !== undefined) unlinkSync(path);
    },
  };
  return { journal, orphaned: left, deleteOrphaned: () => old.forEach((path) => void unlinkSync(path)) };
}

/** In place of a file's number, which may be another file's by then. */
const CLOSED = -1;

/** Lines are short, and written one by one. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
const zeros = Buffer.alloc(64 * 1024);

/**
 * A file of lines, and after them reserved space. A line that was written in part is overwritten by the next one; a reader
 * skips it, because it has no line end.
 */
class JournalFile {
  /** Bytes of the lines. */
  bytes = 0;
  private fd: number;
  private readonly disk: JournalDisk;
  private readonly folder: string;
  /** Bytes of the file; never less than `bytes`. */
  private size = 0;
  private isClosed = false;
  private waiting = 0;
  /** Whether its name is on disk, too. */
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
   * @throws the file system's error; the file then says what it said before
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

  /** Nothing can be written afterwards. Syncs that were asked for are still made. */
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

/** The name of a new file is on disk only then. */
async function syncFolder(path: string): Promise<void> {
  const folder = await openFile(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const closed = new JournalFile(CLOSED, nodeDisk, '');
closed.close();

/** An entry as a line, without its end. */
export function serializeEntry(entry: LedgerEntry): string {
  const { costNanoUsd, inputCostNanoUsd, lines } = entry;
  return JSON.stringify({
    ...entry,
    costNanoUsd: String(costNanoUsd),
    inputCostNanoUsd: String(inputCostNanoUsd),
    ...(lines && { lines: writeLines(lines) }),
  });
}

const writeLines = (lines: readonly LedgerLine[]) =>
  lines.map((line) => ({
    ...line,
    costNanoUsd: String(line.costNanoUsd),
    inputCostNanoUsd: String(line.inputCostNanoUsd),
  }));
const readLines = (lines: readonly LedgerLine[]) => lines.map((line) => ({ ...line, ...readCost({ ...line }) }));

/** What is known of a request before it goes out, in the order in which its line has it. New fields are added at the end. */
const inFlightFields = [
  ...['id', 'createdAtMs', 'workspaceId', 'keyHash', 'memberId', 'requestedModel', 'router', 'task'],
  ...['model', 'provider', 'providerId', 'endpointId', 'tier', 'isByok', 'streamed', 'sessionId', 'endUser'],
  ...['inputTokens', 'outputTokens', 'costNanoUsd', 'inputCostNanoUsd', 'priced', 'apiType', 'lines', 'parentId'],
] as readonly (keyof InFlightEntry)[];

/** What is known of it afterwards, in the same way. */
const endFields = [
  ...['id', 'tier', 'outcome', 'status', 'errorType', 'inputTokens', 'cachedTokens', 'cacheWriteTokens'],
  ...['outputTokens', 'reasoningTokens', 'costNanoUsd', 'inputCostNanoUsd', 'priced', 'upstreamCostNanoUsd'],
  ...['estimated', 'firstOutputMs', 'durationMs'],
] as readonly (keyof LedgerEntry)[];

/** A request that goes out, as a line: a list, half as long as an entry. */
function serializeInFlight(underway: InFlightEntry): string {
  const { lines, parentId } = underway;
  // Few have lines or a parent, and only they have places to fill before them.
  const isUsual = lines === undefined && parentId === undefined;
  const fields = isUsual ? underway : { apiType: null, ...underway, lines: lines ? writeLines(lines) : null };
  return writeList('underway', inFlightFields, fields as InFlightEntry); // for `readInFlight`
}

/** The end of a request, as a line: a third of an entry, the rest of which stands in the line of its beginning. */
const writeEnd = (entry: LedgerEntry): string => writeList('end', endFields, entry);

function writeList<Fields>(name: string, fields: readonly (keyof Fields)[], values: Fields): string {
  const line: unknown[] = [name];
  for (const field of fields) {
    const value = values[field];
    if (value === undefined) continue; // the last one, where it is usual
    line.push(typeof value === 'bigint' ? String(value) : value);
  }
  return `${JSON.stringify(line)}\n`;
}

/** @param line as `writeList` wrote it, without its name */
const readList = <Field extends string>(fields: readonly Field[], line: readonly unknown[]) =>
  Object.fromEntries(fields.map((field, index) => [field, line[index]]));

/** Do these two lines hold all of the entry? */
const continues = (underway: InFlightEntry, entry: LedgerEntry): boolean =>
  entry.lines === undefined &&
  underway.lines === undefined &&
  entry.special === undefined &&
  entry.pictures === undefined &&
  entry.model === underway.model &&
  entry.endpointId === underway.endpointId &&
  entry.provider === underway.provider &&
  entry.providerId === underway.providerId &&
  entry.isByok === underway.isByok &&
  entry.router === underway.router &&
  entry.task === underway.task &&
  entry.requestedModel === underway.requestedModel &&
  entry.createdAtMs === underway.createdAtMs &&
  entry.workspaceId === underway.workspaceId &&
  entry.keyHash === underway.keyHash &&
  entry.memberId === underway.memberId &&
  entry.streamed === underway.streamed &&
  entry.sessionId === underway.sessionId &&
  entry.endUser === underway.endUser &&
  entry.apiType === underway.apiType &&
  entry.parentId === underway.parentId;

/** What the process that wrote these files booked, and what it had no time to book. */
function readOrphanedRecords(files: readonly string[]): OrphanedRecords {
  const entries: LedgerEntry[] = [];
  const open = new Map<string, InFlightEntry>();
  const unreadable: string[] = [];
  for (const file of files) {
    // What follows the last line end was never acknowledged: reserved space, or a line whose write did not return.
    for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
      try {
        const fields = JSON.parse(line);
        if (!Array.isArray(fields)) entries.push(readEntry(fields));
        else if (fields[0] === 'underway') open.set(fields[1], readInFlight(fields.slice(1)));
        else if (fields[0] === 'end') entries.push(readEnd(fields.slice(1), open));
        else unreadable.push(line);
      } catch {
        unreadable.push(line);
      }
    }
  }
  for (const { id } of entries) open.delete(id);
  return { entries: [...entries, ...Array.from(open.values(), estimate)], interrupted: open.size, unreadable };
}

/** Fields that a build before this one did not write. */
const notYetKnown = {
  ...{ router: null, task: null, providerId: null, endpointId: null, tier: null },
  ...{ isByok: false, upstreamCostNanoUsd: null },
};

/** @param fields as `serializeEntry` wrote them. @throws when they are something else */
function readEntry(fields: Record<string, unknown>): LedgerEntry {
  const entry = { ...notYetKnown, ...fields, ...readCost(fields) } as LedgerEntry; // by its writer
  if (entry.lines) entry.lines = readLines(entry.lines);
  return entry;
}

const readCost = ({ costNanoUsd, inputCostNanoUsd = 0 }: Record<string, unknown>) => ({
  costNanoUsd: BigInt(costNanoUsd as string),
  inputCostNanoUsd: BigInt(inputCostNanoUsd as string),
});

/** @param values as `serializeInFlight` wrote them. @throws when they are something else */
function readInFlight(values: readonly unknown[]): InFlightEntry {
  const fields = readList(inFlightFields, values);
  const underway = { ...fields, ...readCost(fields) } as InFlightEntry; // by its writer
  for (const field of ['apiType', 'lines', 'parentId'] as const) {
    if (underway[field] === null || underway[field] === undefined) delete underway[field];
  }
  if (underway.lines) underway.lines = readLines(underway.lines);
  return underway;
}

/**
 * @param values as `writeEnd` wrote them
 * @param open the requests that the same file says went out
 * @throws when they are something else
 */
function readEnd(values: readonly unknown[], open: ReadonlyMap<string, InFlightEntry>): LedgerEntry {
  const fields = readList(endFields, values);
  const underway = open.get(fields['id'] as string);
  if (!underway) throw new Error('An end without its beginning.');
  return { ...underway, ...fields, ...readCost(fields) } as LedgerEntry; // by its writer
}

/**
 * The entry of a request whose process died: nobody knows what the provider made of it, so that its input is booked as
 * it was estimated.
 */
function estimate(underway: InFlightEntry): LedgerEntry {
  const { status, errorType } = errorKinds.gateway_stopped;
  return {
    ...underway,
    ...{ outcome: 'failed', status, errorType },
    ...{ cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, upstreamCostNanoUsd: null, estimated: true },
    ...{ firstOutputMs: null, durationMs: 0 },
  };
}
