import { createInflateRaw } from 'node:zlib';
import { damaged, FileFault } from './file-fault.ts';

/** A file in an archive. */
export interface ArchivePart {
  name: string;
  /**
   * Unpacks it piece by piece, so that it is never in memory as a whole. Each call starts over.
   *
   * @throws {FileFault} if it is damaged or too large
   */
  unpack(): AsyncIterable<Buffer>;
}

/** An entry of the directory of an archive. */
interface Entry {
  /** Offset of its local header. */
  offset: number;
  compressedBytes: number;
  method: number;
  isEncrypted: boolean;
}

const END_SIGNATURE = 0x06054b50;
const ENTRY_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 65_535;
/** Office files have some dozens; one with many slides and images, a few thousand. */
const MAX_ENTRIES = 20_000;
const STORED = 0;
const DEFLATED = 8;

/** Bytes that are unpacked at a time. */
const PIECE_BYTES = 65_536;

/**
 * Reads entries of a ZIP archive by name. Sizes in an archive may be wrong, so the bytes that come out of it are
 * counted: all entries together may have at most `maxUnpackedBytes`.
 *
 * @see https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 */
export class ZipArchive {
  private readonly bytes: Buffer;
  private readonly entries: ReadonlyMap<string, Entry>;
  private left: number;
  private readonly maxUnpackedBytes: number;

  /** @throws {FileFault} if there is no directory, or too long a one */
  constructor(bytes: Buffer, maxUnpackedBytes: number) {
    this.bytes = bytes;
    this.maxUnpackedBytes = maxUnpackedBytes;
    this.left = maxUnpackedBytes;
    this.entries = readDirectory(bytes);
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  /**
   * @returns undefined if there is no such entry
   * @throws {FileFault} if it is encrypted
   */
  find(name: string | undefined): ArchivePart | undefined {
    if (name === undefined) return undefined;
    const entry = this.entries.get(name);
    if (!entry) return undefined;
    if (entry.isEncrypted) throw new FileFault('It is encrypted with a password. Send it without the password.');
    return { name, unpack: () => this.unpack(entry, name) };
  }

  private async *unpack(entry: Entry, name: string): AsyncGenerator<Buffer> {
    for await (const piece of this.inflate(entry, name)) {
      this.left -= piece.length;
      if (this.left < 0) throw this.tooLarge();
      yield piece;
    }
  }

  private async *inflate({ offset, compressedBytes, method }: Entry, name: string): AsyncGenerator<Buffer> {
    const bytes = this.bytes;
    if (offset + 30 > bytes.length || bytes.readUInt32LE(offset) !== LOCAL_SIGNATURE) {
      throw damaged(`its entry ${name} is missing`);
    }
    const start = offset + 30 + bytes.readUInt16LE(offset + 26) + bytes.readUInt16LE(offset + 28);
    const packed = bytes.subarray(start, start + compressedBytes);
    if (packed.length < compressedBytes) throw damaged(`its entry ${name} is truncated`);
    if (method === STORED) {
      for (let at = 0; at < packed.length; at += PIECE_BYTES) yield packed.subarray(at, at + PIECE_BYTES);
      return;
    }
    if (method !== DEFLATED) throw new FileFault(`It has an entry with the compression method ${method}.`);
    const inflating = createInflateRaw({ chunkSize: PIECE_BYTES });
    inflating.end(packed);
    try {
      yield* inflating;
    } catch {
      throw damaged(`its entry ${name} is malformed`);
    }
  }

  private tooLarge(): FileFault {
    return new FileFault(
      `It unpacks to more than ${this.maxUnpackedBytes} bytes (plugins.file_parser.max_unpacked_bytes).`,
    );
  }
}

function readDirectory(bytes: Buffer): Map<string, Entry> {
  const end = findEnd(bytes);
  if (end === undefined) throw damaged('the end of its ZIP archive is missing');
  const count = bytes.readUInt16LE(end + 10);
  if (count > MAX_ENTRIES) throw new FileFault(`It is an archive of more than ${MAX_ENTRIES} entries.`);
  const entries = new Map<string, Entry>();
  let at = bytes.readUInt32LE(end + 16);
  for (let index = 0; index < count; index++) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== ENTRY_SIGNATURE) {
      throw damaged('the directory of its ZIP archive is malformed');
    }
    const nameBytes = bytes.readUInt16LE(at + 28);
    const name = bytes.toString('utf8', at + 46, at + 46 + nameBytes);
    if (!entries.has(name)) {
      entries.set(name, {
        isEncrypted: (bytes.readUInt16LE(at + 8) & 1) === 1,
        method: bytes.readUInt16LE(at + 10),
        compressedBytes: bytes.readUInt32LE(at + 20),
        offset: bytes.readUInt32LE(at + 42),
      });
    }
    at += 46 + nameBytes + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return entries;
}

/** Finds the end record, which a comment may follow. */
function findEnd(bytes: Buffer): number | undefined {
  const last = bytes.length - END_BYTES;
  for (let at = last; at >= Math.max(0, last - MAX_COMMENT_BYTES); at--) {
    if (bytes.readUInt32LE(at) === END_SIGNATURE) return at;
  }
  return undefined;
}
