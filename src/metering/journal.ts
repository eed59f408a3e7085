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

/** Bytes after which the journal starts a new file, so that a busy gateway does not keep one forever. */
const ROTATE_BYTES = 8 * 1024 * 1024;

/** Minimum growth of a file when space is reserved. */
const RESERVE_STEP = 8 * 1024;
/** Space for the entry of a request, in addition to twice its start line. */
const RESERVE_BASE = 1024;

/**
 * Requests that are sent to providers, and entries that are not in the store yet, as lines of a file. A written line
 * survives a `kill -9`, because the kernel has it. After `sync` it survives a power failure.
 *
 * The start line of a request reserves space for its entry, so that the entry can be written on a full disk. The
 * space is zeros at the end of the file, which the next lines replace.
 */
export interface Journal {
  /**
   * Writes the start line of a request and reserves the space of its entry. It stays open until its entry is appended.
   *
   * @param before the previous attempt of the request, which this one replaces
   * @throws the file system's error, for example ENOSPC; nothing is written then
   */
  begin(underway: InFlightEntry, before?: InFlightRequest): InFlightRequest;
  /**
   * @param begun the last attempt of its request; undefined if none was sent
   * @throws the file system's error, such as ENOSPC; the entry is then not in the journal, and its request stays open
   */
  append(entry: LedgerEntry, begun?: InFlightRequest): void;
  /** Closes a request whose entry is in the store without being in the journal. */
  settle(begun: InFlightRequest): void;
  /** Resolves when everything written so far is on disk. Many calls share one sync. @throws the file system's error */
  sync(): Promise<void>;
  /** Returns a mark after the last appended line. */
  mark(): JournalMark;
  /** Deletes the lines before the mark, because all their entries are in the store. */
  forget(mark: JournalMark): void;
  /** Writes fail afterwards. */
  close(): void;
}
/** A request in flight. */
export interface InFlightRequest {
  readonly underway: InFlightEntry;
  /** @see DenseSet */
  place: number;
  /** Bytes reserved for its entry. */
  reserved: number;
}

export interface JournalMark {
  file: number;
  bytes: number;
}

/** The records of an earlier process in the folder. */
export interface OrphanedRecords {
  /** Its entries, then the estimates of `interrupted` requests. */
  entries: LedgerEntry[];
  /** Number of estimates of requests that were in flight when it ended. They are the last entries. */
  interrupted: number;
  /** Foreign or damaged lines, without lines that were never acknowledged. */
  unreadable: string[];
}

/** The file system calls that can fail. */
export interface JournalDisk {
  write: (fd: number, bytes: Buffer, offset: number, length: number, position: number) => number;
  truncate: (fd: number, bytes: number) => void;
  sync: (fd: number) => Promise<void>;
}
const nodeDisk: JournalDisk = { write: writeSync, truncate: ftruncateSync, sync: (fd) => promisify(fdatasync)(fd) };

export interface OpenedJournal {
  journal: Journal;
  /** Records to store and then to delete. */
  orphaned: OrphanedRecords;
  deleteOrphaned(): void;
}

/** Opens the journal of a folder. */
export function openJournal(folder: string, disk: JournalDisk = nodeDisk): OpenedJournal {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const old = readdirSync(folder)
    .filter((name) => name.startsWith('ledger-') && name.endsWith('.jsonl'))
    .sort() // by creation time
    .map((name) => join(folder, name));
  const left = readOrphanedRecords(old);

  const files = new Map<number, string>();
  const open = new DenseSet<InFlightRequest>();
  let number = 0;
  let file = closed;
  let copied = 0; // leading bytes that were copied from the previous file
  let reserved = 0; // for the entries of all open requests

  /** Starts a new file. If this fails, the old file stays in use. */
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
      const isWritten = begun !== undefined && isComplete(begun.underway, entry);
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

/** The file descriptor after closing, because the system may reuse the number. */
const CLOSED = -1;

/** Shared, because lines are short and written one at a time. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
const zeros = Buffer.alloc(64 * 1024);

/**
 * A file of lines followed by reserved space. The next line overwrites a partial line. A reader skips it, because it
 * has no line end.
 */
class JournalFile {
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

const closed = new JournalFile(CLOSED, nodeDisk, '');
closed.close();

/** Serializes an entry as a line, without the line end. */
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

/** The fields of a start line, in the order of `serializeInFlight`. New fields go to the end. */
const inFlightFields = [
  'id',
  'createdAtMs',
  'workspaceId',
  'keyHash',
  'memberId',
  'requestedModel',
  'router',
  'task',
  'model',
  'provider',
  'providerId',
  'endpointId',
  'tier',
  'isByok',
  'streamed',
  'sessionId',
  'endUser',
  'inputTokens',
  'outputTokens',
  'costNanoUsd',
  'inputCostNanoUsd',
  'priced',
  'apiType',
  'lines',
  'parentId',
] as readonly (keyof InFlightEntry)[];

/** The fields of an end line, in the order of `writeEnd`. New fields go to the end. */
const endFields = [
  'id',
  'tier',
  'outcome',
  'status',
  'errorType',
  'inputTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'costNanoUsd',
  'inputCostNanoUsd',
  'priced',
  'upstreamCostNanoUsd',
  'estimated',
  'firstOutputMs',
  'durationMs',
] as readonly (keyof LedgerEntry)[];

/**
 * Serializes a start line: a list, half as long as an entry. The values are named one by one, because reading them by
 * a list of names costs twice as much. Trailing values are omitted, because few requests have them.
 */
function serializeInFlight(underway: InFlightEntry): string {
  const { apiType, lines, parentId } = underway;
  const line: unknown[] = [
    'underway',
    underway.id,
    underway.createdAtMs,
    underway.workspaceId,
    underway.keyHash,
    underway.memberId,
    underway.requestedModel,
    underway.router,
    underway.task,
    underway.model,
    underway.provider,
    underway.providerId,
    underway.endpointId,
    underway.tier,
    underway.isByok,
    underway.streamed,
    underway.sessionId,
    underway.endUser,
    underway.inputTokens,
    underway.outputTokens,
    String(underway.costNanoUsd),
    String(underway.inputCostNanoUsd),
    underway.priced,
  ];
  const isUsual = lines === undefined && parentId === undefined;
  if (!isUsual || apiType !== undefined) line.push(apiType ?? null);
  if (!isUsual) line.push(lines ? writeLines(lines) : null);
  if (parentId !== undefined) line.push(parentId);
  return `${JSON.stringify(line)}\n`;
}

/** Serializes an end line: a third of an entry. The start line has the rest. */
function writeEnd(entry: LedgerEntry): string {
  const line: unknown[] = [
    'end',
    entry.id,
    entry.tier,
    entry.outcome,
    entry.status,
    entry.errorType,
    entry.inputTokens,
    entry.cachedTokens,
    entry.cacheWriteTokens,
    entry.outputTokens,
    entry.reasoningTokens,
    String(entry.costNanoUsd),
    String(entry.inputCostNanoUsd),
    entry.priced,
    entry.upstreamCostNanoUsd,
    entry.estimated,
    entry.firstOutputMs,
    entry.durationMs,
  ];
  return `${JSON.stringify(line)}\n`;
}

/** @param line a start line or an end line, without its name */
const readList = <Field extends string>(fields: readonly Field[], line: readonly unknown[]) =>
  Object.fromEntries(fields.map((field, index) => [field, line[index]]));

/** Whether the start line and the end line contain the complete entry. */
const isComplete = (underway: InFlightEntry, entry: LedgerEntry): boolean =>
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

/** Reads the entries in these files, and estimates the requests without an entry. */
function readOrphanedRecords(files: readonly string[]): OrphanedRecords {
  const entries: LedgerEntry[] = [];
  const open = new Map<string, InFlightEntry>();
  const unreadable: string[] = [];
  for (const file of files) {
    // text after the last line end was never acknowledged: reserved space, or an interrupted write
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

/** Defaults of fields that earlier builds did not write. */
const newFields = {
  router: null,
  task: null,
  providerId: null,
  endpointId: null,
  tier: null,
  isByok: false,
  upstreamCostNanoUsd: null,
};

/** @param fields from `serializeEntry`. @throws if they are invalid */
function readEntry(fields: Record<string, unknown>): LedgerEntry {
  const entry = { ...newFields, ...fields, ...readCost(fields) } as LedgerEntry; // by its writer
  if (entry.lines) entry.lines = readLines(entry.lines);
  return entry;
}

const readCost = ({ costNanoUsd, inputCostNanoUsd = 0 }: Record<string, unknown>) => ({
  costNanoUsd: BigInt(costNanoUsd as string),
  inputCostNanoUsd: BigInt(inputCostNanoUsd as string),
});

/** @param values from `serializeInFlight`. @throws if they are invalid */
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
 * @param values from `writeEnd`
 * @param open the requests with a start line in the same file
 * @throws if they are invalid
 */
function readEnd(values: readonly unknown[], open: ReadonlyMap<string, InFlightEntry>): LedgerEntry {
  const fields = readList(endFields, values);
  const underway = open.get(fields['id'] as string);
  if (!underway) throw new Error('An end line without its start line.');
  return { ...underway, ...fields, ...readCost(fields) } as LedgerEntry; // by its writer
}

/**
 * Returns the entry of a request whose process died. Its outcome is unknown, so its estimated input is recorded.
 */
function estimate(underway: InFlightEntry): LedgerEntry {
  const { status, errorType } = errorKinds.gateway_stopped;
  return {
    ...underway,
    outcome: 'failed',
    status,
    errorType,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    upstreamCostNanoUsd: null,
    estimated: true,
    firstOutputMs: null,
    durationMs: 0,
  };
}
