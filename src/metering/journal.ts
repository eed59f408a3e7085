import { randomBytes } from 'node:crypto';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Bag } from '../domain/bag.ts';
import { errorKinds } from '../domain/errors.ts';
import type { LedgerEntry, UnderwayEntry } from '../domain/ledger-entry.ts';

/** Bytes after which the journal goes on in a new file, so that a busy gateway does not keep one for ever. */
const ROTATE_BYTES = 8 * 1024 * 1024;

/**
 * Requests that go out to providers, and entries on their way to the store, as lines of a file. What is written has been
 * handed to the kernel on return, so it outlives a `kill -9`; the store makes entries outlive a power cut.
 */
export interface Journal {
  /**
   * Writes that a request goes out. It stays open until its entry is appended.
   *
   * @param before the attempt of the same request whose place this one takes
   * @throws the file system's error, for example ENOSPC; nothing is then written
   */
  begin(underway: UnderwayEntry, before?: Begun): Begun;
  /**
   * @param begun the last attempt of its request; undefined: none went out
   * @throws the file system's error, for example ENOSPC; the entry is then not in the journal, and its request open
   */
  append(entry: LedgerEntry, begun?: Begun): void;
  /** The entry of this request is in the store without having been appended. */
  settle(begun: Begun): void;
  /** Marks the place up to which everything has been appended so far. */
  mark(): JournalMark;
  /** All entries before the mark are in the store: their lines may go. */
  forget(mark: JournalMark): void;
  /** Nothing can be written afterwards. */
  close(): void;
}
/** A request that is under way. */
export interface Begun {
  readonly underway: UnderwayEntry;
  /** @see Bag */
  place: number;
}

export interface JournalMark {
  file: number;
  bytes: number;
}

/** What a process before this one left in the folder. */
export interface Leftover {
  /** What it booked, and then `cutOff`. */
  entries: LedgerEntry[];
  /** How many of the entries stand for requests that were under way when it ended: the last ones, all estimates. */
  cutOff: number;
}

/**
 * Opens the journal of a folder.
 *
 * @returns the journal, and what was left there: to be stored, then passed to `forgetLeft`
 */
export function openJournal(folder: string): { journal: Journal; left: Leftover; forgetLeft(): void } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const old = readdirSync(folder)
    .filter((name) => name.startsWith('ledger-') && name.endsWith('.jsonl'))
    .sort() // by the time at which they were begun
    .map((name) => join(folder, name));
  const left = readLeftover(old);

  const files = new Map<number, string>();
  const open = new Bag<Begun>();
  let number = 0;
  let fd = CLOSED;
  let bytes = 0;
  let copied = 0; // of these the first so many, from the file before

  /** When this fails, the old file goes on. */
  function openNext(): void {
    const path = join(folder, `ledger-${Date.now()}-${randomBytes(4).toString('hex')}.jsonl`);
    const next = openSync(path, 'ax', 0o600);
    let size = 0;
    try {
      if (open.size > 0)
        size = write(
          next,
          0,
          open
            .list()
            .map(({ underway }) => writeUnderway(underway))
            .join(''),
        );
    } catch (error) {
      closeSync(next);
      unlinkSync(path);
      throw error;
    }
    if (fd !== CLOSED) closeSync(fd);
    fd = next;
    bytes = copied = size;
    files.set(++number, path);
  }
  openNext();

  const journal: Journal = {
    begin(underway, before) {
      bytes = write(fd, bytes, writeUnderway(underway));
      const begun = { underway, place: -1 };
      if (before) open.delete(before);
      open.add(begun);
      return begun;
    },
    append(entry, begun) {
      const isWritten = begun !== undefined && continues(begun.underway, entry);
      bytes = write(fd, bytes, isWritten ? writeEnd(entry) : `${writeEntry(entry)}\n`);
      if (begun) open.delete(begun);
    },
    settle: (begun) => open.delete(begun),
    mark: () => ({ file: number, bytes }),
    forget(mark) {
      if (fd === CLOSED) return;
      for (const [file, path] of files) {
        if (file < mark.file) {
          unlinkSync(path);
          files.delete(file);
        }
      }
      if (mark.file !== number) return;
      if (mark.bytes === bytes && open.size === 0) {
        if (bytes > 0) ftruncateSync(fd, 0);
        bytes = copied = 0;
      } else if (bytes - copied > ROTATE_BYTES) openNext();
    },
    close() {
      closeSync(fd);
      fd = CLOSED;
      const path = files.get(number);
      if (bytes === 0 && path !== undefined) unlinkSync(path);
    },
  };
  return { journal, left, forgetLeft: () => old.forEach((path) => void unlinkSync(path)) };
}

/** In place of a file's number, which may be another file's by then. */
const CLOSED = -1;

/** Lines are short, and written one by one. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

/** @returns the bytes of the file with the text. @throws and leaves the file as it was */
function write(fd: number, bytesBefore: number, text: string): number {
  if (fd === CLOSED) throw new Error('The journal is closed.');
  const fits = text.length * 3 <= scratch.length;
  const line = fits ? scratch : Buffer.from(text);
  const length = fits ? scratch.write(text) : line.length;
  let written = 0;
  try {
    while (written < length) written += writeSync(fd, line, written, length - written);
  } catch (error) {
    if (written > 0) ftruncateSync(fd, bytesBefore); // half a line must not stand before the next one
    throw error;
  }
  return bytesBefore + length;
}

/** An entry as a line, without its end. */
export function writeEntry(entry: LedgerEntry): string {
  const { costNanoUsd, inputCostNanoUsd, lines } = entry;
  return JSON.stringify({
    ...entry,
    costNanoUsd: String(costNanoUsd),
    inputCostNanoUsd: String(inputCostNanoUsd),
    ...(lines && {
      lines: lines.map((line) => ({
        ...line,
        costNanoUsd: String(line.costNanoUsd),
        inputCostNanoUsd: String(line.inputCostNanoUsd),
      })),
    }),
  });
}

/** What is known of a request before it goes out, in the order in which its line has it. New fields are added at the end. */
const underwayFields = [
  ...['id', 'createdAtMs', 'workspaceId', 'keyHash', 'memberId', 'requestedModel', 'router', 'task'],
  ...['model', 'provider', 'providerId', 'endpointId', 'tier', 'isByok', 'streamed', 'sessionId', 'endUser'],
  ...['inputTokens', 'outputTokens', 'costNanoUsd', 'inputCostNanoUsd', 'priced', 'apiType'],
] as readonly (keyof UnderwayEntry)[];

/** What is known of it afterwards, in the same way. */
const endFields = [
  ...['id', 'tier', 'outcome', 'status', 'errorType', 'inputTokens', 'cachedTokens', 'cacheWriteTokens'],
  ...['outputTokens', 'reasoningTokens', 'costNanoUsd', 'inputCostNanoUsd', 'priced', 'upstreamCostNanoUsd'],
  ...['estimated', 'firstOutputMs', 'durationMs'],
] as readonly (keyof LedgerEntry)[];

/** A request that goes out, as a line: a list, half as long as an entry. */
const writeUnderway = (underway: UnderwayEntry): string => writeList('underway', underwayFields, underway);

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
const continues = (underway: UnderwayEntry, entry: LedgerEntry): boolean =>
  entry.lines === undefined &&
  entry.special === undefined &&
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
  entry.apiType === underway.apiType;

/** What the process that wrote these files booked, and what it had no time to book. */
function readLeftover(files: readonly string[]): Leftover {
  const entries: LedgerEntry[] = [];
  const open = new Map<string, UnderwayEntry>();
  for (const file of files) {
    // A last line without its line end was never acknowledged: the write did not return.
    for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
      try {
        const fields = JSON.parse(line);
        if (!Array.isArray(fields)) entries.push(readEntry(fields));
        else if (fields[0] === 'underway') open.set(fields[1], readUnderway(fields.slice(1)));
        else if (fields[0] === 'end') entries.push(readEnd(fields.slice(1), open));
      } catch {} // a torn line: the same
    }
  }
  for (const { id } of entries) open.delete(id);
  return { entries: [...entries, ...Array.from(open.values(), estimate)], cutOff: open.size };
}

/** Fields that a build before this one did not write. */
const notYetKnown = {
  ...{ router: null, task: null, providerId: null, endpointId: null, tier: null },
  ...{ isByok: false, upstreamCostNanoUsd: null },
};

/** @param fields as `writeEntry` wrote them. @throws when they are something else */
function readEntry(fields: Record<string, unknown>): LedgerEntry {
  const entry = { ...notYetKnown, ...fields, ...readCost(fields) } as LedgerEntry; // by its writer
  if (entry.lines) entry.lines = entry.lines.map((line) => ({ ...line, ...readCost({ ...line }) }));
  return entry;
}

const readCost = ({ costNanoUsd, inputCostNanoUsd = 0 }: Record<string, unknown>) => ({
  costNanoUsd: BigInt(costNanoUsd as string),
  inputCostNanoUsd: BigInt(inputCostNanoUsd as string),
});

/** @param values as `writeUnderway` wrote them. @throws when they are something else */
function readUnderway(values: readonly unknown[]): UnderwayEntry {
  const fields = readList(underwayFields, values);
  return { ...fields, ...readCost(fields) } as UnderwayEntry; // by its writer
}

/**
 * @param values as `writeEnd` wrote them
 * @param open the requests that the same file says went out
 * @throws when they are something else
 */
function readEnd(values: readonly unknown[], open: ReadonlyMap<string, UnderwayEntry>): LedgerEntry {
  const fields = readList(endFields, values);
  const underway = open.get(fields['id'] as string);
  if (!underway) throw new Error('An end without its beginning.');
  return { ...underway, ...fields, ...readCost(fields) } as LedgerEntry; // by its writer
}

/**
 * The entry of a request whose process died: nobody knows what the provider made of it, so that its input is booked as
 * it was estimated.
 */
function estimate(underway: UnderwayEntry): LedgerEntry {
  const { status, errorType } = errorKinds.gateway_stopped;
  return {
    ...underway,
    ...{ outcome: 'failed', status, errorType },
    ...{ cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, upstreamCostNanoUsd: null, estimated: true },
    ...{ firstOutputMs: null, durationMs: 0 },
  };
}
